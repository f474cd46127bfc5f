//! The dependency chain of one loop: along its dominant path, or over all its paths.

use genba_code::{BlockId, CostClass, Instruction, Opaque};
use genba_model::{ChainPaths, Estimate, LoopChain, NoLoopChain, OpaqueReason};

use super::analysed_loop::{Subject, brief, is_inside};
use super::bound_decision::Chain;
use super::costs::Timing;
use super::iteration_paths::{self, Path};
use super::iterations::Iterations;
use super::recurrence::{self, Case, Code, Recurrence};
use crate::constants::{
    MIN_LINK_OF_CHAIN, MIN_PATH_SHARE, ONLY_PATH_SHARE, RARE_PATH_DIVISOR, SAME_PATH_CYCLES,
    WIDE_CHAIN,
};

impl Subject<'_> {
    /// The chain, and its instructions.
    pub(super) fn chain(
        &self,
        timings: &[Option<Timing>],
    ) -> Result<(Chain, Vec<u32>), NoLoopChain> {
        let inside = |block: BlockId| is_inside(self.inputs.flow, block, self.index);
        let code = Code {
            flows: self.inputs.data_flow,
            timings,
        };
        let dominant = iteration_paths::dominant(self.edges, self.head, &inside);
        if let Some(path) = dominant.filter(|path| path.share >= MIN_PATH_SHARE) {
            let steps = self.steps(&path.blocks);
            self.opaque(&steps)?;
            let run = |case| recurrence::of_path(code, &steps, case);
            let [low, value, high] = [run(Case::Low), run(Case::Value), run(Case::High)];
            let (Some(low), Some(value), Some(high)) = (low, value, high) else {
                return Err(NoLoopChain::TooLong);
            };
            return Ok(self.chain_of(
                low.cycles,
                value,
                high.cycles,
                iterations_on(&path),
                false,
                timings,
            ));
        }
        self.various(code, timings, &inside)
    }

    /// The chain of iterations that take different paths.
    fn various(
        &self,
        code: Code<'_>,
        timings: &[Option<Timing>],
        inside: &dyn Fn(BlockId) -> bool,
    ) -> Result<(Chain, Vec<u32>), NoLoopChain> {
        let Some((paths, order)) = iteration_paths::drawn(self.edges, self.head, inside) else {
            return Err(NoLoopChain::PathsNotCounted);
        };
        let steps: Vec<Vec<u32>> = paths.iter().map(|blocks| self.steps(blocks)).collect();
        let mut times = vec![0usize; steps.len()];
        for &id in &order {
            times[id] += 1;
        }
        let rare = order.len() / RARE_PATH_DIVISOR;
        for (steps, &times) in steps.iter().zip(&times) {
            if times > rare {
                self.opaque(steps)?;
            }
        }
        let drawn: Vec<&[u32]> = order.iter().map(|&id| steps[id].as_slice()).collect();
        let iterations = Iterations::various(&drawn);
        let run = |case| recurrence::of_iterations(code, &iterations, case);
        let [low, value, high] = [run(Case::Low), run(Case::Value), run(Case::High)];
        let (Some(low), Some(value), Some(high)) = (low, value, high) else {
            return Err(NoLoopChain::TooLong);
        };
        // Branches are not independent of each other in fact: the paths by themselves bound what
        // other orders of the same iterations could make.
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
        let differ = most > SAME_PATH_CYCLES.0 * least + SAME_PATH_CYCLES.1;
        let paths = ChainPaths::Several { paths: paths.len() };
        let (low, high) = (low.cycles.min(least), high.cycles.max(most));
        Ok(self.chain_of(low, value, high, paths, differ, timings))
    }

    fn chain_of(
        &self,
        low: f64,
        value: Recurrence,
        high: f64,
        paths: ChainPaths,
        various: bool,
        timings: &[Option<Timing>],
    ) -> (Chain, Vec<u32>) {
        let links: Vec<u32> = value
            .links
            .iter()
            .filter(|link| link.cycles > MIN_LINK_OF_CHAIN * value.cycles)
            .map(|link| link.instruction)
            .collect();
        let unknown = value.links.iter().find_map(|link| {
            let index = link.instruction as usize;
            let timing = timings.get(index).copied().flatten()?;
            (!timing.known).then(|| self.inputs.data_flow[index].form.clone())
        });
        // Outside the chain, too, an instruction could be longer than thought.
        let unknown = unknown.or_else(|| {
            let wide = high > WIDE_CHAIN * value.cycles;
            let missing = |index: &usize| timings[*index].is_some_and(|timing| !timing.known);
            let found = wide.then(|| self.members().find(missing)).flatten()?;
            Some(self.inputs.data_flow[found].form.clone())
        });
        let chain = Chain {
            figure: LoopChain {
                cycles: Estimate {
                    value: value.cycles,
                    low: low.min(value.cycles),
                    high: high.max(value.cycles),
                },
                mnemonics: chain_mnemonics(&links, self.inputs.instructions),
                paths,
            },
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
    fn opaque(&self, steps: &[u32]) -> Result<(), NoLoopChain> {
        for &index in steps {
            let index = index as usize;
            let Some(why) = self.inputs.data_flow[index].opaque else {
                continue;
            };
            let text = brief(&self.inputs.instructions[index].text);
            return Err(NoLoopChain::Opaque {
                instruction: text.to_owned(),
                reason: match why {
                    Opaque::Call => OpaqueReason::Call,
                    Opaque::Kernel => OpaqueReason::Kernel,
                    Opaque::Repeated => OpaqueReason::Repeated,
                    Opaque::Serialising => OpaqueReason::Serialising,
                    Opaque::Exit => OpaqueReason::Exit,
                },
            });
        }
        Ok(())
    }
}

fn iterations_on(path: &Path) -> ChainPaths {
    if path.share >= ONLY_PATH_SHARE {
        return ChainPaths::All;
    }
    ChainPaths::Dominant { share: path.share }
}

/// The mnemonics along a chain; moves from memory are called `load`. `chain` indexes `instructions`.
#[must_use]
pub fn chain_mnemonics(chain: &[u32], instructions: &[Instruction]) -> Vec<String> {
    let found = chain.iter().filter_map(|&at| instructions.get(at as usize));
    let name = |instruction: &Instruction| match instruction.class {
        CostClass::Load if instruction.mnemonic.contains("mov") => "load".to_owned(),
        _ => instruction.mnemonic.to_owned(),
    };
    found.map(name).collect()
}
