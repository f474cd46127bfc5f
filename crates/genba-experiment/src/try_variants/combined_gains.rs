//! Combination of the variants with a gain.

use genba_model::VerdictName;

use crate::try_variants::baseline_run::BaselineRun;
use crate::try_variants::pooled_runs::PooledRuns;
use crate::try_variants::race::{Contender, RaceRules, race};
use crate::try_variants::try_loop::TryOptions;
use crate::try_variants::variant_outcome::JudgedVariant;
use crate::try_variants::{VariantBuild, VariantBuilder};
use crate::{Comparer, ExperimentError};

/// Builds and measures the combination of the gains that can be combined: against the baseline, and
/// against the best of them alone.
pub(super) fn combine(
    comparer: &mut Comparer<'_>,
    builder: &mut VariantBuilder,
    start: &BaselineRun,
    alone: &mut PooledRuns,
    contenders: &[Contender],
    judged: &[JudgedVariant],
    options: &TryOptions,
) -> Result<Option<(Contender, JudgedVariant)>, ExperimentError> {
    let (template, baseline) = (&start.template, &start.baseline);
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
        if all.can_combine_with(&contenders[*index].change) {
            all = all.combined_with(&contenders[*index].change);
            parts += 1;
        }
    }
    if parts < 2 {
        return Ok(None);
    }
    let VariantBuild::Variant {
        mut plan,
        build_seconds,
    } = builder.ready(comparer, &all)?
    else {
        return Ok(None);
    };
    plan.spec.timeout = Some(start.timeout);
    let left = (options.budget - comparer.elapsed()).max(0.0);
    let mut pair = [Contender::new(
        template,
        baseline,
        all.clone(),
        (*plan).clone(),
        build_seconds,
    )];
    let rules = RaceRules {
        until: comparer.elapsed() + left * 0.4,
        drop_early: false,
        family: 1,
        what: "the combination",
    };
    race(comparer, template, baseline, alone, &mut pair, &rules)?;
    let best = &contenders[*first].plan;
    let mut against = [Contender::new(template, best, all, *plan, build_seconds)];
    let mut best_alone = PooledRuns::new(template, vec![best.clone()]);
    let rules = RaceRules {
        until: options.budget,
        what: "the combination against its best component",
        ..rules
    };
    race(
        comparer,
        template,
        best,
        &mut best_alone,
        &mut against,
        &rules,
    )?;
    let [contender] = pair;
    let better = (against[0].track.effect()).is_some_and(|effect| {
        effect.verdict == VerdictName::Faster && effect.ratio.value <= 1.0 - template.delta
    });
    let mut one = JudgedVariant::of(&contender.track, true, template.delta, None);
    one.surpasses = Some(better);
    one.best_component = Some(contenders[*first].change.name.clone());
    Ok(Some((contender, one)))
}
