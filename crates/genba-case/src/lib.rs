//! The case store: everything about one investigation, in one directory, safe against kill −9.
//!
//! **Scope.** A directory per case, `ROOT/<id>/`, with `case.sqlite` (workload, host, runs,
//! documents, stacks) and, beside it, whatever the caller puts there (`perf.data`,
//! `case.html`). Every run is committed as it ends, so that a kill at any moment loses at most
//! the run in progress. A case is about one
//! workload (an investigation) or about variants of one (a comparison). Listing, finding by prefix, export to one JSON document and import of
//! such a document on another machine.
//!
//! **Not here.** Measuring, statistics, rendering. The store keeps what it is given.
//!
//! **Hostile files.** A case may come from anywhere: damaged, foreign and newer files give an
//! error, never a panic; SQLite runs in its defensive mode, and what is read is bounded.

mod case;
mod comparison;
mod error;
mod experiment;
mod id;
mod investigation;
mod lock;
mod schema;
mod stacks;
mod store;

pub use case::{Case, MAX_DOCUMENT_BYTES, Phase};
pub use comparison::VariantRun;
pub use error::{Error, Result};
pub use experiment::ExperimentPlan;
pub use store::{MAX_IMPORT_BYTES, Store};
