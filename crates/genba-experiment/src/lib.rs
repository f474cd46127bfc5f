//! Experiments: variants in one interleaved schedule, judged pair by pair.
//!
//! **Scope.** A [`Plan`] of variants is run in blocks, every variant once a block in random
//! order ([`schedule`]), until the primary metric is decided or the budget is spent ([`run`]),
//! and becomes a [`genba_model::ComparisonReport`] ([`report`]): effects with intervals,
//! verdicts, ranks, costs per iteration, hazards. The target's own metrics are found in its
//! output or read from `$GENBA_METRICS_FD`. [`against`] compares with runs kept in a case,
//! [`doctor`] says what this machine could see.
//!
//! **Not here.** How a process is started (genba-run), what the statistics are (genba-stats),
//! any text for the terminal beyond notes, the case store.

pub mod ablate;
mod against;
pub mod bisect;
pub mod channel;
mod compare;
pub mod doctor;
mod driver;
mod error;
mod exact;
mod failure;
mod hazards;
mod iteration;
pub mod journal;
mod lab;
mod live;
mod measurement;
mod merge;
mod metric;
mod observer;
mod output_check;
mod pairing;
pub mod parameters;
mod plan;
mod report;
mod runner;
pub mod schedule;
mod streams;
pub mod sweep;
pub mod trial;

pub use against::{against, check_host};
pub use driver::{run, run_with_clock};
pub use error::ExperimentError;
pub use exact::{EXACT_INSTRUCTIONS, ExactRunner};
pub use lab::{Lab, Probe};
pub use measurement::{End, Measurement};
pub use merge::merge;
pub use metric::{MetricPlan, MetricSource, direction_of};
pub use observer::{KeptRun, NoObserver, Observer, Progress, Stage};
pub use plan::{Plan, Stop, VariantPlan};
pub use report::{Setting, now, report};
pub use runner::{HostRunner, Measured, Runner};

#[cfg(test)]
mod testing;
