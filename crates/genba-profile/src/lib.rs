//! Sampling and counting with perf events, stacks, and reading perf.data.
//!
//! **Scope.** Taking samples of a command or a running process ([`sampler`], by timer signals
//! where perf events are forbidden), counting events ([`perf_stat`]), writing recordings in the
//! format of `perf record`, and reading them back ([`reader`]) as compact samples whose
//! locations are (module, offset) and whose stacks are nodes of a call tree. Stack copies are
//! unwound here.
//!
//! **Not here.** Names: no symbols, no source lines, no demangling. Putting the skid right.
//! Text for people beyond errors and notes.

pub mod error;
pub mod event;
pub mod jit;
pub mod perf_stat;
pub mod perfdata;
pub mod permission;
pub mod ptrace_sampler;
pub mod reader;
mod record;
pub mod recording_tail;
pub mod sampler;
pub mod timer_signal;

/// Name of the event of recordings that were made by timer signals.
pub const TIMER_SIGNAL: &str = "timer-signal";

pub use error::{ProfileError, ReadError};
pub use reader::{ReadOptions, Recording};
pub use record::{
    Companion, RecordOutcome, attach, attach_with, record, record_until, record_with,
};
