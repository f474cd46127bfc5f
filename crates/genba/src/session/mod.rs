//! What `try`, `ablate`, `sweep` and `bisect` share: arguments, the session with its case and
//! journal, and resuming an experiment.

mod build_args;
mod case_writer;
mod experiment_args;
mod experiment_session;
mod resume;
mod stored_document;
mod workload_causes;

pub use build_args::{BuildArgs, check_patch};
pub use experiment_args::ExperimentArgs;
pub use experiment_session::Session;
pub use resume::{repeat, resume};
pub use stored_document::stored_document;
pub use workload_causes::causes;
