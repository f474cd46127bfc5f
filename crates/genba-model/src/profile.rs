//! Where the time goes: samples by function, line, module, thread and stack.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// How near a sample's address is to the instruction that took the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// The address is that of an instruction *after* the one that took the time.
    Skid,
    /// The hardware names the instruction itself (PEBS, IBS).
    Precise,
}

/// What was sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// perf's name of it: `cycles`, `cpu-clock`, `cycles:u`, `timer-signal`.
    pub name: String,
    /// Whether it counts cycles or other events in hardware; false for clocks.
    pub hardware: bool,
    /// Samples a second that were asked for, 0 if a fixed period was.
    pub frequency_hz: u64,
    /// Whether the kernel was sampled as well.
    pub kernel: bool,
    /// Precision of the addresses.
    pub precision: Precision,
}

/// A function's share of the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Demangled name; an address in brackets where there is no symbol.
    pub function: String,
    /// Name as in the symbol table, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linkage_name: Option<String>,
    /// Path of the executable or library, `[kernel]`, `[vdso]`, or a JIT's map.
    pub module: String,
    /// Whether this is kernel code.
    pub kernel: bool,
    /// Source file of the function, where line information says so.
    pub file: Option<String>,
    /// Its first line.
    pub line: Option<u32>,
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Share of all samples in the function itself (share weighted by period).
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Share of all samples in it or in what it called; equals `self` without stacks.
    pub total: Estimate,
    /// Size of its code in bytes where the symbol says so.
    #[serde(default)]
    pub size_bytes: u64,
    /// Counted: how many times it was entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Counted: instructions executed in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Measured ÷ counted: time in the function itself for each call, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_seconds: Option<Estimate>,
    /// The same in cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_cycles: Option<Estimate>,
}

/// A source line's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// The (innermost, possibly inlined) function there.
    pub function: String,
    /// Share of all samples, skid put right unless the profile is raw.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Text of the line where the source was found.
    pub text: Option<String>,
    /// Counted: executions of that instruction of the line that ran most often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Measured ÷ counted: time of the line for each of them, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_seconds: Option<Estimate>,
}

/// A module's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleRow {
    /// Path, `[kernel]`, `[vdso]`, …
    pub module: String,
    /// GNU build id in hexadecimal, if known.
    pub build_id: Option<String>,
    /// Share of all samples.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Whether symbols were found: `symtab`, `dynsym`, `debug`, `none`, …
    pub symbols: String,
}

/// A thread's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Its name (comm).
    pub name: String,
    /// Share of all samples.
    #[serde(rename = "self")]
    pub self_share: Estimate,
}

/// Who called whom, by samples with both on the stack next to one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEdge {
    /// Index of the caller in [`Profile::functions`].
    pub caller: u32,
    /// Index of the callee.
    pub callee: u32,
    /// Share of all samples.
    pub share: f64,
}

/// One distinct stack with its samples: the material of flame graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// Frames from the outermost to the innermost, inlined frames among them.
    pub frames: Vec<String>,
    /// Sum of the samples' weights: nanoseconds for a clock, events for a counter.
    pub weight: u64,
}

/// A profile, symbols resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What was sampled.
    pub event: Event,
    /// The command, where the recording names it.
    pub command: Vec<String>,
    /// Samples taken.
    pub samples: u64,
    /// Samples that the kernel says it lost.
    pub lost: u64,
    /// How many times the kernel throttled the sampling.
    pub throttled: u64,
    /// Time from the first to the last sample, seconds.
    pub duration_seconds: f64,
    /// Share of samples in the kernel.
    pub kernel_share: Estimate,
    /// Whether samples carry call stacks.
    pub stacks: bool,
    /// Share of stacks that unwinding could not bring to the outermost frame.
    pub truncated_stacks: f64,
    /// Functions, largest self share first.
    pub functions: Vec<FunctionRow>,
    /// Source lines, largest first.
    pub lines: Vec<LineRow>,
    /// Modules, largest first.
    pub modules: Vec<ModuleRow>,
    /// Threads, largest first.
    pub threads: Vec<ThreadRow>,
    /// Call edges between functions.
    #[serde(default)]
    pub edges: Vec<CallEdge>,
    /// Distinct stacks.
    #[serde(default)]
    pub collapsed: Vec<StackRow>,
    /// How concentrated the time is.
    pub concentration: Option<crate::Concentration>,
    /// Where the executions come from, where they were counted.
    #[serde(default)]
    pub counted: Option<crate::Counted>,
    /// What the reader must know to read the figures right, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
