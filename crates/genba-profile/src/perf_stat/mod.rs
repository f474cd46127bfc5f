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
mod intervals;
mod running_processes;
mod system_wide;
pub mod topdown;

pub use counted_run::{CountedRun, once, once_at_intervals, stat_of};
pub use counter_set::{CounterSet, Reading, open};
pub use counter_summary::summarise;
pub use derived_ratios::derived_ratio;
pub use intervals::Intervals;
pub use running_processes::{Watched, of_processes};
pub use system_wide::{WatchedCpus, of_cpus};

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

/// Parses a list of events and groups of events such as `cycles:u,{branches,branch-misses}`.
///
/// # Errors
/// When a name is not known.
pub fn parse_list(text: &str) -> Result<Vec<EventSpec>, ProfileError> {
    let mut events = Vec::new();
    for (number, part) in (0u32..).zip(event::split_list(text)) {
        events.extend(event::parse_group(part, number)?);
    }
    Ok(events)
}
