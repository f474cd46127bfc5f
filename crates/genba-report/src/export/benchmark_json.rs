//! Comparisons for services that follow benchmarks over time: `github-action-benchmark` and Bencher.

use std::collections::BTreeMap;

use genba_model::{ComparisonReport, Direction, Variant, VariantMetric};
use genba_units::format;
use serde::Serialize;

use crate::safe_text;

/// A result of `github-action-benchmark`, tool `customSmallerIsBetter` or `customBiggerIsBetter`.
#[derive(Serialize)]
struct ActionResult<'a> {
    name: String,
    unit: &'a str,
    value: f64,
    range: String,
    extra: String,
}

/// Renders the deciding metric of every variant for `github-action-benchmark`: the median with
/// half the width of its interval. The tool is `customSmallerIsBetter`, for rates
/// `customBiggerIsBetter`.
#[must_use]
pub fn github_action_benchmark(report: &ComparisonReport) -> String {
    let results: Vec<ActionResult<'_>> = deciding(report)
        .map(|(variant, metric)| ActionResult {
            name: format!("{} ({})", safe_text::sanitise(&variant.name), report.metric),
            unit: &metric.unit,
            value: metric.median.value,
            range: format!("± {}", half_width(metric)),
            extra: format!(
                "{}\n{}",
                safe_text::sanitise(&variant.command),
                format::plural(u64::from(variant.runs), "run")
            ),
        })
        .collect();
    pretty(&results)
}

/// A value of Bencher's Metric Format.
#[derive(Serialize)]
struct BencherValue {
    value: f64,
    lower_value: f64,
    upper_value: f64,
}

/// Renders all variants in Bencher's Metric Format (`bencher run --adapter json`): the wall time as
/// `latency` in nanoseconds, as that measure is defined there, and the deciding metric under its own
/// name.
#[must_use]
pub fn bencher_json(report: &ComparisonReport) -> String {
    let value = |metric: &VariantMetric, scale: f64| {
        let median = metric.median;
        let all = [median.value, median.low, median.high].map(|one| one * scale);
        all.iter()
            .all(|one| one.is_finite())
            .then_some(BencherValue {
                value: all[0],
                lower_value: all[1],
                upper_value: all[2],
            })
    };
    let mut out: BTreeMap<String, BTreeMap<String, BencherValue>> = BTreeMap::new();
    for variant in report.variants.iter().filter(|one| one.excluded.is_none()) {
        let mut measures = BTreeMap::new();
        if let Some(wall) = variant.metrics.get("wall").and_then(|one| value(one, 1e9)) {
            measures.insert("latency".to_owned(), wall);
        }
        if report.metric != "wall"
            && let Some(own) = variant.metrics.get(&report.metric)
            && let Some(own) = value(own, 1.0)
        {
            measures.insert(safe_text::sanitise(&report.metric), own);
        }
        if !measures.is_empty() {
            out.insert(safe_text::sanitise(&variant.name), measures);
        }
    }
    pretty(&out)
}

/// Returns whether more is better of the deciding metric.
#[must_use]
pub fn bigger_is_better(report: &ComparisonReport) -> bool {
    deciding(report).any(|(_, metric)| metric.direction == Direction::MoreIsBetter)
}

/// The deciding metric of the variants that have it.
fn deciding(report: &ComparisonReport) -> impl Iterator<Item = (&Variant, &VariantMetric)> {
    (report.variants.iter())
        .filter(|variant| variant.excluded.is_none())
        .filter_map(|variant| Some((variant, variant.metrics.get(&report.metric)?)))
        .filter(|(_, metric)| metric.median.value.is_finite())
}

fn half_width(metric: &VariantMetric) -> f64 {
    let median = metric.median;
    let width = (median.high - median.value).max(median.value - median.low);
    if width.is_finite() { width } else { 0.0 }
}

fn pretty(value: &impl Serialize) -> String {
    // Plain numbers and texts: there is nothing in it that could fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
