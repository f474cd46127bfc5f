//! Amdahl's law with intervals.
//!
//! A site with share `p` of the time and residual fraction `r` (time after the fix ÷ time before):
//! the program becomes 1 ÷ (1 − p·(1 − r)) times faster (G. Amdahl, AFIPS 1967). The interval
//! combines the sampling interval of `p` with the detector's bounds of `r`.

use crate::constants::gains::{
    MAX_SPEEDUP_IF_TIME_UNKNOWN, MAX_SPEEDUP_VALUE, MIN_MAX_SPEEDUP, MIN_RESIDUAL_TIME,
    NEARLY_ALL_GONE_SPEEDUP, NEARLY_ALL_GONE_UNCERTAINTY, PROCESS_START_SECONDS,
    SHARE_OF_INTERRUPTS, UNCHANGED_TIME_UNCERTAINTY,
};
use genba_model::Estimate;

/// Old ÷ new time of a program of `cpu_seconds` (0 if unknown); `None` where nothing is gained.
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
    // The time that is not changed is the larger part of the new time the more is gained, and it
    // is not known exactly: caches and predictors serve it better, or what was hidden shows.
    // Where nearly all goes, starting and ending remain, which samples hardly see.
    let uncertainty = |gain: f64| {
        let gain = gain.max(1.0);
        1.0 + UNCHANGED_TIME_UNCERTAINTY * (1.0 - 1.0 / gain)
            + NEARLY_ALL_GONE_UNCERTAINTY * (1.0 - NEARLY_ALL_GONE_SPEEDUP / gain).max(0.0)
    };
    let low = gain(share.low, residual_fraction.high);
    let high = gain(share.high, residual_fraction.low);
    // The samples elsewhere are then as many as interrupts and starting take, which go along.
    let high = match high >= NEARLY_ALL_GONE_SPEEDUP {
        true => gain(share.high + SHARE_OF_INTERRUPTS, residual_fraction.low),
        false => high,
    };
    let value = gain(share.value, residual_fraction.value).min(MAX_SPEEDUP_VALUE);
    let found = Estimate {
        value,
        low: (low / uncertainty(low)).clamp(1.0, value.max(1.0)),
        high: (high * uncertainty(high)).min(most).max(value),
    };
    (found.value > 1.0 && found.value.is_finite()).then_some(found)
}

/// The largest speedup that any change may have: only starting and ending remain.
fn max_speedup(cpu_seconds: f64) -> f64 {
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
        assert!((gain.low - 1.25 / 1.02).abs() < 1e-12);
        assert!((gain.high - 2.5 * 1.06).abs() < 1e-12);
    }

    #[test]
    fn unchanged_time_gains_nothing() {
        assert_eq!(speedup(HALF, Estimate::exact(1.0), 0.0), None);
    }

    #[test]
    fn samples_of_interrupts_do_not_bound_what_nearly_all_time_is_gained_of() {
        let gain = |share: f64| {
            let gain = speedup(Estimate::exact(share), Estimate::exact(0.0), 1.0);
            gain.expect("a gain").high
        };
        assert!(gain(0.985) > 1000.0);
        assert!(gain(0.8) < 6.0);
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
