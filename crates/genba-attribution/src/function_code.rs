//! One function's instructions with skid-corrected samples.

use genba_code::{ControlFlow, CostClass, Flow, Instruction, Syntax, disassemble};
use genba_model::Precision;

use crate::calls_without_return::never_returns;
use crate::constants::{LONG_LATENCY_CYCLES, MAX_FUNCTION_BYTES};
use crate::resolved_profile::{Function, ResolvedProfile};
use crate::sample_sums::Hits;
use crate::skid_correction::{AttributionInstruction, Cost, attribute};

/// A decoded function with its samples attributed to instructions.
pub struct FunctionCode {
    /// Its instructions.
    pub instructions: Vec<Instruction>,
    /// Blocks and loops; indirect jumps resolved where they were counted.
    pub flow: ControlFlow,
    /// By instruction: samples, skid-corrected unless raw.
    pub samples: Vec<f64>,
    /// By instruction: weight, likewise.
    pub weight: Vec<f64>,
}

impl FunctionCode {
    /// Decodes a function and puts `hits` (by address, as recorded) on its instructions.
    pub fn new(
        resolved: &ResolvedProfile,
        function: &Function,
        hits: &[(u64, Hits)],
        raw: bool,
        syntax: Syntax,
    ) -> Result<Self, String> {
        let binary = resolved.code.binary(function.module)?;
        if !function.known || function.size == 0 {
            return Err("no symbol gives its address and size".to_owned());
        }
        let size = function.size.min(MAX_FUNCTION_BYTES);
        let begin = function.address;
        let instructions = disassemble(binary, begin, begin.saturating_add(size), syntax)
            .map_err(|error| error.to_string())?;
        if instructions.is_empty() {
            return Err("its bytes are not in the file".to_owned());
        }
        let mut samples = vec![0.0; instructions.len()];
        let mut weight = vec![0.0; instructions.len()];
        for &(address, hit) in hits {
            let index = instructions
                .partition_point(|i| i.address <= address)
                .saturating_sub(1);
            samples[index] += hit.samples as f64;
            weight[index] += hit.weight as f64;
        }
        let executed = resolved.executed(function);
        let seen_targets = |jump: &Instruction| {
            executed.map_or_else(Vec::new, |executed| {
                executed.targets(jump.address).map(|one| one.0).collect()
            })
        };
        let ends = |call: &Instruction| {
            let symbol = || match call.flow {
                Flow::Call(target) => binary.symbol_at(target),
                _ => None,
            };
            let skipped = executed.is_some_and(|executed| {
                executed.count(call.address) == 0 && executed.count(call.end()) > 0
            });
            skipped || symbol().is_some_and(|symbol| never_returns(&symbol.name, symbol.is_plt()))
        };
        let counted = executed.filter(|executed| executed.count(begin) > 0);
        let never_ran =
            |one: &Instruction| counted.is_some_and(|executed| executed.count(one.address) == 0);
        let flow = ControlFlow::build_with(&instructions, seen_targets, ends, never_ran);
        if !raw && resolved.event.precision == Precision::Skid {
            let mut facts = facts(&instructions, &flow);
            if let Some(executed) = &executed {
                executed.add_edge_counts(&instructions, &mut facts);
            }
            repeat_themselves(&instructions, &mut facts);
            samples = attribute(&samples, &facts);
            weight = attribute(&weight, &facts);
        }
        Ok(Self {
            instructions,
            flow,
            samples,
            weight,
        })
    }
}

/// Repeated string instructions are interrupted between their repetitions, at their own address (Intel SDM
/// volume 2, "REP"): what ran just before is nearly always themselves.
fn repeat_themselves(instructions: &[Instruction], facts: &mut [AttributionInstruction]) {
    for ((index, one), fact) in (0u32..).zip(instructions).zip(facts) {
        if one.text.starts_with("rep") {
            fact.predecessors = vec![index];
            fact.counts.clear();
        }
    }
}

/// What attribution must know of the instructions.
fn facts(instructions: &[Instruction], flow: &ControlFlow) -> Vec<AttributionInstruction> {
    let mut facts: Vec<AttributionInstruction> = instructions
        .iter()
        .enumerate()
        .map(|(index, instruction)| AttributionInstruction {
            predecessors: flow.predecessors(index).to_vec(),
            counts: Vec::new(),
            starts_block: false,
            cost: cost(instruction),
            reads: instruction.reads_registers,
            writes: instruction.writes_registers,
        })
        .collect();
    for block in flow.blocks() {
        if let Some(fact) = facts.get_mut(block.instructions.start as usize) {
            fact.starts_block = true;
        }
    }
    facts
}

fn cost(instruction: &Instruction) -> Cost {
    match instruction.class {
        CostClass::Simple | CostClass::Address | CostClass::Nop
            if !instruction.reads_memory && !instruction.writes_memory =>
        {
            Cost::Simple
        }
        CostClass::Div
        | CostClass::Sqrt
        | CostClass::FpDiv
        | CostClass::Atomic
        | CostClass::Serialising => Cost::Long(LONG_LATENCY_CYCLES),
        _ => Cost::Other,
    }
}
