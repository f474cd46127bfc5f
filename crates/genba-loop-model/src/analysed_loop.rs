//! One loop: what is gathered about it from counts, time and code.

use genba_code::{BlockId, ControlFlow};
use genba_model::{Estimate, InstructionPlace, LoopThroughput, NoLoopChain};

use super::LoopInputs;
use super::bound_decision::{Chain, Facts};
use super::costs::{self, Timing, first_latency, misprediction_penalty, operation};
use super::counted_edges::Edges;
use super::evidence::{Evidence, Iteration};
use super::inner_loops::Inner;
use super::throughput::Mix;

/// A loop under examination.
pub(super) struct Subject<'a> {
    pub inputs: &'a LoopInputs<'a>,
    pub edges: &'a Edges<'a>,
    pub index: u32,
    pub blocks: &'a [BlockId],
    pub head: BlockId,
    pub iterations: u64,
    pub entries: Option<u64>,
}

/// Whether a block is in a loop or in one inside it.
pub fn is_inside(flow: &ControlFlow, block: BlockId, index: u32) -> bool {
    let mut at = flow.innermost_loop(block);
    while let Some(found) = at {
        if found == index {
            return true;
        }
        // A loop around comes before those inside: no need to go on.
        if found < index {
            return false;
        }
        at = flow.loops()[found as usize].parent;
    }
    false
}

impl Subject<'_> {
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().flat_map(|&block| {
            let range = &self.inputs.flow.blocks()[block as usize].instructions;
            range.start as usize..range.end as usize
        })
    }

    pub(super) fn measured(&self) -> (f64, f64) {
        let at = |list: &[f64], index: usize| list.get(index).copied().unwrap_or(0.0);
        self.members().fold((0.0, 0.0), |(samples, weight), index| {
            (
                samples + at(self.inputs.samples, index),
                weight + at(self.inputs.weight, index),
            )
        })
    }

    pub(super) fn cycles(&self, weight: f64) -> Option<Estimate> {
        let cycles = costs::sane_total((self.inputs.cycles)(weight))?;
        Some(cycles.scaled(1.0 / self.iterations as f64))
    }

    pub(super) fn mix(&self) -> Mix<'_> {
        let per_iteration = 1.0 / self.iterations as f64;
        let mut rows = Vec::new();
        for &block in self.blocks {
            let range = &self.inputs.flow.blocks()[block as usize].instructions;
            for index in range.start as usize..range.end as usize {
                let count = self.inputs.counts.get(index).copied().flatten();
                let times = count.unwrap_or(0) as f64 * per_iteration;
                let taken = match self.inputs.instructions[index].flow {
                    genba_code::Flow::Jump(_) => times,
                    genba_code::Flow::CondJump(_) => {
                        let taken = self.edges.taken_at_end(block).unwrap_or(0);
                        taken as f64 * per_iteration
                    }
                    _ => 0.0,
                };
                rows.push((index, times, taken));
            }
        }
        Mix {
            instructions: self.inputs.instructions,
            flows: self.inputs.data_flow,
            rows,
        }
    }

    /// Why no chain can be given, if none can.
    pub(super) fn why_not(&self, irreducible: bool, inner: &Option<Inner>) -> Option<NoLoopChain> {
        if irreducible {
            return Some(NoLoopChain::Irreducible);
        }
        if inner.is_some() {
            return Some(NoLoopChain::ContainsLoops);
        }
        None
    }

    pub(super) fn facts(
        &self,
        measured: Option<Estimate>,
        samples: f64,
        weight: f64,
        chain: Result<Chain, NoLoopChain>,
        throughput: Option<LoopThroughput>,
        timings: &[Option<Timing>],
    ) -> Facts {
        let costs = self.inputs.costs;
        let penalty = misprediction_penalty(costs);
        let iteration = Iteration {
            inputs: self.inputs,
            edges: self.edges,
            blocks: self.blocks,
            timings,
            iterations: self.iterations as f64,
            cycles: measured.map_or(0.0, |cycles| cycles.value),
            weight,
        };
        let (loads, branches) = if weight > 0.0 && measured.is_some() {
            (iteration.loads(), iteration.branches(&penalty))
        } else {
            (Evidence::default(), Evidence::default())
        };
        let place = |most: &Option<(usize, f64)>| {
            most.map_or_else(InstructionPlace::default, |(index, _)| {
                let instruction = &self.inputs.instructions[index];
                InstructionPlace {
                    text: brief(&instruction.text).to_owned(),
                    address: instruction.address,
                }
            })
        };
        let levels = operation::LEVELS
            .iter()
            .filter_map(|(name, forms)| Some((*name, first_latency(costs, forms)?)))
            .collect();
        Facts {
            measured,
            samples,
            trips: self
                .entries
                .filter(|&entries| entries > 0)
                .map(|entries| self.iterations as f64 / entries as f64),
            chain,
            throughput,
            load: place(&loads.most),
            branch: place(&branches.most),
            loads,
            branches,
            penalty,
            stores: self.members().any(|index| {
                let memory = &self.inputs.data_flow[index].memory;
                memory.iter().any(|m| m.writes && !m.stack)
            }),
            levels,
        }
    }
}

/// Disassembly without what follows it as a comment.
pub(super) fn brief(text: &str) -> &str {
    text.split(" # ").next().unwrap_or(text)
}
