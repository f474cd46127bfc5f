//! Variants in builds of their own: the whole as it is, and parts that a patch takes out.

use std::path::PathBuf;

use super::Made;
use super::components::WHOLE;
use crate::try_variants::{Ready, Workplace};
use crate::{ExperimentError, Lab, VariantPlan};

/// Puts a command into the build with these patches; the whole must be asked for first, which
/// builds the program as it is.
///
/// # Errors
/// An interruption; the launcher dies.
pub fn built(
    lab: &mut Lab<'_>,
    place: &mut Workplace,
    plan: &VariantPlan,
    patches: &[PathBuf],
) -> Result<Made, ExperimentError> {
    let mut ready = None;
    if plan.name == WHOLE {
        match place.baseline(lab)? {
            Ready::Variant { .. } => {}
            other => ready = Some(other),
        }
    }
    let ready = match ready {
        Some(failed) => failed,
        None => place.patched(lab, plan, patches)?,
    };
    Ok(match ready {
        Ready::Variant { plan, .. } => Made::Variant(plan),
        Ready::Failed { reason } | Ready::Unavailable { reason } => Made::Not(reason),
        Ready::Identical { .. } => Made::Not("it is the same program".to_owned()),
    })
}
