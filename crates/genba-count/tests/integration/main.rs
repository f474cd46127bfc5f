//! Counting real programs, by each engine.

mod bursts;
mod engines;
mod generated_code;
mod jit_runtimes;
mod limits;
mod native;
mod native_children;
mod processes;
mod support;
mod transfers;
