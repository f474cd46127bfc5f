//! Conditional branches: outcomes, mispredictions by a model, and those that go one way.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::branch_predictor::BranchPredictor;
use crate::call_stack::CallStack;
use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// Outcomes of a conditional branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchSite {
    /// The instruction.
    pub at: CodePoint,
    /// Executions in which it was taken.
    pub taken: Seen,
    /// Executions that the predictor's model missed; the first quarter of each burst trains it
    /// and is not counted, hence `None` for a branch that was only met there.
    pub mispredicted: Option<Seen>,
    /// Executions that went the way of the one before, of those that have one in their burst.
    pub repeated: Option<Seen>,
}

/// A branch that goes one way while a function runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneWayBranch {
    /// The instruction.
    pub at: CodePoint,
    /// Executions in activations of the function in which the branch only went one way, of
    /// executions in activations that met it at least [`MIN_EXECUTIONS_IN_ACTIVATION`] times.
    pub seen: Seen,
    /// Share of the executions in which it was taken.
    pub taken: f64,
    /// Activations that met it so often.
    pub activations: u64,
}

/// Executions of a branch in one activation from which on it says something that it went one way.
pub const MIN_EXECUTIONS_IN_ACTIVATION: u32 = 8;

/// Share of a burst that trains the predictor and is not counted.
const TRAINING_SHARE: f64 = 0.25;

/// Tallies all conditional branches, those with most executions first.
pub(crate) fn branches(bursts: &[Burst]) -> Vec<BranchSite> {
    let (mut taken, mut missed, mut repeated) = (Tally::new(), Tally::new(), Tally::new());
    let mut predictors: FastMap<(i32, u32), BranchPredictor> = FastMap::default();
    let mut last: FastMap<CodePoint, bool> = FastMap::default();
    for burst in bursts {
        // What a predictor learnt in one burst of a thread is known to the next.
        let predictor =
            (predictors.entry((burst.pid, burst.thread))).or_insert_with(BranchPredictor::new);
        predictor.forget_history();
        last.clear();
        let training = (burst.events.len() as f64 * TRAINING_SHARE) as usize;
        for (index, event) in burst.events.iter().enumerate() {
            let Observed::Branch { taken: outcome } = event.what else {
                continue;
            };
            taken.count(event.at, outcome);
            let id = u64::from(event.at.module) << 48 ^ event.at.address;
            let right = predictor.predict(id, outcome);
            if index >= training {
                missed.count(event.at, !right);
            }
            if let Some(before) = last.insert(event.at, outcome) {
                repeated.count(event.at, before == outcome);
            }
        }
        taken.end_of_burst(burst.weight);
        missed.end_of_burst(burst.weight);
        repeated.end_of_burst(burst.weight);
    }
    (taken.shares().into_iter())
        .map(|(at, taken)| BranchSite {
            at,
            taken,
            mispredicted: missed.seen(at),
            repeated: repeated.seen(at),
        })
        .collect()
}

/// Finds branches that go one way within activations of their function, those with most
/// executions first. Backward branches of loops do not: their last execution goes the other way.
pub(crate) fn one_way_branches(bursts: &[Burst]) -> Vec<OneWayBranch> {
    let mut tally = Tally::new();
    let mut ways: FastMap<CodePoint, (u64, u64, u64)> = FastMap::default();
    let mut current: FastMap<(CodePoint, u32), (u32, u32)> = FastMap::default();
    for burst in bursts {
        let mut stack = CallStack::default();
        for event in &burst.events {
            stack.event(event);
            if let Observed::Branch { taken } = event.what {
                let one = current.entry((event.at, stack.activation())).or_default();
                one.0 += u32::from(taken);
                one.1 += 1;
            }
        }
        for ((at, _), (taken, all)) in current.drain() {
            if all < MIN_EXECUTIONS_IN_ACTIVATION {
                continue;
            }
            let one_way = taken == 0 || taken == all;
            let executions = f64::from(all);
            tally.add(at, if one_way { executions } else { 0.0 }, executions);
            let way = ways.entry(at).or_default();
            way.0 += u64::from(taken);
            way.1 += u64::from(all);
            way.2 += 1;
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value > 0.0)
        .filter_map(|(at, seen)| {
            let &(taken, all, activations) = ways.get(&at)?;
            Some(OneWayBranch {
                at,
                seen,
                taken: taken as f64 / all.max(1) as f64,
                activations,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, block, branch, burst, call, ret};

    #[test]
    fn random_branch_is_mispredicted_and_loop_branch_is_not() {
        let mut state = 9u64;
        let mut of = || {
            let events = (0..8000).flat_map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                [branch(0x10, state >> 63 == 1), branch(0x20, true)]
            });
            burst(events.collect())
        };
        let bursts: Vec<_> = (0..6).map(|_| of()).collect();
        let found = branches(&bursts);
        let rate = |address| {
            let site = found.iter().find(|one| one.at == at(address));
            site.and_then(|one| one.mispredicted)
                .expect("seen")
                .share
                .value
        };
        assert!((0.42..0.58).contains(&rate(0x10)), "{}", rate(0x10));
        assert!(rate(0x20) < 0.01, "{}", rate(0x20));
    }

    #[test]
    fn mode_flag_goes_one_way_in_each_call_and_a_data_test_does_not() {
        let mut events = Vec::new();
        for run in 0..20 {
            events.push(call(0x5, at(0x100), [0; 6]));
            for one in 0..30 {
                events.push(branch(0x110, run % 2 == 0));
                events.push(branch(0x120, one % 3 == 0));
            }
            events.push(ret(0x130, 0));
            events.push(block(0xa, 1));
        }
        let found = one_way_branches(&[burst(events)]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].activations), (at(0x110), 20));
        assert!((found[0].taken - 0.5).abs() < 1e-9);
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-9);
    }
}
