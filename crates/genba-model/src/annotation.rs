//! One function, instruction by instruction.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event};

/// An instruction with its samples, executions and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnotatedInstruction {
    /// Address in the module (as `objdump` prints it).
    pub address: u64,
    /// Disassembly.
    pub text: String,
    /// Source file of the innermost, possibly inlined, function.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Name of the innermost inlined function, if it is not the annotated one.
    #[serde(default)]
    pub inlined: Option<String>,
    /// Samples attributed to it; fractions arise where skid correction splits a sample.
    pub samples: f64,
    /// Share of the function's samples.
    pub share: Estimate,
    /// Counted: number of executions.
    pub count: Option<u64>,
    /// Counted: how often a conditional jump was taken.
    #[serde(default)]
    pub taken: Option<u64>,
    /// Measured ÷ counted: time per execution, seconds.
    pub cost_seconds: Option<Estimate>,
    /// The same in core cycles.
    pub cost_cycles: Option<Estimate>,
    /// Latency of this instruction form in the host table.
    pub host_latency_cycles: Option<Estimate>,
    /// Innermost loop that contains it: index into [`Annotation::loops`].
    #[serde(rename = "loop")]
    pub loop_index: Option<u32>,
}

/// A loop of the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopInfo {
    /// Address of the loop header.
    pub head: u64,
    /// Address of its last instruction.
    pub last: u64,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// Index of the enclosing loop.
    pub parent: Option<u32>,
    /// Share of the function's samples in the loop.
    pub share: f64,
    /// Whether it is irreducible: it has more than one entry.
    pub irreducible: bool,
    /// What bounds it, if executions were counted.
    #[serde(default)]
    pub cost: Option<LoopCost>,
}

/// What bounds the time of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopBound {
    /// The longest loop-carried dependency chain.
    Latency,
    /// Execution throughput: instructions, or those of one kind, per cycle.
    Throughput,
    /// Waiting for memory beyond L1d.
    Memory,
    /// Instruction fetch, decoding, or branch mispredictions.
    FrontEnd,
    /// No bound of the model explains the cycles.
    Unexplained,
}

/// Cost of one iteration of a loop, and its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopCost {
    /// Counted: iterations (executions of the loop header).
    pub iterations: u64,
    /// Counted: entries from outside.
    pub entries: Option<u64>,
    /// Measured ÷ counted: cycles per iteration, including inner loops.
    pub cycles: Option<Estimate>,
    /// Model: cycles per iteration of the longest loop-carried dependency chain.
    pub chain_cycles: Option<Estimate>,
    /// Instructions of that chain in order: indices into [`Annotation::instructions`].
    pub chain: Vec<u32>,
    /// Model: cycles per iteration if all instructions were independent.
    pub throughput_cycles: Option<Estimate>,
    /// The bound.
    pub bound: LoopBound,
    /// Reason with figures.
    pub why: String,
}

/// A jump inside the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JumpArrow {
    /// Index of the jumping instruction.
    pub from: u32,
    /// Index of the instruction jumped to.
    pub to: u32,
    /// Whether it is a back edge.
    pub back: bool,
}

/// A source line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceLine {
    /// Source file, as in the instructions.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// Text without the line end.
    pub text: String,
}

/// Result of `genba annotate`: one function, instruction by instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// Demangled name.
    pub function: String,
    /// Path of the module.
    pub module: String,
    /// Start address in the module.
    pub address: u64,
    /// The sampled event.
    pub event: Event,
    /// Samples in the function.
    pub samples: u64,
    /// The function's share of all samples.
    pub share: Estimate,
    /// Whether samples are shown where the hardware put them, without skid correction.
    pub raw: bool,
    /// Instructions in address order.
    pub instructions: Vec<AnnotatedInstruction>,
    /// Loops of the function.
    pub loops: Vec<LoopInfo>,
    /// Jumps inside the function.
    pub jumps: Vec<JumpArrow>,
    /// Source lines of the instructions, where the files were found.
    pub source: Vec<SourceLine>,
    /// Counted: number of calls.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Origin of the execution counts, if executions were counted.
    #[serde(default)]
    pub counted: Option<crate::Counted>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
