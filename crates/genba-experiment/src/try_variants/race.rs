//! Variants against the baseline in rounds; who is decided or hopeless drops out.

use std::collections::BTreeSet;

use genba_model::{ChangeKind, VerdictName};

use crate::paired_effect::Effect;
use crate::try_variants::VariantChange;
use crate::try_variants::pooled_runs::PooledRuns;
use crate::{Comparer, ExperimentError, Plan, Stop, VariantPlan};

/// Where a variant stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RaceState {
    /// It is measured.
    Running,
    /// It is decided.
    Decided,
    /// Others have more to promise; it is measured further when they are done.
    Parked,
    /// It crashed, hung or printed something else.
    Failed(String),
}

/// A variant in the race.
pub(crate) struct Contender {
    pub change: VariantChange,
    pub plan: VariantPlan,
    pub build_seconds: Option<f64>,
    pub track: PooledRuns,
    pub standing: RaceState,
}

impl Contender {
    pub fn new(
        template: &Plan,
        baseline: &VariantPlan,
        change: VariantChange,
        plan: VariantPlan,
        build_seconds: Option<f64>,
    ) -> Self {
        let track = PooledRuns::new(template, vec![baseline.clone(), plan.clone()]);
        Self {
            change,
            plan,
            build_seconds,
            track,
            standing: RaceState::Running,
        }
    }

    fn is_layout(&self) -> bool {
        self.change.kind == ChangeKind::Layout
    }
}

/// How a race is run.
pub(crate) struct RaceRules {
    /// The comparer's clock at which it ends, seconds.
    pub until: f64,
    /// Park what promises least.
    pub drop_early: bool,
    /// Hypotheses that are corrected for together.
    pub family: usize,
    /// Title for progress.
    pub what: &'static str,
}

/// Blocks of the first round.
const FIRST_BLOCKS: u32 = 4;
/// Pairs before anybody is parked.
const LEAST_PAIRS: u32 = 6;
/// Variants that are never parked, however far behind.
const KEPT: usize = 3;
/// So few more pairs are not worth parking anybody.
const SOON: u32 = 12;
/// Blocks of one round at most, so that progress is seen and decisions are acted on.
const MOST_BLOCKS: u32 = 12;
/// Pairs after which a variant without a verdict is left at that, where all the rest is done:
/// four hundred see what can be seen.
const MOST_PAIRS: u32 = 400;

/// Races until all are decided or the time is over. The baseline's own runs go to `alone`.
pub(crate) fn race(
    comparer: &mut Comparer<'_>,
    template: &Plan,
    baseline: &VariantPlan,
    alone: &mut PooledRuns,
    contenders: &mut [Contender],
    rules: &RaceRules,
) -> Result<(), ExperimentError> {
    let mut warmup = template.warmup;
    let mut block_seconds: Option<f64> = None;
    let mut settling = false;
    loop {
        let mut running = standing(contenders, &RaceState::Running);
        if running.iter().all(|index| contenders[*index].is_layout()) {
            // Those that were parked are measured with what time is left.
            let parked = standing(contenders, &RaceState::Parked);
            if settling || parked.is_empty() {
                return Ok(());
            }
            settling = true;
            for index in parked {
                contenders[index].standing = RaceState::Running;
            }
            running = standing(contenders, &RaceState::Running);
        }
        let left = rules.until - comparer.elapsed();
        if left <= 0.0 || comparer.cancelled() {
            return Ok(());
        }
        let most_seen = running
            .iter()
            .map(|index| contenders[*index].track.blocks())
            .max();
        let wanted = (most_seen.unwrap_or(0) / 4).clamp(FIRST_BLOCKS, MOST_BLOCKS);
        let blocks = match block_seconds {
            // Of one more block at least half must fit.
            Some(each) if each > 2.0 * left => return Ok(()),
            Some(each) => wanted.min((left / each).ceil() as u32).max(1),
            None => wanted,
        };
        let mut plan = template.clone();
        plan.variants = vec![baseline.clone()];
        plan.variants
            .extend(running.iter().map(|index| contenders[*index].plan.clone()));
        plan.stop = Stop::Blocks(blocks);
        plan.warmup = std::mem::take(&mut warmup);
        comparer.say(
            &format!("{}: {} in the race", rules.what, running.len()),
            Some(left),
        );
        let began = comparer.elapsed();
        let round = match comparer.compare(&plan) {
            Err(ExperimentError::Interrupted) if alone.blocks() > 0 => return Ok(()),
            other => other?,
        };
        let spent = (comparer.elapsed() - began).max(0.0);
        if let Some(reason) = &round.variants[0].excluded {
            return Err(ExperimentError::NothingLeft {
                reasons: vec![format!("{}: {reason}", baseline.name)],
                usage: false,
            });
        }
        let done = round.blocks.max(1);
        block_seconds = Some(spent / f64::from(done));
        alone.add(&round, &[0]);
        for (place, index) in running.iter().enumerate() {
            let contender = &mut contenders[*index];
            contender.track.add(&round, &[0, place + 1]);
            if let Some(reason) = &round.variants[place + 1].excluded {
                contender.standing = RaceState::Failed(reason.clone());
            }
        }
        decide(contenders, &running, template, rules, settling);
        if round.blocks == 0 {
            return Ok(());
        }
    }
}

fn standing(contenders: &[Contender], wanted: &RaceState) -> Vec<usize> {
    let all = contenders.iter().enumerate();
    all.filter(|(_, one)| one.standing == *wanted)
        .map(|(index, _)| index)
        .collect()
}

fn decide(
    contenders: &mut [Contender],
    running: &[usize],
    template: &Plan,
    rules: &RaceRules,
    settling: bool,
) {
    let needed = (rules.family.max(1) as f64 / template.alpha).ln();
    let mut open: Vec<(usize, Effect)> = Vec::new();
    for index in running {
        let contender = &mut contenders[*index];
        if contender.standing != RaceState::Running {
            continue;
        }
        let Some(effect) = contender.track.effect() else {
            continue;
        };
        let proven = contender.track.log_e() >= needed;
        let decided = match effect.verdict {
            VerdictName::Same => true,
            VerdictName::Faster | VerdictName::Slower => proven,
            VerdictName::Undecided => false,
        };
        // A layout goes on as long as others do: what it does is to be known as well as theirs.
        let enough = contender.track.blocks() >= MOST_PAIRS;
        if enough || (decided && (!contender.is_layout() || effect.verdict == VerdictName::Same)) {
            contender.standing = RaceState::Decided;
        } else {
            open.push((*index, effect));
        }
    }
    if settling || !rules.drop_early {
        return;
    }
    for index in hopeless(&open, contenders, template.delta) {
        contenders[index].standing = RaceState::Parked;
    }
}

/// Those that others outrun: after [`LEAST_PAIRS`] pairs the worse half by estimate, unless it
/// looks like a gain all the same; and whoever cannot be a gain any more. Who is about to be
/// decided, a clear loser, say, is measured to the end. (Successive halving:
/// Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.)
fn hopeless(open: &[(usize, Effect)], contenders: &[Contender], delta: f64) -> Vec<usize> {
    let mut order: Vec<&(usize, Effect)> = (open.iter())
        .filter(|(index, effect)| effect.pairs >= LEAST_PAIRS && !contenders[*index].is_layout())
        .collect();
    order.sort_by(|one, two| one.1.ratio.value.total_cmp(&two.1.ratio.value));
    let better = |effect: &Effect| effect.ratio.value < 1.0 - delta / 2.0;
    let soon = |effect: &Effect| {
        effect.verdict == VerdictName::Slower || effect.more_pairs.is_some_and(|more| more <= SOON)
    };
    let kept: BTreeSet<usize> = (order.iter().enumerate())
        .filter(|(rank, (_, effect))| {
            let cannot = effect.low_level.is_none() && effect.ratio.low > 1.0 - delta;
            soon(effect) || (!cannot && (*rank < KEPT.max(order.len() / 2) || better(effect)))
        })
        .map(|(_, (index, _))| *index)
        .collect();
    order
        .iter()
        .map(|(index, _)| *index)
        .filter(|index| !kept.contains(index))
        .collect()
}
