//! The smallest effect visible in the given time.

use crate::quantile::{MAD_TO_SIGMA, mad_about};
use crate::{StatsError, input_checks};

/// The confidence sequence decides no sooner, however plain the case: 1.5¹³ ÷ 8 > 20.
pub const MIN_PAIRS: usize = 13;

/// (Pairs − [`START_UP`]) × (effect ÷ scatter of a pair's log ratio)² at which the confidence
/// sequence has decided in 80 % of the cases at least, at alpha 5 %. Its growth rate under normal
/// noise asks for 19.3; a little more holds the promise on recorded noise (see the simulations in
/// this crate's tests, which found 68 to 77 % with 18 and no start-up).
const PAIRS_AT_UNIT_EFFECT: f64 = 20.0;
/// Pairs that are spent before the score's scale is known.
const START_UP: f64 = 6.0;

/// The smallest effect (as a share: 0.009 is 0.9 %) that a comparison of `pairs` interleaved
/// pairs would show in about four cases out of five at alpha 5 %, judged from runs of one and the same
/// command in the order in which they were made.
///
/// Each run is paired with its neighbour: what disturbs slowly cancels, as in a comparison. The
/// scatter is 1.4826 × the median of |log ratio| about 0, since both halves of a pair are the
/// same. 0 where the clock or the metric cannot tell most neighbours apart.
///
/// # Errors
/// Fewer than four runs, runs that are not above 0, fewer than [`MIN_PAIRS`] pairs (nothing is
/// visible in them).
pub fn noise_floor(samples: &[f64], pairs: usize) -> Result<f64, StatsError> {
    input_checks::positive(samples, 4)?;
    let logs: Vec<f64> = samples
        .windows(2)
        .map(|pair| (pair[1] / pair[0]).ln())
        .collect();
    // A ratio of extreme but legal values can overflow.
    input_checks::finite(&logs, 1)?;
    visible_effect(MAD_TO_SIGMA * mad_about(&logs, 0.0), pairs)
}

/// The share that `pairs` pairs show, given the scatter (robust standard deviation) of a pair's
/// log ratio.
///
/// # Errors
/// A scatter that is negative or not finite, fewer than [`MIN_PAIRS`] pairs.
pub fn visible_effect(scatter: f64, pairs: usize) -> Result<f64, StatsError> {
    if !(scatter >= 0.0 && scatter.is_finite()) {
        return Err(StatsError::Parameter {
            name: "scatter",
            value: scatter,
            range: "at or above 0",
        });
    }
    if pairs < MIN_PAIRS {
        return Err(StatsError::TooFew {
            needed: MIN_PAIRS,
            got: pairs,
        });
    }
    let log_effect = scatter * (PAIRS_AT_UNIT_EFFECT / (pairs as f64 - START_UP)).sqrt();
    Ok(log_effect.exp_m1().min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pairs_show_smaller_effects() {
        let runs: Vec<f64> = (0..40)
            .map(|i| 1.0 + f64::from(i * 7 % 11) * 0.01)
            .collect();
        let few = noise_floor(&runs, 16).unwrap();
        let many = noise_floor(&runs, 1_006).unwrap();
        assert!(few > many && many > 0.0);
        assert!((few.ln_1p() / many.ln_1p() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn result_is_invariant_to_scale() {
        let runs: Vec<f64> = (0..40)
            .map(|i| 1.0 + f64::from(i * 7 % 11) * 0.01)
            .collect();
        let scaled: Vec<f64> = runs.iter().map(|run| run * 1e-3).collect();
        let difference = noise_floor(&runs, 50).unwrap() - noise_floor(&scaled, 50).unwrap();
        assert!(difference.abs() < 1e-12);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(noise_floor(&[1.0, 2.0], 20).is_err());
        assert!(noise_floor(&[1.0, 2.0, 0.0, 1.0], 20).is_err());
        assert!(noise_floor(&[1.0; 4], 12).is_err());
        assert!(noise_floor(&[f64::MIN_POSITIVE, f64::MAX, 1.0, 1.0], 20).is_err());
        assert_eq!(noise_floor(&[1.0; 4], 13).unwrap(), 0.0);
        assert!(visible_effect(f64::NAN, 20).is_err());
    }
}
