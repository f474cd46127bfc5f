//! What `try`, `ablate`, `sweep` and `bisect` share: arguments, the case with its journal, and
//! taking an experiment up again.

mod args;
mod book;
mod build_args;
mod session;
mod show;
mod take_up;
mod why;

pub use args::{ExperimentArgs, line_as_given, line_of};
pub use build_args::BuildArgs;
pub use session::Session;
pub use show::shown;
pub use take_up::{repeat, resume};
pub use why::causes;
