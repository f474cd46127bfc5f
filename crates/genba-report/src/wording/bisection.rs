//! A bisection in words: sentences that terminal and page share. They hold names from
//! elsewhere: callers make them harmless.

use genba_model::{Bisection, BisectionKind, BisectionOutcome, Culprit, Estimate, Variant};

use crate::number;
use crate::wording::metrics;

/// What was searched, as a title.
pub(crate) fn title(all: &Bisection) -> String {
    let what = match all.of {
        BisectionKind::Range => "bisection of a range",
        BisectionKind::Git => "bisection of a history",
        BisectionKind::Set => "culprits of a set",
        BisectionKind::Source => "costs of a source file",
    };
    format!("{what}: {}", all.command)
}

/// Signed percent with so many decimals: `+2.1 %`.
fn signed(share: f64, places: usize) -> String {
    format!("{:+.places$} %", share * 100.0).replace('-', "−")
}

/// A share in percent; nothing for what is no number.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", 100.0 * share).replace('-', "−")
    } else {
        String::new()
    }
}

/// What a culprit does to the metric: `wall time +2.1 % (+1.5 % … +2.8 %)`.
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

/// The answer in one sentence for each culprit.
pub(crate) fn culprit(all: &Bisection, one: &Culprit) -> String {
    let mut text = one.ratio.map_or(String::new(), |ratio| change(all, &ratio));
    if let Some(before) = &one.before {
        text.push_str(&format!(" against {before}"));
    }
    if !one.verified {
        text.push_str(", not verified");
    }
    text.trim_start_matches([' ', ',']).to_owned()
}

/// What there is instead of a culprit.
pub(crate) fn without_culprit(all: &Bisection) -> Option<String> {
    let range = || match &all.range {
        Some((low, high)) if low != high => {
            format!(": it lies between {low} and {high} (95 %)")
        }
        Some((low, _)) => format!(": {low} is suspected"),
        None => String::new(),
    };
    match all.outcome {
        BisectionOutcome::Found => None,
        BisectionOutcome::NoDifference => Some(format!(
            "no difference larger than {} in {}: nothing to search for",
            number::share(all.comparisons.first().map_or(0.01, |one| one.delta)),
            metrics::phrase(&all.metric)
        )),
        BisectionOutcome::Undecided => Some(format!("no culprit is certain{}", range())),
        BisectionOutcome::Interrupted => Some(format!("interrupted{}", range())),
    }
}

/// Effort and certainty: `256 values, 105 runs, 3 min 12 s; certain to 99.4 %`.
pub(crate) fn effort(all: &Bisection) -> String {
    let noun = match all.of {
        BisectionKind::Range => "value",
        BisectionKind::Git => "commit",
        BisectionKind::Set => "element",
        BisectionKind::Source => "region",
    };
    let mut text = format!(
        "{}, {}, {}",
        number::plural(all.candidates, noun),
        number::plural(u64::from(all.runs), "run"),
        number::duration(all.elapsed_seconds)
    );
    if all.deterministic {
        text.push_str("; repeated runs agree to 1 % of the difference");
    } else if let Some(confidence) = all.confidence.filter(|_| !all.culprits.is_empty()) {
        text.push_str(&format!(
            "; certain to {}",
            number::percent_at_most(confidence)
        ));
    }
    text
}

/// An amount of the metric with its unit.
pub(crate) fn amount(all: &Bisection, e: &Estimate) -> String {
    match all.unit.as_str() {
        "seconds" => number::time(e),
        unit => metrics::amount(e, unit),
    }
}

/// The median of a variant in the metric that decides.
pub(crate) fn median(all: &Bisection, variant: &Variant) -> Option<Estimate> {
    variant.metrics.get(&all.metric).map(|metric| metric.median)
}
