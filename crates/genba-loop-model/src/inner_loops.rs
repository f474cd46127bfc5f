//! Loops whose iterations contain other loops.

use genba_model::{LoopBound, LoopCost};

use super::analysed_loop::Subject;
use crate::constants::{
    DOMINANT_INNER_LOOP, MIN_TIME_OF_RARE_INNER_LOOP, MOST_TIME_IN_INNER_LOOP, RARE_INNER_LOOP,
};
use genba_units::format::short_percent;

impl Subject<'_> {
    /// The loops directly inside that were executed, by the time in them.
    pub(super) fn inner(
        &self,
        weight: f64,
        children: &[u32],
        known: &[Option<LoopCost>],
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
                bound: cost.bound,
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
    pub(super) fn verdict(&self) -> (LoopBound, String) {
        let share = short_percent(self.share);
        if self.share >= DOMINANT_INNER_LOOP && self.bound != LoopBound::Unexplained {
            let why = format!(
                "{share} of its time is in the inner loop at {:#x}, which is {}",
                self.address,
                name(self.bound)
            );
            return (self.bound, why);
        }
        let why = if self.share >= MOST_TIME_IN_INNER_LOOP {
            format!(
                "{share} of its time is in the inner loop at {:#x}",
                self.address
            )
        } else {
            format!(
                "{} of its time is in inner loops, and such loops are not modelled",
                short_percent(self.all)
            )
        };
        (LoopBound::Unexplained, why)
    }
}

fn name(bound: LoopBound) -> &'static str {
    match bound {
        LoopBound::Latency => "latency-bound",
        LoopBound::Throughput => "throughput-bound",
        LoopBound::Memory => "memory-bound",
        LoopBound::FrontEnd => "front-end-bound",
        LoopBound::Unexplained => "unexplained",
    }
}
