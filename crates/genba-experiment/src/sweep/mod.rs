//! A metric over one parameter or two: the driver of `genba sweep`.
//!
//! The grid is adaptive: a coarse grid first, every setting once per block in random order; then
//! settings next to the change points, until these are located to the resolution of the parameter
//! or the budget is spent. [`genba_stats::curve`](fn@genba_stats::curve) detects change points.

mod budget_limit;
mod next_settings;
mod setting_runs;
mod sweep_document;
mod sweep_loop;
mod swept_parameter;
mod unreported_metric;

pub use sweep_document::document;
pub use sweep_loop::{SweepEnd, SweepPlan, SweepResult, sweep};
pub use swept_parameter::SweptParameter;
