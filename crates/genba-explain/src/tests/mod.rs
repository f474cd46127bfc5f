//! Detectors on synthetic programs.

mod calls;
mod latency;
mod loops;
mod needed_divisions;
mod robustness;
mod runtime;
mod simulated_events;
mod synthetic;
