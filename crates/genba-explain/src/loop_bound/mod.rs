//! What holds a loop up: measured cycles a round against the model of it.
//!
//! **Scope.** For each loop of a function, from its instructions' data flow, exact counts, costs
//! by form and the time measured at each instruction: rounds, entries, the cycles that the
//! longest chain of dependent instructions adds each round, the cycles that its instructions
//! take if independent, and which of these, or what else, explains the measured cycles. Pure:
//! no file, no host.
//!
//! **Not modelled.** Chains through calls, through memory at addresses that only look different,
//! and of loops whose rounds contain other loops (those inside are modelled); the size of the
//! reorder buffer; ports beyond what [`throughput`] adds up; alignment. Where that matters the
//! measured cycles are not met, and the loop is [`LoopBound::Unexplained`] with its figures.

mod addresses;
mod costs;
mod decide;
mod edges;
mod evidence;
mod path;
mod recurrence;
mod throughput;
mod words;

use genba_code::{BlockId, ControlFlow, DataFlow, Instruction, Opaque};
use genba_model::{Estimate, LoopBound, LoopCost};

use costs::{Timing, first_latency};
use decide::{Chain, Facts};
use edges::Edges;
use evidence::{Evidence, Round};
use path::Path;
use recurrence::{Case, Code, Recurrence, Rounds};
use throughput::Mix;

pub use costs::{Costs, operation};
pub use words::chain_text;

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

/// The cost of each loop of [`ControlFlow::loops`]; `None` for those that were not executed or
/// not counted.
#[must_use]
pub fn loops(inputs: &LoopInputs<'_>) -> Vec<Option<LoopCost>> {
    let list = inputs.flow.loops();
    let mut out: Vec<Option<LoopCost>> = vec![None; list.len()];
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
    // Inner loops come after those around them.
    for index in (0..list.len()).rev() {
        out[index] = one(inputs, &edges, index as u32, &out);
    }
    out
}

/// A loop under examination.
struct Subject<'a> {
    inputs: &'a LoopInputs<'a>,
    edges: &'a Edges<'a>,
    index: u32,
    blocks: &'a [BlockId],
    head: BlockId,
    iterations: u64,
    entries: Option<u64>,
}

fn one(
    inputs: &LoopInputs<'_>,
    edges: &Edges<'_>,
    index: u32,
    known: &[Option<LoopCost>],
) -> Option<LoopCost> {
    let found = &inputs.flow.loops()[index as usize];
    let blocks = inputs.flow.loop_blocks(index);
    let iterations = edges.block(found.head).filter(|&count| count > 0)?;
    let inside = |block: BlockId| is_inside(inputs.flow, block, index);
    let entries = (!found.irreducible)
        .then(|| path::came_round(edges, found.head, &inside))
        .flatten()
        .map(|round| iterations - round);
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
    let timings = subject.timings();
    let throughput = throughput::bound(&subject.mix(), inputs.costs);
    let inner = subject.inner(weight, known);
    let mut links = Vec::new();
    let chain = match subject.why_not(found.irreducible, &inner) {
        Some(reason) => Err(reason),
        None => subject.chain(&timings).map(|(chain, found)| {
            links = found;
            chain
        }),
    };
    let chain_cycles = chain.as_ref().ok().map(|chain| chain.cycles);
    let throughput_cycles = throughput.as_ref().map(|t| t.cycles);
    let (bound, why) = match inner {
        Some(inner) => inner.verdict(),
        None => {
            let facts = subject.facts(measured, samples, weight, chain, throughput, &timings);
            decide::decide(&facts)
        }
    };
    Some(LoopCost {
        iterations,
        entries,
        cycles: measured,
        chain_cycles,
        chain: links,
        throughput_cycles,
        bound,
        why,
    })
}

/// Whether a block is in a loop or in one inside it.
fn is_inside(flow: &ControlFlow, block: BlockId, index: u32) -> bool {
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
    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().flat_map(|&block| {
            let range = &self.inputs.flow.blocks()[block as usize].instructions;
            range.start as usize..range.end as usize
        })
    }

    fn measured(&self) -> (f64, f64) {
        let at = |list: &[f64], index: usize| list.get(index).copied().unwrap_or(0.0);
        self.members().fold((0.0, 0.0), |(samples, weight), index| {
            (
                samples + at(self.inputs.samples, index),
                weight + at(self.inputs.weight, index),
            )
        })
    }

    fn cycles(&self, weight: f64) -> Option<Estimate> {
        let cycles = costs::sane_total((self.inputs.cycles)(weight))?;
        Some(cycles.scaled(1.0 / self.iterations as f64))
    }

    /// Timings of the instructions in the loop, by their index.
    fn timings(&self) -> Vec<Option<Timing>> {
        let end = self.members().max().map_or(0, |last| last + 1);
        let mut timings = vec![None; end];
        for index in self.members() {
            timings[index] = Some(Timing::of(&self.inputs.data_flow[index], self.inputs.costs));
        }
        timings
    }

    fn mix(&self) -> Mix<'_> {
        let per_round = 1.0 / self.iterations as f64;
        let mut rows = Vec::new();
        for &block in self.blocks {
            let range = &self.inputs.flow.blocks()[block as usize].instructions;
            for index in range.start as usize..range.end as usize {
                let count = self.inputs.counts.get(index).copied().flatten();
                let times = count.unwrap_or(0) as f64 * per_round;
                let taken = match self.inputs.instructions[index].flow {
                    genba_code::Flow::Jump(_) => times,
                    genba_code::Flow::CondJump(_) => {
                        let taken = self.edges.taken_at_end(block).unwrap_or(0);
                        taken as f64 * per_round
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

    /// The loops directly inside that were executed, by the time in them.
    fn inner(&self, weight: f64, known: &[Option<LoopCost>]) -> Option<Inner> {
        let list = self.inputs.flow.loops();
        let mut found: Option<Inner> = None;
        for (index, inner) in list.iter().enumerate() {
            if inner.parent != Some(self.index) {
                continue;
            }
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
            // A loop inside that hardly ever runs does not shape the rounds.
            let rare = (cost.iterations as f64) < 0.01 * self.iterations as f64;
            let share = if weight > 0.0 { part / weight } else { 0.0 };
            if rare && share < 0.05 {
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

    /// Why no chain can be given, if none can.
    fn why_not(&self, irreducible: bool, inner: &Option<Inner>) -> Option<String> {
        if irreducible {
            return Some(
                "it is entered in the middle, so that its rounds have no beginning".to_owned(),
            );
        }
        if inner.is_some() {
            return Some("its rounds contain other loops".to_owned());
        }
        None
    }

    /// The chain, and its instructions.
    fn chain(&self, timings: &[Option<Timing>]) -> Result<(Chain, Vec<u32>), String> {
        let inside = |block: BlockId| is_inside(self.inputs.flow, block, self.index);
        let code = Code {
            flows: self.inputs.data_flow,
            timings,
        };
        let dominant = path::dominant(self.edges, self.head, &inside);
        if let Some(path) = dominant.filter(|path| path.share >= MOST_ROUNDS) {
            let steps = self.steps(&path.blocks);
            self.opaque(&steps)?;
            let run = |case| recurrence::of_path(code, &steps, case);
            let [low, value, high] = [run(Case::Low), run(Case::Value), run(Case::High)];
            let (Some(low), Some(value), Some(high)) = (low, value, high) else {
                return Err("its rounds are too long to be modelled".to_owned());
            };
            return Ok(self.chain_of(low.cycles, value, high.cycles, way(&path), false, timings));
        }
        self.various(code, timings, &inside)
    }

    /// The chain of rounds that go different ways.
    fn various(
        &self,
        code: Code<'_>,
        timings: &[Option<Timing>],
        inside: &dyn Fn(BlockId) -> bool,
    ) -> Result<(Chain, Vec<u32>), String> {
        let Some((paths, order)) = path::drawn(self.edges, self.head, inside) else {
            return Err("the ways that its rounds take were not counted".to_owned());
        };
        let steps: Vec<Vec<u32>> = paths.iter().map(|blocks| self.steps(blocks)).collect();
        let mut times = vec![0usize; steps.len()];
        for &id in &order {
            times[id] += 1;
        }
        let rare = order.len() / 50;
        for (steps, &times) in steps.iter().zip(&times) {
            if times > rare {
                self.opaque(steps)?;
            }
        }
        let drawn: Vec<&[u32]> = order.iter().map(|&id| steps[id].as_slice()).collect();
        let rounds = Rounds::various(&drawn);
        let run = |case| recurrence::of_rounds(code, &rounds, case);
        let [low, value, high] = [run(Case::Low), run(Case::Value), run(Case::High)];
        let (Some(low), Some(value), Some(high)) = (low, value, high) else {
            return Err("its rounds are too long to be modelled".to_owned());
        };
        // Branches are not independent of each other in fact: the ways by themselves bound what
        // other orders of the same rounds could make.
        let (mut least, mut most) = (value.cycles, value.cycles);
        for (steps, &times) in steps.iter().zip(&times) {
            if times <= rare {
                continue;
            }
            let Some(alone) = recurrence::of_path(code, steps, Case::Value) else {
                continue;
            };
            least = least.min(alone.cycles);
            most = most.max(alone.cycles);
        }
        let differ = most > 1.25 * least + 0.25;
        let way = format!(" over {} ways through it", paths.len());
        let (low, high) = (low.cycles.min(least), high.cycles.max(most));
        Ok(self.chain_of(low, value, high, way, differ, timings))
    }

    fn chain_of(
        &self,
        low: f64,
        value: Recurrence,
        high: f64,
        way: String,
        various: bool,
        timings: &[Option<Timing>],
    ) -> (Chain, Vec<u32>) {
        let links: Vec<u32> = value
            .links
            .iter()
            .filter(|link| link.cycles > 0.01 * value.cycles)
            .map(|link| link.instruction)
            .collect();
        let unknown = value.links.iter().find_map(|link| {
            let index = link.instruction as usize;
            let timing = timings.get(index).copied().flatten()?;
            (!timing.known).then(|| self.inputs.data_flow[index].form.clone())
        });
        // Outside the chain, too, an instruction could be longer than thought.
        let unknown = unknown.or_else(|| {
            let wide = high > 1.5 * value.cycles;
            let missing = |index: &usize| timings[*index].is_some_and(|timing| !timing.known);
            let found = wide.then(|| self.members().find(missing)).flatten()?;
            Some(self.inputs.data_flow[found].form.clone())
        });
        let chain = Chain {
            cycles: Estimate {
                value: value.cycles,
                low: low.min(value.cycles),
                high: high.max(value.cycles),
            },
            text: chain_text(&links, self.inputs.instructions),
            way,
            various,
            unknown,
            partial_forward: value.partial_forward,
        };
        (chain, links)
    }

    fn steps(&self, blocks: &[BlockId]) -> Vec<u32> {
        blocks
            .iter()
            .flat_map(|&block| {
                self.inputs.flow.blocks()[block as usize]
                    .instructions
                    .clone()
            })
            .collect()
    }

    /// What cannot be seen through, if the path meets anything such.
    fn opaque(&self, steps: &[u32]) -> Result<(), String> {
        for &index in steps {
            let index = index as usize;
            let Some(why) = self.inputs.data_flow[index].opaque else {
                continue;
            };
            let text = brief(&self.inputs.instructions[index].text);
            return Err(match why {
                Opaque::Call => format!(
                    "each round calls (`{text}`), and chains through calls are not modelled"
                ),
                Opaque::Kernel => format!("each round enters the kernel (`{text}`)"),
                Opaque::Repeated => format!("the time of `{text}` depends on a count"),
                Opaque::Serialising => format!("`{text}` waits for all before it"),
                Opaque::Exit => format!("`{text}` is not modelled"),
            });
        }
        Ok(())
    }

    fn facts(
        &self,
        measured: Option<Estimate>,
        samples: f64,
        weight: f64,
        chain: Result<Chain, String>,
        throughput: Option<throughput::Throughput>,
        timings: &[Option<Timing>],
    ) -> Facts {
        let costs = self.inputs.costs;
        let penalty = first_latency(costs, operation::MISPREDICT)
            .or_else(|| costs::first_throughput(costs, operation::MISPREDICT))
            .unwrap_or(PENALTY);
        let round = Round {
            inputs: self.inputs,
            edges: self.edges,
            blocks: self.blocks,
            timings,
            iterations: self.iterations as f64,
            cycles: measured.map_or(0.0, |cycles| cycles.value),
            weight,
        };
        let (loads, branches) = if weight > 0.0 && measured.is_some() {
            (round.loads(), round.branches(&penalty))
        } else {
            (Evidence::default(), Evidence::default())
        };
        let text = |most: &Option<(usize, f64)>| {
            most.map_or(String::new(), |(index, _)| {
                let instruction = &self.inputs.instructions[index];
                format!(
                    "`{}` at {:#x}",
                    brief(&instruction.text),
                    instruction.address
                )
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
            load_text: text(&loads.most),
            branch_text: text(&branches.most),
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

/// A path that is taken in at least this share of the rounds stands for the loop.
const MOST_ROUNDS: f64 = 0.6;

/// Penalty of a wrong prediction where the table has none: processors since 2010.
const PENALTY: Estimate = Estimate {
    value: 16.0,
    low: 11.0,
    high: 22.0,
};

fn way(path: &Path) -> String {
    if path.share >= 0.95 {
        return String::new();
    }
    format!(
        " on the way that at least {} of its rounds take",
        words::percent(path.share)
    )
}

/// Disassembly without what follows it as a comment.
fn brief(text: &str) -> &str {
    text.split(" # ").next().unwrap_or(text)
}

/// Time in the loops inside.
struct Inner {
    /// Share of the time in the one with most.
    share: f64,
    /// Share of the time in all.
    all: f64,
    address: u64,
    bound: LoopBound,
}

impl Inner {
    fn verdict(&self) -> (LoopBound, String) {
        let share = words::percent(self.share);
        if self.share >= 0.7 && self.bound != LoopBound::Unexplained {
            let why = format!(
                "{share} of its time is in the loop at {:#x}, which is {}",
                self.address,
                name(self.bound)
            );
            return (self.bound, why);
        }
        let why = if self.share >= 0.5 {
            format!(
                "{share} of its time is in the loop at {:#x}: see there",
                self.address
            )
        } else {
            format!(
                "its rounds contain other loops with {} of its time, and such rounds are not modelled",
                words::percent(self.all)
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
        LoopBound::FrontEnd => "held up by the front end",
        LoopBound::Unexplained => "unexplained",
    }
}

#[cfg(test)]
mod tests;
