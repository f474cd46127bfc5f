//! What `bench`, `gate` and `host doctor` share: arguments to plans, plans to reports.

mod base_build;
mod compare_args;
mod compare_plan;
mod comparison_case;
mod history_store;
mod host_measurement;
mod named_commands;
mod run_comparison;
mod runtime_args;
mod suite_plans;

pub use base_build::{add_base, built_checkout, count_both};
pub use compare_args::CompareArgs;
pub use comparison_case::progress_text;
pub use history_store::{
    Anchor, GateSides, StoreArg, location, revision, revision_at, waiting_line,
};
pub use host_measurement::{ThisHost, measure};
pub use run_comparison::{Compared, run};
