//! Shares with intervals.

use genba_model::Estimate;

use crate::{StatsError, input_checks, normal_distribution};

/// Wilson's score interval for a share of `successes` in `trials`. Source: Wilson, "Probable
/// inference…", JASA 22 (1927); recommended by Brown, Cai and DasGupta, Statistical Science 16
/// (2001). It stays inside 0…1 and works for 0 and for all. Counts may be fractions (a sample
/// split over several places).
///
/// Samples of a profile are not quite independent of one another; the interval is that of the
/// sampling alone, not of another run's difference.
///
/// # Errors
/// No trials, counts that are not finite, negative or more successes than trials, a level
/// outside 0…1.
pub fn wilson(successes: f64, trials: f64, level: f64) -> Result<Estimate, StatsError> {
    input_checks::open_unit("level", level)?;
    if !(trials > 0.0 && trials.is_finite()) {
        return Err(StatsError::Parameter {
            name: "number of trials",
            value: trials,
            range: "above 0",
        });
    }
    // Sums of many fractions may pass the total by a rounding error.
    if !(successes >= 0.0 && successes <= trials * (1.0 + 1e-9)) {
        return Err(StatsError::Parameter {
            name: "number of successes",
            value: successes,
            range: "between 0 and the number of trials",
        });
    }
    let share = (successes / trials).min(1.0);
    let z = normal_distribution::quantile(0.5 + level / 2.0);
    // Multiplied through by the trials, so that neither few nor many of them overflow.
    let z2 = z * z;
    let centre = (share * trials + z2 / 2.0) / (trials + z2);
    let half = z / (trials + z2) * (share * trials * (1.0 - share) + z2 / 4.0).sqrt();
    // At the ends the formula gives 0 and 1 up to rounding; the value never leaves the interval.
    Ok(Estimate {
        value: share,
        low: (centre - half).clamp(0.0, share),
        high: (centre + half).clamp(share, 1.0),
    })
}

/// Wilson's interval for a share of weighted samples: `inside` is the sum of the weights that
/// count, `total` that of all, `squares` the sum of all squared weights. The number of trials is
/// the effective sample size of Kish, *Survey Sampling* (1965): total² ÷ squares.
///
/// # Errors
/// As [`wilson`]; and squares that are not above 0.
pub fn wilson_weighted(
    inside: f64,
    total: f64,
    squares: f64,
    level: f64,
) -> Result<Estimate, StatsError> {
    let size = effective_size(total, squares)?;
    if !(inside >= 0.0 && inside <= total * (1.0 + 1e-9)) {
        return Err(StatsError::Parameter {
            name: "weight inside",
            value: inside,
            range: "between 0 and the total weight",
        });
    }
    wilson((inside / total).min(1.0) * size, size, level)
}

/// Effective number of equally weighted samples: total² ÷ sum of squares, at least 1.
///
/// # Errors
/// Sums that are not finite and above 0.
pub fn effective_size(total: f64, squares: f64) -> Result<f64, StatsError> {
    for (name, value) in [("total weight", total), ("sum of squared weights", squares)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(StatsError::Parameter {
                name,
                value,
                range: "above 0",
            });
        }
    }
    // In this order neither a huge nor a tiny total overflows before the division.
    Ok((total / squares * total).clamp(1.0, f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_published_values() {
        // Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        for (k, n, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let share = wilson(k, n, 0.95).unwrap();
            assert!((share.low - low).abs() < 5e-5, "{k}/{n}: {share:?}");
            assert!((share.high - high).abs() < 5e-5, "{k}/{n}: {share:?}");
        }
    }

    #[test]
    fn equal_weights_give_the_unweighted_interval() {
        let plain = wilson(30.0, 100.0, 0.95).unwrap();
        let weighted = wilson_weighted(30.0 * 7.0, 100.0 * 7.0, 100.0 * 49.0, 0.95).unwrap();
        assert!((plain.low - weighted.low).abs() < 1e-12);
        assert!((plain.high - weighted.high).abs() < 1e-12);
    }

    #[test]
    fn one_heavy_sample_widens_the_interval() {
        let weighted = wilson_weighted(50.0, 100.0, 50.0f64.powi(2) + 50.0, 0.95).unwrap();
        assert!(weighted.high - weighted.low > 0.6);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert!(wilson(1.0, 0.0, 0.95).is_err());
        assert!(wilson(2.0, 1.0, 0.95).is_err());
        assert!(wilson(f64::NAN, 1.0, 0.95).is_err());
        assert!(wilson(-1.0, 1.0, 0.95).is_err());
        assert!(wilson_weighted(1.0, 0.0, 0.0, 0.95).is_err());
        assert!(wilson_weighted(2.0, 1.0, 1.0, 0.95).is_err());
    }

    proptest! {
        #[test]
        fn stays_inside(k in 0u32..1000, more in 0u32..1000, level in 0.01..0.999f64) {
            let n = k + more;
            prop_assume!(n > 0);
            let share = wilson(f64::from(k), f64::from(n), level).unwrap();
            prop_assert!(0.0 <= share.low && share.low <= share.value);
            prop_assert!(share.value <= share.high && share.high <= 1.0);
            let other = wilson(f64::from(more), f64::from(n), level).unwrap();
            prop_assert!((share.low - (1.0 - other.high)).abs() < 1e-9);
        }
    }
}
