//! Summary of repeated runs: medians, outliers, noise floors. Pure.

use genba_explain::RunFacts;
use genba_model::{Metric, MetricSummary, NoiseFloor, RunRecord, RunSummary};

/// Distance of an outlier from the median, in scaled MADs (recommended by Iglewicz and Hoaglin, "How
/// to Detect and Handle Outliers", 1993).
const MIN_MADS_OF_OUTLIER: f64 = 3.5;

/// Summarises runs; outliers are retained.
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
    let outliers = genba_stats::outliers(&values(Metric::Wall), MIN_MADS_OF_OUTLIER)
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
pub fn run_facts(runs: &RunSummary) -> RunFacts {
    let median = |metric: Metric| {
        let found = runs.metrics.iter().find(|one| one.metric == metric);
        found.map(|one| one.median.value)
    };
    // Of runs that read more, the more: it bounds what there is to read.
    let read = runs.runs.iter().map(|run| run.read_bytes);
    RunFacts {
        input_bytes: None,
        read_bytes: read
            .collect::<Option<Vec<u64>>>()
            .and_then(|all| all.into_iter().max()),
        cpu_seconds: median(Metric::Cpu).unwrap_or(0.0),
        wall_seconds: median(Metric::Wall).unwrap_or(0.0),
        minor_faults: median(Metric::MinorFaults),
        max_rss_bytes: median(Metric::MaxRss),
    }
}

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
            if values.len() < MIN_RUNS_FOR_NOISE_FLOOR || values.iter().any(|&value| value <= 0.0) {
                return None;
            }
            let share = genba_stats::noise_floor(&values, pairs(values.len())).ok()?;
            Some(NoiseFloor { metric, share })
        })
        .collect()
}

/// Minimum number of runs for a noise floor: with fewer the scatter is unknown.
pub(crate) const MIN_RUNS_FOR_NOISE_FLOOR: usize = 6;

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
    fn outliers_are_named_and_retained() {
        let summary = summarise(runs(&[1.0, 1.01, 0.99, 1.02, 1.0, 1.01, 5.0]));
        assert_eq!(summary.runs.len(), 7);
        assert_eq!(summary.outliers, vec![6]);
        let wall = &summary.metrics[0];
        assert_eq!(wall.metric, Metric::Wall);
        assert_eq!((wall.min, wall.median.value, wall.max), (0.99, 1.01, 5.0));
    }

    #[test]
    fn summary_of_no_runs_is_empty() {
        let summary = summarise(Vec::new());
        assert!(summary.metrics.is_empty() && summary.outliers.is_empty());
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
