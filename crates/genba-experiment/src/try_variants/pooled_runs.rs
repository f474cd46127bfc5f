//! Runs of one variant with those of the baseline in the same blocks, pooled over all rounds. Pure.

use genba_model::{Comparison, Direction, Estimate, Variant};
use genba_stats::Judge;

use crate::compare_variants::compare;
use crate::comparison_report::variants;
use crate::measurement::{End, Measurement};
use crate::paired_effect::{Effect, Pairs, Question};
use crate::{Plan, Stop, VariantPlan};

/// Pooled runs of a variant and of the baseline in the same blocks.
#[derive(Clone, Debug)]
pub(crate) struct PooledRuns {
    plan: Plan,
    measurement: Measurement,
}

impl PooledRuns {
    /// No runs yet.
    pub fn new(template: &Plan, variants: Vec<VariantPlan>) -> Self {
        let mut plan = template.clone();
        plan.variants = variants;
        // Evaluated after every round: the interval must hold at any time.
        plan.stop = Stop::Budget {
            seconds: f64::MAX,
            min_blocks: 1,
        };
        let mut measurement = Measurement::new(&plan);
        measurement.end = End::BudgetSpent;
        Self { plan, measurement }
    }

    /// Whether the output of the baseline was seen to change from run to run.
    pub fn output_varies(&self) -> bool {
        self.measurement.baseline_output_varies
    }

    /// Adds the blocks of a round in which these variants had these positions.
    pub fn add(&mut self, round: &Measurement, places: &[usize]) {
        // The last blocks of a variant excluded within the round are incomplete.
        let blocks = (places.iter())
            .map(|position| round.variants[*position].exits.len())
            .min()
            .unwrap_or(0);
        self.measurement.baseline_output_varies |= round.baseline_output_varies;
        let before = self.measurement.blocks as usize;
        for series in &round.series {
            if self.measurement.find(&series.name).is_none() {
                self.measurement.series.push(series.clone());
            }
        }
        let all = self.measurement.series.len();
        for (own, position) in places.iter().enumerate() {
            let from = &round.variants[*position];
            let to = &mut self.measurement.variants[own];
            to.columns.resize_with(all, || vec![f64::NAN; before]);
            for (number, series) in self.measurement.series.iter().enumerate() {
                let source = round.series.iter().position(|one| one.name == series.name);
                let values = source.map(|source| from.column(source)).unwrap_or_default();
                let column = &mut to.columns[number];
                column.extend((0..blocks).map(|run| values.get(run).copied().unwrap_or(f64::NAN)));
            }
            to.exits.extend(from.exits.iter().take(blocks));
            to.disturbed += from.disturbed;
            to.prepare_seconds += from.prepare_seconds;
        }
        self.measurement.blocks += u32::try_from(blocks).unwrap_or(u32::MAX);
    }

    /// Number of blocks so far.
    pub fn blocks(&self) -> u32 {
        self.measurement.blocks
    }

    /// Effect in the primary metric; the ratio is inverted if more is better, so that below 1 is a
    /// gain.
    pub fn effect(&self) -> Option<Effect> {
        let series = self.measurement.find(&self.plan.primary)?;
        let data = &self.measurement.variants;
        let question = Question {
            alpha: self.plan.alpha,
            delta: self.plan.delta,
            direction: self.measurement.series[series].direction,
            fixed: false,
        };
        let mut effect =
            Pairs::of(data[0].column(series), data[1].column(series)).judge(&question)?;
        if question.direction == Direction::MoreIsBetter {
            let Estimate { value, low, high } = effect.ratio;
            effect.ratio = Estimate {
                value: 1.0 / value,
                low: 1.0 / high,
                high: 1.0 / low,
            };
        }
        Some(effect)
    }

    /// Natural logarithm of the e-value against "no difference", also for few pairs, where
    /// [`PooledRuns::effect`] uses p-values.
    pub fn log_e(&self) -> f64 {
        let judged = || -> Option<f64> {
            let series = self.measurement.find(&self.plan.primary)?;
            let data = &self.measurement.variants;
            let pairs = Pairs::of(data[0].column(series), data[1].column(series));
            let mut judge = Judge::new(self.plan.alpha, self.plan.delta).ok()?;
            for (baseline, variant) in pairs.baseline.iter().zip(&pairs.variant) {
                judge.push(*baseline, *variant).ok()?;
            }
            Some(judge.sequence().log_e_value())
        };
        judged().unwrap_or(0.0)
    }

    /// Comparisons with the baseline in all metrics.
    pub fn comparisons(&self) -> Vec<Comparison> {
        compare(&self.plan, &self.measurement).comparisons
    }

    /// Baseline and variant with their runs.
    pub fn variants(&self) -> Vec<Variant> {
        variants(&self.plan, &self.measurement)
    }
}
