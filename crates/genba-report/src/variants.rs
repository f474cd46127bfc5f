//! Ranking of variants, and the values of their runs on a common axis.

use genba_model::{ComparisonReport, Variant};

/// Returns the rank of a variant: `1`, `=2` for ties; empty where there is no ranking.
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

/// Returns the variants that were not excluded, best first where they are ranked.
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
    // Stable: variants without a rank follow in their order.
    list.sort_by_key(|v| places.get(v.name.as_str()).copied().unwrap_or(usize::MAX));
    list
}

/// Returns the finite values of a metric.
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

/// Returns the ends of a common axis for the runs of all variants: from the smallest to the largest
/// value, but at most three interquartile ranges beyond the quartiles of a variant, so that one
/// outlier does not flatten the rest. `None` where all values are equal.
pub(crate) fn axis(variants: &[&Variant], metric: &str) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for variant in variants {
        let mut sorted = values(variant, metric);
        sorted.sort_by(f64::total_cmp);
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else {
            continue;
        };
        let (q1, q3) = (sorted[sorted.len() / 4], sorted[sorted.len() * 3 / 4]);
        // Nearly equal runs have almost no interquartile range.
        let reach = 3.0 * (q3 - q1).max(q3.abs() * 0.002);
        low = low.min(first.max(q1 - reach));
        high = high.max(last.min(q3 + reach));
    }
    (high > low).then_some((low, high))
}

/// Returns the number of runs outside of the axis, which are drawn at its ends.
pub(crate) fn outside_axis(values: &[f64], axis: (f64, f64)) -> usize {
    values.iter().filter(|&&v| v < axis.0 || v > axis.1).count()
}
