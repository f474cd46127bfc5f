//! Exact counts joined with code: who was called how often, and what each execution cost.

mod calls;
mod cost;
mod detail;
mod document;
mod function_counts;
mod inclusive;
mod inclusive_time;
mod index;
mod instruction_change;
mod loop_costs;
mod names;
#[cfg(test)]
mod synthetic;

pub use calls::{CallSite, call_sites};
pub use cost::{Clock, JoinOptions, Joined};
pub use detail::counted_detail;
pub use document::{FunctionLines, PerUnit, counts, counts_without_lines};
pub use function_counts::FunctionCounts;
pub use inclusive_time::{CalleeTime, InclusiveTime, inclusive_time};
pub use index::merged;
pub use instruction_change::instruction_change;
pub use names::{ExecutedFunction, ExecutedFunctions};
