//! What `bench`, `gate` and `host doctor` share: arguments to plans, plans to reports.

mod compare_args;
mod comparison_case;
mod finding_check;
mod host_measurement;
mod named_commands;
mod run_comparison;
mod runtime_args;
mod suite_plans;

pub use compare_args::CompareArgs;
pub use comparison_case::progress_text;
pub use finding_check::FindingCheck;
pub use host_measurement::{ThisHost, measure};
pub use run_comparison::{Compared, run, write};
