//! The road from end to end: observe, locate, case file, page.
//!
//! **Scope.** Which measurement comes when, how often, and what of it is kept:
//! [`investigate`] walks the whole road, [`counters::count`], [`executions::count`] and
//! [`observe::repeat`] are the parts that verbs use alone. Progress is reported through [`Progress`].
//!
//! **Not here.** How to start a process, sample, find symbols, compute an interval or print.

pub mod costs;
pub mod counters;
pub mod diff;
mod error;
pub mod executions;
mod experiments;
pub mod facts;
pub mod observe;
mod progress;
pub mod quotes;
mod road;
mod sampling;
mod script;
mod simulate;
mod sizes;
pub mod summary;

pub use error::{InvestigateError, in_words};
pub use progress::{NoProgress, Progress};
pub use road::{Options, Outcome, investigate};
