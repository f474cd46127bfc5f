//! Verdicts corrected over all variants, and the layout effect.

use genba_model::{ChangeKind, LayoutEffect};

use crate::Plan;
use crate::paired_effect::{Evidence, corrected};
use crate::try_variants::VariantChange;
use crate::try_variants::race::{Contender, RaceState};
use crate::try_variants::variant_outcome::JudgedVariant;

/// Range of the effects of the layout builds.
pub(super) fn layout_effect(contenders: &[Contender]) -> Option<LayoutEffect> {
    let ratios: Vec<f64> = (contenders.iter())
        .filter(|one| one.change.kind == ChangeKind::Layout && one.standing_counts())
        .filter_map(|one| Some(one.track.effect()?.ratio.value))
        .collect();
    Some(LayoutEffect {
        builds: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        low: ratios.iter().copied().reduce(f64::min)?,
        high: ratios.iter().copied().reduce(f64::max)?,
    })
}

impl Contender {
    fn standing_counts(&self) -> bool {
        !matches!(self.standing, RaceState::Failed(_))
    }
}

/// Verdicts corrected over all variants.
pub(super) fn judge(
    contenders: &[Contender],
    plan: &Plan,
    layout: Option<&LayoutEffect>,
) -> Vec<JudgedVariant> {
    let counted: Vec<usize> = (0..contenders.len())
        .filter(|index| contenders[*index].change.kind != ChangeKind::Layout)
        .collect();
    let evidence: Vec<Evidence> = counted
        .iter()
        .map(|index| Evidence::LogE(contenders[*index].track.log_e()))
        .collect();
    let holds = corrected(&evidence, plan.alpha).map(|(_, holds)| holds);
    let mut judged: Vec<JudgedVariant> = (contenders.iter())
        .map(|one| {
            JudgedVariant::of(
                &one.track,
                true,
                plan.delta,
                layout_for(&one.change, layout),
            )
        })
        .collect();
    if let Some(holds) = holds {
        for (index, holds) in counted.into_iter().zip(holds) {
            let one = &contenders[index];
            judged[index] = JudgedVariant::of(
                &one.track,
                holds,
                plan.delta,
                layout_for(&one.change, layout),
            );
        }
    }
    judged
}

fn layout_for<'a>(
    change: &VariantChange,
    layout: Option<&'a LayoutEffect>,
) -> Option<&'a LayoutEffect> {
    layout.filter(|_| change.is_other_code())
}
