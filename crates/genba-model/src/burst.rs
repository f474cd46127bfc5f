//! Bursts: what a program did in short stretches that were watched instruction by instruction.

use crate::CodePoint;

/// What happened at one instruction. Values wider than eight bytes are given by a 64-bit hash.
/// Where a value was not recorded (repeated string instructions), each event has a number of its own
/// in its place, which equals no other. Large accesses are several events of the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// A basic block was entered; `instructions` of it are executed in a row from the event's place.
    Block {
        /// Number of instructions.
        instructions: u32,
    },
    /// Memory was read.
    Load {
        /// Effective address.
        address: u64,
        /// Bytes read.
        size: u16,
        /// What was read (a hash above eight bytes).
        value: u64,
    },
    /// Memory was written.
    Store {
        /// Effective address.
        address: u64,
        /// Bytes written.
        size: u16,
        /// What stood there before.
        before: u64,
        /// What was written.
        value: u64,
        /// Whether the same instruction read the bytes first (`add %eax,(%rdi)`).
        reads: bool,
    },
    /// A conditional branch.
    Branch {
        /// Whether it was taken.
        taken: bool,
    },
    /// A call, or a jump to another function's entry.
    Call {
        /// The callee's entry.
        target: CodePoint,
        /// rdi, rsi, rdx, rcx, r8, r9 at the call.
        arguments: [u64; 6],
    },
    /// An indirect jump.
    Jump {
        /// Where it went.
        target: CodePoint,
    },
    /// A return.
    Return {
        /// rax at the return.
        value: u64,
    },
    /// A system call.
    SystemCall {
        /// Its number.
        number: u64,
    },
}

/// One event of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstEvent {
    /// The instruction; the module is an index into [`Observation::modules`].
    pub at: CodePoint,
    /// What it did.
    pub what: Observed,
}

/// A stretch of one thread's execution that was watched without a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    /// Process id.
    pub pid: i32,
    /// The thread, counted from 0 within the process.
    pub thread: u32,
    /// CPU time of the thread when the burst began, seconds.
    pub began_cpu_seconds: f64,
    /// Wall time since the start of the process when the burst began, seconds.
    pub began_wall_seconds: f64,
    /// Instructions that the thread had executed before it, and a number that is the same for all bursts
    /// of the thread.
    pub instructions_before: u64,
    /// Instructions executed in it.
    pub instructions: u64,
    /// Relative number of the run's instructions that each of its instructions stands for; 1 where that is
    /// not known, and on average.
    pub weight: f64,
    /// In the order of execution.
    pub events: Vec<BurstEvent>,
}

/// An executable or library that bursts met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedModule {
    /// Path as mapped.
    pub path: String,
    /// Run-time address minus address as `objdump` prints it.
    pub bias: u64,
}

/// A stretch of the address space when the process ended (`/proc/PID/maps`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRegion {
    /// First address.
    pub begin: u64,
    /// The address after the last.
    pub end: u64,
    /// Path, `[heap]`, `[stack]`, or nothing for anonymous memory.
    pub name: String,
}

/// All bursts of one process.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Observation {
    /// Modules in which anything was watched.
    pub modules: Vec<ObservedModule>,
    /// Memory, for naming what addresses are.
    pub regions: Vec<MemoryRegion>,
    /// In the order of their beginning.
    pub bursts: Vec<Burst>,
    /// Notes, a sentence each: threads without bursts, code that was not watched, bursts cut short.
    pub notes: Vec<String>,
}
