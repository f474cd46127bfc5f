//! The effect between two variants measured in pairs.

use genba_model::Estimate;

use crate::quantile::median_of_sorted;
use crate::{Interval, StatsError, hodges_lehmann, input_checks};

/// Log ratios ln(variant ÷ baseline), pair by pair. Both halves of a pair are runs of the same
/// block, made next to one another in random order.
///
/// # Errors
/// Series of unequal length, empty ones, values that are not above zero.
pub fn log_ratios(baseline: &[f64], variant: &[f64]) -> Result<Vec<f64>, StatsError> {
    if baseline.len() != variant.len() {
        return Err(StatsError::Unpaired {
            left: baseline.len(),
            right: variant.len(),
        });
    }
    input_checks::positive(baseline, 1)?;
    input_checks::positive(variant, 1)?;
    // Two logarithms rather than one of a quotient: no overflow, and swapping the series
    // changes nothing but the sign.
    Ok(baseline
        .iter()
        .zip(variant)
        .map(|(baseline, variant)| variant.ln() - baseline.ln())
        .collect())
}

/// What a fixed number of pairs says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedEffect {
    /// Ratio variant ÷ baseline: exp of the median of the log ratios, the most robust estimate.
    pub median_ratio: f64,
    /// The ratio by Hodges–Lehmann with the interval of Wilcoxon's signed-rank test.
    pub ratio: Interval,
}

/// The paired effect at a number of pairs fixed beforehand. Whoever looks after every pair and
/// stops when pleased needs [`ConfidenceSequence`](crate::ConfidenceSequence) instead.
///
/// # Errors
/// As [`log_ratios`], or a level outside 0…1, or ratios beyond what a number can hold.
pub fn paired_effect(
    baseline: &[f64],
    variant: &[f64],
    level: f64,
) -> Result<PairedEffect, StatsError> {
    let logs = log_ratios(baseline, variant)?;
    let ratio = hodges_lehmann(&logs, level)?.map(f64::exp);
    let median_ratio = median_of_sorted(&input_checks::sorted(&logs)).exp();
    let Estimate { value, low, high } = ratio.estimate;
    // exp overflows to infinity and underflows to zero; neither is a ratio of two times.
    input_checks::positive(&[value, low, high, median_ratio], 4)?;
    Ok(PairedEffect {
        median_ratio,
        ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratio_after_subtraction_is_exact_for_constant_runs() {
        let effect = paired_effect(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0], 0.95).unwrap();
        assert!((effect.median_ratio - 2.0).abs() < 1e-12);
        assert!((effect.ratio.estimate.value - 2.0).abs() < 1e-12);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(matches!(
            log_ratios(&[1.0], &[1.0, 2.0]),
            Err(StatsError::Unpaired { .. })
        ));
        assert!(matches!(
            log_ratios(&[0.0], &[1.0]),
            Err(StatsError::NotPositive { .. })
        ));
        assert!(log_ratios(&[1.0], &[-1.0]).is_err());
        assert!(log_ratios(&[1.0], &[f64::NAN]).is_err());
        assert!(log_ratios(&[], &[]).is_err());
        assert!(paired_effect(&[f64::MIN_POSITIVE], &[f64::MAX], 0.95).is_err());
        assert!(paired_effect(&[f64::MAX], &[f64::MIN_POSITIVE], 0.95).is_err());
    }

    proptest! {
        #[test]
        fn swapping_inverts_the_ratio_and_scaling_keeps_it(
            pairs in prop::collection::vec((0.01..100.0f64, 0.01..100.0f64), 1..40),
            factor in 0.001..1e3f64,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let one = paired_effect(&a, &b, 0.95).unwrap();
            let two = paired_effect(&b, &a, 0.95).unwrap();
            prop_assert!((one.median_ratio * two.median_ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.ratio.estimate.low * two.ratio.estimate.high - 1.0).abs() < 1e-9);
            let scale = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value * factor).collect() };
            let three = paired_effect(&scale(&a), &scale(&b), 0.95).unwrap();
            prop_assert!((one.ratio.estimate.value / three.ratio.estimate.value - 1.0).abs() < 1e-9);
        }
    }
}
