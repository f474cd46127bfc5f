//! The loop of `genba try`: builds, race, combination, recommendation.

use genba_model::{ChangeKind, Comparison, Keep, LayoutEffect, Tried, Variant, VerdictName};

use crate::output_check::varying_output_note;
use crate::try_variants::baseline_run::{BaselineRun, ExplainBaseline};
use crate::try_variants::combined_gains::combine;
use crate::try_variants::corrected_verdicts::{judge, layout_effect};
use crate::try_variants::pooled_runs::PooledRuns;
use crate::try_variants::preset_selection::{contenders, select_changes};
use crate::try_variants::race::{Contender, RaceRules, RaceState, race};
use crate::try_variants::variant_outcome;
use crate::try_variants::{VariantBuilder, VariantChange};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// Settings of `genba try`.
#[derive(Clone, Debug)]
pub struct TryOptions {
    /// Whether applicable presets are added, unpromising variants parked and gains combined.
    pub auto: bool,
    /// Time limit, seconds.
    pub budget: f64,
    /// Whether builds and the first run use the budget, too.
    pub builds_count: bool,
    /// Whether measuring may take as long as the builds did, up to [`MAX_SECONDS_AS_BUILDS`]: for a budget that nobody
    /// chose. Who waited for minutes of builds wants a verdict.
    pub as_long_as_builds: bool,
    /// Number of builds that show the layout effect, if anything is built.
    pub layouts: usize,
    /// Causes found by `explain`, the largest gain first; `None` to run it.
    pub causes: Option<Vec<String>>,
    /// CPUs that may be used.
    pub cpus: Vec<usize>,
}

/// Result of `genba try`.
#[derive(Debug)]
pub struct TryResult {
    /// Measured variants, the baseline first.
    pub variants: Vec<Variant>,
    /// Comparisons with the baseline.
    pub comparisons: Vec<Comparison>,
    /// Every variant, the best first.
    pub tried: Vec<Tried>,
    /// Effect of code layout alone.
    pub layout: Option<LayoutEffect>,
    /// The recommended change.
    pub keep: Option<Keep>,
    /// The baseline.
    pub baseline: VariantPlan,
    /// The change of the fastest variant.
    pub change: Option<VariantChange>,
    /// The fastest variant, if one is faster than the baseline.
    pub winner: Option<VariantPlan>,
    /// The slowest variant, if one is slower than the baseline.
    pub loser: Option<VariantPlan>,
    /// Notes for the report, a sentence each.
    pub notes: Vec<String>,
}

/// Share of the budget by which the first race ends; the rest is for the combination.
const RACE_BUDGET_SHARE: f64 = 0.8;

/// Longest time for measuring where it may take as long as the builds, seconds.
const MAX_SECONDS_AS_BUILDS: f64 = 120.0;

/// Compares `changes` (and with [`TryOptions::auto`] the presets) with the plan's only variant.
///
/// # Errors
/// The baseline does not build or run, or an interruption before anything was measured.
pub fn run(
    comparer: &mut Comparer<'_>,
    template: &Plan,
    builder: &mut VariantBuilder,
    changes: Vec<VariantChange>,
    options: &TryOptions,
    explain: &mut ExplainBaseline<'_>,
) -> Result<TryResult, ExperimentError> {
    let start = BaselineRun::of(comparer, template, builder, options, explain)?;
    let changes = select_changes(builder, &start.facts, changes, options);
    let (mut contenders, mut tried) = contenders(comparer, builder, &start, changes, options)?;
    let BaselineRun {
        template, baseline, ..
    } = &start;
    let mut alone = PooledRuns::new(template, vec![baseline.clone()]);
    let family = (contenders.iter())
        .filter(|one| one.change.kind != ChangeKind::Layout)
        .count();
    let rules = RaceRules {
        until: end_of_race(options, comparer.elapsed()),
        drop_early: options.auto,
        family,
        what: "measuring",
    };
    let mut run_race = |contenders: &mut [Contender], rules: &RaceRules| match family {
        0 => Ok(()),
        _ => race(comparer, template, baseline, &mut alone, contenders, rules),
    };
    run_race(&mut contenders, &rules)?;
    let mut layout = layout_effect(&contenders);
    let mut judged = judge(&contenders, template, layout.as_ref());
    let gains = judged.iter().filter(|one| one.is_gain()).count();
    if options.auto && gains < 2 && family > 0 {
        // Nothing can be combined: the time is for undecided variants, likely gains first.
        let rules = RaceRules {
            until: options.budget,
            drop_early: false,
            ..rules
        };
        likely_first(&mut contenders);
        run_race(&mut contenders, &rules)?;
        layout = layout_effect(&contenders);
        judged = judge(&contenders, template, layout.as_ref());
    }
    if options.auto && !comparer.cancelled() {
        let combined = combine(
            comparer,
            builder,
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
        tried.push(variant_outcome::measured(builder, contender, judged));
    }
    variant_outcome::sort(&mut tried);
    let keep = winner
        .map(|index| variant_outcome::keep(builder, &contenders[index], &judged[index], baseline));
    let (variants, comparisons) =
        variant_outcome::documents(&alone, &contenders, &judged, template);
    let mut notes = start.notes;
    notes.extend(builder.notes());
    let built = |index: usize| contenders[index].change.is_other_code();
    if layout.is_none() && winner.is_some_and(built) {
        notes.push(
            "no build shows the layout effect (--layouts, --budget): a gain of a few percent may \
             be one"
                .to_owned(),
        );
    }
    if alone.output_varies() {
        notes.push(varying_output_note(&start.baseline.name));
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

/// When the first race ends, seconds of the experiment; `elapsed` have passed by now, in the builds and the first run.
fn end_of_race(options: &TryOptions, elapsed: f64) -> f64 {
    if options.auto {
        return options.budget * RACE_BUDGET_SHARE;
    }
    let uncounted = match options.builds_count {
        true => 0.0,
        false => elapsed,
    };
    let measuring = match options.as_long_as_builds {
        true => options.budget.max(elapsed.min(MAX_SECONDS_AS_BUILDS)),
        false => options.budget,
    };
    measuring + uncounted
}

/// Lets the undecided variants that look like gains run, and parks the others.
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
