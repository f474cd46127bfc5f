//! Where the time goes: samples by function, line, module, thread and stack.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Precision of sampled addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Samples skid: the address is that of an instruction after the one that took the time.
    Skid,
    /// The hardware names the instruction itself (PEBS, IBS).
    Precise,
}

/// The sampled event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Name of the event in perf: `cycles`, `cpu-clock`, `cycles:u`, `timer-signal`.
    pub name: String,
    /// Whether it is a hardware event; false for clocks.
    pub hardware: bool,
    /// Requested samples per second; 0 for a fixed period.
    pub frequency_hz: u64,
    /// Whether kernel code was sampled as well.
    pub kernel: bool,
    /// Precision of the sampled addresses.
    pub precision: Precision,
}

/// A function's share of the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Demangled name; an address in brackets where there is no symbol.
    pub function: String,
    /// Linkage name, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linkage_name: Option<String>,
    /// Path of the executable or library, `[kernel]`, `[vdso]`, or a JIT's map.
    pub module: String,
    /// Whether this is kernel code.
    pub kernel: bool,
    /// Source file, if there is line information.
    pub file: Option<String>,
    /// First line of the function.
    pub line: Option<u32>,
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Share of all samples in the function itself, weighted by period.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Share of all samples in it and its callees; equals `self` without call stacks.
    pub total: Estimate,
    /// Size of its code in bytes; 0 if unknown.
    #[serde(default)]
    pub size_bytes: u64,
    /// Counted: number of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Counted: instructions executed in the function itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Measured ÷ counted: self time per call, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_seconds: Option<Estimate>,
    /// The same in core cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_cycles: Option<Estimate>,
}

/// A source line's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// The innermost, possibly inlined, function of the line.
    pub function: String,
    /// Share of all samples, skid-corrected unless the profile is raw.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Text of the line, if the source was found.
    pub text: Option<String>,
    /// Counted: executions of the most executed instruction of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Measured ÷ counted: time of the line per execution, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_seconds: Option<Estimate>,
}

/// A module's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleRow {
    /// Path of the executable or library, `[kernel]`, `[vdso]`, …
    pub module: String,
    /// GNU build id in hexadecimal, if known.
    pub build_id: Option<String>,
    /// Share of all samples.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Source of its symbols: `symtab`, `dynsym`, `debug`, `none`, …
    pub symbols: String,
}

/// A thread's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Name of the thread (comm).
    pub name: String,
    /// Name of the process: that of its first thread after the last exec that has samples; empty in cases of earlier
    /// versions.
    #[serde(default)]
    pub process: String,
    /// Share of all samples.
    #[serde(rename = "self")]
    pub self_share: Estimate,
}

/// A call edge: samples with caller and callee adjacent on the stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEdge {
    /// Index of the caller in [`Profile::functions`].
    pub caller: u32,
    /// Index of the callee in [`Profile::functions`].
    pub callee: u32,
    /// Share of all samples.
    pub share: f64,
}

/// A distinct call stack with its samples, as in collapsed stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// Frames from the outermost to the innermost, including inlined ones.
    pub frames: Vec<String>,
    /// Sum of the samples' weights: nanoseconds for a clock, events for a counter.
    pub weight: u64,
}

/// Result of `genba report`: samples by function, line, module, thread and stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The sampled event.
    pub event: Event,
    /// Format of the file, if another program took the samples: `pprof`, `callgrind`, … A number of samples of 0 is
    /// then an unknown number, and shares have no intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<String>,
    /// Program and arguments, if the recording has them.
    pub command: Vec<String>,
    /// Number of samples.
    pub samples: u64,
    /// Samples lost by the kernel.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
    /// Time from the first to the last sample, seconds.
    pub duration_seconds: f64,
    /// Share of samples in kernel code.
    pub kernel_share: Estimate,
    /// Whether samples carry call stacks.
    pub stacks: bool,
    /// Share of stacks whose unwinding did not reach the outermost frame.
    pub truncated_stacks: f64,
    /// Functions, largest self share first.
    pub functions: Vec<FunctionRow>,
    /// Source lines, largest share first.
    pub lines: Vec<LineRow>,
    /// Modules, largest share first.
    pub modules: Vec<ModuleRow>,
    /// Threads, largest share first.
    pub threads: Vec<ThreadRow>,
    /// How the wall time of each thread divides, by the kernel's account: of `top` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_times: Vec<crate::ThreadTime>,
    /// Call edges between functions.
    #[serde(default)]
    pub edges: Vec<CallEdge>,
    /// Distinct call stacks.
    #[serde(default)]
    pub collapsed: Vec<StackRow>,
    /// How concentrated the time is.
    pub concentration: Option<crate::Concentration>,
    /// Origin of the execution counts, if executions were counted.
    #[serde(default)]
    pub counted: Option<crate::Counted>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
