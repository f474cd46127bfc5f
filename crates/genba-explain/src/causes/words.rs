//! Figures in the sentences of findings.

use genba_model::Estimate;

/// A number of times: `12`, `12,345`, `1.2 M`.
#[must_use]
pub fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{},{:03}", number / 1000, number % 1000),
        _ => {
            let (value, unit) = match number {
                1_000_000..1_000_000_000 => (number as f64 / 1e6, 'M'),
                1_000_000_000..1_000_000_000_000 => (number as f64 / 1e9, 'G'),
                _ => (number as f64 / 1e12, 'T'),
            };
            format!("{value:.1} {unit}")
        }
    }
}

/// A share as a percentage: `34 %`, `3.4 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Cycles: `18`, `3.5`.
#[must_use]
pub fn cycles(value: f64) -> String {
    if value >= 9.95 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// A range of cycles: `7 to 18`, or one number where both ends are the same.
#[must_use]
pub fn cycle_range(range: &Estimate) -> String {
    let (low, high) = (cycles(range.low), cycles(range.high));
    if low == high || range.high - range.low < 0.1 * range.value {
        cycles(range.value)
    } else {
        format!("{low} to {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(1234), "1234");
        assert_eq!(count(12_345), "12,345");
        assert_eq!(count(410_200_000), "410.2 M");
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(0.34), "34 %");
        let range = Estimate {
            value: 12.0,
            low: 7.0,
            high: 18.0,
        };
        assert_eq!(cycle_range(&range), "7.0 to 18");
        assert_eq!(cycle_range(&Estimate::exact(4.0)), "4.0");
    }
}
