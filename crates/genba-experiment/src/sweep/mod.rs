//! A metric over one parameter or two: the driver of `genba sweep`.
//!
//! It places its own measurements: a coarse grid first, every setting once a block in random
//! order; then settings between those where the curve has a knee, until the knee's place is as
//! fine as the parameter, or the time is spent. What counts as a knee is for
//! [`genba_stats::curve`](fn@genba_stats::curve) to say.

mod next_settings;
mod setting_runs;
mod sweep_document;
mod sweep_loop;
mod swept_parameter;

pub use sweep_document::document;
pub use sweep_loop::{SweepEnd, SweepPlan, Swept, sweep};
pub use swept_parameter::SweptParameter;
