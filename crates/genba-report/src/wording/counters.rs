//! Sentences on event counters: derived ratios, events that could not be counted.

use genba_model::{CounterState, Stat};
use genba_units::format;

/// Returns the most informative derived ratios: `1.24 insn per cycle`, `1.2 % of all branches
/// mispredicted`.
pub(crate) fn highlights(stat: &Stat) -> Vec<String> {
    let mut found = Vec::new();
    for event in ["instructions", "cycles", "branch-misses", "LLC-load-misses"] {
        let counter = stat
            .counters
            .iter()
            .find(|c| base_event(&c.event) == event && c.state == CounterState::Counted);
        if let Some(note) = counter.and_then(|c| c.note.as_ref()) {
            let text = note_text(note.value, &note.text);
            found.push(if event == "branch-misses" {
                format!("{text} mispredicted")
            } else {
                text
            });
        }
    }
    found
}

/// Returns an event without modifiers and PMU: `cpu_core/cycles/u` and `cycles:u` are `cycles`.
fn base_event(event: &str) -> &str {
    let event = event.split(':').next().unwrap_or(event);
    let mut parts = event.split('/');
    match (parts.next(), parts.next()) {
        (_, Some(inner)) if !inner.is_empty() => inner,
        _ => event,
    }
}

/// Returns a derived ratio: shares (texts that start with "of") in percent, the rest as a number.
pub(crate) fn note_text(value: f64, text: &str) -> String {
    if text.starts_with("of ") || text.starts_with('%') || text.ends_with("cycles idle") {
        let text = text.trim_start_matches('%').trim_start();
        return format!("{} {text}", format::share(value));
    }
    let digits = match value.abs() {
        v if v >= 1000.0 => return format!("{} {text}", format::count(value)),
        v if v >= 100.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    format!("{} {text}", format::grouped_decimals(value, digits))
}

/// Returns the events that could not be counted, grouped by reason.
pub(crate) fn missing(stat: &Stat) -> Vec<(&'static str, Vec<&str>)> {
    [
        (CounterState::NotSupported, "not supported"),
        (CounterState::Forbidden, "not permitted for this user"),
        (CounterState::NotCounted, "never scheduled on the hardware"),
    ]
    .into_iter()
    .filter_map(|(state, reason)| {
        let events: Vec<&str> = stat
            .counters
            .iter()
            .filter(|c| c.state == state)
            .map(|c| c.event.as_str())
            .collect();
        (!events.is_empty()).then_some((reason, events))
    })
    .collect()
}
