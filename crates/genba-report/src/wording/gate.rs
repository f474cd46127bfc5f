//! Sentences of a gate's second opinion.

use genba_model::{ComparisonReport, InstructionChange, VerdictName};
use genba_units::format;

use super::verdicts;

/// Growth of the instructions below which a slower time is put down to layout.
const SAME_INSTRUCTIONS: f64 = 0.001;

/// What the exact counts say beside the verdict in time: `+0.00 % instructions, +1.2 % time:
/// layout?`.
#[must_use]
pub fn second_opinion(counted: &InstructionChange, report: &ComparisonReport) -> String {
    let time = verdicts::deciding(report).into_iter().next();
    let growth = counted.change / counted.base.max(1.0) - 1.0;
    let mut text = format!("{:+.2} % instructions", growth * 100.0);
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
