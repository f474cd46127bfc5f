//! Cost per iteration with the cost of a baseline (the empty loop) taken off.

use genba_model::Estimate;

use crate::quantile::median_of_sorted;
use crate::{Interval, StatsError, hodges_lehmann, input_checks};

/// Cost of one iteration: (run − baseline run) ÷ iterations, by blocks, as Hodges–Lehmann
/// estimate with its interval. Give an empty baseline for "nothing to take off".
///
/// # Errors
/// Series of unequal length (unless there is no baseline), values that are not finite, no
/// iterations, a level outside 0…1.
pub fn cost_per_iteration(
    runs: &[f64],
    baseline: &[f64],
    iterations: u64,
    level: f64,
) -> Result<Interval, StatsError> {
    if iterations == 0 {
        return Err(StatsError::TooFew { needed: 1, got: 0 });
    }
    let left = if baseline.is_empty() {
        input_checks::finite(runs, 1)?;
        runs.to_vec()
    } else {
        differences(runs, baseline)?
    };
    Ok(hodges_lehmann(&left, level)?.map(|seconds| seconds / iterations as f64))
}

/// Ratio of what remains of `variant` to what remains of `reference` once the baseline is
/// subtracted from both, all three measured in the same blocks.
///
/// The method of Fieller (J. R. Statist. Soc. B 16 (1954)) with Wilcoxon's test in the place of
/// Student's: a ratio ρ is kept while 0 lies in the Hodges–Lehmann interval of
/// (variant − baseline) − ρ · (reference − baseline). So the uncertainty of the baseline enters
/// once, as the same runs of it stand in both.
///
/// # Errors
/// Series of unequal length, values that are not finite, a level outside 0…1, and
/// [`StatsError::NothingLeft`] where what remains of the reference cannot be distinguished from zero: then a
/// ratio could be anything.
pub fn subtracted_ratio(
    reference: &[f64],
    variant: &[f64],
    baseline: &[f64],
    level: f64,
) -> Result<Interval, StatsError> {
    let below = differences(reference, baseline)?;
    let above = differences(variant, baseline)?;
    let left = hodges_lehmann(&below, level)?;
    if left.estimate.low <= 0.0 {
        return Err(StatsError::NothingLeft {
            low: left.estimate.low,
            high: left.estimate.high,
        });
    }
    let at = |ratio: f64| -> Result<Interval, StatsError> {
        let rest: Vec<f64> = above
            .iter()
            .zip(&below)
            .map(|(above, below)| above - ratio * below)
            .collect();
        hodges_lehmann(&rest, level)
    };
    // Where the ratio can lie: beyond the largest quotient of any two remains it is refuted.
    let scale = median_of_sorted(&input_checks::sorted(&below)).max(left.estimate.low);
    let largest = above
        .iter()
        .fold(0.0f64, |most, value| most.max(value.abs()));
    let bound = 4.0 * largest / left.estimate.low.min(scale) + 1.0;
    input_checks::finite(&[bound], 1)?;
    let solve = |end: fn(&Estimate) -> f64| -> Result<f64, StatsError> {
        let (mut low, mut high) = (-bound, bound);
        for _ in 0..200 {
            let middle = low.midpoint(high);
            if middle <= low || middle >= high {
                break;
            }
            // The remainder falls as the ratio rises.
            if end(&at(middle)?.estimate) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low.midpoint(high))
    };
    let value = solve(|estimate| estimate.value)?;
    let low = solve(|estimate| estimate.low)?;
    let high = solve(|estimate| estimate.high)?;
    Ok(Interval {
        estimate: Estimate {
            value,
            low: low.min(value),
            high: high.max(value),
        },
        ..left
    })
}

fn differences(runs: &[f64], baseline: &[f64]) -> Result<Vec<f64>, StatsError> {
    if runs.len() != baseline.len() {
        return Err(StatsError::Unpaired {
            left: runs.len(),
            right: baseline.len(),
        });
    }
    input_checks::finite(runs, 1)?;
    input_checks::finite(baseline, 1)?;
    let differences: Vec<f64> = runs
        .iter()
        .zip(baseline)
        .map(|(run, baseline)| run - baseline)
        .collect();
    input_checks::finite(&differences, 1)?;
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values_give_exact_quantiles() {
        let baseline = [1.0; 8];
        let reference = [3.0; 8];
        let variant = [2.0; 8];
        let cost = cost_per_iteration(&reference, &baseline, 1_000, 0.95).unwrap();
        assert!((cost.estimate.value - 0.002).abs() < 1e-15);
        let ratio = subtracted_ratio(&reference, &variant, &baseline, 0.95).unwrap();
        assert!((ratio.estimate.value - 0.5).abs() < 1e-9);
        assert!((ratio.estimate.high - ratio.estimate.low).abs() < 1e-9);
    }

    #[test]
    fn reference_without_cost_above_the_baseline_is_refused() {
        let baseline = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0];
        let reference = [1.0, 1.0, 1.0, 1.1, 0.9, 1.0, 1.02, 0.98];
        assert!(matches!(
            subtracted_ratio(&reference, &[2.0; 8], &baseline, 0.95),
            Err(StatsError::NothingLeft { .. })
        ));
    }

    #[test]
    fn variant_equal_to_the_baseline_has_a_ratio_near_zero() {
        let baseline = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0];
        let ratio = subtracted_ratio(&[3.0; 8], &[1.0; 8], &baseline, 0.95).unwrap();
        assert!(ratio.estimate.low < 0.0 && ratio.estimate.high > 0.0);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(cost_per_iteration(&[1.0], &[], 0, 0.95).is_err());
        assert!(cost_per_iteration(&[1.0], &[1.0, 2.0], 1, 0.95).is_err());
        assert!(cost_per_iteration(&[f64::NAN], &[], 1, 0.95).is_err());
        assert!(subtracted_ratio(&[1.0], &[1.0], &[], 0.95).is_err());
    }
}
