//! What a change of a loop's instructions gains: loop-level, from measured cycles per iteration and
//! the model before and after.

use genba_model::{Estimate, LoopFact, ModelCase};

use crate::constants::counts::CHANCE_OUTCOME;
use crate::constants::gains::HIDDEN_MISPREDICTIONS;
use crate::input::analysis_input::{CostTable, FunctionInput};
use genba_loop_model::{Change, LoopInputs, Model, iteration_after, misprediction_penalty, model};

/// A loop before and after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopGain {
    /// Measured cycles per iteration.
    pub measured: Estimate,
    /// The model as it is.
    pub before: Model,
    /// The model after the change.
    pub after: Model,
    /// Cycles per iteration after the change.
    pub iteration: Estimate,
    /// Share of the loop's time that stays, 0…1.
    pub residual_fraction: Estimate,
}

impl FunctionInput {
    /// The model of a loop after a change; with none, of the loop as it is.
    #[must_use]
    pub fn loop_model(&self, costs: &CostTable, index: u32, change: &Change) -> Option<Model> {
        if !self.counted || self.counts.len() != self.code.len() {
            return None;
        }
        let counts: Vec<Option<u64>> = self.counts.iter().copied().map(Some).collect();
        let taken = |at: usize| self.taken.get(at).copied().flatten();
        let inputs = LoopInputs {
            flow: &self.flow,
            instructions: &self.code,
            data_flow: &self.data,
            counts: &counts,
            taken: &taken,
            samples: &self.samples,
            weight: &self.heat,
            cycles: &|_| None,
            costs,
        };
        model(&inputs, index, change)
    }

    /// Cycles per iteration of mispredictions if the rarer outcome of a branch was never predicted;
    /// branches with both outcomes about equally often count as predicted: they seldom are random.
    fn mispredictions(&self, costs: &CostTable, index: u32) -> f64 {
        let penalty = misprediction_penalty(costs).value;
        let members = self.loop_instructions(index);
        let iterations = self.loops[index as usize]
            .as_ref()
            .map_or(0, |l| l.iterations);
        let mispredictions = members.iter().map(|&at| {
            let all = self.counts[at] as f64;
            let taken = self.taken.get(at).copied().flatten();
            let rare = taken.map_or(0.0, |taken| (taken as f64).min(all - taken as f64));
            if rare <= CHANCE_OUTCOME * all {
                rare.max(0.0)
            } else {
                0.0
            }
        });
        mispredictions.sum::<f64>() / iterations.max(1) as f64 * penalty
    }

    /// What a change would make of a loop; `None` where cycles or costs are not known.
    #[must_use]
    pub fn loop_after(&self, costs: &CostTable, index: u32, change: &Change) -> Option<LoopGain> {
        let measured = self.loops.get(index as usize)?.as_ref()?.cycles?;
        let before = self.loop_model(costs, index, &Change::default())?;
        let after = self.loop_model(costs, index, change)?;
        let iteration = iteration_after(measured.value, &before, &after)?;
        // Mispredictions are not in the model, and remain: what it leaves no room for before the
        // change shows after it. They come seldom, or always at the end: a part of what may come.
        let most = measured.value;
        let seen = (most - before.cycles()?.value).max(0.0);
        let hidden = (self.mispredictions(costs, index) - seen).max(0.0);
        let iteration = Estimate {
            value: (iteration.value + HIDDEN_MISPREDICTIONS * hidden).min(most),
            low: iteration.low,
            high: (iteration.high + hidden).min(most),
        };
        Some(LoopGain {
            measured,
            before,
            after,
            iteration,
            residual_fraction: iteration.scaled(1.0 / measured.value),
        })
    }
}

impl LoopGain {
    /// Measured cycles of an iteration, and those that the model expects with the fix.
    #[must_use]
    pub fn fact(&self) -> LoopFact {
        LoopFact::Model {
            cycles: self.measured.value,
            modelled: self.iteration,
            case: ModelCase::Fixed,
        }
    }
}
