//! What repeated runs say together. Pure.

use genba_explain::causes::RunFacts;
use genba_model::{Metric, MetricSummary, NoiseFloor, RunRecord, RunSummary};

/// How far a run must lie from the median, in units of the scaled MAD, to be shown as an
/// outlier (Iglewicz and Hoaglin's recommendation).
const OUTLIER: f64 = 3.5;

/// Pairs that a comparison of this workload would make in about the time that the runs took.
fn pairs(runs: usize) -> usize {
    // Fewer pairs decide nothing, however plain the case.
    (runs / 2).max(genba_stats::MIN_PAIRS)
}

/// Summarises runs; every run counts.
#[must_use]
pub fn summarise(runs: Vec<RunRecord>) -> RunSummary {
    let values =
        |metric: Metric| -> Vec<f64> { runs.iter().map(|run| run.metric(metric)).collect() };
    let metrics = Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let values = values(metric);
            let median = genba_stats::median_interval(&values, 0.95).ok()?;
            Some(MetricSummary {
                metric,
                unit: metric.unit(),
                median: median.estimate,
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
                max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            })
        })
        .collect();
    let outliers = genba_stats::outliers(&values(Metric::Wall), OUTLIER)
        .unwrap_or_default()
        .iter()
        .filter_map(|outlier| u32::try_from(outlier.index).ok())
        .collect();
    RunSummary {
        runs,
        metrics,
        outliers,
    }
}

/// What an explanation must know of the runs.
#[must_use]
pub fn facts(runs: &RunSummary) -> RunFacts {
    let median = |metric: Metric| {
        let found = runs.metrics.iter().find(|one| one.metric == metric);
        found.map(|one| one.median.value)
    };
    RunFacts {
        cpu_seconds: median(Metric::Cpu).unwrap_or(0.0),
        wall_seconds: median(Metric::Wall).unwrap_or(0.0),
        minor_faults: median(Metric::MinorFaults),
        max_rss_bytes: median(Metric::MaxRss),
    }
}

/// The least gain that is worth telling, as a share of the time: what a comparison could show,
/// at least [`WORTHWHILE`] and at most [`NOISIEST`].
#[must_use]
pub fn least_gain(floors: &[NoiseFloor]) -> f64 {
    let least = floors.iter().map(|floor| floor.share).reduce(f64::min);
    least.unwrap_or(0.0).clamp(WORTHWHILE, NOISIEST)
}

/// However noisy the machine is: samples and counts tell of larger gains all the same.
const NOISIEST: f64 = 0.15;

/// Nobody changes a program for less.
const WORTHWHILE: f64 = 0.02;

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
    fn every_run_counts_and_the_far_one_is_named() {
        let summary = summarise(runs(&[1.0, 1.01, 0.99, 1.02, 1.0, 1.01, 5.0]));
        assert_eq!(summary.runs.len(), 7);
        assert_eq!(summary.outliers, vec![6]);
        let wall = &summary.metrics[0];
        assert_eq!(wall.metric, Metric::Wall);
        assert_eq!((wall.min, wall.median.value, wall.max), (0.99, 1.01, 5.0));
    }

    #[test]
    fn no_runs_say_nothing() {
        let summary = summarise(Vec::new());
        assert!(summary.metrics.is_empty() && summary.outliers.is_empty());
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
