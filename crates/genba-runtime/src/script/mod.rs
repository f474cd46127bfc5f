//! Functions of interpreted languages, beside the native stack.
//!
//! [`ScriptSampler`] runs beside a recording and reads the interpreter's own frames while the
//! thread is stopped; [`profile()`] joins them with the native stacks of the same samples.

mod interpreter_detection;
mod live_scripts;
mod native_callees;
mod python311_opcodes;
mod python_frames;
mod python_gil;
mod python_layout;
mod ruby_frames;
mod ruby_gvl;
mod ruby_layout;
mod script_profile;
mod script_sampler;
pub mod script_stacks;
mod stack_nodes;
mod thread_memory;

pub use interpreter_detection::may_be_interpreter;
pub use live_scripts::LiveScripts;

pub use script_profile::{ScriptError, profile};
pub use script_sampler::{DEFAULT_SCRIPT_RATE_HZ, ScriptSampler};
