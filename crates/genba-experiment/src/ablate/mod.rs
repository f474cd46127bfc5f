//! The cost of each part of a workload, switched off one at a time: `genba ablate`.
//!
//! The whole, each variant without a part, and the variant without any run in one interleaved
//! schedule; what a part costs is the whole minus the variant without it, block by block, so
//! that what all share (the machine, the empty loop) falls out.

mod component_builds;
mod component_costs;
mod components;

pub use component_builds::build_variant;
pub use component_costs::ablation;
pub use components::{AblatePlan, AblatedVariant, Component, DisableBy, DisabledComponents, plan};
