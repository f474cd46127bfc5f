//! Sentences about changes of a series.

use genba_model::{ChangeOrigin, HistoryChange, HistoryComparison, HistorySeries};
use genba_units::format;

use super::metrics;

/// Characters of a commit's hash that are shown.
const SHORT_HASH: usize = 10;

/// The step from which on its size says no more than that it is large: a doubling.
const MAX_STEP_SHOWN: f64 = 1.0;

/// The beginning of a commit's hash; a time is shown as it is.
pub(crate) fn short(commit: &str) -> String {
    match commit.chars().all(|c| c.is_ascii_hexdigit()) {
        true => commit.chars().take(SHORT_HASH).collect(),
        false => commit.to_owned(),
    }
}

/// Benchmark, variant and metric of a series.
pub(crate) fn name(benchmark: &str, variant: &str, metric: &str) -> String {
    let benchmark = self::benchmark(benchmark, variant);
    format!("{benchmark}, {}", metrics::phrase(metric))
}

/// A benchmark with its variant, if it has one: `parse (O3)`.
pub(crate) fn benchmark(name: &str, variant: &str) -> String {
    match variant {
        "" => name.to_owned(),
        variant => format!("{name} ({variant})"),
    }
}

/// The size of a change: `+2.13 % (+1.85 to +2.41)`.
pub(crate) fn size(change: &HistoryChange) -> String {
    percent_change(&change.change)
}

pub(crate) fn percent_change(ratio: &genba_model::Estimate) -> String {
    let points = |ratio: f64| (ratio - 1.0) * 100.0;
    let half = (points(ratio.high) - points(ratio.low)) / 2.0;
    let decimals = format::decimals(half, 2).min(3);
    format!(
        "{:+.decimals$} % ({:+.decimals$} to {:+.decimals$})",
        points(ratio.value),
        points(ratio.low),
        points(ratio.high)
    )
}

/// What changed, in words.
pub(crate) fn origin(change: &HistoryChange) -> &'static str {
    match (change.origin, change.worse) {
        (ChangeOrigin::Code, true) => "worse",
        (ChangeOrigin::Code, false) => "better",
        (ChangeOrigin::Host, _) => "host",
        (ChangeOrigin::Undetermined, _) => "code or host",
    }
}

/// The commits that the change lies in.
pub(crate) fn range(change: &HistoryChange) -> String {
    format!(
        "{}..{}",
        short(&change.last_before),
        short(&change.first_after)
    )
}

/// A sentence about a change.
pub(crate) fn sentence(change: &HistoryChange) -> String {
    let environment = match change.environment.is_empty() {
        true => String::new(),
        false => format!("; also changed: {}", change.environment.join(", ")),
    };
    let subject = match change.subject.as_str() {
        "" => String::new(),
        some => format!(" “{some}”"),
    };
    let what = match change.origin {
        ChangeOrigin::Code => "",
        ChangeOrigin::Host => "the host changed, not the code: ",
        ChangeOrigin::Undetermined => "the code or the host changed (no anchor): ",
    };
    format!(
        "{what}{} at {}{subject}: {} → {}, probability {}{environment}",
        size(change),
        short(&change.commit),
        metrics::amount(&change.before, &change.unit),
        metrics::amount(&change.after, &change.unit),
        probability(change.probability),
    )
}

/// A probability that is never shown as certain.
pub(crate) fn probability(value: f64) -> String {
    match value {
        v if v > 0.999 => "> 99.9 %".to_owned(),
        v => format!("{:.1} %", v * 100.0),
    }
}

/// What noise and number of measurements allow to be seen.
pub(crate) fn visibility(series: &HistorySeries) -> String {
    let count = series.measurements.len() as u64;
    let mut text = format::plural(count, "measurement");
    if let (Some(noise), Some(step)) = (series.noise, series.visible_step) {
        let found = match step < MAX_STEP_SHOWN {
            true => format!(
                "a step of {} is found within 3 measurements (95 %)",
                format::share(step)
            ),
            false => "too much to find a doubling within 3 measurements".to_owned(),
        };
        text.push_str(&format!("; noise ±{} each; {found}", format::share(noise)));
    }
    text
}

/// The result of comparing two revisions.
pub(crate) fn comparison(one: &HistoryComparison) -> String {
    format!(
        "{} vs. {}: {}",
        short(&one.after),
        short(&one.before),
        percent_change(&one.ratio)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::Estimate;

    #[test]
    fn noise_says_which_step_it_hides() {
        let mut series = crate::test_fixtures::history::step().series.remove(0);
        (series.noise, series.visible_step) = (Some(0.01), Some(0.035));
        assert!(
            visibility(&series).ends_with(
                "noise ±1 % each; a step of 3.5 % is found within 3 measurements (95 %)"
            )
        );
        (series.noise, series.visible_step) = (Some(0.75), Some(66.0));
        assert!(
            visibility(&series)
                .ends_with("each; too much to find a doubling within 3 measurements")
        );
    }

    #[test]
    fn sizes_have_a_sign_and_as_many_digits_as_the_interval_supports() {
        let ratio = Estimate {
            value: 1.0213,
            low: 1.0185,
            high: 1.0241,
        };
        assert_eq!(percent_change(&ratio), "+2.13 % (+1.85 to +2.41)");
    }

    #[test]
    fn hashes_are_shortened_and_times_are_not() {
        assert_eq!(short(&"a1".repeat(20)), "a1a1a1a1a1");
        assert_eq!(short("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z");
        assert_eq!(probability(1.0), "> 99.9 %");
    }
}
