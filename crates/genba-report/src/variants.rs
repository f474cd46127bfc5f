//! Variants in their order, and their runs on a common axis.

use genba_model::{ComparisonReport, Variant};

/// Place in the ranking of every variant: `1`, `=2`; empty where nothing was ranked.
pub(crate) fn rank(report: &ComparisonReport, variant: &str) -> String {
    let mut before = 0;
    for group in &report.ranks {
        if group.iter().any(|name| name == variant) {
            let tie = if group.len() > 1 { "=" } else { "" };
            return format!("{tie}{}", before + 1);
        }
        before += group.len();
    }
    String::new()
}

/// The variants that stayed in, best first where they are ranked, else in their order.
pub(crate) fn ordered(report: &ComparisonReport) -> Vec<&Variant> {
    let mut list: Vec<&Variant> = report
        .variants
        .iter()
        .filter(|v| v.excluded.is_none())
        .collect();
    let places: std::collections::HashMap<&str, usize> = report
        .ranks
        .iter()
        .enumerate()
        .flat_map(|(place, group)| group.iter().map(move |name| (name.as_str(), place)))
        .collect();
    // Stable: what was not ranked stays behind, in its order.
    list.sort_by_key(|v| places.get(v.name.as_str()).copied().unwrap_or(usize::MAX));
    list
}

/// Finite values of a metric.
pub(crate) fn values(variant: &Variant, metric: &str) -> Vec<f64> {
    variant
        .metrics
        .get(metric)
        .map(|m| {
            m.values
                .iter()
                .flatten()
                .copied()
                .filter(|v| v.is_finite())
                .collect()
        })
        .unwrap_or_default()
}

/// Ends of a common axis for the runs of all variants: from the smallest value to the largest,
/// but no further than three interquartile ranges beyond the quartiles of some variant, so that
/// one run does not flatten the rest. `None` without two values that differ.
pub(crate) fn axis(variants: &[&Variant], metric: &str) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for variant in variants {
        let mut sorted = values(variant, metric);
        sorted.sort_by(f64::total_cmp);
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else {
            continue;
        };
        let (q1, q3) = (sorted[sorted.len() / 4], sorted[sorted.len() * 3 / 4]);
        // Runs that are nearly all equal have no range to speak of.
        let reach = 3.0 * (q3 - q1).max(q3.abs() * 0.002);
        low = low.min(first.max(q1 - reach));
        high = high.max(last.min(q3 + reach));
    }
    (high > low).then_some((low, high))
}

/// Runs that lie beyond the axis, and are drawn at its ends.
pub(crate) fn beyond(values: &[f64], axis: (f64, f64)) -> usize {
    values.iter().filter(|&&v| v < axis.0 || v > axis.1).count()
}
