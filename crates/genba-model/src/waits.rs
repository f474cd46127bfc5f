//! What the wall clock waits for: the document of `genba wait`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Requests};

/// Result of `genba wait`: the wall time of every thread, what it waited for, and who is to blame.
///
/// The times of threads are the kernel's own figures. What a thread waited for was looked up at
/// random times: seconds of one wait, and all shares, have intervals over these snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Program and arguments; empty for a process that was attached to.
    pub command: Vec<String>,
    /// The process that was attached to.
    pub pid: Option<i32>,
    /// From the start of the command (or of watching) to its end, seconds.
    pub wall_seconds: f64,
    /// Snapshots at which all threads were looked at.
    pub snapshots: u64,
    /// Share of the wall time that the leading thread (the command's first) or those for which it
    /// waited were on a CPU; the rest was waiting.
    pub on_cpu: Estimate,
    /// Where the figures come from, a few words each.
    pub sources: Vec<String>,
    /// The threads, longest first.
    pub threads: Vec<ThreadTime>,
    /// Threads that are not in `threads`: too many to list.
    pub more_threads: u64,
    /// The time of all threads together, with those that are not listed.
    #[serde(default)]
    pub all_threads: ThreadTotals,
    /// Waits by place and object, longest first.
    pub waits: Vec<Wait>,
    /// Where the wall time of the whole went: what the leading thread did or waited for in the end,
    /// longest first, at most 50; the shares of fewer add up to 1.
    pub critical_path: Vec<PathStep>,
    /// Causes of needless waiting, largest gain first.
    pub findings: Vec<WaitFinding>,
    /// Stacks of all threads over their wall time, on CPUs and off, longest first; their seconds
    /// add up to the wall time of the threads.
    #[serde(default)]
    pub stacks: Vec<WallStack>,
    /// Ends of waits for which it is known which thread brought them about, those after the longest
    /// waits, in the order of time.
    #[serde(default)]
    pub wake_ups: Vec<WakeUp>,
    /// A server's requests, where they were asked for and the system calls could be recorded.
    #[serde(default)]
    pub requests: Option<Requests>,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}

/// The wall time of one thread, seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Name of the thread.
    pub name: String,
    /// When it began, after the start.
    pub began: f64,
    /// How long it existed.
    pub wall: f64,
    /// On a CPU.
    pub running: f64,
    /// Ready to run, without a CPU.
    pub runnable: f64,
    /// Blocked in a wait whose reason is known.
    pub blocked: f64,
    /// Neither of these: blocked for an unknown reason, or not seen.
    pub unknown: f64,
    /// How often it gave up its CPU.
    pub switches: u64,
    /// What it did over time, without gaps, short pieces merged; empty where there was no room.
    pub timeline: Vec<ThreadSpan>,
}

/// The wall time of several threads, added up, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadTotals {
    /// How many they are; 0 in documents of earlier versions, which do not have them.
    pub threads: u64,
    /// How long they existed.
    pub wall: f64,
    /// On a CPU.
    pub running: f64,
    /// Ready to run, without a CPU.
    pub runnable: f64,
    /// Blocked in a wait whose reason is known.
    pub blocked: f64,
    /// Neither of these.
    pub unknown: f64,
}

/// A piece of a thread's timeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadSpan {
    /// Start, seconds after the start of the whole.
    pub from: f64,
    /// End.
    pub to: f64,
    /// What it did.
    pub state: WaitReason,
}

/// A stack of threads of one name in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallStack {
    /// Name of the threads.
    pub thread: String,
    /// What they did.
    pub state: WaitReason,
    /// The lock, file, pipe, process that was waited for.
    pub object: Option<String>,
    /// Functions, outermost first; empty where the stack is not known.
    pub frames: Vec<String>,
    /// Index in `frames` of the innermost function of the user's code.
    pub own: Option<u32>,
    /// Wall time of the threads, seconds.
    pub seconds: f64,
    /// Snapshots or samples on a CPU that `seconds` rests on.
    pub snapshots: u64,
}

/// The end of a wait, and the thread that brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WakeUp {
    /// When the wait was last seen, seconds after the start of the whole: it ended before the next
    /// snapshot.
    pub at: f64,
    /// For how long it had been seen, seconds.
    pub waited: f64,
    /// Thread id of the thread that was waited for.
    pub waker: i32,
    /// Thread id of the thread that waited.
    pub woken: i32,
}

/// Result of `genba report --off-cpu`: the time of threads that was not spent on a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffCpu {
    /// Program and arguments; empty for a process that was attached to.
    pub command: Vec<String>,
    /// The process that was attached to.
    pub pid: Option<i32>,
    /// From the start of the command (or of watching) to its end, seconds.
    pub wall_seconds: f64,
    /// Wall time of all threads, seconds.
    pub thread_seconds: f64,
    /// The part of it off a CPU, seconds.
    pub off_cpu_seconds: f64,
    /// Snapshots at which all threads were looked at.
    pub snapshots: u64,
    /// Functions, largest self time first.
    pub functions: Vec<OffCpuFunction>,
    /// Stacks off a CPU, longest first.
    pub stacks: Vec<WallStack>,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}

/// A function with the time that threads were off a CPU in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffCpuFunction {
    /// Function, demangled; `[no stack]` where it is not known.
    pub function: String,
    /// Seconds in which it was the innermost function of the user's code.
    pub self_seconds: f64,
    /// Seconds in which it was anywhere on the stack.
    pub total_seconds: f64,
    /// What `total_seconds` was spent on, longest first.
    pub reasons: Vec<OffCpuReason>,
}

/// Time off a CPU for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffCpuReason {
    /// What was waited for.
    pub reason: WaitReason,
    /// Time off a CPU for this reason, seconds.
    pub seconds: f64,
}

/// What a thread does in a snapshot: it runs, or waits for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitReason {
    /// It waits for nothing: it is on a CPU. Never in a [`Wait`].
    Running,
    /// A free CPU: it could run.
    RunQueue,
    /// A lock that another thread holds.
    Lock,
    /// A condition that another thread signals.
    Condition,
    /// The end of another thread.
    Join,
    /// The end of a child process.
    Child,
    /// Data or room in a pipe.
    Pipe,
    /// Data or room in a socket.
    Socket,
    /// Reading or writing a file.
    File,
    /// A file's data reaching the disk.
    Fsync,
    /// A page fault that reads from a file or swap.
    PageFault,
    /// A time that the program chose.
    Sleep,
    /// Several descriptors, or a time.
    Poll,
    /// Input from a terminal.
    Terminal,
    /// Not known.
    Unknown,
}

/// A place in the code of a thread that waits, holds, or works.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WaitPlace {
    /// Function, demangled.
    pub function: String,
    /// Source file.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
}

/// Waits of one place for one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What was waited for.
    pub reason: WaitReason,
    /// Seconds, added up over threads.
    pub seconds: f64,
    /// Snapshots at which a thread was seen waiting so: what `seconds` rests on.
    pub snapshots: u64,
    /// How many waits, estimated from the threads' switches.
    pub count: u64,
    /// Threads that waited so.
    pub threads: u64,
    /// The user's code that waited.
    pub waiter: WaitPlace,
    /// Functions from the waiter outward, innermost first.
    pub stack: Vec<String>,
    /// What the thread that was waited for did meanwhile, most often.
    pub holder: Option<WaitPlace>,
    /// Share of this wait in which it did so.
    pub holder_share: f64,
    /// Whether `holder` is what the thread did on a CPU; else what it waited for in turn.
    pub holder_reason: Option<WaitReason>,
    /// The lock, file, pipe, process.
    pub object: Option<String>,
    /// Share of the wall time that passed in the end because of this wait.
    pub critical_share: f64,
}

/// A part of the wall time of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// Share of the wall time.
    pub share: Estimate,
    /// Seconds of it.
    pub seconds: f64,
    /// What the thread at the end of the chain of waits did.
    pub state: WaitReason,
    /// Where it did so.
    pub place: WaitPlace,
    /// Name of that thread.
    pub thread: String,
    /// What it waited for or on.
    pub object: Option<String>,
    /// How the leading thread waited for it, from there to here; empty where it is itself.
    pub through: Vec<String>,
}

macro_rules! wait_causes {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// A cause of needless waiting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum WaitCause {
            $($(#[$doc])* #[serde(rename = $id)] $name,)*
        }

        impl WaitCause {
            /// All causes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The identifier in output, documents and tests.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

wait_causes! {
    /// Threads wait for a lock while another computes with it held.
    LockContention = "lock-contention",
    /// Threads wait for a lock whose holder waits for a file, pipe, socket, or sleeps.
    LockHeldOverIo = "lock-held-over-io",
    /// Threads wait while one works.
    SerialSection = "serial-section",
    /// More threads runnable than CPUs.
    Oversubscription = "oversubscription",
    /// Threads wait at a barrier or join for the slowest.
    Imbalance = "imbalance",
    /// Every record is forced to the disk by itself.
    SynchronousWrite = "synchronous-write",
    /// Many small reads or writes.
    SmallIo = "small-io",
    /// One request at a time over a pipe or socket.
    RoundTripInLoop = "round-trip-in-loop",
    /// A sleep until something has happened that could wake the thread.
    PollingSleep = "polling-sleep",
    /// Threads that wake one another in turns.
    WakeUpChain = "wake-up-chain",
    /// Page faults that read from files or swap.
    PageFaultIo = "page-fault-io",
    /// The control group's limit of CPU time.
    CpuQuota = "cpu-quota",
    /// The time is a child's that could be avoided or overlapped.
    ChildProcess = "child-process",
}

/// A cause of needless waiting with its place and what a fix would gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitFinding {
    /// The cause.
    pub cause: WaitCause,
    /// Share of the wall time that waits for this.
    pub wall_share: Estimate,
    /// Wall time now ÷ wall time without it.
    pub predicted_speedup: Estimate,
    /// Who waits.
    pub waiter: WaitPlace,
    /// Who is waited for.
    pub holder: Option<WaitPlace>,
    /// The lock, file, pipe, process.
    pub object: Option<String>,
    /// What was seen.
    pub figures: WaitFigures,
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitFigures {
    /// Snapshots at which a thread was seen in these waits.
    pub snapshots: u64,
    /// Seconds in these waits, added up over threads.
    pub seconds: f64,
    /// How many waits, estimated.
    pub waits: u64,
    /// Threads that wait so.
    pub threads: u64,
    /// Share of the waits' time in which the holder was on a CPU.
    pub holder_on_cpu: f64,
    /// Runnable threads, on a CPU or not, in an average snapshot.
    pub runnable_threads: f64,
    /// CPUs that the command may use.
    pub cpus: u32,
    /// Bytes of a read or write on average; `None` where that was not looked up.
    pub bytes_per_call: Option<f64>,
    /// System calls of this place, estimated.
    pub calls: Option<u64>,
    /// What ends waits that no other thread ends.
    pub ended_by: Option<WaitEnd>,
}

/// What ends waits that no other thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    /// The time limit that the caller set.
    TimeLimit {
        /// On average.
        seconds: f64,
    },
    /// The acknowledgement of what was sent before, which the receiver's kernel delays in case that an answer can carry it
    /// (RFC 1122, 4.2.3.2), while the sender's kernel keeps back what does not fill a segment until it comes (RFC 896).
    DelayedAcknowledgement,
}
