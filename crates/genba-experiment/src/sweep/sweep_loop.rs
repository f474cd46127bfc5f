//! The loop: look, place, look again.

use std::collections::{BTreeMap, BTreeSet};

use genba_stats::{Axis, Curve, CurveQuestion, StatsError, curve};

use super::SweptParameter;
use super::next_settings::{self, Next};
use super::setting_runs::{SettingRuns, points};
use crate::comparer::Comparer;
use crate::parameters::product;
use crate::{ExperimentError, Plan, VariantPlan};

/// What is swept, and how.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// One parameter, or two.
    pub parameters: Vec<SweptParameter>,
    /// Metrics, δ, α and seed; its variants are not looked at.
    pub plan: Plan,
    /// Time for all of it, seconds.
    pub budget: f64,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// The question is answered.
    Answered,
    /// The time is spent.
    Budget,
    /// The person stopped it.
    Interrupted,
}

impl SweepEnd {
    /// Its name in the document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        }
    }
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The settings in the order of the first parameter.
    pub settings: Vec<SettingRuns>,
    /// Their variants, in the same order.
    pub variants: Vec<VariantPlan>,
    /// Levels and knees; an error where values have no logarithm.
    pub curve: Option<Result<Curve, StatsError>>,
    /// Seconds.
    pub elapsed: f64,
    /// Why it ended.
    pub end: SweepEnd,
    /// What the runner had to say.
    pub notes: Vec<String>,
}

/// Blocks of the first look.
const LOOK: u32 = 5;
/// Blocks that are made even beyond the budget: one says nothing of the noise.
const LEAST: u32 = 2;
/// The part of the budget for the first block of the first look: the second takes as long.
const FIRST_BLOCK: f64 = 0.5;
/// Settings of a curve at least, however little time there is.
const FEWEST_SETTINGS: usize = 3;
/// Blocks at once when something is repeated.
const REPEAT: u32 = 3;
/// Bootstrap while measuring, and for the answer.
const QUICK: u32 = 49;
const THOROUGH: u32 = 399;
/// A knee that chance explains more often than this is measured again; the least that a quick
/// look can say is one in fifty.
const CHANCE: f64 = 0.01;
const CHANCE_QUICK: f64 = 0.02;
/// Combinations of two parameters at most.
const MOST_COMBINATIONS: usize = 400;

/// Makes the variant of a setting.
pub type Make<'a> = dyn Fn(&BTreeMap<String, String>) -> Result<VariantPlan, ExperimentError> + 'a;

/// Sweeps.
///
/// # Errors
/// A plan that cannot be carried out, no setting that can be measured, an interruption before
/// anything was measured, a launcher that dies.
pub fn sweep(
    comparer: &mut Comparer<'_>,
    sweep: &SweepPlan,
    make: &Make<'_>,
) -> Result<Swept, ExperimentError> {
    let mut driver = Driver {
        comparer,
        sweep,
        make,
        plan: Plan {
            variants: Vec::new(),
            ..sweep.plan.clone()
        },
        settings: Vec::new(),
        block: 0,
        runs: 0,
        running: 0.0,
        notes: Vec::new(),
    };
    let result = driver.go();
    let cleaned = driver.comparer.clean_up(&driver.plan);
    let end = result?;
    let mut swept = driver.finish(end)?;
    if let Err(error) = cleaned {
        swept.notes.push(error.to_string());
    }
    Ok(swept)
}

struct Driver<'a, 'b> {
    comparer: &'a mut Comparer<'b>,
    sweep: &'a SweepPlan,
    make: &'a Make<'a>,
    /// A variant for each setting, in the same order.
    plan: Plan,
    settings: Vec<SettingRuns>,
    block: u32,
    /// Runs so far, and their seconds.
    runs: u32,
    running: f64,
    notes: Vec<String>,
}

impl Driver<'_, '_> {
    fn go(&mut self) -> Result<SweepEnd, ExperimentError> {
        match self.measure() {
            Err(ExperimentError::Interrupted)
                if self.settings.iter().any(|s| !s.runs.is_empty()) =>
            {
                Ok(SweepEnd::Interrupted)
            }
            Err(ExperimentError::Run(genba_run::RunError::Cancelled)) => {
                match self.settings.iter().any(|s| !s.runs.is_empty()) {
                    true => Ok(SweepEnd::Interrupted),
                    false => Err(ExperimentError::Interrupted),
                }
            }
            other => other,
        }
    }

    fn measure(&mut self) -> Result<SweepEnd, ExperimentError> {
        for values in self.first_look()? {
            self.add(values, false)?;
        }
        let all: Vec<usize> = (0..self.settings.len()).collect();
        for _ in 0..self.plan.warmup {
            self.comparer.run_block(&self.plan, &self.active(&all))?;
        }
        let looked = self.first_block(&all)?;
        self.somebody_yields()?;
        let end = self.rounds(&looked, LOOK - 1, "first look")?;
        if end.is_some() && self.block < LOOK {
            self.notes.push(format!(
                "the budget was over after {} blocks of the first look",
                self.block
            ));
        }
        if let Some(end) = end {
            return Ok(end);
        }
        let all = looked;
        let [parameter] = self.sweep.parameters.as_slice() else {
            return self.until_spent(&all);
        };
        let Some(axis) = parameter.axis() else {
            return self.until_spent(&all);
        };
        loop {
            let Ok(curve) = self.curve(axis, QUICK) else {
                return self.until_spent(&all);
            };
            let placed = self
                .settings
                .iter()
                .filter(|setting| setting.placed)
                .count();
            let mut next =
                next_settings::next(&curve, parameter, placed, self.plan.delta, CHANCE_QUICK);
            if next == Next::Answered && !curve.knees.is_empty() {
                // What is believed has been looked at as closely as what is printed.
                if let Ok(curve) = self.curve(axis, THOROUGH) {
                    next = next_settings::next(&curve, parameter, placed, self.plan.delta, CHANCE);
                }
            }
            let end = match next {
                Next::Answered => return Ok(SweepEnd::Answered),
                Next::Place(placements) => {
                    let mut chosen = BTreeSet::new();
                    for placement in &placements {
                        chosen.extend(self.at(placement.beside.0));
                        chosen.extend(self.at(placement.beside.1));
                        let one =
                            BTreeMap::from([(parameter.name.clone(), placement.value.clone())]);
                        chosen.insert(self.add(one, true)?);
                    }
                    let chosen: Vec<usize> = chosen.into_iter().collect();
                    let blocks = placements.iter().map(|one| one.blocks).max().unwrap_or(1);
                    self.rounds(&chosen, blocks, "between settings that differ")?
                }
                Next::Again(xs) => {
                    let chosen: Vec<usize> = xs.iter().filter_map(|x| self.at(*x)).collect();
                    self.rounds(&chosen, REPEAT, "again, to be certain")?
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Two parameters, or words: blocks until the time is spent or enough is known.
    fn until_spent(&mut self, all: &[usize]) -> Result<SweepEnd, ExperimentError> {
        Ok(match self.rounds(all, LOOK, "again, to be certain")? {
            Some(end) => end,
            None => SweepEnd::Answered,
        })
    }

    /// The settings to begin with.
    fn first_look(&self) -> Result<Vec<BTreeMap<String, String>>, ExperimentError> {
        let parameters: Vec<_> = (self.sweep.parameters.iter())
            .map(|parameter| crate::parameters::Parameter {
                name: parameter.name.clone(),
                values: parameter.first_look(),
            })
            .collect();
        let all = product(&parameters)?;
        if all.len() > MOST_COMBINATIONS && parameters.len() > 1 {
            return Err(ExperimentError::Plan {
                what: format!(
                    "the parameters make {} settings; give fewer values, so that there are at \
                     most {MOST_COMBINATIONS}",
                    all.len()
                ),
            });
        }
        Ok(all)
    }

    /// Adds a setting; its index.
    fn add(
        &mut self,
        values: BTreeMap<String, String>,
        placed: bool,
    ) -> Result<usize, ExperimentError> {
        if let Some(known) = (self.settings.iter()).position(|setting| setting.values == values) {
            return Ok(known);
        }
        let variant = (self.make)(&values)?;
        let first = &self.sweep.parameters[0];
        let x = (first.axis())
            .and_then(|_| values.get(&first.name)?.parse::<f64>().ok())
            .filter(|x| x.is_finite());
        let mut setting = SettingRuns::new(values, x, placed);
        let alone = Plan {
            variants: vec![variant.clone()],
            ..self.plan.clone()
        };
        match self.comparer.set_up(&alone) {
            Err(ExperimentError::Plan { what }) => setting.failed = Some(what),
            other => other?,
        }
        self.plan.variants.push(variant);
        self.settings.push(setting);
        Ok(self.settings.len() - 1)
    }

    fn at(&self, x: f64) -> Option<usize> {
        self.settings
            .iter()
            .position(|setting| setting.x == Some(x))
    }

    fn active(&self, chosen: &[usize]) -> Vec<usize> {
        let good = |index: &&usize| self.settings[**index].failed.is_none();
        chosen.iter().filter(good).copied().collect()
    }

    /// The first block, the coarse grid first: if the budget has no room for two runs of every
    /// setting, the finer settings are left out. The settings that were run.
    fn first_block(&mut self, all: &[usize]) -> Result<Vec<usize>, ExperimentError> {
        let is_curve = matches!(self.sweep.parameters.as_slice(), [only] if only.axis().is_some());
        let groups = if is_curve {
            next_settings::coarse_first(all)
        } else {
            vec![all.to_vec()]
        };
        let began = self.comparer.elapsed();
        let mut looked: Vec<usize> = Vec::new();
        for group in groups {
            let spent = self.comparer.elapsed() - began;
            let share = (self.sweep.budget - began).max(0.0) * FIRST_BLOCK;
            if looked.len() >= FEWEST_SETTINGS && spent + self.expected(group.len()) > share {
                break;
            }
            self.block(&group, "first look")?;
            looked.extend(group);
        }
        self.block += 1;
        looked.sort_unstable();
        if looked.len() < all.len() {
            self.notes.push(format!(
                "the budget had room for two runs of {} of the {} settings of the first look; the \
                 others were not measured",
                looked.len(),
                all.len()
            ));
            let keep = |index: usize| looked.contains(&index);
            let mut index = 0..;
            self.settings.retain(|_| index.next().is_some_and(keep));
            let mut index = 0..;
            self.plan
                .variants
                .retain(|_| index.next().is_some_and(keep));
        }
        Ok((0..self.settings.len()).collect())
    }

    /// Runs each of these settings once.
    fn block(&mut self, active: &[usize], what: &str) -> Result<(), ExperimentError> {
        let began = self.comparer.elapsed();
        let text = format!(
            "{} settings, block {}: {what}",
            self.settings.len(),
            self.block + 1
        );
        self.comparer
            .say(&text, Some((self.sweep.budget - began).max(0.0)));
        let active = self.active(active);
        for (index, probe) in active
            .iter()
            .zip(self.comparer.run_block(&self.plan, &active)?)
        {
            self.settings[*index].take(self.block, probe);
        }
        self.runs += active.len() as u32;
        self.running += self.comparer.elapsed() - began;
        Ok(())
    }

    /// Refuses a metric that no run of the first block yielded: more runs would not, either.
    fn somebody_yields(&self) -> Result<(), ExperimentError> {
        let primary = &self.plan.primary;
        let ran = self.settings.iter().any(|one| one.failed.is_none());
        if !ran || self.settings.iter().any(|one| one.usable(primary)) {
            return Ok(());
        }
        Err(ExperimentError::Plan {
            what: format!(
                "none of {} runs yielded the metric {primary}; if it is the command's own, look at \
                 what the command prints, and whether --metric-regex matches it",
                self.runs
            ),
        })
    }

    /// Seconds that so many runs will take.
    fn expected(&self, runs: usize) -> f64 {
        self.running / f64::from(self.runs.max(1)) * runs as f64
    }

    /// Runs blocks of these settings; says if that was the end.
    fn rounds(
        &mut self,
        chosen: &[usize],
        blocks: u32,
        what: &str,
    ) -> Result<Option<SweepEnd>, ExperimentError> {
        for _ in 0..blocks {
            if self.comparer.cancelled() {
                return Err(ExperimentError::Interrupted);
            }
            let active = self.active(chosen);
            if active.is_empty() {
                return self.nothing_left();
            }
            let end = self.comparer.elapsed() + self.expected(active.len()) / 2.0;
            if end > self.sweep.budget && self.block >= LEAST {
                return Ok(Some(SweepEnd::Budget));
            }
            self.block(&active, what)?;
            self.block += 1;
        }
        Ok(None)
    }

    fn nothing_left(&self) -> Result<Option<SweepEnd>, ExperimentError> {
        if self.settings.iter().any(|setting| setting.failed.is_none()) {
            return Ok(None);
        }
        let reasons = (self.plan.variants.iter().zip(&self.settings))
            .map(|(variant, setting)| {
                let reason = setting.failed.as_deref().unwrap_or_default();
                format!("{}: {reason}", variant.name)
            })
            .collect();
        Err(ExperimentError::NothingLeft {
            reasons,
            usage: false,
        })
    }

    fn curve(&self, axis: Axis, resamples: u32) -> Result<Curve, StatsError> {
        let question = CurveQuestion {
            axis,
            delta: self.plan.delta,
            alpha: self.plan.alpha,
            seed: self.plan.seed,
            resamples,
        };
        curve(&points(&self.settings, &self.plan.primary), &question)
    }

    fn finish(mut self, end: SweepEnd) -> Result<Swept, ExperimentError> {
        let axis = match self.sweep.parameters.as_slice() {
            [only] => only.axis(),
            _ => None,
        };
        let curve = axis.map(|axis| self.curve(axis, THOROUGH));
        let elapsed = self.comparer.elapsed();
        let mut notes = self.notes;
        notes.extend(self.comparer.notes().iter().cloned());
        let mut order: Vec<usize> = (0..self.settings.len()).collect();
        if axis.is_some() {
            let x = |index: usize| self.settings[index].x.unwrap_or(f64::INFINITY);
            order.sort_by(|a, b| x(*a).total_cmp(&x(*b)));
        }
        Ok(Swept {
            settings: order
                .iter()
                .map(|index| self.settings[*index].clone())
                .collect(),
            variants: (order.iter())
                .map(|index| {
                    std::mem::replace(
                        &mut self.plan.variants[*index],
                        VariantPlan::new("", "", genba_run::CommandSpec::direct([""])),
                    )
                })
                .collect(),
            curve,
            elapsed,
            end,
            notes,
        })
    }
}
