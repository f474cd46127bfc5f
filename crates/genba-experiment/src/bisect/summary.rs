//! The values of the runs of one variant as its metrics.

use std::collections::BTreeMap;

use genba_model::{Direction, Metric, VariantMetric};
use genba_stats::{median_interval, midmean};

use crate::{Plan, direction_of};

const LEVEL: f64 = 0.95;

/// Unit and direction of a metric.
pub(super) fn unit_of(plan: &Plan, name: &str) -> (String, Direction) {
    if let Some(metric) = Metric::ALL.iter().find(|metric| metric.name() == name) {
        let unit = match metric.unit() {
            genba_model::Unit::Seconds => "seconds",
            genba_model::Unit::Bytes => "bytes",
            genba_model::Unit::Count => "count",
        };
        return (unit.to_owned(), Direction::LessIsBetter);
    }
    if let Some(metric) = plan.metrics.iter().find(|metric| metric.name == name) {
        return (metric.unit.clone(), metric.direction());
    }
    if plan.counters.iter().any(|counter| counter == name) {
        return ("count".to_owned(), Direction::LessIsBetter);
    }
    (String::new(), direction_of(""))
}

/// All metrics of a variant: `runs` holds the values of each run by name.
pub(super) fn metrics(
    plan: &Plan,
    runs: &[BTreeMap<String, f64>],
) -> BTreeMap<String, VariantMetric> {
    let names: std::collections::BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    (names.into_iter())
        .filter_map(|name| {
            let values: Vec<Option<f64>> = runs.iter().map(|run| run.get(name).copied()).collect();
            Some((name.clone(), metric(plan, name, values)?))
        })
        .collect()
}

fn metric(plan: &Plan, name: &str, values: Vec<Option<f64>>) -> Option<VariantMetric> {
    let finite: Vec<f64> = values.iter().flatten().copied().collect();
    let median = median_interval(&finite, LEVEL).ok()?.estimate;
    let count = finite.len() as f64;
    // Divided before the sum, so that no sum of large values becomes infinite.
    let mean: f64 = finite.iter().map(|value| value / count).sum();
    let squares: f64 = (finite.iter())
        .map(|value| (value - mean).powi(2) / (count - 1.0))
        .sum();
    let (unit, direction) = unit_of(plan, name);
    Some(VariantMetric {
        median,
        midmean: (finite.len() >= 4)
            .then(|| midmean(&finite, LEVEL).ok())
            .flatten()
            .map(|interval| interval.estimate),
        mean,
        stddev: (finite.len() > 1 && squares.is_finite()).then(|| squares.sqrt()),
        min: finite.iter().copied().fold(f64::INFINITY, f64::min),
        max: finite.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        unit,
        direction,
        values,
    })
}
