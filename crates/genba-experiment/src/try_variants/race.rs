//! Race of the variants against the baseline, in rounds: variants with a verdict leave it,
//! unpromising ones are parked.

use std::collections::BTreeSet;

use genba_model::{ChangeKind, VerdictName};

use crate::paired_effect::Effect;
use crate::try_variants::VariantChange;
use crate::try_variants::pooled_runs::PooledRuns;
use crate::{Comparer, ExperimentError, Plan, Stop, VariantPlan};

/// State of a variant in the race.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RaceState {
    /// It is being measured.
    Running,
    /// It has a verdict.
    Decided,
    /// Other variants are more promising; it continues when they are decided.
    Parked,
    /// It crashed, exceeded its time-out or printed different output.
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

/// Rules of a race.
pub(crate) struct RaceRules {
    /// Time of the comparer's clock at which it ends, seconds.
    pub until: f64,
    /// Whether unpromising variants are parked.
    pub drop_early: bool,
    /// Number of hypotheses that are corrected for together.
    pub family: usize,
    /// Title for progress.
    pub what: &'static str,
}

/// Blocks of the first round.
const FIRST_BLOCKS: u32 = 4;
/// Pairs before a variant may be parked.
const MIN_PAIRS_TO_PARK: u32 = 6;
/// Number of the best variants that are never parked.
const NEVER_PARKED: usize = 3;
/// A variant that needs at most this many more pairs is not parked.
const NEARLY_DECIDED_PAIRS: u32 = 12;
/// Blocks of one round at most, so that verdicts take effect soon.
const MAX_ROUND_BLOCKS: u32 = 12;
/// Pairs after which a variant without a verdict stays undecided: more would hardly help.
const MAX_PAIRS: u32 = 400;

/// Races until every variant has a verdict or the time is over. The runs of the baseline go to
/// `alone`.
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
            // Parked variants use the remaining time.
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
        let wanted = (most_seen.unwrap_or(0) / 4).clamp(FIRST_BLOCKS, MAX_ROUND_BLOCKS);
        let blocks = match block_seconds {
            // At least half of one more block must fit.
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
        // A later round may be too short to see that again.
        plan.check_output &= !alone.output_varies();
        comparer.say(
            &match running.len() {
                1 => format!("{}: one variant", rules.what),
                many => format!("{}: {many} variants", rules.what),
            },
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
        for (position, index) in running.iter().enumerate() {
            let contender = &mut contenders[*index];
            contender.track.add(&round, &[0, position + 1]);
            if let Some(reason) = &round.variants[position + 1].excluded {
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
        // Layout builds run as long as the others, so that their effect is known as precisely.
        let enough = contender.track.blocks() >= MAX_PAIRS;
        if enough || (decided && (!contender.is_layout() || effect.verdict == VerdictName::Same)) {
            contender.standing = RaceState::Decided;
        } else {
            open.push((*index, effect));
        }
    }
    if settling || !rules.drop_early {
        return;
    }
    for index in unpromising(&open, contenders, template.delta) {
        contenders[index].standing = RaceState::Parked;
    }
}

/// Variants to park: after [`MIN_PAIRS_TO_PARK`] pairs the worse half by estimate unless it looks
/// like a gain, and every variant that cannot be a gain any more. Variants that are nearly decided
/// are not parked. (Successive halving:
/// Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.)
fn unpromising(open: &[(usize, Effect)], contenders: &[Contender], delta: f64) -> Vec<usize> {
    let mut order: Vec<&(usize, Effect)> = (open.iter())
        .filter(|(index, effect)| {
            effect.pairs >= MIN_PAIRS_TO_PARK && !contenders[*index].is_layout()
        })
        .collect();
    order.sort_by(|one, two| one.1.ratio.value.total_cmp(&two.1.ratio.value));
    let better = |effect: &Effect| effect.ratio.value < 1.0 - delta / 2.0;
    let soon = |effect: &Effect| {
        effect.verdict == VerdictName::Slower
            || effect
                .more_pairs
                .is_some_and(|more| more <= NEARLY_DECIDED_PAIRS)
    };
    let kept: BTreeSet<usize> = (order.iter().enumerate())
        .filter(|(rank, (_, effect))| {
            let cannot = effect.low_level.is_none() && effect.ratio.low > 1.0 - delta;
            soon(effect)
                || (!cannot && (*rank < NEVER_PARKED.max(order.len() / 2) || better(effect)))
        })
        .map(|(_, (index, _))| *index)
        .collect();
    order
        .iter()
        .map(|(index, _)| *index)
        .filter(|index| !kept.contains(index))
        .collect()
}
