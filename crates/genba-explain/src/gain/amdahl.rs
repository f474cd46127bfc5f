//! Amdahl's law with the bounds of what goes into it.
//!
//! A site with share `p` of the time and residual fraction `r` (time after the fix ÷ time before):
//! the program becomes 1 ÷ (1 − p·(1 − r)) times faster (G. Amdahl, AFIPS 1967). The bounds are those of the
//! sampling interval of `p` and of the detector's range of `r`: they say whether there is a gain at all. What
//! fixes gain is not within them as often as they look; `calibration` makes the reported interval of outcomes.

use crate::constants::gains::{
    MAX_SPEEDUP_IF_TIME_UNKNOWN, MAX_SPEEDUP_VALUE, MIN_MAX_SPEEDUP, MIN_RESIDUAL_TIME,
    PROCESS_START_SECONDS,
};
use genba_model::Estimate;

/// Old ÷ new time of a program of `cpu_seconds` (0 if unknown) by the model; `None` where nothing is gained.
pub(crate) fn speedup(
    share: Estimate,
    residual_fraction: Estimate,
    cpu_seconds: f64,
) -> Option<Estimate> {
    let most = max_speedup(cpu_seconds);
    let gain = |p: f64, r: f64| {
        let after = 1.0 - p.clamp(0.0, 1.0) * (1.0 - r.clamp(0.0, 1.0));
        (1.0 / after.max(MIN_RESIDUAL_TIME)).min(most)
    };
    let value = gain(share.value, residual_fraction.value).min(MAX_SPEEDUP_VALUE);
    let found = Estimate {
        value,
        low: gain(share.low, residual_fraction.high).clamp(1.0, value.max(1.0)),
        high: gain(share.high, residual_fraction.low).max(value),
    };
    (found.value > 1.0 && found.value.is_finite()).then_some(found)
}

/// The largest speedup that any change may have: only starting and ending remain.
pub(crate) fn max_speedup(cpu_seconds: f64) -> f64 {
    let most = cpu_seconds / PROCESS_START_SECONDS;
    if most > 0.0 {
        most.max(MIN_MAX_SPEEDUP)
    } else {
        MAX_SPEEDUP_IF_TIME_UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Estimate = Estimate {
        value: 0.5,
        low: 0.4,
        high: 0.6,
    };

    #[test]
    fn half_of_the_time_removed_doubles_the_speed_within_both_intervals() {
        let residual = Estimate {
            value: 0.0,
            low: 0.0,
            high: 0.5,
        };
        let gain = speedup(HALF, residual, 0.0).expect("a gain");
        assert!((gain.value - 2.0).abs() < 1e-12);
        assert!((gain.low - 1.25).abs() < 1e-12);
        assert!((gain.high - 2.5).abs() < 1e-12);
    }

    #[test]
    fn unchanged_time_gains_nothing() {
        assert_eq!(speedup(HALF, Estimate::exact(1.0), 0.0), None);
    }

    #[test]
    fn speedup_is_bounded_by_process_start_where_nearly_all_time_goes() {
        let all = Estimate::exact(0.9999);
        let gain = speedup(all, Estimate::exact(0.0), 700.0 * PROCESS_START_SECONDS);
        let gain = gain.expect("a gain");
        assert!((gain.value - MAX_SPEEDUP_VALUE).abs() < 1e-9 && gain.high <= 700.0);
        assert!(gain.low <= gain.value && gain.low > 10.0);
    }
}
