//! A metric over a parameter: levels of the settings, change points (knees) between them, the scaling
//! law.
//!
//! Change points are detected by model comparison. Levels are compared on a logarithmic scale. The
//! smooth curves that programs usually show (constant, powers, logarithm, linear, n log n, quadratic,
//! all with an additive constant, gentle bends) are compared with curves of several segments. A change
//! point is accepted if no smooth curve around it fits nearly as well, by a parametric bootstrap under
//! the best smooth curve: without a change point its position is not identified, so no tabulated
//! distribution applies (Hansen, "Inference when a nuisance parameter is not identified under the null
//! hypothesis", Econometrica 64 (1996)). Its interval comes from the weights of all positions.

mod block_drift;
mod bootstrap_random;
mod change_points;
mod knee_models;
mod knee_search;
mod least_squares;
mod ramp_merging;
mod scaling_law;
mod segmentation;
mod segments;
mod setting_levels;
mod smooth_models;

pub use change_points::{Curve, CurveQuestion, Knee, KneeKind, Segment, SettingLevel, curve};
pub use scaling_law::{ScalingFit, ScalingLaw, fit_scaling_law};

/// How the parameter is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// By doublings.
    Log2,
    /// By differences.
    Linear,
}

impl Axis {
    /// The place of a value on the axis.
    pub(crate) fn place(self, x: f64) -> f64 {
        match self {
            Self::Log2 => x.log2(),
            Self::Linear => x,
        }
    }

    /// The value at a place of the axis.
    pub(crate) fn value(self, u: f64) -> f64 {
        match self {
            Self::Log2 => u.exp2(),
            Self::Linear => u,
        }
    }
}

/// A setting of the parameter with its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The parameter.
    pub x: f64,
    /// Block and value of each run; runs of one block were made next to one another.
    pub runs: Vec<(u32, f64)>,
}
