//! From interval to verdict.

use genba_model::Estimate;

use crate::StatsError;

/// What a comparison says of a variant against its baseline, for a metric of which less is
/// better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The ratio variant ÷ baseline is below 1.
    Faster,
    /// The ratio is above 1.
    Slower,
    /// No difference larger than delta.
    Same,
    /// Nothing of these is shown yet.
    Undecided,
}

impl Verdict {
    /// The word used in JSON documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
        }
    }

    /// The verdict with baseline and variant changing places.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }

    /// The verdict that an interval of the ratio supports: it excludes 1, or lies inside
    /// 1/(1+delta) … 1+delta, which is symmetric between the variants. An interval that does
    /// both is `Faster` or `Slower`: the difference is real, however small.
    #[must_use]
    pub fn of_ratio(ratio: &Estimate, delta: f64) -> Self {
        if ratio.high < 1.0 {
            Self::Faster
        } else if ratio.low > 1.0 {
            Self::Slower
        } else if equivalent(ratio, delta) {
            Self::Same
        } else {
            Self::Undecided
        }
    }
}

/// Whether the whole interval of the ratio lies within ± delta (a share). With an interval of
/// level 1 − α this is an equivalence test of level α/2 at most (two one-sided tests:
/// Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987)).
#[must_use]
pub fn equivalent(ratio: &Estimate, delta: f64) -> bool {
    delta > 0.0 && ratio.low >= 1.0 / (1.0 + delta) && ratio.high <= 1.0 + delta
}

/// Checks a delta: a share above 0, or 0 for "never the same".
pub(crate) fn check_delta(delta: f64) -> Result<(), StatsError> {
    if delta >= 0.0 && delta.is_finite() {
        Ok(())
    } else {
        Err(StatsError::Parameter {
            name: "delta",
            value: delta,
            range: "at or above 0",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, high: f64) -> Verdict {
        Verdict::of_ratio(
            &Estimate {
                value: low.midpoint(high),
                low,
                high,
            },
            0.01,
        )
    }

    #[test]
    fn verdict_follows_from_the_interval_and_delta() {
        assert_eq!(of(0.90, 0.95), Verdict::Faster);
        assert_eq!(of(1.001, 1.02), Verdict::Slower);
        assert_eq!(of(0.995, 1.005), Verdict::Same);
        assert_eq!(of(0.985, 1.005), Verdict::Undecided);
        // Touching 1 proves nothing.
        assert_eq!(of(1.0, 1.2), Verdict::Undecided);
        assert_eq!(of(1.001, 1.002), Verdict::Slower);
    }

    #[test]
    fn delta_is_symmetric_between_the_variants() {
        for (low, high) in [(0.9901, 1.01), (0.991, 1.0101), (0.9902, 1.0)] {
            assert_eq!(of(low, high).swapped(), of(1.0 / high, 1.0 / low));
        }
        assert!(!equivalent(&Estimate::exact(1.0), 0.0));
        assert!(check_delta(-0.1).is_err() && check_delta(f64::NAN).is_err());
    }
}
