//! Several comparisons at once.

use crate::{StatsError, input_checks};

/// e-BH: which of several "no difference" hypotheses to reject so that of the rejected ones a
/// share of `alpha` at most is wrong on average, *whatever* the dependence between them (all
/// variants share a baseline). Source: Wang and Ramdas, "False discovery rate control with
/// e-values", JRSS B 84 (2022). Takes natural logarithms of e-values, as
/// [`ConfidenceSequence::log_e_value`](crate::ConfidenceSequence::log_e_value) gives them at the
/// time of stopping.
///
/// # Errors
/// An alpha outside 0…1, or a NaN (infinities are legal logarithms here).
pub fn e_bh(log_e_values: &[f64], alpha: f64) -> Result<Vec<bool>, StatsError> {
    input_checks::open_unit("alpha", alpha)?;
    if let Some(index) = log_e_values.iter().position(|value| value.is_nan()) {
        return Err(StatsError::NotFinite {
            index,
            value: log_e_values[index],
        });
    }
    let count = log_e_values.len();
    let order = order_by(log_e_values, |left, right| right.total_cmp(left));
    // The largest k whose k-th largest e-value reaches count ÷ (alpha · k).
    let rejected = (1..=count)
        .rev()
        .find(|&k| {
            let needed = (count as f64 / (alpha * k as f64)).ln();
            log_e_values[order[k - 1]] >= needed
        })
        .unwrap_or(0);
    Ok(flags(&order[..rejected], count))
}

/// Holm's procedure: which hypotheses to reject so that any wrong rejection at all has
/// probability `alpha` at most, under any dependence. Source: Holm, "A simple sequentially
/// rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
///
/// # Errors
/// An alpha outside 0…1, or a p-value outside 0…1.
pub fn holm(p_values: &[f64], alpha: f64) -> Result<Vec<bool>, StatsError> {
    input_checks::open_unit("alpha", alpha)?;
    if let Some(value) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::Parameter {
            name: "p-value",
            value: *value,
            range: "between 0 and 1",
        });
    }
    let count = p_values.len();
    let order = order_by(p_values, f64::total_cmp);
    let rejected = order
        .iter()
        .enumerate()
        .take_while(|(place, index)| p_values[**index] <= alpha / (count - place) as f64)
        .count();
    Ok(flags(&order[..rejected], count))
}

fn order_by(values: &[f64], compare: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| compare(&values[*left], &values[*right]));
    order
}

fn flags(chosen: &[usize], count: usize) -> Vec<bool> {
    let mut flags = vec![false; count];
    for index in chosen {
        flags[*index] = true;
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holm_agrees_with_a_manual_calculation() {
        // 0.01 ≤ .05/4, 0.013 ≤ .05/3, then 0.03 > .05/2 stops.
        assert_eq!(
            holm(&[0.03, 0.01, 0.04, 0.013], 0.05).unwrap(),
            [false, true, false, true]
        );
        assert!(holm(&[f64::NAN], 0.05).is_err());
        assert!(holm(&[], 0.05).unwrap().is_empty());
    }

    #[test]
    fn e_bh_agrees_with_a_manual_calculation() {
        // Of three, one alone needs 60, two need 30 each, three need 20 each.
        let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|e| e.ln()).collect() };
        assert_eq!(
            e_bh(&logs(&[50.0, 1.0, 2.0]), 0.05).unwrap(),
            [false, false, false]
        );
        assert_eq!(
            e_bh(&logs(&[50.0, 31.0, 2.0]), 0.05).unwrap(),
            [true, true, false]
        );
        assert_eq!(
            e_bh(&logs(&[21.0, 21.0, 21.0]), 0.05).unwrap(),
            [true, true, true]
        );
        assert!(e_bh(&[f64::NAN], 0.05).is_err());
        assert_eq!(e_bh(&[f64::INFINITY], 0.05).unwrap(), [true]);
    }

    proptest! {
        #[test]
        fn more_evidence_rejects_no_less(mut values in prop::collection::vec(-5.0..9.0f64, 1..12), index in 0usize..12, more in 0.0..5.0f64) {
            let before = e_bh(&values, 0.05).unwrap().iter().filter(|flag| **flag).count();
            let index = index % values.len();
            values[index] += more;
            let after = e_bh(&values, 0.05).unwrap().iter().filter(|flag| **flag).count();
            prop_assert!(after >= before);
        }
    }
}
