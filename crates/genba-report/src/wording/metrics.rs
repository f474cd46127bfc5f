//! Names of metrics and amounts of them, as the terminal, the page and Markdown show them.

use genba_model::Estimate;
use genba_units::format;

/// Order in which metrics are shown; metrics reported by the target come after them, by name.
const METRIC_ORDER: [&str; 9] = [
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

/// Returns the position of a metric among all.
pub(crate) fn order(metric: &str) -> usize {
    METRIC_ORDER
        .iter()
        .position(|&m| m == metric)
        .unwrap_or(METRIC_ORDER.len())
}

/// Returns the short label of a metric: `sys`, `max RSS`.
pub(crate) fn label(metric: &str) -> String {
    match metric {
        "system" => "sys".to_owned(),
        "max_rss" => "max RSS".to_owned(),
        "cpu" => "CPU".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Returns the name of a metric within a sentence: `wall time`.
pub(crate) fn phrase(metric: &str) -> String {
    match metric {
        "wall" | "user" | "system" => format!("{metric} time"),
        "cpu" => "CPU time".to_owned(),
        other => label(other),
    }
}

/// Returns a value of a metric with its unit, and as many digits as its interval supports.
pub(crate) fn amount(e: &Estimate, unit: &str) -> String {
    match unit {
        "seconds" => format::time(e),
        "bytes" => format::bytes(e.value),
        "count" | "" => format::counted(e),
        own => format!("{} {own}", format::plain(e, 4)),
    }
}
