//! Variants in builds of their own: the whole as it is, and parts that a patch takes out.

use std::path::PathBuf;

use super::AblatedVariant;
use super::components::BASELINE;
use crate::try_variants::{VariantBuild, VariantBuilder};
use crate::{Comparer, ExperimentError, VariantPlan};

/// Puts a command into the build with these patches; the whole must be asked for first, which
/// builds the program as it is.
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
            AblatedVariant::NotBuilt("it is the same program".to_owned())
        }
    })
}
