//! Cost of each component of a workload, switched off one at a time: `genba ablate`.
//!
//! The baseline, the variant without each component and the variant without all of them run in one
//! interleaved schedule. A component costs the baseline minus the variant without it, block by
//! block, so that disturbances that a block shares cancel.

mod component_builds;
mod component_costs;
mod components;

pub use component_builds::build_variant;
pub use component_costs::ablation;
pub use components::{AblatePlan, AblatedVariant, Component, DisableBy, DisabledComponents, plan};
