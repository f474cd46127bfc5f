//! Runs of a search, single and in pairs, stored by variant.

use std::collections::BTreeMap;

use genba_model::{BisectionTest, Comparison, Direction, Estimate, Skipped, Variant, VerdictName};
use genba_stats::{Judge, StatsError, Verdict};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::search_result::VerifiedEffect;
use super::variant_metrics;
use crate::paired_effect::verdict_name;
use crate::{Comparer, ExperimentError, Plan, SingleRun, VariantPlan};

/// A run is added to an entry of the test list at most so far back: those of one block.
const MAX_BLOCK_TESTS: usize = 8;

/// Time limit of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBudget {
    /// Total time, seconds.
    pub seconds: f64,
}

/// All runs of one variant.
struct VariantRuns {
    plan: VariantPlan,
    runs: Vec<BTreeMap<String, f64>>,
    failed: Option<String>,
}

/// Makes the runs that a search asks for and stores them for the document.
pub(super) struct SearchMeasurement<'l, 'a> {
    comparer: &'l mut Comparer<'a>,
    plan: Plan,
    budget: SearchBudget,
    began: f64,
    kept: Vec<VariantRuns>,
    pub tests: Vec<BisectionTest>,
    pub skipped: Vec<Skipped>,
    pub comparisons: Vec<Comparison>,
    pub notes: Vec<String>,
    pub random: StdRng,
    runs: u32,
    /// Duration of the last run, seconds.
    last_seconds: f64,
}

/// A comparison that is still being measured.
pub(super) struct OpenComparison {
    judge: Judge,
    direction: Direction,
}

impl OpenComparison {
    pub fn verified(&self) -> VerifiedEffect {
        let verdict = match self.judge.verdict() {
            Verdict::Same => VerdictName::Same,
            Verdict::Undecided => VerdictName::Undecided,
            other => verdict_name(other, self.direction),
        };
        VerifiedEffect {
            verdict,
            ratio: self.judge.ratio(),
            pairs: u32::try_from(self.judge.sequence().count()).unwrap_or(u32::MAX),
        }
    }
}

impl<'l, 'a> SearchMeasurement<'l, 'a> {
    /// Takes metric, counters, α, δ and seed from `plan`; its variants are not used.
    pub fn new(comparer: &'l mut Comparer<'a>, plan: &Plan, budget: SearchBudget) -> Self {
        let began = comparer.elapsed();
        Self {
            comparer,
            plan: plan.clone(),
            budget,
            began,
            kept: Vec::new(),
            tests: Vec::new(),
            skipped: Vec::new(),
            comparisons: Vec::new(),
            notes: Vec::new(),
            random: StdRng::seed_from_u64(plan.seed),
            runs: 0,
            last_seconds: 0.0,
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn comparer(&mut self) -> &mut Comparer<'a> {
        self.comparer
    }

    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// Share of the budget that is spent.
    pub fn spent(&mut self) -> f64 {
        (self.comparer.elapsed() - self.began) / self.budget.seconds
    }

    /// Seconds left of the budget.
    pub fn left(&mut self) -> f64 {
        (self.budget.seconds - (self.comparer.elapsed() - self.began)).max(0.0)
    }

    /// Whether another run would exceed a share of the budget.
    pub fn exceeds(&mut self, share: f64) -> bool {
        let next = self.last_seconds / 2.0 / self.budget.seconds;
        self.spent() + next > share
    }

    pub fn progress(&mut self, what: &str) {
        let left = self.left();
        self.comparer.say(what, Some(left));
    }

    /// Makes one run and returns the primary metric; `None` if it failed, which is recorded.
    pub fn run(
        &mut self,
        variant: &VariantPlan,
        purpose: &str,
    ) -> Result<Option<f64>, ExperimentError> {
        self.enter(variant)?;
        self.plan.variants = vec![variant.clone()];
        let run = self.comparer.run_once(&self.plan, 0)?;
        Ok(self.take(variant, run, purpose))
    }

    /// Runs two variants once each in random order; `None` if one of them failed.
    pub fn pair(
        &mut self,
        first: &VariantPlan,
        second: &VariantPlan,
        purpose: &str,
    ) -> Result<Option<(f64, f64)>, ExperimentError> {
        let values = self.run_block(&[first, second], purpose)?;
        Ok(values[0].zip(values[1]))
    }

    /// Runs each of these variants once in random order. The values are in the order of
    /// `variants`, `None` for a failed run.
    pub fn run_block(
        &mut self,
        variants: &[&VariantPlan],
        purpose: &str,
    ) -> Result<Vec<Option<f64>>, ExperimentError> {
        for variant in variants {
            self.enter(variant)?;
        }
        self.plan.variants = variants.iter().map(|one| (*one).clone()).collect();
        let all: Vec<usize> = (0..variants.len()).collect();
        let runs = self.comparer.run_block(&self.plan, &all)?;
        let mut values: Vec<Option<f64>> = (variants.iter().zip(runs))
            .map(|(variant, run)| self.take(variant, run, purpose))
            .collect();
        values.resize(variants.len(), None);
        Ok(values)
    }

    /// Starts a comparison at significance level `alpha`.
    pub fn open_comparison(&self, alpha: f64) -> Result<OpenComparison, ExperimentError> {
        Ok(OpenComparison {
            judge: Judge::new(alpha, self.plan.delta).map_err(statistics_error)?,
            direction: variant_metrics::unit_of(&self.plan, &self.plan.primary).1,
        })
    }

    /// Adds a pair to a comparison.
    pub fn judge(
        &self,
        comparison: &mut OpenComparison,
        pair: (f64, f64),
    ) -> Result<(), ExperimentError> {
        comparison
            .judge
            .push(pair.0, pair.1)
            .map_err(|error| self.unfit(&error))
    }

    /// Compares two variants until there is a verdict or `share` of the budget is spent. A failed
    /// run ends it undecided.
    pub fn compare(
        &mut self,
        first: &VariantPlan,
        second: &VariantPlan,
        alpha: f64,
        share: f64,
        purpose: &str,
    ) -> Result<VerifiedEffect, ExperimentError> {
        let mut comparison = self.open_comparison(alpha)?;
        while comparison.verified().verdict == VerdictName::Undecided && !self.exceeds(share) {
            let text = format!("{purpose}: {} against {}", first.name, second.name);
            self.progress(&text);
            let Some(pair) = self.pair(first, second, purpose)? else {
                break;
            };
            self.judge(&mut comparison, pair)?;
        }
        self.conclude(&comparison, &first.name, &second.name, alpha);
        Ok(comparison.verified())
    }

    /// Adds a comparison to the document.
    pub fn conclude(&mut self, comparison: &OpenComparison, first: &str, second: &str, alpha: f64) {
        let verified = comparison.verified();
        let Some(ratio) = verified.ratio else {
            return;
        };
        let more = comparison.judge.more_pairs();
        self.comparisons.push(Comparison {
            baseline: first.to_owned(),
            variant: second.to_owned(),
            metric: self.plan.primary.clone(),
            ratio,
            verdict: verified.verdict,
            delta: self.plan.delta,
            alpha,
            pairs: verified.pairs,
            more_pairs: more.and_then(|pairs| u32::try_from(pairs).ok()),
            corrected: None,
            cross_check: Some(comparison.judge.cross_check().is_some()),
        });
    }

    /// Compares two values without noise and adds the comparison to the document.
    pub fn conclude_exact(&mut self, first: (&str, f64), second: (&str, f64)) -> VerifiedEffect {
        let ratio = second.1 / first.1;
        let direction = variant_metrics::unit_of(&self.plan, &self.plan.primary).1;
        let same = first.1 == second.1 || ratio.ln().abs() <= self.plan.delta.ln_1p();
        let verdict = if same {
            VerdictName::Same
        } else if second.1 < first.1 {
            verdict_name(Verdict::Faster, direction)
        } else {
            verdict_name(Verdict::Slower, direction)
        };
        // A ratio to zero does not exist.
        if !(ratio > 0.0 && ratio.is_finite()) {
            return VerifiedEffect {
                verdict,
                ratio: None,
                pairs: 1,
            };
        }
        let estimate = self.extremes(first, second, ratio);
        let runs = |name: &str| {
            let of = self.kept.iter().find(|kept| kept.plan.name == name);
            of.map_or(0, |kept| kept.runs.len())
        };
        let pairs = u32::try_from(runs(first.0).min(runs(second.0))).unwrap_or(u32::MAX);
        self.comparisons.push(Comparison {
            baseline: first.0.to_owned(),
            variant: second.0.to_owned(),
            metric: self.plan.primary.clone(),
            ratio: estimate,
            verdict,
            delta: self.plan.delta,
            alpha: self.plan.alpha,
            pairs,
            more_pairs: None,
            corrected: None,
            cross_check: None,
        });
        VerifiedEffect {
            verdict,
            ratio: Some(estimate),
            pairs,
        }
    }

    /// The ratio with the smallest and largest ratio that the runs of both variants allow.
    fn extremes(&self, first: (&str, f64), second: (&str, f64), ratio: f64) -> Estimate {
        let ends = |of: (&str, f64)| {
            let kept = self.kept.iter().find(|kept| kept.plan.name == of.0);
            let runs = kept.map_or(&[][..], |kept| &kept.runs);
            let values = runs.iter().filter_map(|run| run.get(&self.plan.primary));
            values.fold((of.1, of.1), |(low, high), value| {
                (low.min(*value), high.max(*value))
            })
        };
        let (one, two) = (ends(first), ends(second));
        Estimate {
            value: ratio,
            low: (two.0 / one.1).min(ratio),
            high: (two.1 / one.0).max(ratio),
        }
    }

    /// Why a variant failed; `None` if it did not.
    pub fn failure(&self, name: &str) -> Option<&str> {
        let kept = self.kept.iter().find(|kept| kept.plan.name == name)?;
        kept.failed.as_deref()
    }

    /// Runs the clean-up commands. An interruption counts as a result once something was
    /// measured.
    pub fn finish<T>(
        &mut self,
        result: Result<T, ExperimentError>,
        interrupted: T,
    ) -> Result<T, ExperimentError> {
        self.clean_up();
        match result {
            Err(ExperimentError::Interrupted) if self.runs > 0 => Ok(interrupted),
            other => other,
        }
    }

    /// Runs the clean-up commands of all variants that were run.
    fn clean_up(&mut self) {
        let mut all = self.plan.clone();
        all.variants = self.kept.iter().map(|kept| kept.plan.clone()).collect();
        if let Err(error) = self.comparer.clean_up(&all) {
            self.notes.push(format!("clean-up: {error}"));
        }
    }

    /// All variants that were run, in order of first use.
    pub fn variants(&self) -> Vec<Variant> {
        (self.kept.iter())
            .map(|kept| Variant {
                name: kept.plan.name.clone(),
                command: kept.plan.command.clone(),
                parameters: kept.plan.parameters.clone(),
                runs: u32::try_from(kept.runs.len()).unwrap_or(u32::MAX),
                exit_codes: Vec::new(),
                metrics: variant_metrics::metrics(&self.plan, &kept.runs),
                excluded: kept.failed.clone(),
            })
            .collect()
    }

    /// Notes of the search and of the runner.
    pub fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.comparer.notes().iter().cloned());
        notes
    }

    /// The error for values that cannot be compared.
    fn unfit(&self, error: &StatsError) -> ExperimentError {
        ExperimentError::Metric {
            name: self.plan.primary.clone(),
            what: error.to_string(),
        }
    }

    /// Runs the set-up commands of a variant before its first run.
    fn enter(&mut self, variant: &VariantPlan) -> Result<(), ExperimentError> {
        if self.kept.iter().any(|kept| kept.plan.name == variant.name) {
            return Ok(());
        }
        self.kept.push(VariantRuns {
            plan: variant.clone(),
            runs: Vec::new(),
            failed: None,
        });
        self.plan.variants = vec![variant.clone()];
        let plan = self.plan.clone();
        self.comparer.set_up(&plan)
    }

    fn take(&mut self, variant: &VariantPlan, run: SingleRun, purpose: &str) -> Option<f64> {
        self.runs += 1;
        self.last_seconds = run.seconds;
        let metric = &self.plan.primary;
        let failed = match (&run.value, run.failed) {
            (Some(_), _) => None,
            (None, Some(reason)) => Some(reason),
            (None, None) => Some(format!("it did not report the metric {metric}")),
        };
        if let Some(kept) = (self.kept.iter_mut()).find(|kept| kept.plan.name == variant.name) {
            if run.value.is_some() {
                kept.runs.push(run.values);
            }
            if failed.is_some() {
                kept.failed.clone_from(&failed);
            }
        }
        if let Some(reason) = &failed
            && !self
                .skipped
                .iter()
                .any(|skipped| skipped.what == variant.name)
        {
            self.skipped.push(Skipped {
                what: variant.name.clone(),
                reason: reason.clone(),
            });
        }
        let same = |test: &&mut BisectionTest| {
            test.what == variant.name && test.purpose == purpose && test.failed.is_none()
        };
        match (
            self.tests.iter_mut().rev().take(MAX_BLOCK_TESTS).find(same),
            run.value,
        ) {
            (Some(test), Some(value)) => test.values.push(value),
            _ => self.tests.push(BisectionTest {
                what: variant.name.clone(),
                purpose: purpose.to_owned(),
                values: run.value.into_iter().collect(),
                failed,
            }),
        }
        run.value
    }
}

pub(super) fn statistics_error(error: StatsError) -> ExperimentError {
    ExperimentError::Plan {
        what: error.to_string(),
    }
}
