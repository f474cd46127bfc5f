//! Round numbers for the marks of an axis.

/// Most marks of an axis.
const MAX_TICKS: usize = 6;

/// Steps between marks, times a power of ten.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// Returns round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten, on a logarithmic scale
/// these numbers themselves. Empty where the range is.
pub(super) fn ticks(low: f64, high: f64, logarithmic: bool) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite() && high > low) {
        return Vec::new();
    }
    if logarithmic && low > 0.0 {
        let round = |steps: &[f64]| -> Vec<f64> {
            let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
            let powers = (first..=last).map(|power| 10_f64.powi(power));
            let all = powers.flat_map(|power| steps.iter().map(move |step| step * power));
            all.filter(|value| (low..=high).contains(value)).collect()
        };
        let fine = round(&STEPS);
        let chosen = if fine.len() > MAX_TICKS {
            round(&STEPS[..1])
        } else {
            fine
        };
        // Of many powers every second, third, … one.
        let every = chosen.len().div_ceil(MAX_TICKS).max(1);
        return chosen.into_iter().step_by(every).collect();
    }
    let least = (high - low) / MAX_TICKS as f64;
    let power = 10_f64.powf(least.log10().floor());
    let mut steps = STEPS.iter().map(|step| step * power).chain([10.0 * power]);
    let Some(step) = steps.find(|&step| step >= least) else {
        return Vec::new();
    };
    let first = (low / step).ceil();
    (0..=MAX_TICKS)
        .map(|index| (first + index as f64) * step)
        .take_while(|&value| value <= high)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(low: f64, high: f64, logarithmic: bool) -> Vec<String> {
        let rounded = |value: f64| {
            format!("{value:.6}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        };
        ticks(low, high, logarithmic)
            .into_iter()
            .map(rounded)
            .collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(shown(5.5, 272.4, false), ["50", "100", "150", "200", "250"]);
        assert_eq!(shown(0.109, 0.819, false), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(shown(5.5, 272.4, true), ["10", "20", "50", "100", "200"]);
        assert_eq!(shown(1e-3, 1e3, true), ["0.001", "0.1", "10", "1000"]);
        assert_eq!(shown(1.0, 1.0, false), [""; 0]);
        assert_eq!(shown(f64::NAN, 1.0, true), [""; 0]);
    }

    proptest! {
        #[test]
        fn marks_are_few_ascending_and_within_the_range(low in 1e-9_f64..1e9, width in 1.001_f64..1e6, log: bool) {
            let high = low * width;
            let all = ticks(low, high, log);
            prop_assert!(all.len() <= MAX_TICKS + 1, "{all:?}");
            prop_assert!(all.is_sorted() && all.iter().all(|v| (low * 0.999..=high * 1.001).contains(v)), "{all:?}");
        }
    }
}
