//! Counting events over a whole run, as `perf stat` does.
//!
//! [`open`] attaches counters to a process that waits before `execve`; [`CounterSet::read`]
//! reads them after it has ended; [`summarise`] turns the readings of one or more runs into
//! [`genba_model::Counter`]s with the derived ratios that perf prints. [`of_processes`] counts those
//! of processes that run already.

mod counted_run;
mod counter_set;
mod counter_summary;
mod derived_ratios;
mod running_processes;

pub use counted_run::{CountedRun, once, stat_of};
pub use counter_set::{CounterSet, Reading, open};
pub use counter_summary::summarise;
pub use derived_ratios::derived_ratio;
pub use running_processes::of_processes;

use crate::error::ProfileError;
use crate::event::{self, EventSpec};

/// The events of `perf stat -d`, in its order.
pub const DETAILED: [&str; 14] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "instructions",
    "branches",
    "branch-misses",
    "L1-dcache-loads",
    "L1-dcache-load-misses",
    "LLC-loads",
    "LLC-load-misses",
];

/// The events of [`DETAILED`].
#[must_use]
pub fn detailed() -> Vec<EventSpec> {
    DETAILED
        .iter()
        .filter_map(|name| EventSpec::parse(name).ok())
        .collect()
}

/// Parses a list of events such as `cycles:u,instructions`.
///
/// # Errors
/// When a name is not known.
pub fn parse_list(text: &str) -> Result<Vec<EventSpec>, ProfileError> {
    (event::split_list(text).into_iter())
        .map(EventSpec::parse)
        .collect()
}
