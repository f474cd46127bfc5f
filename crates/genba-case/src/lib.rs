//! The case store: everything about one investigation, in one directory, safe against kill −9.
//!
//! **Scope.** A directory per case, `ROOT/<id>/`, with `case.sqlite` (workload, host, runs,
//! documents, stacks) and, beside it, whatever the caller puts there (`perf.data`,
//! `case.html`). Every run is committed as it ends, so that a kill at any moment loses at most the
//! run in progress. A case is about one workload (an investigation), about variants (a comparison),
//! or an experiment. Cases are listed, found by prefix, exported to one JSON document, and imported
//! on another machine.
//!
//! **Not here.** Measuring, statistics, rendering.
//!
//! **Hostile files.** A case may come from anywhere: damaged, foreign and newer files return an
//! error and never panic; SQLite runs in its defensive mode, and reading is bounded.

mod baselines;
mod case;
mod case_id;
mod comparison_case;
mod error;
mod experiment_case;
mod investigation_case;
mod schema;
mod stack_tables;
mod store;
mod store_directory;
mod waits_case;
mod writer_lock;

pub use baselines::Baseline;
pub use case::{Case, MAX_DOCUMENT_BYTES, Phase};
pub use comparison_case::VariantRun;
pub use error::{Error, Result};
pub use experiment_case::ExperimentPlan;
pub use store::Store;
