//! Names of metrics and amounts of them, as the terminal, the page and Markdown show them.

use genba_model::Estimate;

use crate::number;

/// Order in which metrics are shown; the target's own come after them, by name.
const ORDER: [&str; 9] = [
    "wall",
    "user",
    "system",
    "cpu",
    "max_rss",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
];

/// Place of a metric among all.
pub(crate) fn order(metric: &str) -> usize {
    ORDER
        .iter()
        .position(|&m| m == metric)
        .unwrap_or(ORDER.len())
}

/// Short label of a metric: `sys`, `max RSS`.
pub(crate) fn label(metric: &str) -> String {
    match metric {
        "system" => "sys".to_owned(),
        "max_rss" => "max RSS".to_owned(),
        "cpu" => "CPU".to_owned(),
        other => other.replace('_', " "),
    }
}

/// As part of a sentence: `wall time`.
pub(crate) fn phrase(metric: &str) -> String {
    match metric {
        "wall" | "user" | "system" => format!("{metric} time"),
        "cpu" => "CPU time".to_owned(),
        other => label(other),
    }
}

/// A value of a metric with its unit, and as many digits as its interval supports.
pub(crate) fn amount(e: &Estimate, unit: &str) -> String {
    match unit {
        "seconds" => number::time(e),
        "bytes" => number::bytes(e.value),
        "count" | "" => number::counted(e),
        own => format!("{} {own}", number::plain(e, 4)),
    }
}
