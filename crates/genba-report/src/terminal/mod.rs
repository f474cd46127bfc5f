//! Text for terminals. Every function returns whole lines, the last one ended as well.

mod ablation;
mod annotation;
mod bisection;
mod calibration;
mod call_graph;
mod campaign;
mod case_list;
mod comparison;
mod counts;
mod curve_plot;
mod data_profile;
mod distribution_plot;
mod doctor;
mod findings;
mod growth;
mod history;
mod host_table;
mod investigation;
mod messages;
mod observed_place;
mod off_cpu;
mod places;
mod profile_diff;
mod profile_report;
mod proof;
mod requests;
pub(crate) mod screen;
mod script_functions;
mod source_fix;
mod stat;
mod sweep;
mod table;
mod topdown;
mod try_variants;
mod waits;

pub use ablation::ablation;
pub use annotation::{AnnotateOptions, annotation};
pub use bisection::bisection;
pub use calibration::calibration;
pub use campaign::{campaign, campaign_dry_run};
pub use case_list::cases;
pub use comparison::{Progress, comparison, progress_line};
pub use counts::{CountSort, CountsOptions, counts, functions_shown};
pub use data_profile::data;
pub use doctor::doctor;
pub use findings::explanation;
pub use growth::growth;
pub use history::{history, history_change, series_list};
pub use host_table::host_table;
pub use investigation::{Next, investigation};
pub use messages::{error, note, warning};
pub use observed_place::observed_place;
pub use off_cpu::off_cpu;
pub use profile_diff::profile_diff;
pub use profile_report::{By, ReportOptions, report};
pub use proof::proof;
pub use script_functions::{ScriptOptions, script};
pub use source_fix::source_fix;
pub use stat::{STAT_INTERVAL_HEAD, stat, stat_interval};
pub use sweep::sweep;
pub use try_variants::trial;
pub use waits::{thread_division, thread_times, waits};

use messages::{counted, limitations, remark, wrap};

#[cfg(test)]
mod comparison_tests;
#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod curves_tests;
#[cfg(test)]
mod findings_tests;
#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod try_variants_tests;
