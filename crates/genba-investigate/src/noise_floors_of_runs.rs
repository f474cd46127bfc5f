//! The noise floor: the smallest differences that comparing two versions of a workload would show.
//! Pure.

use genba_model::{Metric, NoiseFloor, RunRecord};

/// Returns the pairs of a comparison of this workload in about the time of the runs.
fn pairs(runs: usize) -> usize {
    // With fewer pairs there is no verdict.
    (runs / 2).max(genba_stats::MIN_PAIRS)
}

/// Returns the smallest differences that comparing two versions of this workload would show in about
/// the time of its runs; metrics with too few runs are omitted.
#[must_use]
pub fn noise_floors(runs: &[RunRecord]) -> Vec<NoiseFloor> {
    [Metric::Wall, Metric::User]
        .into_iter()
        .filter_map(|metric| {
            let values: Vec<f64> = runs.iter().map(|run| run.metric(metric)).collect();
            // Times of zero have no ratio, such as user time of a program that stays in the kernel.
            if values.len() < MIN_RUNS || values.iter().any(|&value| value <= 0.0) {
                return None;
            }
            let share = genba_stats::noise_floor(&values, pairs(values.len())).ok()?;
            Some(NoiseFloor { metric, share })
        })
        .collect()
}

/// Minimum number of runs for a noise floor: with fewer the scatter is unknown.
pub(crate) const MIN_RUNS: usize = 6;

#[cfg(test)]
mod tests {
    use genba_run::Finished;

    use super::*;

    fn runs(walls: &[f64]) -> Vec<RunRecord> {
        walls
            .iter()
            .map(|&wall| Finished::mock(wall).record)
            .collect()
    }

    #[test]
    fn no_runs_have_no_noise_floor() {
        assert!(noise_floors(&[]).is_empty());
    }

    #[test]
    fn metric_with_times_of_zero_has_no_noise_floor() {
        let floors = noise_floors(&runs(&[1.0, 1.1, 1.0, 1.2, 1.1, 1.0, 1.1, 1.0]));
        assert_eq!(floors.len(), 1, "user time of the mock is 0");
        assert_eq!(floors[0].metric, Metric::Wall);
        assert!(floors[0].share > 0.0);
    }
}
