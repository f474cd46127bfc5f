//! Figures in the sentences of findings.

pub use genba_units::format::{cycle_range, cycles, short_percent as percent};

/// A number of executions: `12`, `12,345`, `1.2 M`.
#[must_use]
pub fn count(number: u64) -> String {
    genba_units::format::count(number as f64)
}
