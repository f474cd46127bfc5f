//! Experiments: variants in one interleaved schedule, judged pair by pair.
//!
//! **Scope.** A [`Plan`] of variants is run in blocks, every variant once a block in random
//! order ([`schedule`]), until the primary metric is decided or the budget is spent ([`run`]),
//! and becomes a [`genba_model::ComparisonReport`]: effects with intervals, verdicts, ranks,
//! costs per iteration, hazards. The target's own metrics are found in its output or read from
//! `$GENBA_METRICS_FD`.
//!
//! **Not here.** How a process is started (genba-run), what the statistics are (genba-stats),
//! any text for the terminal beyond notes, the case store.

mod error;
mod metric;
mod plan;

pub use error::ExperimentError;
pub use metric::{MetricPlan, MetricSource, direction_of};
pub use plan::{Plan, Stop, VariantPlan};
