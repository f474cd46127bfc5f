//! Experiments: variants in one interleaved schedule, judged pair by pair.
//!
//! **Scope.** A [`Plan`] of variants is run in blocks, every variant once per block in random
//! order, until there is a verdict on the primary metric or the budget is spent ([`run`]), and
//! becomes a [`genba_model::ComparisonReport`] ([`report`]): effects with intervals, verdicts,
//! ranks, costs per iteration, hazards. Metrics of the target are found in its output or read from
//! `$GENBA_METRICS_FD`. [`compare_with_case`] compares with the runs of a stored case; [`doctor`]
//! determines the smallest difference that this machine can show. [`try_variants`], [`ablate`],
//! [`sweep`], [`bisect`] and [`fix`] are drivers above a [`Comparer`].
//!
//! **Not here.** How a process is started (genba-run), what the statistics are (genba-stats),
//! text for the terminal beyond notes, the case store.

pub mod ablate;
pub mod bisect;
mod compare_variants;
mod compare_with_case;
mod comparer;
mod comparison_report;
pub mod doctor;
mod error;
mod exact_instructions;
mod exclusion_reason;
pub mod fix;
mod iteration_cost;
mod measurement;
mod merge_reports;
pub mod metrics_channel;
mod observer;
mod output_check;
mod output_metric;
mod output_streams;
mod paired_effect;
pub mod parameters;
mod plan;
pub mod random_schedule;
mod run_hazards;
pub mod run_journal;
mod run_plan;
mod runner;
mod sequential_judges;
mod shell_start;
mod stored_blocks;
pub mod sweep;
pub mod try_variants;

pub use compare_with_case::{check_same_host, compare_with_case};
pub use comparer::{Comparer, SingleRun};
pub use comparison_report::{ReportContext, now, report};
pub use error::ExperimentError;
pub use exact_instructions::{ExactRunner, counting_plan};
pub use measurement::{End, Measurement};
pub use merge_reports::merge;
pub use observer::{FinishedRun, NoObserver, Observer, Progress, Stage};
pub use output_metric::{MetricPlan, MetricSource, direction_of};
pub use plan::{Plan, Stop, VariantPlan};
pub use run_plan::{run, run_with_clock};
pub use runner::{HostRunner, Measured, Runner};
pub use shell_start::add_shell_start;
pub use stored_blocks::{StoredSession, stored_measurement};

#[cfg(test)]
mod synthetic_report;
