//! Outcome of each variant for the document. Pure.

use genba_model::{
    ChangeKind, Comparison, Correction, Estimate, Keep, LayoutEffect, Tried, TriedOutcome, Variant,
    VerdictName,
};

use crate::paired_effect::{Effect, differs};
use crate::try_variants::pooled_runs::PooledRuns;
use crate::try_variants::race::{Contender, RaceState};
use crate::try_variants::{VariantBuild, VariantBuilder, VariantChange};
use crate::{Plan, VariantPlan};

/// Verdict and outcome of a variant.
#[derive(Clone, Debug)]
pub(crate) struct JudgedVariant {
    effect: Option<Effect>,
    /// Whether the difference holds after correction over all variants.
    holds: bool,
    within_layout: bool,
    delta: f64,
    /// For a combination: whether it is faster than its best component.
    pub surpasses: Option<bool>,
    /// For a combination: its best component.
    pub best_component: Option<String>,
}

impl JudgedVariant {
    pub fn of(track: &PooledRuns, holds: bool, delta: f64, layout: Option<&LayoutEffect>) -> Self {
        let effect = track.effect();
        let within = |effect: &Effect| layout.is_some_and(|one| one.covers(effect.ratio.value));
        Self {
            within_layout: effect.as_ref().is_some_and(within),
            effect,
            holds,
            delta,
            surpasses: None,
            best_component: None,
        }
    }

    pub fn ratio(&self) -> f64 {
        self.effect
            .as_ref()
            .map_or(1.0, |effect| effect.ratio.value)
    }

    pub fn is_gain(&self) -> bool {
        self.outcome() == TriedOutcome::Gain
    }

    pub fn outcome(&self) -> TriedOutcome {
        let Some(effect) = &self.effect else {
            return TriedOutcome::Undecided;
        };
        match effect.verdict {
            VerdictName::Same => TriedOutcome::Same,
            VerdictName::Undecided => TriedOutcome::Undecided,
            _ if !self.holds => TriedOutcome::Undecided,
            VerdictName::Slower => TriedOutcome::Slower,
            VerdictName::Faster if self.within_layout => TriedOutcome::Slight,
            VerdictName::Faster if effect.ratio.value > 1.0 - self.delta => TriedOutcome::Slight,
            VerdictName::Faster => TriedOutcome::Gain,
        }
    }
}

fn blank(builder: &VariantBuilder, change: &VariantChange, outcome: TriedOutcome) -> Tried {
    Tried {
        name: change.name.clone(),
        kind: change.kind,
        change: change.describe(builder.family(), builder.is_rust()),
        caution: change.caution.clone(),
        outcome,
        ratio: None,
        pairs: 0,
        within_layout: false,
        build_seconds: None,
        reason: None,
    }
}

/// A variant for which there was no time.
pub(crate) fn not_tried(builder: &VariantBuilder, change: &VariantChange, reason: String) -> Tried {
    Tried {
        reason: Some(reason),
        ..blank(builder, change, TriedOutcome::NotTried)
    }
}

/// A variant that could not be measured.
pub(crate) fn not_measured(
    builder: &VariantBuilder,
    change: &VariantChange,
    ready: VariantBuild,
) -> Tried {
    let of = |outcome| blank(builder, change, outcome);
    match ready {
        VariantBuild::Identical { build_seconds } => Tried {
            build_seconds: Some(build_seconds),
            reason: Some("the build gives an identical program".to_owned()),
            ..of(TriedOutcome::Identical)
        },
        VariantBuild::Failed { reason } => Tried {
            reason: Some(reason),
            ..of(TriedOutcome::Failed)
        },
        VariantBuild::Unavailable { reason } => Tried {
            reason: Some(reason),
            ..of(TriedOutcome::Unavailable)
        },
        VariantBuild::Variant { .. } => of(TriedOutcome::NotTried),
    }
}

/// A measured variant.
pub(crate) fn measured(
    builder: &VariantBuilder,
    contender: &Contender,
    judged: &JudgedVariant,
) -> Tried {
    let change = &contender.change;
    let mut tried = blank(builder, change, judged.outcome());
    tried.build_seconds = contender.build_seconds.filter(|_| change.needs_build());
    tried.ratio = primary(contender).map(|one| one.ratio);
    tried.pairs = contender.track.blocks();
    tried.within_layout = judged.within_layout;
    match &contender.standing {
        RaceState::Failed(reason) => {
            tried.outcome = TriedOutcome::Failed;
            tried.reason = Some(reason.clone());
        }
        _ if tried.pairs == 0 => {
            tried.outcome = TriedOutcome::NotTried;
            tried.reason = Some("the budget was spent before it was measured".to_owned());
        }
        RaceState::Parked if tried.outcome == TriedOutcome::Undecided => {
            tried.reason = Some("parked: other variants were more promising".to_owned());
        }
        _ => {}
    }
    if judged.surpasses == Some(false)
        && let Some(best) = &judged.best_component
    {
        tried.reason = Some(format!("no faster than {best} alone"));
    }
    tried
}

fn primary(contender: &Contender) -> Option<Comparison> {
    contender.track.comparisons().into_iter().next()
}

/// Sorts the best first; layout builds and variants that were not measured last.
pub(crate) fn sort(tried: &mut [Tried]) {
    let group = |one: &Tried| match (one.kind, one.outcome) {
        (ChangeKind::Layout, _) => 3,
        (_, TriedOutcome::Gain) => 0,
        (_, TriedOutcome::NotTried) => 7,
        (_, TriedOutcome::Unavailable) => 6,
        (_, TriedOutcome::Failed) => 5,
        (_, TriedOutcome::Identical) => 4,
        _ => 1,
    };
    let ratio = |one: &Tried| one.ratio.map_or(1.0, |ratio| ratio.value);
    tried.sort_by(|one, two| (group(one).cmp(&group(two))).then(ratio(one).total_cmp(&ratio(two))));
}

/// The best gain; a combination only if it is faster than its best component.
pub(crate) fn winner(contenders: &[Contender], judged: &[JudgedVariant]) -> Option<usize> {
    let gains = (0..contenders.len()).filter(|index| {
        let failed = matches!(contenders[*index].standing, RaceState::Failed(_));
        let layout = contenders[*index].change.kind == ChangeKind::Layout;
        !failed && !layout && judged[*index].is_gain() && judged[*index].surpasses != Some(false)
    });
    let combined = |index: usize| judged[index].surpasses == Some(true);
    gains.max_by(|one, two| {
        (combined(*one).cmp(&combined(*two)))
            .then(judged[*two].ratio().total_cmp(&judged[*one].ratio()))
    })
}

/// The slowest variant with the verdict slower.
pub(crate) fn loser(contenders: &[Contender], judged: &[JudgedVariant]) -> Option<usize> {
    let slower = (0..contenders.len()).filter(|index| {
        judged[*index].outcome() == TriedOutcome::Slower
            && contenders[*index].change.kind != ChangeKind::Layout
            && !matches!(contenders[*index].standing, RaceState::Failed(_))
    });
    slower.max_by(|one, two| judged[*one].ratio().total_cmp(&judged[*two].ratio()))
}

/// The recommended change, as the user would make it.
pub(crate) fn keep(
    builder: &VariantBuilder,
    contender: &Contender,
    judged: &JudgedVariant,
    baseline: &VariantPlan,
) -> Keep {
    let change = &contender.change;
    let ratio = primary(contender).map_or(Estimate::exact(judged.ratio()), |one| one.ratio);
    Keep {
        variant: change.name.clone(),
        ratio,
        build: change.describe_build(builder.family(), builder.is_rust()),
        rebuild: None,
        command: change.run.line(&baseline.command),
        cautions: change.caution.iter().cloned().collect(),
    }
}

/// Variants and comparisons of the document, with the correction over all variants.
pub(crate) fn documents(
    alone: &PooledRuns,
    contenders: &[Contender],
    judged: &[JudgedVariant],
    plan: &Plan,
) -> (Vec<Variant>, Vec<Comparison>) {
    let mut variants = alone.variants();
    let mut comparisons = Vec::new();
    let several = contenders.len() > 1;
    for (contender, judged) in contenders.iter().zip(judged) {
        if let Some(mut variant) = contender.track.variants().into_iter().nth(1) {
            if let RaceState::Failed(reason) = &contender.standing {
                variant.excluded = Some(reason.clone());
            }
            variants.push(variant);
        }
        if matches!(contender.standing, RaceState::Failed(_)) {
            continue;
        }
        for mut comparison in contender.track.comparisons() {
            let main = comparison.metric == plan.primary;
            if main && several && differs(comparison.verdict) {
                comparison.corrected = Some(Correction {
                    method: "e-BH".to_owned(),
                    holds: judged.holds,
                });
                if !judged.holds {
                    comparison.verdict = VerdictName::Undecided;
                }
            }
            comparisons.push(comparison);
        }
    }
    comparisons.sort_by_key(|comparison| comparison.metric != plan.primary);
    (variants, comparisons)
}
