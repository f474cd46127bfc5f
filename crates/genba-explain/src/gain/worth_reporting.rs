//! Which gains are large and certain enough to be reported.

use crate::constants::gains::{MIN_CERTAIN_GAIN, MIN_GAIN_IF_UNCERTAIN};
use genba_model::Estimate;

/// Whether a gain (old ÷ new time) reaches `min_gain`, a share of the time, and is not a small one
/// that may be none.
pub(crate) fn is_worth_reporting(gain: Estimate, min_gain: f64) -> bool {
    let likely = 1.0 - 1.0 / gain.value;
    let uncertain = gain.low < 1.0 + MIN_CERTAIN_GAIN && likely < MIN_GAIN_IF_UNCERTAIN;
    likely >= min_gain && !uncertain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(value: f64, low: f64) -> Estimate {
        Estimate {
            value,
            low,
            high: 2.0 * value,
        }
    }

    #[test]
    fn gains_below_the_minimum_are_not_reported() {
        assert!(is_worth_reporting(gain(1.25, 1.1), 0.15));
        assert!(!is_worth_reporting(gain(1.25, 1.1), 0.25));
    }

    #[test]
    fn small_gains_are_reported_only_when_certain() {
        assert!(is_worth_reporting(gain(1.04, 1.02), 0.02));
        assert!(!is_worth_reporting(gain(1.04, 1.0), 0.02));
        assert!(is_worth_reporting(gain(1.10, 1.0), 0.02), "large enough");
    }
}
