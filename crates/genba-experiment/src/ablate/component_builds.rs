//! Ablation variants in builds of their own: the baseline, and components that a patch removes.

use std::path::PathBuf;

use super::AblatedVariant;
use super::components::BASELINE;
use crate::try_variants::{VariantBuild, VariantBuilder};
use crate::{Comparer, ExperimentError, VariantPlan};

/// Runs a command in the build with these patches. The baseline must be requested first: it builds
/// the program unchanged.
///
/// # Errors
/// An interruption; the launcher dies.
pub fn build_variant(
    comparer: &mut Comparer<'_>,
    place: &mut VariantBuilder,
    plan: &VariantPlan,
    patches: &[PathBuf],
) -> Result<AblatedVariant, ExperimentError> {
    let mut ready = None;
    if plan.name == BASELINE {
        match place.baseline(comparer)? {
            VariantBuild::Variant { .. } => {}
            other => ready = Some(other),
        }
    }
    let ready = match ready {
        Some(failed) => failed,
        None => place.patched(comparer, plan, patches)?,
    };
    Ok(match ready {
        VariantBuild::Variant { plan, .. } => AblatedVariant::Ready(plan),
        VariantBuild::Failed { reason } | VariantBuild::Unavailable { reason } => {
            AblatedVariant::NotBuilt(reason)
        }
        VariantBuild::Identical { .. } => {
            AblatedVariant::NotBuilt("the build gives the same program as the baseline".to_owned())
        }
    })
}
