//! Sentences on a differential profile: where code moved, what changed.

use genba_model::{FunctionDiff, Moved, MovedHow};

use crate::number;

/// `+1.2 ms`.
pub(crate) fn change(seconds: f64) -> String {
    let sign = if seconds < 0.0 { '−' } else { '+' };
    format!("{sign}{}", number::seconds(seconds.abs()))
}

/// Where it went, in words.
pub(crate) fn moved(moved: &Moved) -> String {
    let how = match moved.how {
        MovedHow::Inlined => "inlined into",
        MovedHow::Likely => "likely inlined into",
        MovedHow::Cloned => "became",
    };
    let time = moved.seconds.map_or(String::new(), |time| {
        format!(" ({} there)", number::seconds(time))
    });
    format!("{how} {}{time}", moved.into)
}

/// What is said beside a function.
pub(crate) fn beside(function: &FunctionDiff) -> String {
    let mut parts: Vec<String> = function.moved.iter().take(2).map(moved).collect();
    if !function.took_in.is_empty() {
        let shown: Vec<&str> = function
            .took_in
            .iter()
            .take(3)
            .map(String::as_str)
            .collect();
        parts.push(format!("took in {}", shown.join(", ")));
    }
    parts.join("; ")
}

pub(crate) fn pair(pair: Option<(u64, u64)>) -> String {
    pair.map_or(String::new(), |(before, after)| {
        let count = |number: u64| number::count(number as f64);
        if before == after {
            count(before)
        } else {
            format!("{} → {}", count(before), count(after))
        }
    })
}
