//! Why the time goes where it goes: causes with evidence and predicted gains.

mod build;
mod calls;
pub mod candidate;
mod catalogue;
mod division_as_overflow_check;
mod divisions;
mod duplicate_division;
pub mod frame;
mod gains;
mod hot_loops;
mod indirect_call_one_target;
mod kernel;
mod loop_invariant_divisor;
mod numbering;
mod own_code;
mod plt_call;
mod runtime_use;
mod services;
mod steps;
mod tiny_callee_not_inlined;
mod tls_lookup;
mod unoptimised_build;
mod uses;
pub mod values;
mod words;

pub use build::{RunFacts, is_own};
pub use candidate::Limits;
pub use catalogue::{CATALOGUE, Cause, explain};
