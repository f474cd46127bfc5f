//! Quantiles and tails of the standard normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// The quantile of the standard normal; NaN unless `p` lies strictly between 0 and 1.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    if p > 0.0 && p < 1.0 {
        Normal::standard().inverse_cdf(p)
    } else {
        f64::NAN
    }
}

/// Two-sided tail: the probability that a standard normal lies at least `z` from 0.
pub(crate) fn two_sided(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// Lower tail.
pub(crate) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}
