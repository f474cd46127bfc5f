//! Sampling and counting with perf events, stacks, and reading perf.data.
//!
//! **Scope.** Sampling a command or a running process ([`sampler`]; by timer signals where perf
//! events are forbidden; by `ptrace` where memory of the sampled thread is needed,
//! [`ptrace_sampler`]), saving code that a JIT generates ([`jit`]), counting events
//! ([`perf_stat`]), writing recordings in the format of `perf record`, and reading them
//! ([`reader`]) as compact samples whose locations are (module, offset) and whose stacks are nodes
//! of a call tree. Stack copies are unwound here.
//!
//! **Not here.** Symbols, source lines, demangling, skid correction; text for users other than
//! errors and notes.

mod attach;
pub mod data_source;
mod error;
pub mod event;
pub mod jit;
pub mod perf_stat;
mod perfdata;
mod permission;
mod pmu_event;
mod process_memory;
pub mod ptrace_sampler;
pub mod reader;
mod record;
pub mod recording_tail;
pub mod sampler;
mod side_records;
mod snapshots;
mod split_mix;
mod timer_signal;
pub mod wait_sampler;

/// The event name of recordings made by timer signals.
pub const TIMER_SIGNAL: &str = "timer-signal";

pub use attach::{Attach, attach, attach_with, record_cpus};
pub use error::{ProfileError, ReadError};
pub use process_memory::read_memory;
pub use reader::{ReadOptions, Recording};
pub use record::{Companion, RecordOutcome, record, record_until, record_with};
pub use snapshots::{Snapshot, SnapshotPlan, SnapshotSink, Snapshotted, record_snapshots};
