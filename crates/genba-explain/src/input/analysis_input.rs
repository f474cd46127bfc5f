//! What detectors look at: the hot functions with all that is known of them, and the program.
//!
//! Plain data, so that a detector is a pure function of it and a test can make one by hand.

use genba_model::{Estimate, EvidenceSource};
use genba_observe::Observations;
use serde::{Deserialize, Serialize};

pub use super::function_input::{CallSite, CallTarget, Caller, FunctionInput};
use crate::input::conversions::Conversion;
use crate::input::named_files::NamedFiles;
use crate::input::request_sizes::Sizes;

/// All that is known of one measured program.
#[derive(Debug, Default)]
pub struct AnalysisInput {
    /// The program as a whole.
    pub program: Program,
    /// Functions that carry time, most first.
    pub functions: Vec<FunctionInput>,
    /// What bursts of the counted run showed, where there were any.
    pub observed: Option<Observations>,
}

/// The program as a whole.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// CPU time of one run, seconds; 0 if unknown.
    pub cpu_seconds: f64,
    /// Wall time of one run, seconds; 0 if unknown.
    pub wall_seconds: f64,
    /// Core clock, cycles a second, where it is known.
    pub clock_hz: Option<f64>,
    /// Share of the samples in the kernel.
    pub kernel_share: f64,
    /// Time in the kernel by what it was doing, as shares of all time, largest first.
    pub kernel: Vec<KernelWork>,
    /// Page faults without I/O in one run, where it is known.
    pub minor_faults: Option<f64>,
    /// Peak memory of one run, bytes, where it is known.
    pub max_rss_bytes: Option<f64>,
    /// Counted: processes of one run; `None` without counts.
    pub processes: Option<u32>,
    /// Threads that took at least a hundredth of the time.
    pub threads: u32,
    /// Calls of functions by name, all modules, counted; PLT stubs are not functions.
    pub called: Vec<CalledFunction>,
    /// Instructions executed in one run, where that was counted.
    pub instructions: Option<u64>,
    /// Whether only the first part of a run was counted: executions, and so costs of one, are extrapolated.
    pub part_counted: bool,
    /// Times that elementary operations take here, seconds, by name of the host table.
    pub host_seconds: Vec<(String, f64)>,
    /// Costs in cycles by form: latency and throughput.
    pub costs: CostTable,
    /// What the user's own code asks of the runtime: memory, copies, locks, the kernel.
    pub runtime: Vec<RuntimeUse>,
    /// Library routines that convert for the user's own code.
    pub conversions: Vec<Conversion>,
    /// Time in libraries by the user's lines that call them.
    pub library_time: Vec<LibraryTime>,
    /// The user's functions with the time of what they call.
    pub with_callees: Vec<FunctionWithCallees>,
    /// Size of the files that the command line names, bytes; `None` where it names none.
    pub input_bytes: Option<u64>,
    /// Bytes that the reading calls of one run returned, of files and pipes, where it is known.
    pub read_bytes: Option<u64>,
    /// What runs of their own said.
    pub follow_up: FollowUpRuns,
}

/// Time in one function that is not the user's own code.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryTime {
    /// Its name.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Share of all time in it.
    pub share: f64,
    /// Counted: its calls.
    pub calls: Option<u64>,
    /// The user's calls that lead to it, most calls first; empty where that was not counted.
    pub users: Vec<UserCall>,
}

/// A function of the user's with the time of what it calls, by counted calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionWithCallees {
    /// Name of the function of the symbol table.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Its first instruction.
    pub address: u64,
    /// Where that is in the source.
    pub place: Place,
    /// Share of all time in it and in what it calls.
    pub share: f64,
    /// Share of all time in itself.
    pub own_share: f64,
    /// Counted: its calls.
    pub calls: u64,
    /// What it calls, most time first: name, module, share of all time for it, calls by it.
    pub callees: Vec<(String, String, f64, u64)>,
    /// The user's calls that lead to it, most calls first.
    pub callers: Vec<UserCall>,
    /// Functions of the user's, by name and module, that open files or ask about them by name: itself or any that its
    /// calls lead to.
    pub names_files_in: Vec<(String, String)>,
}

/// What runs of their own said that were made for a suspicion; empty where there was none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowUpRuns {
    /// Places of the user's own code at which page faults were taken, most first.
    pub faults: Vec<UserPlace>,
    /// Stores of loops to cache lines that other threads write to, at other addresses; `None`
    /// where that was not looked at.
    pub shared_lines: Option<Vec<SharedLine>>,
    /// CPU time of a run that was bound to one CPU, seconds, where that was tried.
    pub one_cpu_seconds: Option<f64>,
    /// Branch mispredictions: counted, observed or simulated.
    #[serde(alias = "wrong_guesses")]
    pub mispredictions: Option<EventCounts>,
    /// Loads that miss L1d: counted, observed or simulated.
    pub cache_misses: Option<EventCounts>,
    /// Places of the user's own code whose copies of memory take time, as shares of that.
    #[serde(default)]
    pub copies: Vec<UserPlace>,
    /// For which sizes memory and copies were asked.
    #[serde(default)]
    pub sizes: Option<Sizes>,
    /// Which files calls named.
    #[serde(default)]
    pub files: Option<NamedFiles>,
}

fn measured() -> EvidenceSource {
    EvidenceSource::Measured
}

/// An event of the processor in one run: sampled, observed, or simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventCounts {
    /// Its name.
    pub event: String,
    /// Whether the processor counted, bursts saw it, or a simulator did.
    #[serde(default = "measured")]
    pub source: EvidenceSource,
    /// How many times it came for each sample.
    pub period: f64,
    /// Where it came, of the functions of the input; up to some instructions late.
    pub places: Vec<EventPlace>,
}

/// How often an event came at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventPlace {
    /// Index of the function in [`AnalysisInput::functions`].
    pub function: usize,
    /// Index of the instruction.
    pub at: usize,
    /// Times in one run.
    pub times: f64,
}

impl EventCounts {
    /// Times that it came at these instructions (sorted) of a function, in one run.
    #[must_use]
    pub fn times(&self, function: usize, members: &[usize]) -> f64 {
        let inside =
            |one: &&EventPlace| one.function == function && members.binary_search(&one.at).is_ok();
        self.places.iter().filter(inside).map(|one| one.times).sum()
    }
}

/// What the user's own code asks of one service of the runtime.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuntimeUse {
    /// `malloc`, `realloc`, `free`, `mapping`, `copy`, `lock`; a system call by its name.
    pub service: String,
    /// Whether it is a system call.
    pub system_call: bool,
    /// Calls in one run.
    pub calls: u64,
    /// Who asks for it, most calls first.
    pub users: Vec<UserCall>,
    /// Of memory: who asks for it through functions of the user's own that hand the request on, most
    /// calls first.
    pub callers_behind_wrappers: Vec<UserCall>,
}

impl RuntimeUse {
    /// Who asks for it: through functions that hand the request on, where there are such.
    #[must_use]
    pub fn asked_by(&self) -> &[UserCall] {
        match self.callers_behind_wrappers.is_empty() {
            true => &self.users,
            false => &self.callers_behind_wrappers,
        }
    }
}

/// A call in the user's own code that leads to a service of the runtime.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserCall {
    /// Name of the function of the symbol table.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Address of the call.
    pub address: u64,
    /// The user's own line, of the innermost function that is the user's.
    pub place: Place,
    /// Functions of libraries between it and the service, inlined ones among them, inside out.
    pub through: Vec<String>,
    /// Whether it calls another function of a library, which leads to the service: what such a call does is
    /// not only that.
    pub through_library: bool,
    /// Calls of the service from there.
    pub calls: f64,
    /// Executions of the call.
    pub executions: u64,
    /// Calls of the function that the call is in.
    pub caller_calls: Option<u64>,
}

/// A store to a cache line to which other threads write at other addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLine {
    /// Index of the function in [`AnalysisInput::functions`].
    pub function: usize,
    /// Index of the instruction.
    pub at: usize,
    /// Index of its loop.
    pub around: u32,
    /// Threads that write to the line.
    pub threads: u32,
    /// Bytes to the nearest address of another's.
    pub distance: u64,
    /// Samples that saw it.
    pub samples: u32,
}

/// A place of the user's own code at which something happened: page faults, copies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserPlace {
    /// Name of the function of the symbol table.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Address of the instruction, or of the call that led to it.
    pub address: u64,
    /// The user's own line.
    pub place: Place,
    /// Share of all of it.
    pub share: f64,
}

/// Time in the kernel by its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWork {
    /// `page fault`, `page clearing`, `system call`, `futex`, `copy`, `scheduler`, `other`.
    pub reason: &'static str,
    /// Share of all samples.
    pub share: f64,
}

/// A function by name with its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledFunction {
    /// Demangled name without parameters and versions.
    pub function: String,
    /// Path of its module.
    pub module: String,
    /// Calls in one run.
    pub calls: u64,
    /// Instructions executed in it.
    pub instructions: u64,
}

/// Costs by form, cycles: what [`genba_loop_model::Costs`] answers from.
#[derive(Clone, Debug, Default)]
pub struct CostTable {
    /// The host's table, where it was measured.
    pub table: Option<genba_model::HostTable>,
}

impl CostTable {
    /// Latency of a form, cycles.
    #[must_use]
    pub fn latency(&self, form: &str) -> Option<Estimate> {
        genba_host::cost_of(self.table.as_ref()?, form)?.latency
    }

    /// Reciprocal throughput of a form, cycles.
    #[must_use]
    pub fn throughput(&self, form: &str) -> Option<Estimate> {
        genba_host::cost_of(self.table.as_ref()?, form)?.throughput
    }
}

impl genba_loop_model::Costs for CostTable {
    fn latency(&self, form: &str) -> Option<Estimate> {
        Self::latency(self, form)
    }

    fn throughput(&self, form: &str) -> Option<Estimate> {
        Self::throughput(self, form)
    }
}

/// Where an instruction is in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The innermost (possibly inlined) function.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Whether that function was inlined.
    pub inlined: bool,
    /// The call in the user's files that it was inlined for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Place>>,
}
