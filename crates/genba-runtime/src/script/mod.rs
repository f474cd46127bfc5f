//! Functions of interpreted languages, beside the native stack.
//!
//! [`ScriptSampler`] goes along with a recording and reads the interpreter's own frames while
//! the thread stands still; [`profile()`] joins them with the native stacks of the same samples.

mod companion;
mod detect;
mod memory;
mod opcodes311;
mod profile;
mod python311;
mod ruby31;
pub mod stacks;
mod trail;

pub use detect::may_be_interpreter;

pub use companion::{DEFAULT_HZ, ScriptSampler};
pub use profile::{ScriptError, profile};
