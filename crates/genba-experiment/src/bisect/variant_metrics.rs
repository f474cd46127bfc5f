//! Metrics of one variant from the values of its runs.

use std::collections::BTreeMap;

use genba_model::{Direction, Metric, VariantMetric};

use crate::comparison_report::summary;
use crate::{Plan, direction_of};

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
            let (unit, direction) = unit_of(plan, name);
            let values: Vec<f64> = (runs.iter())
                .map(|run| run.get(name).copied().unwrap_or(f64::NAN))
                .collect();
            Some((name.clone(), summary(&unit, direction, &values)?))
        })
        .collect()
}
