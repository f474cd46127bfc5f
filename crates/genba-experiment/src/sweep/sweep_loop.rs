//! The loop of a sweep: measure the initial grid, refine it where the curve changes, repeat.

use std::collections::{BTreeMap, BTreeSet};

use genba_stats::{Axis, Curve, CurveQuestion, StatsError, curve};

use genba_units::format;

use super::next_settings::{self, Next};
use super::setting_runs::{SettingRuns, points};
use super::{SweptParameter, budget_limit, unreported_metric};
use crate::comparer::Comparer;
use crate::parameters::product;
use crate::{ExperimentError, Plan, VariantPlan};

/// Parameters, metric and budget of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// One parameter or two.
    pub parameters: Vec<SweptParameter>,
    /// Metrics, δ, α and seed; its variants are ignored.
    pub plan: Plan,
    /// Time limit, seconds.
    pub budget: f64,
}

/// Why a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// Every change point is located and confirmed.
    Answered,
    /// The budget is spent.
    Budget,
    /// The user interrupted it.
    Interrupted,
}

impl SweepEnd {
    /// Name in the document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Result of a sweep.
#[derive(Clone, Debug)]
pub struct SweepResult {
    /// The settings in the order of the first parameter.
    pub settings: Vec<SettingRuns>,
    /// Their variants in the same order.
    pub variants: Vec<VariantPlan>,
    /// Levels and change points; an error if values have no logarithm.
    pub curve: Option<Result<Curve, StatsError>>,
    /// Time taken, seconds.
    pub elapsed: f64,
    /// Why the sweep ended.
    pub end: SweepEnd,
    /// Notes for the report, a sentence each.
    pub notes: Vec<String>,
}

/// Blocks of the initial grid.
const INITIAL_BLOCKS: u32 = 5;
/// Blocks measured even beyond the budget: a single one does not show the noise.
const MIN_BLOCKS: u32 = 2;
/// Share of the budget for the first block of the initial grid; the second takes as long.
const FIRST_BLOCK_BUDGET_SHARE: f64 = 0.5;
/// Settings measured however short the budget is.
const MIN_SETTINGS: usize = 3;
/// Blocks measured at once when settings are repeated.
const REPEATED_BLOCKS: u32 = 3;
/// Bootstrap samples while measuring.
const QUICK_RESAMPLES: u32 = 49;
/// Bootstrap samples for the result.
const FINAL_RESAMPLES: u32 = 399;
/// p-value above which a change point is measured again.
const MAX_P_VALUE: f64 = 0.01;
/// The same with the quick bootstrap, whose smallest p-value is 1/50.
const QUICK_MAX_P_VALUE: f64 = 0.02;
/// Combinations of two parameters at most.
const MAX_COMBINATIONS: usize = 400;

/// Makes the variant of a setting from the values of its parameters.
pub type Make<'a> = dyn Fn(&BTreeMap<String, String>) -> Result<VariantPlan, ExperimentError> + 'a;

/// Measures the metric over the parameters and refines the grid where the curve changes.
///
/// # Errors
/// An invalid plan, no setting that can be measured, an interruption before anything was measured,
/// a failing launcher.
pub fn sweep(
    comparer: &mut Comparer<'_>,
    sweep: &SweepPlan,
    make: &Make<'_>,
) -> Result<SweepResult, ExperimentError> {
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
        running_seconds: 0.0,
        notes: Vec::new(),
    };
    let result = driver.run();
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
    /// Number of runs so far.
    runs: u32,
    /// Their duration, seconds.
    running_seconds: f64,
    notes: Vec<String>,
}

impl Driver<'_, '_> {
    fn run(&mut self) -> Result<SweepEnd, ExperimentError> {
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
        for values in self.initial_grid()? {
            self.add(values, false)?;
        }
        let all: Vec<usize> = (0..self.settings.len()).collect();
        for _ in 0..self.plan.warmup {
            self.comparer.run_block(&self.plan, &self.active(&all))?;
        }
        let looked = self.first_block(&all)?;
        self.check_metric_reported()?;
        let end = self.rounds(&looked, INITIAL_BLOCKS - 1, "initial grid")?;
        let left_out = all.len() - looked.len();
        let settings = match left_out {
            0 => String::new(),
            _ => format!("{} of the {} settings of ", looked.len(), all.len()),
        };
        if end.is_some() && self.block < INITIAL_BLOCKS {
            self.notes.push(format!(
                "the budget was spent after {} of {settings}the initial grid",
                format::plural(u64::from(self.block), "block")
            ));
        } else if left_out > 0 {
            self.notes.push(format!(
                "the budget sufficed for {settings}the initial grid"
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
            let Ok(curve) = self.curve(axis, QUICK_RESAMPLES) else {
                return self.until_spent(&all);
            };
            let refined = self
                .settings
                .iter()
                .filter(|setting| setting.refined)
                .count();
            let mut next = next_settings::next(
                &curve,
                parameter,
                refined,
                self.plan.delta,
                QUICK_MAX_P_VALUE,
            );
            if next == Next::Answered && !curve.knees.is_empty() {
                // Decide with the same bootstrap as the result.
                if let Ok(curve) = self.curve(axis, FINAL_RESAMPLES) {
                    next = next_settings::next(
                        &curve,
                        parameter,
                        refined,
                        self.plan.delta,
                        MAX_P_VALUE,
                    );
                }
            }
            let end = match next {
                Next::Answered => return Ok(SweepEnd::Answered),
                Next::Refine(placements) => {
                    let mut chosen = BTreeSet::new();
                    for placement in &placements {
                        chosen.extend(self.at(placement.neighbours.0));
                        chosen.extend(self.at(placement.neighbours.1));
                        let one =
                            BTreeMap::from([(parameter.name.clone(), placement.value.clone())]);
                        chosen.insert(self.add(one, true)?);
                    }
                    let chosen: Vec<usize> = chosen.into_iter().collect();
                    let blocks = placements.iter().map(|one| one.blocks).max().unwrap_or(1);
                    self.rounds(&chosen, blocks, "between settings that differ")?
                }
                Next::Repeat(xs) => {
                    let chosen: Vec<usize> = xs.iter().filter_map(|x| self.at(*x)).collect();
                    self.rounds(&chosen, REPEATED_BLOCKS, "repeated for certainty")?
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Two parameters or non-numeric values: a fixed number of blocks within the budget.
    fn until_spent(&mut self, all: &[usize]) -> Result<SweepEnd, ExperimentError> {
        Ok(
            match self.rounds(all, INITIAL_BLOCKS, "repeated for certainty")? {
                Some(end) => end,
                None => SweepEnd::Answered,
            },
        )
    }

    /// The settings of the initial grid.
    fn initial_grid(&self) -> Result<Vec<BTreeMap<String, String>>, ExperimentError> {
        let parameters: Vec<_> = (self.sweep.parameters.iter())
            .map(|parameter| crate::parameters::Parameter {
                name: parameter.name.clone(),
                values: parameter.initial_grid(),
            })
            .collect();
        let all = product(&parameters)?;
        if all.len() > MAX_COMBINATIONS && parameters.len() > 1 {
            return Err(ExperimentError::Plan {
                what: format!(
                    "the parameters have {} combinations; give fewer values, for at most \
                     {MAX_COMBINATIONS}",
                    all.len()
                ),
            });
        }
        Ok(all)
    }

    /// Adds a setting and returns its index.
    fn add(
        &mut self,
        values: BTreeMap<String, String>,
        refined: bool,
    ) -> Result<usize, ExperimentError> {
        if let Some(known) = (self.settings.iter()).position(|setting| setting.values == values) {
            return Ok(known);
        }
        let variant = (self.make)(&values)?;
        let first = &self.sweep.parameters[0];
        let x = (first.axis())
            .and_then(|_| values.get(&first.name)?.parse::<f64>().ok())
            .filter(|x| x.is_finite());
        let mut setting = SettingRuns::new(values, x, refined);
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

    /// Measures the first block, coarse grid first: if the budget does not suffice for two runs of
    /// every setting, the finer settings are skipped. Returns the settings that were run.
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
            let share = (self.sweep.budget - began).max(0.0) * FIRST_BLOCK_BUDGET_SHARE;
            if looked.len() >= MIN_SETTINGS && spent + self.expected(group.len()) > share {
                break;
            }
            let rest = match looked.is_empty() {
                true => {
                    let (first, rest) = group.split_at(1);
                    self.block(first, "initial grid")?;
                    self.check_budget(all.len())?;
                    rest
                }
                false => &group[..],
            };
            self.block(rest, "initial grid")?;
            looked.extend(group);
        }
        self.block += 1;
        looked.sort_unstable();
        if looked.len() < all.len() {
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

    /// Refuses a budget, after the first run, that the fewest runs of a sweep would exceed by far; else says how long a
    /// run takes.
    fn check_budget(&mut self, settings: usize) -> Result<(), ExperimentError> {
        let (run, budget) = (self.expected(1), self.sweep.budget);
        let fewest = settings.min(MIN_SETTINGS);
        budget_limit::check(run, fewest, MIN_BLOCKS, budget)?;
        let said = format!("a run takes {}", format::rough_duration(run));
        let left = (budget - self.comparer.elapsed()).max(0.0);
        self.comparer.say(&said, Some(left));
        Ok(())
    }

    /// Runs each of these settings once in random order, while a run is expected to end within the longest time of
    /// the sweep.
    fn block(&mut self, active: &[usize], what: &str) -> Result<(), ExperimentError> {
        let began = self.comparer.elapsed();
        let text = format!(
            "{} settings, block {}: {what}",
            self.settings.len(),
            self.block + 1
        );
        self.comparer
            .say(&text, Some((self.sweep.budget - began).max(0.0)));
        let budget = self.sweep.budget;
        let active = self.active(active);
        for index in self.comparer.block_order(&self.plan, &active) {
            let started = self.comparer.elapsed();
            if started + self.expected(1) > budget_limit::longest(budget) && self.runs > 0 {
                if self.settings[index].runs.is_empty() {
                    self.settings[index].failed = Some(budget_limit::not_run(budget));
                }
                continue;
            }
            budget_limit::limit_run(&mut self.plan.variants[index], budget, started);
            let run = self.comparer.run_once(&self.plan, index)?;
            self.settings[index].add(self.block, run);
            self.runs += 1;
            self.running_seconds += self.comparer.elapsed() - started;
        }
        Ok(())
    }

    /// Refuses a metric that no run of the first block reported: further runs would not, either.
    fn check_metric_reported(&self) -> Result<(), ExperimentError> {
        let primary = &self.plan.primary;
        let ran = self.settings.iter().any(|one| one.failed.is_none());
        if !ran || self.settings.iter().any(|one| one.usable(primary)) {
            return Ok(());
        }
        Err(ExperimentError::Plan {
            what: unreported_metric::message(&self.plan, self.runs),
        })
    }

    /// Expected duration of this number of runs, seconds.
    fn expected(&self, runs: usize) -> f64 {
        self.running_seconds / f64::from(self.runs.max(1)) * runs as f64
    }

    /// Runs blocks of these settings; returns the end of the sweep if it was reached.
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
            let longest = budget_limit::longest(self.sweep.budget);
            if end > self.sweep.budget && (self.block >= MIN_BLOCKS || end > longest) {
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

    fn finish(mut self, end: SweepEnd) -> Result<SweepResult, ExperimentError> {
        let axis = match self.sweep.parameters.as_slice() {
            [only] => only.axis(),
            _ => None,
        };
        let curve = axis.map(|axis| self.curve(axis, FINAL_RESAMPLES));
        let elapsed = self.comparer.elapsed();
        let mut notes = self.notes;
        notes.extend(self.comparer.notes().iter().cloned());
        let mut order: Vec<usize> = (0..self.settings.len()).collect();
        if axis.is_some() {
            let x = |index: usize| self.settings[index].x.unwrap_or(f64::INFINITY);
            order.sort_by(|a, b| x(*a).total_cmp(&x(*b)));
        }
        Ok(SweepResult {
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
