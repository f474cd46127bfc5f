//! The whole of a trial: builds, race, combination, what to keep.

use std::time::Duration;

use genba_model::{ChangeKind, Comparison, Keep, LayoutEffect, Tried, Variant, VerdictName};

use crate::pairing::{Evidence, corrected};
use crate::trial::outcome::{self, Judged};
use crate::trial::race::{Contender, Rules, Standing, race};
use crate::trial::track::Track;
use crate::trial::{Change, Facts, Ready, Workplace, battery, explained, promised};
use crate::{ExperimentError, Lab, Plan, VariantPlan};

/// How a trial is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The battery that fits, hopeless ways dropped early, the best combined.
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
pub struct Trial {
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
    pub change: Option<Change>,
    /// How the winner is run.
    pub winner: Option<VariantPlan>,
    /// How the worst loser is run.
    pub loser: Option<VariantPlan>,
    /// What must be said.
    pub notes: Vec<String>,
}

/// Of the budget so much may go into builds, and all of it but this share into the race.
const BUILD_SHARE: f64 = 0.5;
const RACE_SHARE: f64 = 0.8;
/// Blocks that there must be time for, or there is no point in letting one more way in.
const FEWEST_BLOCKS: f64 = 8.0;
/// A run that takes so many times as long as the baseline's hangs.
const SLOWEST_RUN: f64 = 20.0;
/// No run is taken to hang before, seconds.
const PATIENCE: f64 = 10.0;
/// When builds that differ in layout only are made: after the two most promising ones.
const LAYOUT_PROMISE: u8 = 84;
/// Ways that are let in however little time there is.
const ALWAYS: usize = 4;

/// Asks `explain` about the baseline, whose run takes so many seconds; the causes, or why they
/// are not known. Its time is the trial's.
pub type Explain<'a> = dyn FnMut(&VariantPlan, f64) -> Result<Vec<String>, String> + 'a;

/// Tries `changes` (and with [`Options::auto`] the battery) against the plan's only variant.
///
/// # Errors
/// The baseline does not build or run; an interruption before anything was measured.
pub fn run(
    lab: &mut Lab<'_>,
    template: &Plan,
    place: &mut Workplace,
    changes: Vec<Change>,
    options: &Options,
    explain: &mut Explain<'_>,
) -> Result<Trial, ExperimentError> {
    let mut baseline = match place.baseline(lab)? {
        Ready::Variant { plan, .. } => *plan,
        Ready::Failed { reason } | Ready::Unavailable { reason } => {
            return Err(ExperimentError::Plan {
                what: format!("the program as it is cannot be built: {reason}"),
            });
        }
        Ready::Identical { .. } => {
            return Err(ExperimentError::Plan {
                what: "the baseline was compared with itself".to_owned(),
            });
        }
    };
    let mut template = template.clone();
    template.variants = vec![baseline.clone()];
    lab.say("a first run", None);
    let probe = lab.probe(&template, 0)?;
    if let Some(reason) = probe.failed {
        return Err(ExperimentError::NothingLeft {
            reasons: vec![reason],
            usage: false,
        });
    }
    let mut said = Vec::new();
    let causes = match (&options.causes, options.auto) {
        (Some(causes), _) => causes.clone(),
        (None, false) => Vec::new(),
        (None, true) => {
            lab.say("explaining: what it finds is tried first", None);
            explain(&baseline, probe.seconds).unwrap_or_else(|why| {
                said.push(format!("the battery is in its usual order: {why}"));
                Vec::new()
            })
        }
    };
    said.extend(explained(&causes));
    let value = |name: &str| probe.values.get(name).copied().unwrap_or(0.0);
    let facts = Facts {
        wall: value("wall"),
        user: value("user"),
        system: value("system"),
        faults: value("minor_faults"),
        causes,
        cpus: options.cpus.clone(),
    };
    let limit = Duration::from_secs_f64((facts.wall * SLOWEST_RUN).clamp(PATIENCE, 1e6));
    let timeout = baseline.spec.timeout.unwrap_or(limit);
    baseline.spec.timeout = Some(timeout);

    let mut tried = Vec::new();
    let mut changes = changes;
    if options.auto {
        changes.extend(wanted(place, &facts, &changes));
    }
    if changes.iter().any(is_other_code) && place.builds() {
        let recipes = genba_build::layouts(place.is_rust()).into_iter();
        changes.extend(recipes.take(options.layouts).map(|recipe| Change {
            promise: LAYOUT_PROMISE,
            ..Change::build(recipe)
        }));
    }
    // The most promising first; those that cost no build before those that do.
    changes.sort_by_key(|change| (std::cmp::Reverse(change.promise), change.needs_build()));
    let mut contenders: Vec<Contender> = Vec::new();
    let began = lab.elapsed();
    for change in changes {
        if options.auto
            && change.unavailable.is_none()
            && let Some(reason) = no_time(
                lab,
                place,
                &change,
                &contenders,
                probe.seconds,
                began,
                options,
            )
        {
            tried.push(outcome::not_tried(place, &change, reason));
            continue;
        }
        match place.ready(lab, &change)? {
            Ready::Variant {
                mut plan,
                build_seconds,
            } => {
                plan.spec.timeout = Some(timeout);
                contenders.push(Contender::new(
                    &template,
                    &baseline,
                    change,
                    *plan,
                    build_seconds,
                ));
            }
            other => tried.push(outcome::not_measured(place, &change, other)),
        }
    }
    if !contenders.iter().any(|one| is_other_code(&one.change)) {
        // Nothing is there to be compared with them.
        contenders.retain(|one| one.change.kind != ChangeKind::Layout);
    }
    let mut alone = Track::new(&template, vec![baseline.clone()]);
    let family = contenders
        .iter()
        .filter(|one| one.change.kind != ChangeKind::Layout)
        .count();
    let rules = Rules {
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
            lab,
            &template,
            &baseline,
            &mut alone,
            &mut contenders,
            &rules,
        )?;
    }
    let mut layout = layout_effect(&contenders);
    let mut judged = judge(&contenders, &template, layout.as_ref());
    let gains = judged.iter().filter(|one| one.is_gain()).count();
    if options.auto && gains < 2 && family > 0 {
        // There is nothing to combine: the time goes to what is undecided, the likely gains first.
        let rules = Rules {
            until: options.budget,
            drop_early: false,
            ..rules
        };
        likely_first(&mut contenders);
        race(
            lab,
            &template,
            &baseline,
            &mut alone,
            &mut contenders,
            &rules,
        )?;
        layout = layout_effect(&contenders);
        judged = judge(&contenders, &template, layout.as_ref());
    }
    if options.auto && !lab.cancelled() {
        let combined = combine(
            lab,
            &template,
            place,
            &baseline,
            &mut alone,
            &contenders,
            &judged,
            options,
            timeout,
        )?;
        if let Some((contender, one)) = combined {
            contenders.push(contender);
            judged.push(one);
        }
    }
    let winner = outcome::winner(&contenders, &judged);
    let loser = outcome::loser(&contenders, &judged);
    for (contender, judged) in contenders.iter().zip(&judged) {
        tried.push(outcome::measured(place, contender, judged));
    }
    outcome::sort(&mut tried);
    let keep =
        winner.map(|index| outcome::keep(place, &contenders[index], &judged[index], &baseline));
    let (variants, comparisons) = outcome::documents(&alone, &contenders, &judged, &template);
    let mut notes = said;
    notes.extend(place.notes());
    let built = |index: usize| is_other_code(&contenders[index].change);
    if layout.is_none() && winner.is_some_and(built) {
        notes.push(
            "no build shows what layout alone does here (--layouts, --budget): a gain of a few \
             percent may be no more than that"
                .to_owned(),
        );
    }
    notes.extend(lab.notes().iter().cloned());
    Ok(Trial {
        variants,
        comparisons,
        tried,
        layout,
        keep,
        baseline,
        change: winner.map(|index| contenders[index].change.clone()),
        winner: winner.map(|index| contenders[index].plan.clone()),
        loser: loser.map(|index| contenders[index].plan.clone()),
        notes,
    })
}

/// Of those that are undecided the ones that look like gains run, and the others when they are done.
fn likely_first(contenders: &mut [Contender]) {
    for one in contenders {
        if !matches!(one.standing, Standing::Running | Standing::Parked) {
            continue;
        }
        let layout = one.change.kind == ChangeKind::Layout;
        let likely =
            (one.track.effect()).is_some_and(|effect| effect.verdict == VerdictName::Faster);
        one.standing = if likely || layout {
            Standing::Running
        } else {
            Standing::Parked
        };
    }
}

/// The battery that fits, without what was asked for anyway.
fn wanted(place: &Workplace, facts: &Facts, asked: &[Change]) -> Vec<Change> {
    let mut all = battery(facts);
    if place.builds() {
        let usual = place.family();
        let suggested = super::suggested(&facts.causes);
        for mut recipe in genba_build::catalogue(place.is_rust()) {
            if recipe.compiler == Some(usual) {
                continue;
            }
            recipe.promise = promised(&suggested, &recipe.name, recipe.promise);
            all.push(Change::build(recipe));
        }
    }
    all.retain(|change| asked.iter().all(|one| one.name != change.name));
    all
}

/// Whether other code is run than in the baseline: then its layout differs, too.
fn is_other_code(change: &Change) -> bool {
    change.needs_build() && change.kind != ChangeKind::Layout
}

/// Why there is no time for one more way.
fn no_time(
    lab: &mut Lab<'_>,
    place: &Workplace,
    change: &Change,
    contenders: &[Contender],
    run_seconds: f64,
    began: f64,
    options: &Options,
) -> Option<String> {
    let first_build = !contenders.iter().any(|one| is_other_code(&one.change));
    let contenders = contenders.len();
    let each = run_seconds * FEWEST_BLOCKS;
    let room = options.budget * (1.0 - BUILD_SHARE / 2.0);
    if contenders >= ALWAYS && each * (contenders + 2) as f64 > room {
        return Some(format!(
            "the budget of {:.0} s has no room for more than {contenders} ways",
            options.budget
        ));
    }
    // One build must be tried, or there was no point in --build.
    if !change.needs_build() || first_build {
        return None;
    }
    let build = place.baseline_seconds().unwrap_or(0.0);
    let twice = change.recipe.as_ref().is_some_and(|recipe| recipe.profiled);
    let needed = build * if twice { 2.5 } else { 1.2 };
    let spent = lab.elapsed() - began;
    (spent + needed > options.budget * BUILD_SHARE).then(|| {
        format!(
            "its build would take about {needed:.0} s, more than is left of the budget of {:.0} s",
            options.budget
        )
    })
}

/// What the builds that differ in layout only show.
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
        !matches!(self.standing, Standing::Failed(_))
    }
}

/// Verdicts, corrected over all ways together.
pub(super) fn judge(
    contenders: &[Contender],
    plan: &Plan,
    layout: Option<&LayoutEffect>,
) -> Vec<Judged> {
    let counted: Vec<usize> = (0..contenders.len())
        .filter(|index| contenders[*index].change.kind != ChangeKind::Layout)
        .collect();
    let evidence: Vec<Evidence> = counted
        .iter()
        .map(|index| Evidence::LogE(contenders[*index].track.log_e()))
        .collect();
    let holds = corrected(&evidence, plan.alpha).map(|(_, holds)| holds);
    let mut judged: Vec<Judged> = (contenders.iter())
        .map(|one| {
            Judged::of(
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
            judged[index] = Judged::of(
                &one.track,
                holds,
                plan.delta,
                layout_for(&one.change, layout),
            );
        }
    }
    judged
}

fn layout_for<'a>(change: &Change, layout: Option<&'a LayoutEffect>) -> Option<&'a LayoutEffect> {
    layout.filter(|_| is_other_code(change))
}

/// The gains that go together, built and measured together: against the baseline, and against
/// the best of them alone.
#[expect(clippy::too_many_arguments)]
fn combine(
    lab: &mut Lab<'_>,
    template: &Plan,
    place: &mut Workplace,
    baseline: &VariantPlan,
    alone: &mut Track,
    contenders: &[Contender],
    judged: &[Judged],
    options: &Options,
    timeout: Duration,
) -> Result<Option<(Contender, Judged)>, ExperimentError> {
    let mut gains: Vec<usize> = (0..contenders.len())
        .filter(|index| judged[*index].is_gain())
        .collect();
    gains.sort_by(|one, two| judged[*one].ratio().total_cmp(&judged[*two].ratio()));
    let Some((first, rest)) = gains.split_first() else {
        return Ok(None);
    };
    let mut all = contenders[*first].change.clone();
    let mut parts = 1;
    for index in rest {
        if all.goes_with(&contenders[*index].change) {
            all = all.and(&contenders[*index].change);
            parts += 1;
        }
    }
    if parts < 2 {
        return Ok(None);
    }
    let Ready::Variant {
        mut plan,
        build_seconds,
    } = place.ready(lab, &all)?
    else {
        return Ok(None);
    };
    plan.spec.timeout = Some(timeout);
    let left = (options.budget - lab.elapsed()).max(0.0);
    let mut pair = [Contender::new(
        template,
        baseline,
        all.clone(),
        (*plan).clone(),
        build_seconds,
    )];
    let rules = Rules {
        until: lab.elapsed() + left * 0.4,
        drop_early: false,
        family: 1,
        what: "the combination",
    };
    race(lab, template, baseline, alone, &mut pair, &rules)?;
    let best = &contenders[*first].plan;
    let mut against = [Contender::new(template, best, all, *plan, build_seconds)];
    let mut best_alone = Track::new(template, vec![best.clone()]);
    let rules = Rules {
        until: options.budget,
        what: "the combination against its best part",
        ..rules
    };
    race(lab, template, best, &mut best_alone, &mut against, &rules)?;
    let [contender] = pair;
    let better = (against[0].track.effect()).is_some_and(|effect| {
        effect.verdict == VerdictName::Faster && effect.ratio.value <= 1.0 - template.delta
    });
    let mut one = Judged::of(&contender.track, true, template.delta, None);
    one.surpasses = Some(better);
    one.best_part = Some(contenders[*first].change.name.clone());
    Ok(Some((contender, one)))
}

/// What would be done, a line each.
#[must_use]
pub fn plan_in_words(place: &Workplace, changes: &[Change], options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let mut all = changes.to_vec();
    if options.auto {
        let facts = Facts {
            wall: 1.0,
            user: 1.0,
            causes: options.causes.clone().unwrap_or_default(),
            cpus: options.cpus.clone(),
            ..Facts::default()
        };
        all.extend(wanted(place, &facts, changes));
    }
    all.sort_by_key(|change| (std::cmp::Reverse(change.promise), change.needs_build()));
    for change in &all {
        let words = change.in_words(place.family(), place.is_rust());
        lines.push(match &change.unavailable {
            Some(reason) => format!("{}: not here: {reason}", change.name),
            None => format!("{}: {words}", change.name),
        });
    }
    lines
}
