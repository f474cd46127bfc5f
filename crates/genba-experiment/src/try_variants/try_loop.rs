//! The whole of a trial: builds, race, combination, what to keep.

use genba_model::{ChangeKind, Comparison, Keep, LayoutEffect, Tried, Variant, VerdictName};

use crate::try_variants::baseline_run::{BaselineRun, ExplainBaseline};
use crate::try_variants::combined_gains::combine;
use crate::try_variants::corrected_verdicts::{judge, layout_effect};
use crate::try_variants::pooled_runs::PooledRuns;
use crate::try_variants::preset_selection::{contenders, ways};
use crate::try_variants::race::{Contender, RaceRules, RaceState, race};
use crate::try_variants::variant_outcome;
use crate::try_variants::{VariantBuilder, VariantChange};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// How a trial is made.
#[derive(Clone, Debug)]
pub struct TryOptions {
    /// The presets that fit, hopeless ways dropped early, the best combined.
    pub auto: bool,
    /// Time for all of it, seconds.
    pub budget: f64,
    /// Builds that show what layout does, where anything is built.
    pub layouts: usize,
    /// Causes that `explain` found, most profitable first; `None`: it is to be asked.
    pub causes: Option<Vec<String>>,
    /// CPUs that may be used.
    pub cpus: Vec<usize>,
}

/// What was tried, measured and found.
#[derive(Debug)]
pub struct TryResult {
    /// What was measured, the baseline first.
    pub variants: Vec<Variant>,
    /// Each against the baseline.
    pub comparisons: Vec<Comparison>,
    /// Every way, best first.
    pub tried: Vec<Tried>,
    /// What layout alone does.
    pub layout: Option<LayoutEffect>,
    /// What to keep.
    pub keep: Option<Keep>,
    /// How the baseline is run.
    pub baseline: VariantPlan,
    /// What the winner changes.
    pub change: Option<VariantChange>,
    /// How the winner is run.
    pub winner: Option<VariantPlan>,
    /// How the worst loser is run.
    pub loser: Option<VariantPlan>,
    /// What must be said.
    pub notes: Vec<String>,
}

/// Of the budget so much may have passed when the first race ends; the rest is for the combination.
const RACE_SHARE: f64 = 0.8;

/// Tries `changes` (and with [`TryOptions::auto`] the presets) against the plan's only variant.
///
/// # Errors
/// The baseline does not build or run; an interruption before anything was measured.
pub fn run(
    comparer: &mut Comparer<'_>,
    template: &Plan,
    place: &mut VariantBuilder,
    changes: Vec<VariantChange>,
    options: &TryOptions,
    explain: &mut ExplainBaseline<'_>,
) -> Result<TryResult, ExperimentError> {
    let start = BaselineRun::of(comparer, template, place, options, explain)?;
    let changes = ways(place, &start.facts, changes, options);
    let (mut contenders, mut tried) = contenders(comparer, place, &start, changes, options)?;
    let BaselineRun {
        template, baseline, ..
    } = &start;
    let mut alone = PooledRuns::new(template, vec![baseline.clone()]);
    let family = contenders
        .iter()
        .filter(|one| one.change.kind != ChangeKind::Layout)
        .count();
    let rules = RaceRules {
        until: if options.auto {
            options.budget * RACE_SHARE
        } else {
            options.budget
        },
        drop_early: options.auto,
        family,
        what: "measuring",
    };
    if family > 0 {
        race(
            comparer,
            template,
            baseline,
            &mut alone,
            &mut contenders,
            &rules,
        )?;
    }
    let mut layout = layout_effect(&contenders);
    let mut judged = judge(&contenders, template, layout.as_ref());
    let gains = judged.iter().filter(|one| one.is_gain()).count();
    if options.auto && gains < 2 && family > 0 {
        // There is nothing to combine: the time goes to what is undecided, the likely gains first.
        let rules = RaceRules {
            until: options.budget,
            drop_early: false,
            ..rules
        };
        likely_first(&mut contenders);
        race(
            comparer,
            template,
            baseline,
            &mut alone,
            &mut contenders,
            &rules,
        )?;
        layout = layout_effect(&contenders);
        judged = judge(&contenders, template, layout.as_ref());
    }
    if options.auto && !comparer.cancelled() {
        let combined = combine(
            comparer,
            place,
            &start,
            &mut alone,
            &contenders,
            &judged,
            options,
        )?;
        if let Some((contender, one)) = combined {
            contenders.push(contender);
            judged.push(one);
        }
    }
    let winner = variant_outcome::winner(&contenders, &judged);
    let loser = variant_outcome::loser(&contenders, &judged);
    for (contender, judged) in contenders.iter().zip(&judged) {
        tried.push(variant_outcome::measured(place, contender, judged));
    }
    variant_outcome::sort(&mut tried);
    let keep = winner
        .map(|index| variant_outcome::keep(place, &contenders[index], &judged[index], baseline));
    let (variants, comparisons) =
        variant_outcome::documents(&alone, &contenders, &judged, template);
    let mut notes = start.notes;
    notes.extend(place.notes());
    let built = |index: usize| contenders[index].change.is_other_code();
    if layout.is_none() && winner.is_some_and(built) {
        notes.push(
            "no build shows what layout alone does here (--layouts, --budget): a gain of a few \
             percent may be no more than that"
                .to_owned(),
        );
    }
    notes.extend(comparer.notes().iter().cloned());
    Ok(TryResult {
        variants,
        comparisons,
        tried,
        layout,
        keep,
        baseline: start.baseline,
        change: winner.map(|index| contenders[index].change.clone()),
        winner: winner.map(|index| contenders[index].plan.clone()),
        loser: loser.map(|index| contenders[index].plan.clone()),
        notes,
    })
}

/// Of those that are undecided the ones that look like gains run, and the others when they are done.
fn likely_first(contenders: &mut [Contender]) {
    for one in contenders {
        if !matches!(one.standing, RaceState::Running | RaceState::Parked) {
            continue;
        }
        let layout = one.change.kind == ChangeKind::Layout;
        let likely =
            (one.track.effect()).is_some_and(|effect| effect.verdict == VerdictName::Faster);
        one.standing = if likely || layout {
            RaceState::Running
        } else {
            RaceState::Parked
        };
    }
}
