//! Sentences of a bisection: the culprit with its effect, the effort, the confidence.

use genba_model::{Bisection, BisectionKind, BisectionOutcome, Culprit, Estimate, Variant};
use genba_units::format;

use crate::wording::metrics;

/// Returns the title: what was searched, and the command.
pub(crate) fn title(all: &Bisection) -> String {
    let what = match all.of {
        BisectionKind::Range => "bisection of a range",
        BisectionKind::Git => "bisection of commits",
        BisectionKind::Set => "bisection of a set",
        BisectionKind::Source => "cost of source regions",
    };
    format!("{what}: {}", all.command)
}

/// Returns a signed percentage with the given number of decimals: `+2.1 %`.
fn signed(share: f64, places: usize) -> String {
    format!("{:+.places$} %", share * 100.0).replace('-', "−")
}

/// Returns a share in percent; an empty string where it is not a number.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return String::new();
    }
    // Of what is more than the baseline no decimal is known.
    let places = if share.abs() < 1.0 { 1 } else { 0 };
    format!("{:.places$} %", 100.0 * share).replace('-', "−")
}

/// Returns the change of the metric by a culprit: `wall time +2.1 % (+1.5 % … +2.8 %)`.
pub(crate) fn change(all: &Bisection, ratio: &Estimate) -> String {
    let metric = metrics::phrase(&all.metric);
    let half = 50.0 * (ratio.high - ratio.low);
    let places = match half {
        half if half >= 5.0 => 0,
        half if half >= 0.1 => 1,
        _ => 2,
    };
    let value = signed(ratio.value - 1.0, places);
    if ratio.low == ratio.high {
        return format!("{metric} {value}");
    }
    format!(
        "{metric} {value} ({} … {})",
        signed(ratio.low - 1.0, places),
        signed(ratio.high - 1.0, places)
    )
}

/// Returns the effect of a culprit as one sentence.
pub(crate) fn culprit(all: &Bisection, one: &Culprit) -> String {
    let mut text = one.ratio.map_or(String::new(), |ratio| change(all, &ratio));
    if let Some(before) = &one.before {
        text.push_str(&format!(" compared with {before}"));
    }
    if !one.verified {
        text.push_str(", not verified");
    }
    text.trim_start_matches([' ', ',']).to_owned()
}

/// Returns why there is no culprit and where it must be, if that is known.
pub(crate) fn without_culprit(all: &Bisection) -> Option<String> {
    let range = || match &all.range {
        Some((low, high)) if low != high => {
            format!(": the culprit is between {low} and {high} (95 %)")
        }
        Some((low, _)) => format!(": {low} is the suspect"),
        None => String::new(),
    };
    match all.outcome {
        BisectionOutcome::Found => None,
        BisectionOutcome::NoDifference if all.of == BisectionKind::Source => Some(format!(
            "no region is shown to cost more than others in {}",
            metrics::phrase(&all.metric)
        )),
        BisectionOutcome::NoDifference => Some(format!(
            "both ends are equivalent within ±{} in {}: nothing to bisect",
            format::share(all.comparisons.first().map_or(0.01, |one| one.delta)),
            metrics::phrase(&all.metric)
        )),
        BisectionOutcome::Undecided => Some(format!("undecided{}", range())),
        BisectionOutcome::Interrupted => Some(format!("interrupted{}", range())),
    }
}

/// Returns effort and confidence: `256 values, 105 runs, 3 min 12 s; confidence 99.4 %`.
pub(crate) fn effort(all: &Bisection) -> String {
    let noun = match all.of {
        BisectionKind::Range => "value",
        BisectionKind::Git => "commit",
        BisectionKind::Set => "element",
        BisectionKind::Source => "region",
    };
    let mut text = format!(
        "{}, {}, {}",
        format::plural(all.candidates, noun),
        format::plural(u64::from(all.runs), "run"),
        format::duration(all.elapsed_seconds)
    );
    if all.deterministic {
        text.push_str("; repeated runs agree within 1 % of the difference");
    } else if let Some(confidence) = all.confidence.filter(|_| !all.culprits.is_empty()) {
        text.push_str(&format!(
            "; confidence {}",
            format::percent_at_most(confidence)
        ));
    }
    text
}

/// Returns an amount of the metric with its unit.
pub(crate) fn amount(all: &Bisection, e: &Estimate) -> String {
    match all.unit.as_str() {
        "seconds" => format::time(e),
        unit => metrics::amount(e, unit),
    }
}

/// Returns the median of a variant in the deciding metric.
pub(crate) fn median(all: &Bisection, variant: &Variant) -> Option<Estimate> {
    variant.metrics.get(&all.metric).map(|metric| metric.median)
}
