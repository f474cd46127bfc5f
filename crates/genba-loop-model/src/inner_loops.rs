//! Loops whose iterations contain other loops.

use genba_model::{LoopBound, LoopVerdict};

use super::LoopAnalysis;
use super::analysed_loop::Subject;
use crate::constants::{
    DOMINANT_INNER_LOOP, MIN_TIME_OF_RARE_INNER_LOOP, MOST_TIME_IN_INNER_LOOP, RARE_INNER_LOOP,
};

impl Subject<'_> {
    /// The loops directly inside that were executed, by the time in them.
    pub(super) fn inner(
        &self,
        weight: f64,
        children: &[u32],
        known: &[Option<LoopAnalysis>],
    ) -> Option<Inner> {
        let list = self.inputs.flow.loops();
        let mut found: Option<Inner> = None;
        for &index in children {
            let (index, inner) = (index as usize, &list[index as usize]);
            let Some(cost) = &known[index] else { continue };
            let part: f64 = self
                .inputs
                .flow
                .loop_blocks(index as u32)
                .iter()
                .flat_map(|&b| {
                    let range = &self.inputs.flow.blocks()[b as usize].instructions;
                    range.start as usize..range.end as usize
                })
                .map(|i| self.inputs.weight.get(i).copied().unwrap_or(0.0))
                .sum();
            // A loop inside that hardly ever runs does not shape the iterations.
            let rare = (cost.iterations as f64) < RARE_INNER_LOOP * self.iterations as f64;
            let share = if weight > 0.0 { part / weight } else { 0.0 };
            if rare && share < MIN_TIME_OF_RARE_INNER_LOOP {
                continue;
            }
            let head = self.inputs.flow.blocks()[inner.head as usize]
                .instructions
                .start;
            let here = Inner {
                share,
                all: share,
                address: self.inputs.instructions[head as usize].address,
                bound: cost.verdict.bound(),
            };
            found = Some(match found {
                None => here,
                Some(before) => {
                    let all = before.all + here.all;
                    let most = if here.share > before.share {
                        here
                    } else {
                        before
                    };
                    Inner { all, ..most }
                }
            });
        }
        found
    }
}

/// Time in the loops inside.
pub(super) struct Inner {
    /// Share of the time in the one with most.
    share: f64,
    /// Share of the time in all.
    all: f64,
    address: u64,
    bound: LoopBound,
}

impl Inner {
    pub(super) fn verdict(&self) -> LoopVerdict {
        if self.share < MOST_TIME_IN_INNER_LOOP {
            return LoopVerdict::InnerLoops { share: self.all };
        }
        let known = self.share >= DOMINANT_INNER_LOOP && self.bound != LoopBound::Unexplained;
        LoopVerdict::InnerLoop {
            address: self.address,
            share: self.share,
            bound: known.then_some(self.bound),
        }
    }
}
