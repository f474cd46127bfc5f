//! One function, instruction by instruction.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event};

/// An instruction with what is known of its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnotatedInstruction {
    /// Address in the module (as `objdump` prints it).
    pub address: u64,
    /// Disassembly.
    pub text: String,
    /// Source file of the innermost (possibly inlined) function here.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Name of the innermost inlined function, where it is not the annotated one.
    #[serde(default)]
    pub inlined: Option<String>,
    /// Samples attributed to it; a fraction where a sample is split over predecessors.
    pub samples: f64,
    /// Share of the function's samples.
    pub share: Estimate,
    /// Exact number of executions, where counted.
    pub count: Option<u64>,
    /// How many of them jumped, where it is a conditional jump and jumps were counted.
    #[serde(default)]
    pub taken: Option<u64>,
    /// Time per execution, seconds.
    pub cost_seconds: Option<Estimate>,
    /// Cycles per execution.
    pub cost_cycles: Option<Estimate>,
    /// What this form costs on this host.
    pub host_latency_cycles: Option<Estimate>,
    /// Innermost loop that it belongs to: index into [`Annotation::loops`].
    #[serde(rename = "loop")]
    pub loop_index: Option<u32>,
}

/// A loop of the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopInfo {
    /// Address of the loop's head.
    pub head: u64,
    /// Address of its last instruction.
    pub last: u64,
    /// Nesting, 1 for an outermost loop.
    pub depth: u32,
    /// The loop around it.
    pub parent: Option<u32>,
    /// Share of the function's samples inside.
    pub share: f64,
    /// Entered in the middle, so that it is no natural loop.
    pub irreducible: bool,
    /// What bounds it, where executions were counted.
    #[serde(default)]
    pub cost: Option<LoopCost>,
}

/// What holds a loop up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopBound {
    /// Its longest chain of dependent instructions from round to round.
    Latency,
    /// The number of instructions, or of those of one kind, that the processor can take a cycle.
    Throughput,
    /// Waiting for memory beyond the first cache.
    Memory,
    /// Fetching, decoding, or wrongly predicted branches.
    FrontEnd,
    /// None that the model knows explains the cycles.
    Unexplained,
}

/// What one round of a loop costs, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopCost {
    /// Counted: how many times its head was executed.
    pub iterations: u64,
    /// Counted: how many times it was entered from outside.
    pub entries: Option<u64>,
    /// Measured ÷ counted: cycles a round, loops inside it included.
    pub cycles: Option<Estimate>,
    /// Model: cycles that the longest chain of dependent instructions adds each round.
    pub chain_cycles: Option<Estimate>,
    /// The instructions of that chain, by index in [`Annotation::instructions`], in order.
    pub chain: Vec<u32>,
    /// Model: cycles a round if all were independent.
    pub throughput_cycles: Option<Estimate>,
    /// What bounds it.
    pub bound: LoopBound,
    /// Why, in words with figures.
    pub why: String,
}

/// A jump inside the function, for the arrows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JumpArrow {
    /// Index of the jumping instruction.
    pub from: u32,
    /// Index of the instruction jumped to.
    pub to: u32,
    /// Whether it closes a loop.
    pub back: bool,
}

/// A line of source beside the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceLine {
    /// File, as in [`AnnotatedInstruction::file`].
    pub file: String,
    /// Line number.
    pub line: u32,
    /// Text without the line end.
    pub text: String,
}

/// The annotation of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// Demangled name.
    pub function: String,
    /// Module.
    pub module: String,
    /// Start address in the module.
    pub address: u64,
    /// What was sampled.
    pub event: Event,
    /// Samples in the function.
    pub samples: u64,
    /// The function's share of all samples.
    pub share: Estimate,
    /// True if the samples stand where the machine put them, skid not put right.
    pub raw: bool,
    /// Instructions in address order.
    pub instructions: Vec<AnnotatedInstruction>,
    /// Loops.
    pub loops: Vec<LoopInfo>,
    /// Jumps.
    pub jumps: Vec<JumpArrow>,
    /// Source lines that the instructions name, where the files were found.
    pub source: Vec<SourceLine>,
    /// Counted: how many times it was entered.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Where the executions come from, where they were counted.
    #[serde(default)]
    pub counted: Option<crate::Counted>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
