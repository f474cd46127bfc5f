//! Loops by hand, with a fixed table of costs: no timing.

mod chains;
mod properties;
mod verdicts;

use genba_code::{ControlFlow, DataFlow, Disassembler, Instruction, Syntax, data_flow};
use genba_model::Estimate;
use iced_x86::code_asm::CodeAssembler;

use super::{Costs, LoopAnalysis, LoopInputs, loops};

/// Costs of a synthetic processor, by mnemonic.
#[derive(Clone)]
pub(super) struct Table {
    pub forward: f64,
    pub extra: Vec<(String, f64)>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            forward: 4.0,
            extra: Vec::new(),
        }
    }
}

impl Table {
    fn cycles(&self, form: &str) -> Option<(f64, f64)> {
        if let Some((_, latency)) = self.extra.iter().find(|(name, _)| name == form) {
            return Some((*latency, 0.25));
        }
        let name = form.split(' ').next().unwrap_or(form);
        let memory = form.contains(", m") || form.contains(" m");
        Some(match name {
            "store" => (self.forward, 0.0),
            "jcc" if form.contains("mispredicted") => (15.0, 0.0),
            "jcc" | "jmp" => (1.0, 1.0),
            "load" if form.contains("L2") => (14.0, 1.0),
            "load" if form.contains("L3") => (50.0, 1.0),
            "load" => (400.0, 1.0),
            "nop" => (0.0, 0.125),
            "mov" | "movzx" | "movsxd" | "movsx" if memory && form.ends_with("64") => (
                4.0,
                if form.contains(" m") && !form.contains(", m") {
                    0.5
                } else {
                    0.33
                },
            ),
            "mov" | "movzx" | "movsx" | "movsxd" if memory => (4.0, 0.33),
            "mov" => (0.0, 0.125),
            "movups" | "movsd" | "movss" | "movaps" | "movapd" if memory => (6.0, 0.5),
            "imul" | "mul" => (3.0, 1.0),
            "div" | "idiv" => (18.0, 10.0),
            "addsd" | "addss" | "addpd" | "vaddsd" => (3.0, 0.5),
            "mulsd" => (4.0, 0.5),
            "vfmadd231sd" => (4.0, 0.5),
            "lock" => (18.0, 18.0),
            "lea" => (1.0, 0.25),
            _ => (1.0, 0.25),
        })
    }
}

fn exact(value: f64) -> Estimate {
    Estimate::exact(value)
}

impl Costs for Table {
    fn latency(&self, form: &str) -> Option<Estimate> {
        self.cycles(form).map(|c| exact(c.0))
    }

    fn throughput(&self, form: &str) -> Option<Estimate> {
        self.cycles(form).map(|c| exact(c.1))
    }
}

/// A function with counts and time.
pub(super) struct Function {
    pub instructions: Vec<Instruction>,
    pub data_flow: Vec<DataFlow>,
    pub flow: ControlFlow,
    pub counts: Vec<Option<u64>>,
    pub taken: Vec<Option<u64>>,
    pub samples: Vec<f64>,
    /// Cycles that a sample stands for.
    pub cycles_per_sample: Option<f64>,
}

impl Function {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let instructions =
            Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0x1000, &|_| None);
        let data_flow = data_flow(genba_symbols::Architecture::X86_64, bytes, 0x1000)
            .expect("known architecture");
        let flow = ControlFlow::build(&instructions);
        let n = instructions.len();
        Self {
            instructions,
            data_flow,
            flow,
            counts: vec![None; n],
            taken: vec![None; n],
            samples: vec![0.0; n],
            cycles_per_sample: None,
        }
    }

    /// Assembles; the code starts at 0x1000.
    pub(super) fn assemble(write: impl FnOnce(&mut CodeAssembler)) -> Self {
        let mut assembler = CodeAssembler::new(64).expect("64 bits");
        write(&mut assembler);
        Self::of(&assembler.assemble(0x1000).expect("assembles"))
    }

    /// Counts of a function with one loop of one block that closes with its last jump.
    pub(super) fn iterations(mut self, iterations: u64, entries: u64) -> Self {
        for index in 0..self.instructions.len() {
            let inside = self.flow.loop_of_instruction(index).is_some();
            self.counts[index] = Some(if inside { iterations } else { entries });
            let jump = matches!(self.instructions[index].flow, genba_code::Flow::CondJump(_));
            if jump && inside {
                self.taken[index] = Some(iterations - entries);
            }
        }
        self
    }

    /// Time: `cycles` an iteration, by shares of the loop's instructions in order.
    pub(super) fn time(mut self, cycles: f64, shares: &[f64]) -> Self {
        let members: Vec<usize> = (0..self.instructions.len())
            .filter(|&i| self.flow.loop_of_instruction(i).is_some())
            .collect();
        let head = self.flow.blocks()[self.flow.loops()[0].head as usize]
            .instructions
            .start as usize;
        let iterations = self.counts[head].expect("counted") as f64;
        let sum: f64 = shares.iter().sum();
        for (place, &index) in members.iter().enumerate() {
            let share = match shares.get(place) {
                Some(share) => share / sum,
                None if shares.is_empty() => 1.0 / members.len() as f64,
                None => 0.0,
            };
            self.samples[index] = 10_000.0 * share;
        }
        self.cycles_per_sample = Some(cycles * iterations / 10_000.0);
        self
    }

    pub(super) fn costs(&self, table: &dyn Costs) -> Vec<Option<LoopAnalysis>> {
        let each = self.cycles_per_sample;
        loops(&LoopInputs {
            flow: &self.flow,
            instructions: &self.instructions,
            data_flow: &self.data_flow,
            counts: &self.counts,
            taken: &|index| self.taken.get(index).copied().flatten(),
            samples: &self.samples,
            weight: &self.samples,
            cycles: &|weight| {
                let cycles = weight * each?;
                Some(Estimate {
                    value: cycles,
                    low: cycles * 0.97,
                    high: cycles * 1.03,
                })
            },
            costs: table,
        })
    }

    pub(super) fn cost(&self) -> LoopAnalysis {
        self.cost_by(&Table::default())
    }

    pub(super) fn cost_by(&self, table: &Table) -> LoopAnalysis {
        let mut all = self.costs(table);
        assert_eq!(all.len(), 1, "one loop");
        all.remove(0).expect("executed")
    }

    /// Mnemonics of the chain.
    pub(super) fn chain(&self, cost: &LoopAnalysis) -> String {
        super::chain_mnemonics(&cost.chain, &self.instructions).join(" → ")
    }
}
