//! Where in an iteration the measured time stands: at loads, at branches with both outcomes.

use genba_code::{BlockId, DataFlow, Flow};
use genba_model::Estimate;

use super::LoopInputs;
use super::costs::{Timing, is_locked};
use super::counted_edges::Edges;
use crate::constants::{
    INSTRUCTIONS_AFTER_BRANCH, MAX_USER_CYCLES, MIN_LOAD_WAIT, MIN_RARER_OUTCOME,
};

/// Measured time at instructions of one kind, cycles per iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// Share of the loop's time at them.
    pub share: f64,
    /// Cycles per iteration at them beyond their latency without misses and mispredictions.
    pub excess: f64,
    /// The one with most time, and its share.
    pub most: Option<(usize, f64)>,
    /// Measured cycles for each execution of that one.
    pub each: f64,
    /// What an execution of it takes on an L1d hit; share of executions in which it is
    /// taken, for a branch.
    pub usual: f64,
    /// Most cycles per iteration that mispredictions can take (branches).
    pub potential: f64,
    /// Share of the loop's time at the branches, at what they compare, and at the first
    /// instructions on either side, which come late after a misprediction.
    pub near: f64,
    /// Executions per iteration of the one with most time.
    pub times: f64,
}

/// The loop whose evidence is gathered.
pub(super) struct Iteration<'a> {
    pub inputs: &'a LoopInputs<'a>,
    pub edges: &'a Edges<'a>,
    pub blocks: &'a [BlockId],
    pub timings: &'a [Option<Timing>],
    /// Executions of the head.
    pub iterations: f64,
    /// Measured cycles per iteration.
    pub cycles: f64,
    /// Weight of all samples in the loop.
    pub weight: f64,
}

impl Iteration<'_> {
    fn share(&self, index: usize) -> f64 {
        self.inputs.weight.get(index).copied().unwrap_or(0.0) / self.weight
    }

    fn executions(&self, index: usize) -> f64 {
        let count = self.inputs.counts.get(index).copied().flatten();
        count.unwrap_or(0) as f64 / self.iterations
    }

    /// Loads that take far longer than an L1d hit.
    pub(super) fn loads(&self) -> Evidence {
        let mut found = Evidence::default();
        for &block in self.blocks {
            let range = self.edges.flow.blocks()[block as usize]
                .instructions
                .clone();
            for index in range.start as usize..range.end as usize {
                let (Some(flow), Some(Some(timing))) =
                    (self.inputs.data_flow.get(index), self.timings.get(index))
                else {
                    continue;
                };
                let head = index == range.start as usize && self.after_undecided(block);
                if !is_data_load(flow) || head {
                    continue;
                }
                let mut share = self.share(index);
                if index + 1 < range.end as usize && self.waits_for(index + 1, flow) {
                    share += self.share(index + 1);
                }
                let times = self.executions(index);
                if times <= 0.0 || share <= 0.0 {
                    continue;
                }
                let each = share * self.cycles / times;
                let usual = timing.load.high + timing.op.high;
                if each < MIN_LOAD_WAIT.0 * usual + MIN_LOAD_WAIT.1 {
                    continue;
                }
                found.share += share;
                found.excess += (each - usual) * times;
                if found.most.is_none_or(|(_, most)| share > most) {
                    found.most = Some((index, share));
                    found.each = each;
                    found.usual = timing.load.value + timing.op.value;
                }
            }
        }
        found
    }

    /// Whether an instruction does little but use what the one before it loaded.
    fn waits_for(&self, index: usize, load: &DataFlow) -> bool {
        let (Some(flow), Some(Some(timing))) =
            (self.inputs.data_flow.get(index), self.timings.get(index))
        else {
            return false;
        };
        let jump = matches!(
            self.inputs.instructions[index].flow,
            Flow::Jump(_) | Flow::CondJump(_)
        );
        flow.data_reads & load.writes != 0
            && !flow.loads()
            && timing.op.high <= MAX_USER_CYCLES
            && !jump
    }

    /// Whether a branch that goes both ways leads to a block, so that samples at its first
    /// instruction may be the branch's.
    fn after_undecided(&self, block: BlockId) -> bool {
        let predecessors = &self.edges.flow.blocks()[block as usize].predecessors;
        predecessors.iter().any(|&from| {
            self.rate(from)
                .is_some_and(|rate| (MIN_RARER_OUTCOME..=1.0 - MIN_RARER_OUTCOME).contains(&rate))
        })
    }

    /// Share of the executions of a block's conditional jump in which it was taken.
    fn rate(&self, block: BlockId) -> Option<f64> {
        let taken = self.edges.taken_at_end(block)?;
        let all = self.edges.block(block)?;
        (all > 0).then(|| (taken as f64 / all as f64).min(1.0))
    }

    /// Conditional jumps that go both ways, with the time at them.
    pub(super) fn branches(&self, penalty: &Estimate) -> Evidence {
        let mut found = Evidence::default();
        let mut near: Vec<usize> = Vec::new();
        for &block in self.blocks {
            let (Some(rate), Some(index)) = (self.rate(block), self.edges.last(block)) else {
                continue;
            };
            if !(MIN_RARER_OUTCOME..=1.0 - MIN_RARER_OUTCOME).contains(&rate) {
                continue;
            }
            let share = self.share(index);
            let times = self.executions(index);
            if times <= 0.0 {
                continue;
            }
            near.extend(self.around(block, index));
            found.share += share;
            found.potential += rate.min(1.0 - rate) * times * penalty.high;
            found.excess += (share * self.cycles - times).max(0.0);
            if found.most.is_none_or(|(_, most)| share > most) {
                found.most = Some((index, share));
                found.each = share * self.cycles / times;
                found.usual = rate;
                found.times = times;
            }
        }
        near.sort_unstable();
        near.dedup();
        found.near = near.iter().map(|&index| self.share(index)).sum();
        found
    }

    /// A branch, the instruction before it, and the first few on either side.
    fn around(&self, block: BlockId, branch: usize) -> Vec<usize> {
        let blocks = self.edges.flow.blocks();
        let own = &blocks[block as usize];
        let before = branch
            .checked_sub(1)
            .filter(|&before| before >= own.instructions.start as usize);
        let mut list: Vec<usize> = before.into_iter().chain([branch]).collect();
        for &next in own.successors.iter().filter(|b| self.blocks.contains(b)) {
            let range = &blocks[next as usize].instructions;
            let end = range.end.min(range.start + INSTRUCTIONS_AFTER_BRANCH);
            list.extend(range.start as usize..end as usize);
        }
        list
    }
}

/// Loads of data: not returns and restores, not locked operations, which wait for more than a
/// cache.
fn is_data_load(flow: &DataFlow) -> bool {
    flow.memory.iter().any(|m| m.reads && !m.stack) && !is_locked(flow) && flow.opaque.is_none()
}
