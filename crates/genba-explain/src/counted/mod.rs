//! Exact counts joined with code: who was called how often, and what each execution cost.

mod calls;
mod cost;
mod detail;
mod document;
mod function;
mod inclusive;
mod index;
#[cfg(test)]
mod made_up;
mod model;
mod names;

pub(crate) use calls::{CallSite, call_sites};
pub use cost::{Clock, JoinOptions, Joined};
pub use detail::counted_detail;
pub use document::{PerUnit, counts};
pub(crate) use function::FunctionCounts;
pub use index::merged;
pub(crate) use names::ExecutedFunctions;
