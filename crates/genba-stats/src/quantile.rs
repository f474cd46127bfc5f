//! Quantiles and the median absolute deviation.

use crate::{StatsError, input_checks};

/// The `p`-quantile by linear interpolation of the order statistics: type 7 of Hyndman and Fan,
/// "Sample quantiles in statistical packages", The American Statistician 50 (1996), the default
/// of R and NumPy.
///
/// # Errors
/// No values, a value that is not finite, `p` outside 0…1.
pub fn quantile(values: &[f64], p: f64) -> Result<f64, StatsError> {
    input_checks::finite(values, 1)?;
    if !(0.0..=1.0).contains(&p) {
        return Err(StatsError::Parameter {
            name: "quantile",
            value: p,
            range: "between 0 and 1",
        });
    }
    Ok(quantile_of_sorted(&input_checks::sorted(values), p))
}

/// The median.
///
/// # Errors
/// No values, or a value that is not finite.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    input_checks::finite(values, 1)?;
    Ok(median_of_sorted(&input_checks::sorted(values)))
}

/// The median absolute deviation from the median, as it is: multiply by [`MAD_TO_SIGMA`] for
/// the standard deviation of normal data.
///
/// # Errors
/// No values, or a value that is not finite.
pub fn mad(values: &[f64]) -> Result<f64, StatsError> {
    input_checks::finite(values, 1)?;
    let centre = median_of_sorted(&input_checks::sorted(values));
    Ok(mad_about(values, centre))
}

/// 1/Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Median of the distances from `centre`.
pub(crate) fn mad_about(values: &[f64], centre: f64) -> f64 {
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median_of_sorted(&input_checks::sorted(&distances))
}

/// Median of sorted, non-empty, finite values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        sorted[half - 1].midpoint(sorted[half])
    }
}

/// Type-7 quantile of sorted, non-empty, finite values.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = place.floor();
    let index = below as usize;
    let above = (index + 1).min(sorted.len() - 1);
    let weight = place - below;
    // Weighted as two products, so that ends of opposite sign and huge size do not overflow.
    sorted[index] * (1.0 - weight) + sorted[above] * weight
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_r() {
        // R: quantile(c(1, 2, 4, 8, 16), c(.1, .25, .5, .9)); mad(..., constant = 1)
        let values = [16.0, 1.0, 4.0, 2.0, 8.0];
        let near = |p: f64, expected: f64| {
            assert!((quantile(&values, p).unwrap() - expected).abs() < 1e-12);
        };
        near(0.1, 1.4);
        near(0.25, 2.0);
        near(0.5, 4.0);
        near(0.9, 12.8);
        assert_eq!(mad(&values).unwrap(), 3.0);
        assert_eq!(median(&[1.0, 2.0]).unwrap(), 1.5);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(median(&[]).is_err());
        assert!(mad(&[1.0, f64::NAN]).is_err());
        assert!(quantile(&[1.0], 1.1).is_err());
        assert!(quantile(&[1.0], f64::NAN).is_err());
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(values in prop::collection::vec(-1e9..1e9f64, 1..60), p in 0.0..1.0f64, q in 0.0..1.0f64) {
            let (p, q) = (p.min(q), p.max(q));
            let (low, high) = (quantile(&values, p).unwrap(), quantile(&values, q).unwrap());
            let sorted = input_checks::sorted(&values);
            let slack = 1e-6;
            prop_assert!(low <= high + slack);
            prop_assert!(sorted[0] - slack <= low && high <= sorted[sorted.len() - 1] + slack);
        }

        #[test]
        fn huge_values_do_not_overflow(values in prop::collection::vec(prop::num::f64::NORMAL, 1..20), p in 0.0..=1.0f64) {
            prop_assert!(quantile(&values, p).unwrap().is_finite());
            prop_assert!(median(&values).unwrap().is_finite());
        }
    }
}
