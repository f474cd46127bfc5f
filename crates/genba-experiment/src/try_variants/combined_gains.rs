//! The gains together.

use genba_model::VerdictName;

use crate::try_variants::baseline_run::Start;
use crate::try_variants::pooled_runs::Track;
use crate::try_variants::race::{Contender, Rules, race};
use crate::try_variants::try_loop::Options;
use crate::try_variants::variant_outcome::Judged;
use crate::try_variants::{Ready, Workplace};
use crate::{ExperimentError, Lab};

/// The gains that go together, built and measured together: against the baseline, and against
/// the best of them alone.
pub(super) fn combine(
    lab: &mut Lab<'_>,
    place: &mut Workplace,
    start: &Start,
    alone: &mut Track,
    contenders: &[Contender],
    judged: &[Judged],
    options: &Options,
) -> Result<Option<(Contender, Judged)>, ExperimentError> {
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
    plan.spec.timeout = Some(start.timeout);
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
