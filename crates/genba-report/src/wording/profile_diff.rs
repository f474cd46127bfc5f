//! Sentences on a differential profile: where code moved, what changed.

use genba_model::{FunctionDiff, Moved, MovedHow};
use genba_units::format;

/// Returns a change of time with its sign: `+1.2 ms`.
pub(crate) fn change(seconds: f64) -> String {
    let sign = if seconds < 0.0 { '−' } else { '+' };
    format!("{sign}{}", format::seconds(seconds.abs()))
}

/// Returns where the code of a function moved.
pub(crate) fn moved(moved: &Moved) -> String {
    let how = match moved.how {
        MovedHow::Inlined => "inlined into",
        MovedHow::Likely => "likely inlined into",
        MovedHow::Cloned => "renamed to",
    };
    let time = moved.seconds.map_or(String::new(), |time| {
        format!(" ({} there)", format::seconds(time))
    });
    format!("{how} {}{time}", moved.into)
}

/// Returns the remarks on a function: where its code moved, what was inlined into it.
pub(crate) fn remarks(function: &FunctionDiff) -> String {
    let mut parts: Vec<String> = function.moved.iter().take(2).map(moved).collect();
    if !function.inlined_here.is_empty() {
        let shown: Vec<&str> = function
            .inlined_here
            .iter()
            .take(3)
            .map(String::as_str)
            .collect();
        parts.push(format!("includes inlined {}", shown.join(", ")));
    }
    parts.join("; ")
}

/// Returns a count before and after: `30.0 M → 0`, or once where both are equal.
pub(crate) fn pair(pair: Option<(u64, u64)>) -> String {
    pair.map_or(String::new(), |(before, after)| {
        let count = |number: u64| format::count(number as f64);
        if before == after {
            count(before)
        } else {
            format!("{} → {}", count(before), count(after))
        }
    })
}
