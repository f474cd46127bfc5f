//! Exact counts joined with code: who was called how often, and what each execution cost.

mod calls;
mod cost;
mod counted_detail;
mod counts_index;
mod document;
mod executed_functions;
mod function_counts;
mod inclusive;
mod inclusive_time;
mod instruction_change;
mod loop_costs;
#[cfg(test)]
mod synthetic;

pub use calls::{CallSite, call_sites};
pub use cost::{Clock, JoinOptions, Joined};
pub use counted_detail::counted_detail;
pub use counts_index::merged;
pub use document::{FunctionLines, PerUnit, counts, counts_without_lines};
pub use executed_functions::{ExecutedFunction, ExecutedFunctions};
pub use function_counts::FunctionCounts;
pub use inclusive_time::{CalleeTime, InclusiveTime, inclusive_time};
pub use instruction_change::instruction_change;
