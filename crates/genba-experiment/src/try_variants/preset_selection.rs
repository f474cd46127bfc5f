//! Which ways are tried: what was asked for and what fits, as far as the time goes.

use genba_model::{ChangeKind, Tried};

use crate::try_variants::baseline_run::BaselineRun;
use crate::try_variants::race::Contender;
use crate::try_variants::try_loop::TryOptions;
use crate::try_variants::{
    VariantBuild, VariantBuilder, VariantChange, WorkloadFacts, presets_for_causes,
    priority_with_causes, run_presets, variant_outcome,
};
use crate::{Comparer, ExperimentError};

/// Of the budget so much may go into builds.
const BUILD_SHARE: f64 = 0.5;
/// Blocks that there must be time for, or there is no point in letting one more way in.
const FEWEST_BLOCKS: f64 = 8.0;
/// When builds that differ in layout only are made: after the two most promising ones.
const LAYOUT_PROMISE: u8 = 84;
/// Ways that are let in however little time there is.
const ALWAYS: usize = 4;

/// The ways that were asked for and those that fit, in the order in which they are tried.
pub(super) fn ways(
    place: &VariantBuilder,
    facts: &WorkloadFacts,
    mut changes: Vec<VariantChange>,
    options: &TryOptions,
) -> Vec<VariantChange> {
    if options.auto {
        changes.extend(wanted(place, facts, &changes));
    }
    if changes.iter().any(VariantChange::is_other_code) && place.builds() {
        let recipes = genba_build::layout_presets(place.is_rust()).into_iter();
        changes.extend(recipes.take(options.layouts).map(|recipe| VariantChange {
            priority: LAYOUT_PROMISE,
            ..VariantChange::build(recipe)
        }));
    }
    // The most promising first; those that cost no build before those that do.
    changes.sort_by_key(|change| (std::cmp::Reverse(change.priority), change.needs_build()));
    changes
}

/// Makes variants of changes while there is time; what was not made comes with the reason.
pub(super) fn contenders(
    comparer: &mut Comparer<'_>,
    place: &mut VariantBuilder,
    start: &BaselineRun,
    changes: Vec<VariantChange>,
    options: &TryOptions,
) -> Result<(Vec<Contender>, Vec<Tried>), ExperimentError> {
    let mut contenders: Vec<Contender> = Vec::new();
    let mut tried = Vec::new();
    let began = comparer.elapsed();
    for change in changes {
        if options.auto
            && change.unavailable.is_none()
            && let Some(reason) = no_time(
                comparer,
                place,
                &change,
                &contenders,
                start.run_seconds,
                began,
                options,
            )
        {
            tried.push(variant_outcome::not_tried(place, &change, reason));
            continue;
        }
        match place.ready(comparer, &change)? {
            VariantBuild::Variant {
                mut plan,
                build_seconds,
            } => {
                plan.spec.timeout = Some(start.timeout);
                contenders.push(Contender::new(
                    &start.template,
                    &start.baseline,
                    change,
                    *plan,
                    build_seconds,
                ));
            }
            other => tried.push(variant_outcome::not_measured(place, &change, other)),
        }
    }
    if !contenders.iter().any(|one| one.change.is_other_code()) {
        // Nothing is there to be compared with them.
        contenders.retain(|one| one.change.kind != ChangeKind::Layout);
    }
    Ok((contenders, tried))
}

/// The presets that fit, without what was asked for anyway.
fn wanted(
    place: &VariantBuilder,
    facts: &WorkloadFacts,
    asked: &[VariantChange],
) -> Vec<VariantChange> {
    let mut all = run_presets(facts);
    if place.builds() {
        let usual = place.family();
        let presets_for_causes = presets_for_causes(&facts.causes);
        for mut recipe in genba_build::build_presets(place.is_rust()) {
            if recipe.compiler == Some(usual) {
                continue;
            }
            recipe.priority =
                priority_with_causes(&presets_for_causes, &recipe.name, recipe.priority);
            all.push(VariantChange::build(recipe));
        }
    }
    all.retain(|change| asked.iter().all(|one| one.name != change.name));
    all
}

/// Why there is no time for one more way.
fn no_time(
    comparer: &mut Comparer<'_>,
    place: &VariantBuilder,
    change: &VariantChange,
    contenders: &[Contender],
    run_seconds: f64,
    began: f64,
    options: &TryOptions,
) -> Option<String> {
    let first_build = !contenders.iter().any(|one| one.change.is_other_code());
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
    let spent = comparer.elapsed() - began;
    (spent + needed > options.budget * BUILD_SHARE).then(|| {
        format!(
            "its build would take about {needed:.0} s, more than is left of the budget of {:.0} s",
            options.budget
        )
    })
}

/// What would be done, a line each.
#[must_use]
pub fn describe_plan(
    place: &VariantBuilder,
    changes: &[VariantChange],
    options: &TryOptions,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut all = changes.to_vec();
    if options.auto {
        let facts = WorkloadFacts {
            wall: 1.0,
            user: 1.0,
            causes: options.causes.clone().unwrap_or_default(),
            cpus: options.cpus.clone(),
            ..WorkloadFacts::default()
        };
        all.extend(wanted(place, &facts, changes));
    }
    all.sort_by_key(|change| (std::cmp::Reverse(change.priority), change.needs_build()));
    for change in &all {
        let words = change.in_words(place.family(), place.is_rust());
        lines.push(match &change.unavailable {
            Some(reason) => format!("{}: not here: {reason}", change.name),
            None => format!("{}: {words}", change.name),
        });
    }
    lines
}
