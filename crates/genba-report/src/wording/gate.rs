//! Sentences of a gate: its verdict, and the second opinion.

use genba_model::{Comparison, ComparisonReport, InstructionChange, VerdictName};
use genba_units::format;

use super::{metrics, verdicts};
use crate::export::GateResult;

/// Growth of the instructions below which a slower time is put down to layout.
const SAME_INSTRUCTIONS: f64 = 0.001;

/// What the exact counts say beside the verdict in time: `+0.00 % instructions, +1.2 % time:
/// layout?`.
#[must_use]
pub fn second_opinion(counted: &InstructionChange, report: &ComparisonReport) -> String {
    let time = verdicts::deciding(report).into_iter().next();
    let growth = counted.change / counted.base.max(1.0) - 1.0;
    // Without the sign of what is rounded away.
    let shown = match growth.abs() < 5e-5 {
        true => 0.0,
        false => growth * 100.0,
    };
    let mut text = format!("{shown:+.2} % instructions");
    if let Some(time) = time {
        text.push_str(&format!(
            ", {:+.1} % time",
            (time.ratio.value - 1.0) * 100.0
        ));
        let slower = time.verdict == VerdictName::Slower;
        if slower && growth.abs() < SAME_INSTRUCTIONS {
            text.push_str(": the same work, slower; layout, caches or the host?");
        }
    }
    let worst = counted
        .functions
        .first()
        .filter(|one| one.change > one.base);
    if let Some(one) = worst.filter(|_| growth >= SAME_INSTRUCTIONS) {
        text.push_str(&format!(
            "; most in {} ({} more)",
            one.function,
            format::count(one.change - one.base)
        ));
    }
    text.push_str(&format!(" (counted by {}, one run each)", counted.engine));
    text
}

/// How a gate ended in a word, and the sentence behind it: what is shown of the threshold, and what is not.
/// `name` marks up names of variants, `text` other text.
pub(crate) fn verdict(
    result: &GateResult<'_>,
    name: &dyn Fn(&str) -> String,
    text: &dyn Fn(&str) -> String,
) -> (&'static str, String) {
    let all = verdicts::deciding(result.report);
    let limit = format::share(result.threshold);
    let what = text(&metrics::phrase(&result.report.metric));
    let of = |wanted: &dyn Fn(&Comparison) -> bool| -> Vec<&Comparison> {
        all.iter().copied().filter(|one| wanted(one)).collect()
    };
    let refused = of(&|one| one.is_worse_by(result.threshold));
    let shown = of(&|one| one.is_shown_worse_by(result.threshold)).len();
    let open = of(&|one| one.may_be_worse_by(result.threshold));
    let estimated = |one: &Comparison| {
        format!(
            "{} is slower in {what}, by {} ({})",
            name(&one.variant),
            text(&verdicts::points(one.ratio.value - 1.0)),
            text(&verdicts::range(&one.ratio))
        )
    };
    if result.interrupted {
        return (
            "Interrupted",
            ": not all is decided; what was measured until then is below.".to_owned(),
        );
    }
    match (refused.as_slice(), open.as_slice()) {
        _ if all.is_empty() => ("Nothing was compared.", String::new()),
        ([one], _) if shown == 1 => (
            "Refused",
            format!(
                ": {} is slower by more than {limit} in {what}.",
                name(&one.variant)
            ),
        ),
        ([one], _) => (
            "Refused",
            format!(
                ": {}; more than {limit} is the estimate, and not shown. A larger --budget tells.",
                estimated(one)
            ),
        ),
        (several @ [_, ..], _) if shown == several.len() => (
            "Refused",
            format!(": {shown} variants are slower by more than {limit} in {what}."),
        ),
        (several @ [_, ..], _) => (
            "Refused",
            format!(
                ": {} variants are slower in {what}, by more than {limit} by their estimates; it is shown of {shown}.",
                several.len()
            ),
        ),
        ([], _) if all.iter().any(|one| one.verdict == VerdictName::Undecided) => (
            "Passed, with undecided variants",
            format!(": no variant is shown to be slower by more than {limit} in {what}."),
        ),
        ([], [one, others @ ..]) => (
            "Passed",
            format!(
                ": no variant is shown to be slower by more than {limit}; {}{}. A larger --budget tells.",
                estimated(one),
                match others.len() {
                    0 => String::new(),
                    more => format!(", and so are {more} more"),
                }
            ),
        ),
        ([], []) => (
            "Passed",
            format!(": no variant is slower by more than {limit} in {what}."),
        ),
    }
}
