//! Exact execution counts: how many times each instruction ran, without hardware counters.
//!
//! **Scope.** One trait, [`Engine`], and the engines behind it. An engine runs a command to its end
//! and returns how often each instruction was executed and, on request, how often each jump was
//! taken to which target and who called whom: [`genba_model::RawCounts`].
//!
//! **Not here.** Names: no symbols, no source lines. Time: nothing here measures how long anything
//! takes.

pub mod callgrind;
mod elf_code;
mod engine;
mod engine_fallback;
mod engine_selection;
mod error;
mod generated_functions;
pub mod native;
mod process_counts_builder;
#[cfg(feature = "qemu-oracle")]
pub mod qemu;
mod run_end;
pub mod saved_counts;
mod x86_64;

pub use engine::{BurstPlan, CountRequest, Engine, Transfers};
pub use engine_selection::{Choice, choose, engines};
pub use error::CountError;
pub use run_end::TIME_LIMIT_REACHED;
