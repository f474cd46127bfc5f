//! Predicted cycles per iteration after a change of a loop's instructions.
//!
//! The same model as for the loop as it is, of changed costs: the chain by simulation, the
//! throughput by the sums of what is left. What the model does not explain of the measured
//! cycles may stay or shrink with the rest; the interval holds both.

use genba_model::Estimate;

use super::analysed_loop::{Subject, is_inside};
use super::costs::{Costs, NONE, Timing};
use super::counted_edges::Edges;
use super::throughput::{self, Extra};
use super::{LoopInputs, iteration_paths};
use crate::constants::MAX_LOOP_DEPTH;
use crate::constants::{RARE_INNER_LOOP, UNCERTAINTY_OF_CHANGED_CODE, UNEXPLAINED_THAT_REMAINS};

/// A change of the instructions of a loop.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Instructions that go away; what they made is there from the start.
    pub gone: Vec<usize>,
    /// Instructions with others in their place.
    pub instead: Vec<Instead>,
    /// Instructions of a chain that is made into several side by side, and how many.
    pub split: Vec<(usize, f64)>,
    /// Instructions that are executed less often, and by which factor: what an unrolled loop has
    /// once for several iterations.
    pub fewer: Vec<(usize, f64)>,
    /// Iterations done by one: vector lanes. 0 and 1 change nothing.
    pub lanes: f64,
}

/// What comes in the place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instead {
    /// The instruction.
    pub at: usize,
    /// From its operands to its result, cycles.
    pub latency: Estimate,
    /// Instructions of the cheapest kind that it counts as.
    pub slots: f64,
}

/// The model of an iteration, cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The instructions of the longest chain.
    pub links: Vec<u32>,
    /// The longest chain of dependent instructions, where one can be given.
    pub chain: Option<Estimate>,
    /// All instructions if independent.
    pub throughput: Option<Estimate>,
}

impl Model {
    /// The larger of the two; `None` without both.
    #[must_use]
    pub fn cycles(&self) -> Option<Estimate> {
        let (a, b) = match (self.chain, self.throughput) {
            (Some(a), Some(b)) => (a, b),
            (one, other) => return one.or(other),
        };
        Some(Estimate {
            value: a.value.max(b.value),
            low: a.low.max(b.low),
            high: a.high.max(b.high),
        })
    }
}

/// The model of a loop's iterations after a change; without any change, the model of the loop as it
/// is. `None` for loops that were not executed.
#[must_use]
pub fn model(inputs: &LoopInputs<'_>, index: u32, change: &Change) -> Option<Model> {
    let found = inputs.flow.loops().get(index as usize)?;
    if found.depth > MAX_LOOP_DEPTH || inputs.data_flow.len() != inputs.instructions.len() {
        return None;
    }
    let edges = Edges {
        flow: inputs.flow,
        instructions: inputs.instructions,
        counts: inputs.counts,
        taken: inputs.taken,
    };
    let iterations = edges.block(found.head).filter(|&count| count > 0)?;
    let inside = |block| is_inside(inputs.flow, block, index);
    let entries = (!found.irreducible)
        .then(|| iteration_paths::has_iterated(&edges, found.head, &inside))
        .flatten()
        .map(|back| iterations - back);
    let subject = Subject {
        inputs,
        edges: &edges,
        index,
        blocks: inputs.flow.loop_blocks(index),
        head: found.head,
        iterations,
        entries,
    };
    // A loop inside that hardly ever runs does not shape the iterations.
    let runs = |inside: &genba_code::Loop| {
        let times = edges.block(inside.head).unwrap_or(0);
        inside.parent == Some(index) && times as f64 > RARE_INNER_LOOP * iterations as f64
    };
    let innermost = !inputs.flow.loops().iter().any(runs);
    let lanes = change.lanes.max(1.0);
    let mut timings: Vec<Option<Timing>> = vec![None; inputs.data_flow.len()];
    for at in subject.members() {
        let executed = inputs.counts.get(at).copied().flatten().unwrap_or(0) > 0;
        timings[at] = executed.then(|| Timing::of(&inputs.data_flow[at], inputs.costs));
    }
    alter(&mut timings, change);
    let chain = (innermost && !found.irreducible)
        .then(|| subject.chain(&timings).ok())
        .flatten()
        .filter(|(chain, _)| chain.unknown.is_none())
        .map(|(chain, links)| (chain.figure.cycles.scaled(1.0 / lanes), links));
    let (chain, links) = chain.unzip();
    let mut mix = subject.mix();
    mix.rows.retain(|(at, ..)| {
        !change.gone.contains(at) && !change.instead.iter().any(|one| one.at == *at)
    });
    for row in &mut mix.rows {
        let fewer = change.fewer.iter().find(|one| one.0 == row.0);
        let factor = fewer.map_or(1.0, |one| one.1.max(1.0));
        row.1 /= factor;
        row.2 /= factor;
    }
    let times = |at: usize| {
        let count = inputs.counts.get(at).copied().flatten().unwrap_or(0);
        count as f64 / iterations as f64
    };
    let more: f64 = change.instead.iter().map(|i| i.slots * times(i.at)).sum();
    let throughput = throughput::bound(&mix, inputs.costs, Extra { slots: more })
        .map(|bound| bound.cycles.scaled(1.0 / lanes));
    Some(Model {
        links: links.unwrap_or_default(),
        chain,
        throughput,
    })
}

fn alter(timings: &mut [Option<Timing>], change: &Change) {
    let mut at = |index: usize, what: &dyn Fn(&mut Timing)| {
        if let Some(Some(timing)) = timings.get_mut(index) {
            what(timing);
        }
    };
    for &index in &change.gone {
        at(index, &|timing| {
            *timing = Timing {
                free: true,
                ..Timing::nothing()
            };
        });
    }
    for one in &change.instead {
        at(one.at, &|timing| {
            *timing = Timing {
                load: timing.load,
                forward: timing.forward,
                forward_other: timing.forward_other,
                op: one.latency,
                ..Timing::nothing()
            };
        });
    }
    for &(index, ways) in &change.split {
        at(index, &|timing| {
            let factor = 1.0 / ways.max(1.0);
            timing.op = timing.op.scaled(factor);
            timing.load = timing.load.scaled(factor);
        });
    }
}

/// What an iteration that takes `measured` cycles takes after a change, by the models before and
/// after. `None` where the model has nothing to say.
///
/// Where the measured cycles are more than the model's, the rest may be what the model does not
/// know of (mispredictions, memory), which stays, or a part of what goes.
#[must_use]
pub fn iteration_after(measured: f64, before: &Model, after: &Model) -> Option<Estimate> {
    let model = before.cycles()?.value;
    if !(model > 0.0 && measured > 0.0) {
        return None;
    }
    let rest = (measured - model).max(0.0);
    // A part of the model that asks for more than was measured is wrong by that factor.
    let scaled = |after: Option<Estimate>, before: Option<Estimate>| {
        let before = before.map_or(0.0, |before| before.value);
        let factor = if before > 0.0 {
            (measured / before).min(1.0)
        } else {
            1.0
        };
        after.map(|after| after.scaled(factor))
    };
    let after = Model {
        links: Vec::new(),
        chain: scaled(after.chain, before.chain),
        throughput: scaled(after.throughput, before.throughput),
    }
    .cycles()?;
    let most = |cycles: f64| cycles.min(measured);
    Some(Estimate {
        value: most(after.value + UNEXPLAINED_THAT_REMAINS * rest),
        low: most(after.low * (1.0 - UNCERTAINTY_OF_CHANGED_CODE)),
        high: most(after.high * (1.0 + UNCERTAINTY_OF_CHANGED_CODE) + rest),
    })
}

impl Timing {
    fn nothing() -> Self {
        Self {
            op: NONE,
            load: NONE,
            forward: NONE,
            forward_other: NONE,
            known: true,
            unit: None,
            free: false,
        }
    }
}

/// Costs by reference, for callers that have them behind one.
impl<C: Costs + ?Sized> Costs for &C {
    fn latency(&self, form: &str) -> Option<Estimate> {
        (**self).latency(form)
    }

    fn throughput(&self, form: &str) -> Option<Estimate> {
        (**self).throughput(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(chain: f64, throughput: f64) -> Model {
        Model {
            links: Vec::new(),
            chain: Some(Estimate::exact(chain)),
            throughput: Some(Estimate::exact(throughput)),
        }
    }

    #[test]
    fn unexplained_cycles_widen_the_prediction() {
        let iteration =
            iteration_after(12.0, &model(8.0, 2.0), &model(2.0, 2.0)).expect("an iteration");
        assert!((iteration.value - 4.0).abs() < 1e-9);
        assert!(iteration.low < 2.0 && iteration.high > 6.0);
    }

    #[test]
    fn overestimated_chain_does_not_scale_the_throughput() {
        let iteration =
            iteration_after(10.0, &model(20.0, 2.0), &model(1.0, 2.0)).expect("an iteration");
        assert!((iteration.value - 2.0).abs() < 1e-9, "{iteration:?}");
    }

    #[test]
    fn predicted_cycles_never_exceed_the_measured_ones() {
        let iteration =
            iteration_after(3.0, &model(3.0, 2.0), &model(9.0, 2.0)).expect("an iteration");
        assert!(iteration.value <= 3.0 && iteration.high <= 3.0);
        assert_eq!(
            iteration_after(0.0, &model(1.0, 1.0), &model(1.0, 1.0)),
            None
        );
    }
}
