//! Selection of the variants: requested ones and applicable presets, within the budget.

use genba_model::{ChangeKind, Tried};

use crate::try_variants::baseline_run::BaselineRun;
use crate::try_variants::race::Contender;
use crate::try_variants::try_loop::TryOptions;
use crate::try_variants::{
    VariantBuild, VariantBuilder, VariantChange, WorkloadFacts, presets_for_causes,
    priority_with_causes, run_presets, variant_outcome,
};
use crate::{Comparer, ExperimentError};

/// Share of the budget for builds.
const BUILD_BUDGET_SHARE: f64 = 0.5;
/// Blocks that must fit into the budget for one more variant.
const MIN_BLOCKS_PER_VARIANT: f64 = 8.0;
/// Priority of the layout builds among presets: after the two most promising ones.
const LAYOUT_PROMISE: u8 = 84;
/// Priority of the layout builds beside named variants: after all of them.
const LAYOUT_PROMISE_BESIDE_NAMED: u8 = 0;
/// Number of variants measured however short the budget is.
const MIN_VARIANTS: usize = 4;

/// The requested changes and the applicable presets, in the order of trying.
pub(super) fn select_changes(
    builder: &VariantBuilder,
    facts: &WorkloadFacts,
    mut changes: Vec<VariantChange>,
    options: &TryOptions,
) -> Vec<VariantChange> {
    if options.auto {
        changes.extend(applicable_presets(builder, facts, &changes));
    }
    if changes.iter().any(VariantChange::is_other_code) && builder.builds() {
        let recipes = genba_build::layout_presets(builder.is_rust()).into_iter();
        let priority = match options.auto {
            true => LAYOUT_PROMISE,
            false => LAYOUT_PROMISE_BESIDE_NAMED,
        };
        changes.extend(recipes.take(options.layouts).map(|recipe| VariantChange {
            priority,
            ..VariantChange::build(recipe)
        }));
    }
    // By priority; changes without a build before those with one.
    changes.sort_by_key(|change| (std::cmp::Reverse(change.priority), change.needs_build()));
    changes
}

/// Builds the variants while there is time; the others are returned with the reason.
pub(super) fn contenders(
    comparer: &mut Comparer<'_>,
    builder: &mut VariantBuilder,
    start: &BaselineRun,
    changes: Vec<VariantChange>,
    options: &TryOptions,
) -> Result<(Vec<Contender>, Vec<Tried>), ExperimentError> {
    let mut contenders: Vec<Contender> = Vec::new();
    let mut tried = Vec::new();
    let began = comparer.elapsed();
    for change in changes {
        // Named variants are all measured; layout builds must leave time for them, and none is needed
        // where no other code came out.
        let is_layout = change.kind == ChangeKind::Layout;
        if !options.auto && is_layout && !contenders.iter().any(|one| one.change.is_other_code()) {
            continue;
        }
        let may_be_left_out = options.auto || options.builds_count && is_layout;
        if may_be_left_out
            && change.unavailable.is_none()
            && let Some(reason) = no_time(
                comparer,
                builder,
                &change,
                &contenders,
                start.run_seconds,
                began,
                options,
            )
        {
            tried.push(variant_outcome::not_tried(builder, &change, reason));
            continue;
        }
        match builder.ready(comparer, &change)? {
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
            other => tried.push(variant_outcome::not_measured(builder, &change, other)),
        }
    }
    if !contenders.iter().any(|one| one.change.is_other_code()) {
        // Without other code no layout effect is needed.
        contenders.retain(|one| one.change.kind != ChangeKind::Layout);
    }
    Ok((contenders, tried))
}

/// The applicable presets that were not requested already.
fn applicable_presets(
    builder: &VariantBuilder,
    facts: &WorkloadFacts,
    asked: &[VariantChange],
) -> Vec<VariantChange> {
    let mut all = run_presets(facts);
    if builder.builds() {
        let usual = builder.family();
        let presets_for_causes = presets_for_causes(&facts.causes);
        for mut recipe in genba_build::build_presets(builder.is_rust()) {
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

/// Why the budget does not allow one more variant; `None` if it does.
fn no_time(
    comparer: &mut Comparer<'_>,
    builder: &VariantBuilder,
    change: &VariantChange,
    contenders: &[Contender],
    run_seconds: f64,
    began: f64,
    options: &TryOptions,
) -> Option<String> {
    let first_build = !contenders.iter().any(|one| one.change.is_other_code());
    let contenders = contenders.len();
    let each = run_seconds * MIN_BLOCKS_PER_VARIANT;
    let room = options.budget * (1.0 - BUILD_BUDGET_SHARE / 2.0);
    if contenders >= MIN_VARIANTS && each * (contenders + 2) as f64 > room {
        return Some(format!(
            "the budget of {:.0} s does not suffice for more than {contenders} variants",
            options.budget
        ));
    }
    // One build is tried in any case.
    if !change.needs_build() || first_build {
        return None;
    }
    let build = builder.baseline_seconds().unwrap_or(0.0);
    let twice = change.recipe.as_ref().is_some_and(|recipe| recipe.profiled);
    let needed = build * if twice { 2.5 } else { 1.2 };
    let spent = comparer.elapsed() - began;
    (spent + needed > options.budget * BUILD_BUDGET_SHARE).then(|| {
        format!(
            "its build would take about {needed:.0} s, too long for the budget of {:.0} s",
            options.budget
        )
    })
}

/// The variants that would be tried, one per line.
#[must_use]
pub fn describe_plan(
    builder: &VariantBuilder,
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
        all.extend(applicable_presets(builder, &facts, changes));
    }
    all.sort_by_key(|change| (std::cmp::Reverse(change.priority), change.needs_build()));
    for change in &all {
        let words = change.describe(builder.family(), builder.is_rust());
        lines.push(match &change.unavailable {
            Some(reason) => format!("{}: unavailable: {reason}", change.name),
            None => format!("{}: {words}", change.name),
        });
    }
    lines
}
