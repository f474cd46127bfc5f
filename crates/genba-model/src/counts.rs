//! Exact execution counts: what an engine counted, and the document made of it.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Observation, ObservedPlace};

/// The count engine and its limitations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountEngine {
    /// `genba`, `callgrind`.
    pub name: String,
    /// Version that it reports.
    pub version: String,
    /// Limitations and differences from native execution, a sentence each.
    pub gaps: Vec<String>,
}

/// Executions of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct InstructionCount {
    /// Address in the module, as `objdump` prints it.
    pub address: u64,
    /// Number of executions.
    pub count: u64,
}

impl From<(u64, u64)> for InstructionCount {
    fn from((address, count): (u64, u64)) -> Self {
        Self { address, count }
    }
}

impl From<InstructionCount> for (u64, u64) {
    fn from(one: InstructionCount) -> Self {
        (one.address, one.count)
    }
}

/// Counts of one executable or library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedModule {
    /// Path as mapped, `[vdso]`, or `[generated]` for code made at run time.
    pub path: String,
    /// GNU build id in hexadecimal, if known.
    #[serde(default)]
    pub build_id: Option<String>,
    /// Instructions that were executed, in address order, each once.
    pub instructions: Vec<InstructionCount>,
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodePoint {
    /// Index of the module in [`ProcessCounts::modules`].
    pub module: u32,
    /// Address in it.
    pub address: u64,
}

/// A stretch of a module's code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodeSpan {
    /// Path of the module as mapped.
    pub path: String,
    /// First address, as `objdump` prints it.
    pub begin: u64,
    /// The address after the last.
    pub end: u64,
}

/// How control went from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    /// A jump that was taken, conditional or not, direct or not.
    Jump,
    /// A call; `to` is the entry of the callee itself, not of its PLT stub.
    Call,
}

/// A transfer of control with its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Transfer {
    /// What transferred control.
    pub kind: TransferKind,
    /// The jump or call itself.
    pub from: CodePoint,
    /// Where it went.
    pub to: CodePoint,
    /// How many times.
    pub count: u64,
}

/// A function that a process generated at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedFunction {
    /// Its first address in memory.
    pub address: u64,
    /// Bytes of code.
    pub size: u64,
    /// Its name, as the process wrote it to its perf map.
    pub name: String,
}

/// Counts of one process (of one program, if it executed several).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessCounts {
    /// Its number.
    pub pid: i32,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Why the counts end before the program did, if they do: killed, time-out, …
    #[serde(default)]
    pub cut_short: Option<String>,
    /// Modules in which anything was executed.
    pub modules: Vec<CountedModule>,
    /// Jumps and calls, where the engine was asked for them.
    pub transfers: Vec<Transfer>,
    /// Functions of the module `[generated]` that were executed, in address order, where the process
    /// left their names.
    #[serde(default)]
    pub generated: Vec<GeneratedFunction>,
    /// Notes on these counts, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What bursts saw, where they were requested. Not part of documents.
    #[serde(skip)]
    pub observation: Option<Observation>,
}

/// What one count run gave: raw, without names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawCounts {
    /// The engine that counted.
    pub engine: CountEngine,
    /// Program and arguments that were counted.
    pub command: Vec<String>,
    /// CPU time (user and system) that the count run took, seconds.
    pub cpu_seconds: f64,
    /// Wall time that it took, seconds.
    pub wall_seconds: f64,
    /// Exit status as a shell gives it, 128 + signal for a signal.
    pub exit: i32,
    /// Whether jumps and calls were recorded, all of them.
    pub transfers: bool,
    /// Where they were, if not everywhere. What always goes to the same place is known of all
    /// code then.
    #[serde(default)]
    pub transfers_within: Vec<CodeSpan>,
    /// The target, then processes that it started, where those were followed.
    pub processes: Vec<ProcessCounts>,
    /// Notes on the counts, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Origin of execution counts that are joined with measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The engine that counted.
    pub engine: CountEngine,
    /// CPU time under the engine ÷ CPU time of a native run, if both are known.
    pub slowdown: Option<f64>,
    /// Program and arguments that were counted.
    pub command: Vec<String>,
    /// Factor that the counts were multiplied by: 1 unless a smaller workload was counted.
    pub scale: f64,
    /// Why the counts end before the program, if they do.
    pub cut_short: Option<String>,
    /// Number of sampled runs; counts are of one run.
    pub runs: f64,
    /// Core clock that converts seconds to cycles, if it is known.
    pub clock_hz: Option<Estimate>,
    /// Source of the clock: `cycles`, `counters`, `host table`.
    pub clock_source: String,
}

/// Counts of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedFunction {
    /// Demangled name; an address in brackets where there is no symbol.
    pub function: String,
    /// Path of its module.
    pub module: String,
    /// Its address in the module.
    pub address: u64,
    /// Source file, where line information says so.
    pub file: Option<String>,
    /// Its first line.
    pub line: Option<u32>,
    /// Number of calls.
    pub calls: u64,
    /// Instructions executed in the function itself.
    pub instructions: u64,
    /// Model: instructions executed in it and its callees, assuming that every call of a function
    /// costs the same (as gprof does); `None` if calls were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_instructions: Option<f64>,
    /// Number of functions of its recursion cycle; each of them has the total of the cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u32>,
    /// Calls per unit of `--per`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per: Option<f64>,
    /// Instructions per unit of `--per`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_per: Option<f64>,
}

/// A call edge with its count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedCall {
    /// Index of the caller in [`Counts::functions`].
    pub caller: u32,
    /// Index of the callee in [`Counts::functions`].
    pub callee: u32,
    /// How many times.
    pub calls: u64,
    /// Model: the part of the callee's total that these calls take, instructions; 0 within a
    /// recursion cycle.
    #[serde(default)]
    pub total_instructions: f64,
}

/// The unit that counts are divided by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Per {
    /// The function whose calls are the units; `None` for a number given by the user.
    pub function: Option<String>,
    /// Number of units.
    pub units: f64,
}

/// Result of `genba count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Name of the engine.
    pub engine: String,
    /// Version of the engine.
    pub engine_version: String,
    /// Limitations of the engine, a sentence each.
    pub gaps: Vec<String>,
    /// CPU time under the engine ÷ CPU time of a native run, if both are known.
    pub slowdown: Option<f64>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Exit status as a shell reports it, 128 + signal for a signal.
    pub exit: i32,
    /// Why the counts end before the program, if they do.
    pub cut_short: Option<String>,
    /// Number of counted processes.
    pub processes: u32,
    /// Instructions executed in all modules.
    pub instructions: u64,
    /// Instructions executed in code without a symbol.
    pub unnamed_instructions: u64,
    /// The unit of `calls_per` and `instructions_per`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Functions, most instructions first.
    pub functions: Vec<CountedFunction>,
    /// Calls between functions, most frequent first.
    pub calls: Vec<CountedCall>,
    /// Where bursts saw most mispredictions, cache misses and repeated work, with `--observe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservedPlace>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Executions of one instruction with the place that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailSite {
    /// Address in the module.
    pub address: u64,
    /// Source file: index into [`CountedDetail::files`]. Of inlined code it is another than that
    /// of the function.
    pub file: Option<u32>,
    /// Source line.
    pub line: Option<u32>,
    /// Number of executions.
    pub count: u64,
}

/// Calls from one instruction to one function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailCall {
    /// Address of the call, or of a jump that leaves for another function for good.
    pub address: u64,
    /// Source file: index into [`CountedDetail::files`].
    pub file: Option<u32>,
    /// Source line.
    pub line: Option<u32>,
    /// Index of the callee in [`CountedDetail::functions`].
    pub callee: u32,
    /// How many times.
    pub count: u64,
    /// Model: the part of the callee's total that these calls take, instructions; 0 within a
    /// recursion cycle.
    pub total_instructions: f64,
}

/// A function with everything that was executed in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailFunction {
    /// Demangled name; `[unknown]` for all in a module that has none.
    pub name: String,
    /// Index into [`CountedDetail::modules`].
    pub module: u32,
    /// Its first address.
    pub address: u64,
    /// Source file: index into [`CountedDetail::files`].
    pub file: Option<u32>,
    /// Its first line.
    pub line: Option<u32>,
    /// Number of calls.
    pub calls: u64,
    /// Its instructions, by address, each once.
    pub sites: Vec<DetailSite>,
    /// Its calls, by address and callee, each once.
    pub call_sites: Vec<DetailCall>,
}

/// A module of [`CountedDetail`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DetailModule {
    /// Path as mapped.
    pub path: String,
    /// GNU build id in hexadecimal, if known.
    pub build_id: Option<String>,
}

/// Counts instruction by instruction, with names: what the exports for other programs are made
/// of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedDetail {
    /// The engine that counted.
    pub engine: CountEngine,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Number of the first process.
    pub pid: i32,
    /// Why the counts end before the program, if they do.
    pub cut_short: Option<String>,
    /// Modules in which anything was executed.
    pub modules: Vec<DetailModule>,
    /// Source files that the places name.
    pub files: Vec<String>,
    /// Functions, most instructions first.
    pub functions: Vec<DetailFunction>,
}
