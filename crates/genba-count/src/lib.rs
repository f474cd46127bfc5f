//! Exact execution counts: how many times each instruction ran, without hardware counters.
//!
//! **Scope.** One trait, [`Engine`], and the engines behind it. An engine runs a command to its
//! end and says how often each instruction of it was executed, and, where asked, how often each
//! jump was taken to where and who called whom: [`genba_model::RawCounts`].
//!
//! **Not here.** Names: no symbols, no source lines. Time: nothing here measures how long
//! anything takes.

pub mod callgrind;
mod draft;
mod engine;
mod error;
mod fallback;
pub mod file;
mod finish;
mod image;
mod ladder;
pub mod native;
pub mod qemu;
mod tools;
mod x86_64;

pub use engine::{CountRequest, Engine, Transfers};
pub use error::CountError;
pub use fallback::Fallback;
pub use ladder::{Choice, choose, choose_of, engine_names, engines};
