//! Sentences of a comparison: the effect with its interval, the verdict, what raises doubts.

use genba_model::{Comparison, ComparisonReport, Direction, Estimate, VerdictName};
use genba_units::format;

use super::{metrics, runs};

/// The kind of a metric, which decides on the words for more and less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Size,
    Amount,
    Rate,
}

fn kind(report: &ComparisonReport, metric: &str) -> Kind {
    let found = report.variants.iter().find_map(|v| v.metrics.get(metric));
    match found {
        Some(m) if m.direction == Direction::MoreIsBetter => Kind::Rate,
        Some(m) if m.unit == "seconds" => Kind::Time,
        Some(m) if m.unit == "bytes" => Kind::Size,
        Some(_) => Kind::Amount,
        None if matches!(metric, "wall" | "user" | "system" | "cpu") => Kind::Time,
        None => Kind::Amount,
    }
}

/// Returns the word for a ratio below one (`less`) or above.
fn word(kind: Kind, less: bool) -> &'static str {
    match (kind, less) {
        (Kind::Time, true) => "faster",
        (Kind::Time, false) => "slower",
        (Kind::Size | Kind::Rate, true) => "smaller",
        (Kind::Size | Kind::Rate, false) => "larger",
        (Kind::Amount, true) => "less",
        (Kind::Amount, false) => "more",
    }
}

/// Returns whether value and both ends of the interval are finite and above zero.
pub(crate) fn usable(e: &Estimate) -> bool {
    [e.value, e.low, e.high]
        .iter()
        .all(|v| v.is_finite() && *v > 0.0)
}

/// Returns the reciprocal of a ratio if `less`, so that the factor shown is above one.
fn above_one(ratio: &Estimate, less: bool) -> Estimate {
    if less {
        Estimate {
            value: 1.0 / ratio.value,
            low: 1.0 / ratio.high,
            high: 1.0 / ratio.low,
        }
    } else {
        *ratio
    }
}

/// Returns the decimals of a factor: one digit of the half width of its interval, so that 1.3704
/// (1.3504–1.3899) is 1.37 (1.35–1.39).
fn factor_decimals(e: &Estimate) -> usize {
    let half = (e.high - e.low) / 2.0;
    let least = if e.value < 2.0 { 2 } else { 1 };
    if !half.is_finite() || half <= 0.0 {
        return 2;
    }
    let places = (-half.log10().floor()).clamp(f64::from(least), 5.0) as usize;
    // An end close to 1 must not be rounded to 1: "slower (1.00–1.02)" would contradict itself.
    let hidden = |end: f64, places: usize| {
        end != 1.0 && ((end - 1.0).abs() * 10_f64.powi(places as i32)) < 0.5
    };
    (places..=6)
        .find(|&p| !hidden(e.low, p) && !hidden(e.high, p))
        .unwrap_or(places)
}

/// Smallest factor that is shown with digits. Chosen.
const MIN_SHOWN_FACTOR: f64 = 0.001;

/// Returns a factor: `1.37×`.
pub(crate) fn factor(e: &Estimate) -> String {
    // A step from nothing to something is not a factor with digits.
    if (0.0..MIN_SHOWN_FACTOR).contains(&e.value) {
        return format!("less than {MIN_SHOWN_FACTOR}×");
    }
    let places = factor_decimals(e);
    format!("{}×", format::grouped_decimals(e.value, places))
}

/// Returns the interval of a factor: `1.35–1.39`.
pub(crate) fn factor_range(e: &Estimate) -> String {
    let places = factor_decimals(e);
    format!(
        "{}–{}",
        format::grouped_decimals(e.low, places),
        format::grouped_decimals(e.high, places)
    )
}

/// Returns the factor above one of a ratio: `1.37×` for 0.73 and for 1.37.
pub(crate) fn factor_of(ratio: &Estimate) -> String {
    factor(&above_one(ratio, ratio.value < 1.0))
}

/// Returns the interval of the factor above one: `1.35–1.39`.
pub(crate) fn factor_span(ratio: &Estimate) -> String {
    factor_range(&above_one(ratio, ratio.value < 1.0))
}

/// Returns a percentage without its sign, with decimals by its size.
pub(crate) fn points(share: f64) -> String {
    let value = (share * 100.0).abs();
    let places = match value {
        v if v >= 20.0 => 0,
        v if v >= 0.095 => 1,
        _ => 2,
    };
    let text = format::grouped_decimals(value, places);
    let text = if places == 1 {
        text.strip_suffix(".0").unwrap_or(&text)
    } else {
        &text
    };
    format!("{text} %")
}

/// Returns a difference with its sign: `−0.3 %`.
pub(crate) fn signed(share: f64) -> String {
    let text = points(share);
    if text.bytes().all(|b| !(b'1'..=b'9').contains(&b)) {
        return text;
    }
    format!("{}{text}", if share < 0.0 { '−' } else { '+' })
}

/// Returns the interval of a ratio as differences: `−0.3 % … +0.5 %`.
pub(crate) fn range(ratio: &Estimate) -> String {
    if !usable(ratio) {
        return "no interval yet".to_owned();
    }
    format!("{} … {}", signed(ratio.low - 1.0), signed(ratio.high - 1.0))
}

/// Returns the interval of an effect: `1.35–1.39×` where a difference was found, else
/// `−0.3 % … +0.5 %`.
pub(crate) fn interval(c: &Comparison) -> String {
    match c.verdict {
        VerdictName::Faster | VerdictName::Slower if usable(&c.ratio) => {
            format!(
                "{}×",
                factor_range(&above_one(&c.ratio, c.ratio.value < 1.0))
            )
        }
        _ => range(&c.ratio),
    }
}

/// Returns the confidence level: `95 %` for a significance level α of 0.05.
pub(crate) fn level(alpha: f64) -> String {
    points(1.0 - alpha.clamp(0.0, 1.0))
}

/// Returns the comparison of a variant in a metric.
pub(crate) fn find<'a>(
    report: &'a ComparisonReport,
    variant: &str,
    metric: &str,
) -> Option<&'a Comparison> {
    report
        .comparisons
        .iter()
        .find(|c| c.variant == variant && c.metric == metric)
}

/// Returns the comparisons in the deciding metric, in the order of the variants.
pub(crate) fn deciding(report: &ComparisonReport) -> Vec<&Comparison> {
    report
        .comparisons
        .iter()
        .filter(|c| c.metric == report.metric)
        .collect()
}

/// Returns the mean time of one pair, seconds.
fn seconds_a_pair(report: &ComparisonReport) -> Option<f64> {
    let each = report.elapsed_seconds / f64::from(report.blocks);
    (each.is_finite() && each > 0.0).then_some(each)
}

/// Returns the verdict as a sentence without a full stop: "after is 1.37× faster than before in wall
/// time (1.35–1.39, 95 %), decided after 14 pairs, 61 s of the budget unused".
pub(crate) fn sentence(report: &ComparisonReport, c: &Comparison) -> String {
    let what = metrics::phrase(&c.metric);
    let pairs = format::plural(u64::from(c.pairs), "pair");
    let level = level(c.alpha);
    // With two variants the names add nothing.
    let who = if report.variants.len() > 2 {
        format!("{} vs. {}: ", c.variant, c.baseline)
    } else {
        String::new()
    };
    let kind = kind(report, &c.metric);
    match c.verdict {
        VerdictName::Faster | VerdictName::Slower if usable(&c.ratio) => {
            let less = c.ratio.value < 1.0;
            let e = above_one(&c.ratio, less);
            let (effect, word) = (factor(&e), word(kind, less));
            let head = match kind {
                Kind::Time => format!(
                    "{} is {effect} {word} than {} in {what}",
                    c.variant, c.baseline
                ),
                _ => format!(
                    "{} of {} is {effect} {word} than that of {}",
                    what, c.variant, c.baseline
                ),
            };
            let how = if report.budget_seconds.is_some() {
                format!("decided after {pairs}")
            } else {
                format!("after {pairs}")
            };
            format!(
                "{head} ({}, {level}), {how}{}",
                factor_range(&e),
                unused_budget(report)
            )
        }
        VerdictName::Same => format!(
            "{who}equivalent within ±{} in {what} ({}, {level}), after {pairs}{}",
            points(c.delta),
            range(&c.ratio),
            unused_budget(report)
        ),
        _ => format!(
            "{who}undecided{}: {} after {pairs}{}",
            if c.metric == "wall" {
                String::new()
            } else {
                format!(" in {what}")
            },
            between(kind, &c.ratio),
            more_pairs(report, c)
        ),
    }
}

/// Returns the interval in words: `between 0.4 % slower and 1.1 % faster`.
fn between(kind: Kind, ratio: &Estimate) -> String {
    if !usable(ratio) {
        return "no interval".to_owned();
    }
    let (low, high) = (ratio.low - 1.0, ratio.high - 1.0);
    if low < 0.0 && high > 0.0 {
        return format!(
            "between {} {} and {} {}",
            points(high),
            word(kind, false),
            points(low),
            word(kind, true)
        );
    }
    let (near, far) = if low.abs() < high.abs() {
        (low, high)
    } else {
        (high, low)
    };
    format!(
        "between {} and {} {}, not significant yet",
        points(near),
        points(far),
        word(kind, far < 0.0)
    )
}

/// Returns how many more pairs a verdict needs, as far as that can be forecast.
fn more_pairs(report: &ComparisonReport, c: &Comparison) -> String {
    let Some(more) = c.more_pairs.filter(|&m| m > 0) else {
        return String::new();
    };
    let time = seconds_a_pair(report)
        .map(|each| format!(" ({})", format::rough_duration(each * f64::from(more))))
        .unwrap_or_default();
    let what = if c.delta > 0.0 {
        format!(" to resolve a {} difference", points(c.delta))
    } else {
        String::new()
    };
    format!("; about {} more needed{what}{time}", roughly(more))
}

/// Returns a number rounded to one digit: a forecast supports no more.
pub(crate) fn roughly(pairs: u32) -> String {
    let value = f64::from(pairs);
    if value < 10.0 {
        return format::grouped(value);
    }
    let unit = 10_f64.powf(value.log10().floor());
    format::grouped((value / unit).round() * unit)
}

/// Returns the unused part of the budget.
fn unused_budget(report: &ComparisonReport) -> String {
    let left = report.budget_seconds.map(|b| b - report.elapsed_seconds);
    match left {
        Some(left) if left >= 1.0 && left.is_finite() && report.variants.len() == 2 => {
            let time = match left.floor() {
                s if s < 120.0 => format!("{s} s"),
                s => format::duration(s),
            };
            format!(", {time} of the budget unused")
        }
        _ => String::new(),
    }
}

/// Returns the effect in a few words: `1.37× faster`, `equivalent within ±0.5 %`, `undecided
/// (−1 % … +2 %)`.
pub(crate) fn short(report: &ComparisonReport, c: &Comparison) -> String {
    match c.verdict {
        VerdictName::Faster | VerdictName::Slower if usable(&c.ratio) => {
            let less = c.ratio.value < 1.0;
            let e = above_one(&c.ratio, less);
            format!("{} {}", factor(&e), word(kind(report, &c.metric), less))
        }
        VerdictName::Same if within(c) < 5e-5 => "equivalent".to_owned(),
        VerdictName::Same => format!("equivalent within ±{}", points(within(c))),
        _ if usable(&c.ratio) => format!("undecided ({})", range(&c.ratio)),
        _ => "undecided".to_owned(),
    }
}

/// Returns the largest difference that the interval contains.
fn within(c: &Comparison) -> f64 {
    let far = (c.ratio.low - 1.0).abs().max((c.ratio.high - 1.0).abs());
    if far.is_finite() { far } else { c.delta }
}

/// Minimum number of pairs for a cross-check: with fewer it has one look at most.
pub(crate) const MIN_PAIRS_OF_CROSS_CHECK: u32 = 24;

/// Returns doubts about verdicts: a failed cross-check, a failed correction.
pub(crate) fn doubts(report: &ComparisonReport) -> Vec<String> {
    let mut list = Vec::new();
    for c in deciding(report) {
        let decided = matches!(c.verdict, VerdictName::Faster | VerdictName::Slower);
        if decided && c.cross_check == Some(false) && c.pairs >= MIN_PAIRS_OF_CROSS_CHECK {
            list.push(format!(
                "{} vs. {}: a second test (Wilcoxon, five looks) has not confirmed it yet: repeat with more runs (-r {}) before relying on it",
                c.variant,
                c.baseline,
                c.pairs.saturating_mul(2)
            ));
        }
        if decided
            && let Some(correction) = &c.corrected
            && !correction.holds
        {
            list.push(format!(
                "{} vs. {}: not significant after correction for the number of comparisons ({})",
                c.variant, c.baseline, correction.method
            ));
        }
    }
    list
}

/// Returns excluded variants, doubts, hazards and notes, each once.
pub(crate) fn remarks(report: &ComparisonReport) -> Vec<String> {
    let mut list: Vec<String> = report
        .variants
        .iter()
        .filter_map(|v| {
            let why = v.excluded.as_deref()?;
            Some(format!("{} is not compared: {why}", v.name))
        })
        .collect();
    list.extend(doubts(report));
    list.extend(report.hazards.iter().map(runs::hazard));
    list.extend(report.notes.iter().cloned());
    let mut seen = std::collections::HashSet::new();
    list.retain(|note| seen.insert(note.clone()));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn e(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    #[test]
    fn decimals_of_a_factor_follow_its_interval() {
        assert_eq!(factor(&e(1.3704, 1.3504, 1.3899)), "1.37×");
        assert_eq!(factor_range(&e(1.3704, 1.3504, 1.3899)), "1.35–1.39");
        // An end that is not 1 is not rounded to 1.
        assert_eq!(factor_range(&e(1.0187, 1.0012, 1.0243)), "1.001–1.024");
        assert_eq!(factor(&Estimate::exact(2.0)), "2.00×");
        assert_eq!(factor(&e(1e-7, 9e-8, 2e-7)), "less than 0.001×");
    }

    #[test]
    fn differences_have_signs_and_forecasts_one_digit() {
        assert_eq!(range(&e(1.0, 0.997, 1.005)), "−0.3 % … +0.5 %");
        assert_eq!(range(&e(1.0, 0.0, 2.0)), "no interval yet");
        assert_eq!(signed(0.0), "0.00 %");
        assert_eq!([3, 47, 913].map(roughly), ["3", "50", "900"]);
        assert_eq!(level(0.05), "95 %");
    }

    proptest! {
        #[test]
        fn interval_above_one_is_not_printed_as_starting_at_one(low in 1.0001_f64..1.5, width in 0.0_f64..1.0) {
            let text = factor_range(&e(low + width / 2.0, low, low + width));
            prop_assert!(!text.starts_with("1.00–") && !text.starts_with("1.000–"), "{text}");
        }
    }
}
