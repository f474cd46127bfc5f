//! What bounds a loop: measured cycles per iteration against a model of it.
//!
//! **Scope.** For each loop of a function, from its instructions' data flow, exact counts, costs
//! by form and the time measured at each instruction: iterations, entries, the cycles that the
//! longest chain of dependent instructions adds per iteration, the cycles that its instructions
//! take if independent, and which of these, or what else, explains the measured cycles. Pure:
//! no file, no host.
//!
//! **Not modelled.** Chains through calls, through memory at addresses that only look different,
//! and of loops whose iterations contain other loops (those inside are modelled); the size of the
//! reorder buffer; ports beyond what [`throughput`] adds up; alignment. Where that matters the
//! measured cycles are not met, and the loop is [`LoopBound::Unexplained`] with its figures.

mod addresses;
mod analysed_loop;
mod bound_decision;
mod chain;
mod constants;
mod costs;
mod counted_edges;
mod evidence;
mod inner_loops;
mod iteration_paths;
mod iterations;
mod loop_after_change;
mod recurrence;
mod throughput;

use crate::constants::MAX_LOOP_DEPTH;
use genba_code::{ControlFlow, DataFlow, Instruction};
use genba_model::{Estimate, LoopVerdict};

use analysed_loop::Subject;
pub use analysed_loop::is_inside;
use costs::Timing;
use counted_edges::Edges;

pub use chain::chain_mnemonics;
pub use costs::{Costs, misprediction_penalty, operation};
pub use loop_after_change::{Change, Instead, Model, iteration_after, model};

/// One function with what was counted and measured. All slices are by instruction.
#[derive(Clone, Copy)]
pub struct LoopInputs<'a> {
    /// Control flow of the function.
    pub flow: &'a ControlFlow,
    /// Its instructions.
    pub instructions: &'a [Instruction],
    /// Their data flow, of [`genba_code::data_flow_of`] over the same range.
    pub data_flow: &'a [DataFlow],
    /// Executions; `None` where not counted.
    pub counts: &'a [Option<u64>],
    /// How often the jump with this index was taken, where that was counted.
    pub taken: &'a dyn Fn(usize) -> Option<u64>,
    /// Number of samples, put on the instructions that took the time.
    pub samples: &'a [f64],
    /// Weight of those samples.
    pub weight: &'a [f64],
    /// Cycles that a part of the function's weight stands for, in the run that the counts are of;
    /// `None` where cycles are not known.
    pub cycles: &'a dyn Fn(f64) -> Option<Estimate>,
    /// What instructions cost.
    pub costs: &'a dyn Costs,
}

/// What counts, time and model give for one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopAnalysis {
    /// Counted: iterations (executions of the loop header).
    pub iterations: u64,
    /// Counted: entries from outside.
    pub entries: Option<u64>,
    /// Measured ÷ counted: cycles per iteration, including inner loops.
    pub cycles: Option<Estimate>,
    /// Model: cycles per iteration of the longest loop-carried dependency chain.
    pub chain_cycles: Option<Estimate>,
    /// Instructions of that chain in order: indices into [`LoopInputs::instructions`].
    pub chain: Vec<u32>,
    /// Model: cycles per iteration if all instructions were independent.
    pub throughput_cycles: Option<Estimate>,
    /// What explains the cycles.
    pub verdict: LoopVerdict,
}

/// The cost of each loop of [`ControlFlow::loops`]; `None` for those that were not executed or
/// not counted.
#[must_use]
pub fn loops(inputs: &LoopInputs<'_>) -> Vec<Option<LoopAnalysis>> {
    let list = inputs.flow.loops();
    let mut out: Vec<Option<LoopAnalysis>> = vec![None; list.len()];
    let aligned = inputs.data_flow.len() == inputs.instructions.len()
        && inputs
            .data_flow
            .iter()
            .zip(inputs.instructions)
            .all(|(flow, instruction)| flow.address == instruction.address);
    if !aligned {
        return out;
    }
    let edges = Edges {
        flow: inputs.flow,
        instructions: inputs.instructions,
        counts: inputs.counts,
        taken: inputs.taken,
    };
    let timings = timings(inputs);
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); list.len()];
    for (found, index) in list.iter().zip(0u32..) {
        if let Some(parent) = found.parent {
            children[parent as usize].push(index);
        }
    }
    // Inner loops come after those around them.
    for index in (0..list.len()).rev() {
        let inner = &children[index];
        out[index] = one(inputs, &edges, &timings, index as u32, inner, &out);
    }
    out
}

/// Timings of the instructions in loops that were executed.
fn timings(inputs: &LoopInputs<'_>) -> Vec<Option<Timing>> {
    let executed = |index: usize| {
        let count = inputs.counts.get(index).copied().flatten();
        count.is_some_and(|count| count > 0) && inputs.flow.loop_of_instruction(index).is_some()
    };
    let flows = inputs.data_flow.iter().enumerate();
    flows
        .map(|(index, flow)| executed(index).then(|| Timing::of(flow, inputs.costs)))
        .collect()
}

/// How often control came into a loop from outside, whichever of its blocks it came to; `None`
/// where a jump that leads there was not counted.
pub fn entries_by_edges(
    flow: &genba_code::ControlFlow,
    instructions: &[genba_code::Instruction],
    counts: &[Option<u64>],
    taken: &dyn Fn(usize) -> Option<u64>,
    index: u32,
) -> Option<u64> {
    let edges = Edges {
        flow,
        instructions,
        counts,
        taken,
    };
    let mut all = 0u64;
    for &block in flow.loop_blocks(index) {
        for before in &flow.blocks()[block as usize].predecessors {
            if !is_inside(flow, *before, index) {
                all = all.saturating_add(edges.edge(*before, block)?);
            }
        }
    }
    Some(all)
}

/// Whether a loop ever iterated: whether its back edge was taken in the counted run.
pub fn has_iterated(
    flow: &genba_code::ControlFlow,
    instructions: &[genba_code::Instruction],
    counts: &[Option<u64>],
    taken: &dyn Fn(usize) -> Option<u64>,
    index: u32,
) -> bool {
    let edges = Edges {
        flow,
        instructions,
        counts,
        taken,
    };
    let deep = flow.loops()[index as usize].depth > MAX_LOOP_DEPTH;
    deep || edges.has_iterated(flow.loop_blocks(index))
}

fn one(
    inputs: &LoopInputs<'_>,
    edges: &Edges<'_>,
    timings: &[Option<Timing>],
    index: u32,
    children: &[u32],
    known: &[Option<LoopAnalysis>],
) -> Option<LoopAnalysis> {
    let found = &inputs.flow.loops()[index as usize];
    if found.depth > MAX_LOOP_DEPTH {
        return None;
    }
    let blocks = inputs.flow.loop_blocks(index);
    let iterations = edges.block(found.head).filter(|&count| count > 0)?;
    if !edges.has_iterated(blocks) {
        return None;
    }
    let inside = |block| is_inside(inputs.flow, block, index);
    let entries = (!found.irreducible)
        .then(|| iteration_paths::has_iterated(edges, found.head, &inside))
        .flatten()
        .map(|back| iterations - back);
    let subject = Subject {
        inputs,
        edges,
        index,
        blocks,
        head: found.head,
        iterations,
        entries,
    };
    let (samples, weight) = subject.measured();
    let measured = subject.cycles(weight);
    let throughput = throughput::bound(&subject.mix(), inputs.costs, throughput::Extra::default());
    let inner = subject.inner(weight, children, known);
    let mut links = Vec::new();
    let chain = match subject.why_not(found.irreducible, &inner) {
        Some(reason) => Err(reason),
        None => subject.chain(timings).map(|(chain, found)| {
            links = found;
            chain
        }),
    };
    let chain_cycles = chain.as_ref().ok().map(|chain| chain.figure.cycles);
    let throughput_cycles = throughput.as_ref().map(|t| t.cycles);
    let verdict = match inner {
        Some(inner) => inner.verdict(),
        None => {
            let facts = subject.facts(measured, samples, weight, chain, throughput, timings);
            bound_decision::decide(&facts)
        }
    };
    Some(LoopAnalysis {
        iterations,
        entries,
        cycles: measured,
        chain_cycles,
        chain: links,
        throughput_cycles,
        verdict,
    })
}

#[cfg(test)]
mod tests;
