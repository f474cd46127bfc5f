//! Sequential judges of the primary metric while blocks are measured. Pure.

use genba_model::{Direction, Estimate};
use genba_stats::{Judge, MIN_PAIRS, StopDecision, StopRule, Verdict};

use crate::Plan;
use crate::measurement::Measurement;
use crate::paired_effect::{sound, usable};

/// State of the verdicts after a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    /// Every variant has a verdict.
    Decided,
    /// More blocks are needed; about how many, if known.
    Open(Option<usize>),
    /// The primary metric has no usable values.
    Unusable,
}

/// Number of blocks without usable values after which the measurement ends.
const MAX_UNUSABLE_BLOCKS: usize = 20;

/// A variant with its judge.
#[derive(Debug)]
struct Contest {
    variant: usize,
    judge: Judge,
    /// Number of pairs with a zero.
    zeros: usize,
    /// Number of unusable pairs.
    unusable: usize,
}

impl Contest {
    fn push(&mut self, baseline: f64, variant: f64) {
        self.zeros += usize::from(baseline == 0.0 || variant == 0.0);
        let pushed = usable(baseline, variant)
            .is_some_and(|(baseline, variant)| self.judge.push(baseline, variant).is_ok());
        self.unusable += usize::from(!pushed);
    }

    fn sound(&self) -> bool {
        sound(self.unusable > 0, self.zeros, self.judge.sequence().count())
    }

    fn verdict(&self) -> Verdict {
        if self.sound() {
            self.judge.verdict()
        } else {
            Verdict::Undecided
        }
    }

    /// Whether it is known, if the variant is worse, that it is so by more than the threshold or by less.
    fn is_on_one_side(&self, threshold: Option<f64>, direction: Direction) -> bool {
        let worse = match direction {
            Direction::LessIsBetter => Verdict::Slower,
            Direction::MoreIsBetter => Verdict::Faster,
        };
        let Some(threshold) = threshold.filter(|_| self.verdict() == worse) else {
            return true;
        };
        self.judge.ratio().is_some_and(|ratio| {
            let (least, most) = match direction {
                Direction::LessIsBetter => (ratio.low - 1.0, ratio.high - 1.0),
                Direction::MoreIsBetter => (1.0 - ratio.high, 1.0 - ratio.low),
            };
            least >= threshold || most < threshold
        })
    }
}

/// A judge for each variant but the baseline.
#[derive(Debug)]
pub(crate) struct SequentialJudges {
    series: Option<usize>,
    baseline: usize,
    judges: Vec<Contest>,
    /// Number of blocks judged.
    seen: usize,
    /// Number of runs at which the interval of a single variant is computed next.
    next_look: usize,
}

impl SequentialJudges {
    /// Judges for the variants that are not excluded, with all blocks so far. `None` if no variant
    /// is left.
    pub fn new(plan: &Plan, measurement: &Measurement) -> Option<Self> {
        let compared = measurement.compared(plan);
        let (baseline, others) = compared.split_first()?;
        let judges = others
            .iter()
            .filter_map(|variant| {
                Some(Contest {
                    variant: *variant,
                    judge: Judge::new(plan.alpha, plan.delta).ok()?,
                    zeros: 0,
                    unusable: 0,
                })
            })
            .collect();
        let mut live = Self {
            series: measurement.find(&plan.primary),
            baseline: *baseline,
            judges,
            seen: 0,
            next_look: 0,
        };
        live.take_in(measurement);
        Some(live)
    }

    /// Adds the blocks completed since the last call.
    pub fn take_in(&mut self, measurement: &Measurement) {
        let Some(series) = self.series else { return };
        let baseline = measurement.variants[self.baseline].column(series);
        for contest in &mut self.judges {
            let values = measurement.variants[contest.variant].column(series);
            for (baseline, value) in baseline.iter().zip(values).skip(self.seen) {
                contest.push(*baseline, *value);
            }
        }
        self.seen = measurement.blocks as usize;
    }

    /// The state after the blocks so far.
    pub fn state(&mut self, plan: &Plan, measurement: &Measurement) -> State {
        let Some(series) = self.series else {
            return State::Unusable;
        };
        if self.judges.is_empty() {
            return self.single(plan, measurement, series);
        }
        if self.seen >= MAX_UNUSABLE_BLOCKS && self.judges.iter().all(|contest| !contest.sound()) {
            return State::Unusable;
        }
        let verdicts: Vec<Verdict> = self.judges.iter().map(Contest::verdict).collect();
        let differ = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        let decided = verdicts
            .iter()
            .all(|verdict| *verdict != Verdict::Undecided)
            && (verdicts.iter().zip(&self.judges)).all(|(verdict, contest)| {
                let found = contest.judge.sequence().log_e_value();
                !differ(verdict) || found >= self.enough(plan.alpha)
            });
        let direction = measurement.series[series].direction;
        let on_one_side = |contest: &Contest| contest.is_on_one_side(plan.threshold, direction);
        if decided && self.judges.iter().all(on_one_side) {
            return State::Decided;
        }
        if decided {
            return State::Open(None);
        }
        let more = (self.judges.iter())
            .filter(|contest| contest.verdict() == Verdict::Undecided)
            .map(|contest| contest.judge.more_pairs())
            .try_fold(1, |most, more| Some(most.max(more?)));
        State::Open(more.filter(|_| self.seen >= MIN_PAIRS / 2))
    }

    /// Evidence (logarithm of the e-value) that holds when all pairs of variants are compared, as
    /// for the ranks: with less, two variants could have different verdicts and the same rank. For
    /// two variants it is no more than their verdict needs.
    fn enough(&self, alpha: f64) -> f64 {
        let variants = self.judges.len() as f64 + 1.0;
        let pairs = variants * (variants - 1.0) / 2.0;
        if pairs > 1.0 {
            (pairs / alpha).ln()
        } else {
            f64::NEG_INFINITY
        }
    }

    /// State of a single variant: decided when its median is known to ± δ.
    fn single(&mut self, plan: &Plan, measurement: &Measurement, series: usize) -> State {
        let runs = measurement.blocks as usize;
        if runs < self.next_look {
            return State::Open(None);
        }
        // Sorting all values after every run would take too long.
        self.next_look = runs + 1 + runs / 50;
        let values = measurement.variants[self.baseline].finite(series);
        if values.is_empty() {
            return if runs >= MAX_UNUSABLE_BLOCKS {
                State::Unusable
            } else {
                State::Open(None)
            };
        }
        let rule = StopRule {
            half_width: if plan.delta > 0.0 { plan.delta } else { 0.01 },
            ..StopRule::default()
        };
        match rule.decide(&values, 0.0, 0.0, f64::MAX) {
            Ok(StopDecision::Continue { more_runs, .. }) => State::Open(more_runs),
            _ => State::Decided,
        }
    }

    /// The first undecided comparison: variant and interval of the ratio.
    pub fn current(&self) -> Option<(usize, Option<Estimate>)> {
        let contest = (self.judges.iter())
            .find(|contest| contest.verdict() == Verdict::Undecided)
            .or_else(|| self.judges.first())?;
        Some((contest.variant, contest.judge.ratio()))
    }

    /// Number of variants without a verdict.
    pub fn undecided(&self) -> usize {
        (self.judges.iter())
            .filter(|contest| contest.verdict() == Verdict::Undecided)
            .count()
    }
}
