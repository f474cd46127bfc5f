//! How many samples are enough, and the sampling rates that follow from a run's length.

use genba_profile::sampler::DEFAULT_RATE_HZ;
use genba_runtime::script::DEFAULT_SCRIPT_RATE_HZ;

/// Number of samples that are enough for instructions and for script functions: 1 % of the time is
/// then known to ±0.2 %.
pub(crate) const ENOUGH_SAMPLES: u64 = 10_000;

/// Number of samples with stacks that are enough for totals and a flame graph.
pub(crate) const ENOUGH_STACK_SAMPLES: u64 = 4000;

/// Share of the budget for each of the two recordings; a run is never interrupted.
pub(crate) const SHARE_OF_BUDGET_PER_RECORDING: f64 = 0.25;

/// Lowest sampling rate that is chosen for long runs, Hz.
const MIN_RATE_HZ: u64 = 49;

/// Returns the rate of samples with stack copies for a run of `wall` seconds, Hz:
/// [`ENOUGH_STACK_SAMPLES`] in all, so that the recording's size does not grow with the run's length.
pub(crate) fn stack_rate_for(wall: f64) -> u64 {
    rate_for(ENOUGH_STACK_SAMPLES, wall).clamp(MIN_RATE_HZ, DEFAULT_RATE_HZ)
}

/// Returns the rate of samples of script frames for a command with so much CPU time, Hz: a longer
/// command is stopped less often.
pub(crate) fn script_rate_for(cpu_seconds: f64) -> u64 {
    rate_for(ENOUGH_SAMPLES, cpu_seconds).clamp(MIN_RATE_HZ, DEFAULT_SCRIPT_RATE_HZ)
}

fn rate_for(samples: u64, seconds: f64) -> u64 {
    (samples as f64 / seconds.max(1e-3)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_have_a_lower_rate_of_stack_copies() {
        assert_eq!((stack_rate_for(0.001), stack_rate_for(1e6)), (4999, 49));
        assert_eq!(stack_rate_for(4.0), 1000);
    }

    #[test]
    fn script_sampling_rate_falls_with_the_cpu_time() {
        assert_eq!(
            (script_rate_for(0.0), script_rate_for(5.0)),
            (DEFAULT_SCRIPT_RATE_HZ, DEFAULT_SCRIPT_RATE_HZ)
        );
        assert_eq!((script_rate_for(100.0), script_rate_for(1e6)), (100, 49));
    }
}
