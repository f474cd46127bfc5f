//! The pipeline from end to end: observe, locate, explain, case file, page.
//!
//! **Scope.** Which measurement comes when, how often, and what of it is kept:
//! [`investigate`] runs the whole pipeline; [`event_counters::count`],
//! [`execution_counts::count`], [`explain_recording`] and [`diff`] are the parts that verbs use
//! alone. Progress is reported through [`Progress`].
//!
//! **Not here.** How to start a process, sample, find symbols, compute an interval or print.

mod attached_process;
mod callgrind_simulation;
mod checked_predictions;
mod counted_part;
pub mod diff;
mod enough_samples;
mod error;
pub mod event_counters;
pub mod execution_counts;
mod explanation;
pub mod explanation_inputs;
mod findings;
mod follow_up_runs;
pub mod growth;
mod input_files;
mod investigation_options;
pub mod join_counts;
mod library_requests;
mod more_bursts;
pub mod observations;
mod observations_by_instruction;
mod observed_code;
mod observed_names;
pub mod observed_place;
mod pipeline;
mod progress;
pub mod proofs;
mod repeat_runs;
mod run_summary;
mod sampling;
mod script_sampling;
mod snapshot_cases;
mod time_limit;
pub mod waits;
pub mod workload_causes;

pub use attached_process::{command_line, investigate_processes};
pub use checked_predictions::{FindingCheck, calibration};
pub use error::{InvestigateError, in_words};
pub use explanation::{explain_recording, stored_explanation};
pub use investigation_options::{MAX_ANNOTATIONS, Options};
pub use pipeline::{Outcome, investigate};
pub use progress::Progress;
pub use snapshot_cases::{SnapshotNews, SnapshotOptions, snapshots};
