//! Values far from the rest: counted and shown, never taken out.

use crate::quantile::{MAD_TO_SIGMA, mad_about, median_of_sorted};
use crate::{StatsError, input_checks};

/// The threshold of Iglewicz and Hoaglin, *How to Detect and Handle Outliers* (1993).
pub const OUTLIER_THRESHOLD: f64 = 3.5;

/// A value far from the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Where it stands in the series.
    pub index: usize,
    /// Modified z-score: its distance from the median in robust standard deviations, signed.
    pub score: f64,
}

/// The values whose modified z-score lies beyond `threshold` (usually [`OUTLIER_THRESHOLD`]).
///
/// The score is (x − median) ÷ (1.4826 · MAD) (Iglewicz and Hoaglin). Where more than half of the
/// values are equal the MAD is 0, and 1.2533 · mean absolute deviation takes its place, as the
/// same authors propose; where all are equal there is no outlier. Fewer than three values have
/// none.
///
/// # Errors
/// No values, a value that is not finite, a threshold that is not above 0.
pub fn outliers(values: &[f64], threshold: f64) -> Result<Vec<Outlier>, StatsError> {
    input_checks::finite(values, 1)?;
    if !(threshold > 0.0 && threshold.is_finite()) {
        return Err(StatsError::Parameter {
            name: "outlier threshold",
            value: threshold,
            range: "above 0",
        });
    }
    if values.len() < 3 {
        return Ok(Vec::new());
    }
    let centre = median_of_sorted(&input_checks::sorted(values));
    let Some(scale) = robust_scale(values, centre) else {
        return Ok(Vec::new());
    };
    Ok(values
        .iter()
        .enumerate()
        .map(|(index, value)| Outlier {
            index,
            score: (value - centre) / scale,
        })
        .filter(|outlier| outlier.score.abs() > threshold)
        .collect())
}

/// 1.4826 · MAD, or 1.2533 · mean absolute deviation where that is 0; `None` if both are 0 or
/// the values are too large to tell.
pub(crate) fn robust_scale(values: &[f64], centre: f64) -> Option<f64> {
    let mut scale = MAD_TO_SIGMA * mad_about(values, centre);
    if scale == 0.0 {
        // √(π/2) makes the mean absolute deviation a standard deviation.
        let mean = values
            .iter()
            .map(|value| (value - centre).abs())
            .sum::<f64>()
            / values.len() as f64;
        scale = (std::f64::consts::PI / 2.0).sqrt() * mean;
    }
    (scale > 0.0 && scale.is_finite()).then_some(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(values: &[f64]) -> Vec<usize> {
        outliers(values, OUTLIER_THRESHOLD)
            .unwrap()
            .iter()
            .map(|outlier| outlier.index)
            .collect()
    }

    #[test]
    fn distant_value_is_an_outlier() {
        assert_eq!(indices(&[1.0, 1.1, 9.0, 0.9, 1.05, 0.95]), [2]);
        assert_eq!(indices(&[1.0, 1.1, 0.9, 1.05]), [0usize; 0]);
    }

    #[test]
    fn ties_do_not_make_other_values_outliers() {
        let mut values = vec![4.0; 20];
        assert_eq!(indices(&values), [0usize; 0]);
        values.push(400.0);
        assert_eq!(indices(&values), [20]);
        // A coarse clock: many equal, some one tick off.
        let coarse = [4.0, 4.0, 4.0, 4.0, 4.0, 8.0, 0.0, 8.0, 0.0];
        assert_eq!(indices(&coarse), [0usize; 0]);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(outliers(&[], 3.5).is_err());
        assert!(outliers(&[1.0], f64::NAN).is_err());
        assert!(outliers(&[1.0, f64::NAN], 3.5).is_err());
    }
}
