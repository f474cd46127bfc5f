//! The noise floor: the smallest differences that comparing two versions of a workload would show.
//! Pure.

use genba_model::{Metric, NoiseFloor, RunRecord};

/// Pairs that a comparison of this workload would make in about the time that the runs took.
fn pairs(runs: usize) -> usize {
    // Fewer pairs decide nothing, however plain the case.
    (runs / 2).max(genba_stats::MIN_PAIRS)
}

/// The smallest differences that comparing two versions of this workload would show in about
/// the time that its runs took; metrics for which there are too few runs are left out.
#[must_use]
pub fn noise_floors(runs: &[RunRecord]) -> Vec<NoiseFloor> {
    [Metric::Wall, Metric::User]
        .into_iter()
        .filter_map(|metric| {
            let values: Vec<f64> = runs.iter().map(|run| run.metric(metric)).collect();
            // Times of zero have no ratio: a program that never leaves the kernel.
            if values.len() < MIN_RUNS || values.iter().any(|&value| value <= 0.0) {
                return None;
            }
            let share = genba_stats::noise_floor(&values, pairs(values.len())).ok()?;
            Some(NoiseFloor { metric, share })
        })
        .collect()
}

/// With fewer runs the scatter is a guess.
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
    fn a_time_of_zero_has_no_noise_floor() {
        let floors = noise_floors(&runs(&[1.0, 1.1, 1.0, 1.2, 1.1, 1.0, 1.1, 1.0]));
        assert_eq!(floors.len(), 1, "user time of the mock is 0");
        assert_eq!(floors[0].metric, Metric::Wall);
        assert!(floors[0].share > 0.0);
    }
}
