//! What the wait sampler saw, as plain values: threads, states, and who waited for whom.

use genba_model::WaitReason;

use super::requests::SeenRequests;
use super::scripts::ScriptStacks;

/// Index into [`WaitRecording::threads`].
pub type ThreadIndex = u32;
/// Index into [`WaitRecording::states`].
pub type StateIndex = u32;

/// Least CPU time between two sleeps that is work rather than a look, ns. Chosen.
pub const MIN_WORK_OF_TICK_NS: u64 = 200_000;

/// Everything that was seen of the waits of a command or process. Times are CLOCK_MONOTONIC, ns.
#[derive(Clone, Debug, Default)]
pub struct WaitRecording {
    /// Start of the command or of watching.
    pub began: u64,
    /// Its end.
    pub ended: u64,
    /// Snapshots at which all threads were looked at.
    pub snapshots: u64,
    /// All threads, in the order in which they were first seen.
    pub threads: Vec<WatchedThread>,
    /// Threads that were not watched: too many.
    pub unwatched_threads: u64,
    /// All processes.
    pub processes: Vec<WatchedProcess>,
    /// Distinct states.
    pub states: Vec<SeenState>,
    /// From the leader's state, or that of a thread at work, along who waits for whom.
    pub chains: Vec<Chain>,
    /// By waiting state and state of the thread that was waited for.
    pub pairs: Vec<Pair>,
    /// Snapshots of samples on a CPU.
    pub cpu_snapshots: Vec<CpuSnapshot>,
    /// Ends of waits for which it is known who brought them about, those after the longest waits.
    pub wake_ups: Vec<SeenWakeUp>,
    /// A server's requests; `None` where they were not asked for, or cannot be seen.
    pub requests: Option<SeenRequests>,
    /// What scripts did at samples: on a CPU, and where they wait.
    pub scripts: ScriptStacks,
    /// Sum over snapshots of threads on a CPU or runnable, × ns.
    pub runnable_ns: f64,
    /// Sum over snapshots of threads that were runnable beyond the number of CPUs, × ns.
    pub excess_ns: f64,
    /// CPU time of all programs of the machine meanwhile, ns.
    pub machine_busy: u64,
    /// CPUs that the command may use.
    pub cpus: u32,
    /// Time for which the control group's quota stopped its threads, ns.
    pub throttled: u64,
    /// Whether threads on a CPU were sampled.
    pub cpu_sampled: bool,
    /// Whether wake-ups were recorded, so that the runnable time of threads that lived shortly is exact.
    pub wake_ups_recorded: bool,
    /// Whether blocked system calls could be read at all.
    pub calls_readable: bool,
    /// What was requested and could not be had, a sentence each.
    pub notes: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct WatchedThread {
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Last name.
    pub name: String,
    /// Start, or when it was first seen.
    pub began: u64,
    /// End.
    pub ended: u64,
    /// On a CPU in between, ns.
    pub running: u64,
    /// Ready without a CPU, ns.
    pub runnable: u64,
    /// Off a CPU after it gave that up, later than its last account, ns: how long it was runnable of this is not known.
    pub undivided: u64,
    /// How often it was looked at in such time, also before its last account, and how often it was runnable then.
    pub looks: u64,
    /// See `looks`.
    pub ready_looks: u64,
    /// How often it got a CPU.
    pub slices: u64,
    /// How often it gave its CPU up, and how often it lost it, while switches were recorded.
    pub blocks: u64,
    /// See `blocks`.
    pub preemptions: u64,
    /// Its states over time: start, end, state; pieces are merged as they become many.
    pub timeline: Vec<(u64, u64, StateIndex)>,
}

impl WatchedThread {
    /// How often it waited: as often as it got a CPU after it had given one up.
    #[must_use]
    pub fn waits(&self) -> f64 {
        let switches = self.blocks + self.preemptions;
        let share = match switches {
            0 => 1.0,
            _ => self.blocks as f64 / switches as f64,
        };
        self.slices as f64 * share
    }
}

/// A process.
#[derive(Clone, Debug, Default)]
pub struct WatchedProcess {
    /// Process id.
    pub pid: i32,
    /// Its parent.
    pub parent: i32,
    /// Whether it was seen to execute another program than its parent's.
    pub executed: bool,
    /// Name of the file that its command line names; empty for none, `None` where it was not looked at.
    pub file: Option<String>,
    /// Bytes that its reading calls returned while it was watched.
    pub read_bytes: u64,
    /// Bytes that its writing calls passed.
    pub written_bytes: u64,
    /// Reading calls.
    pub reads: u64,
    /// Writing calls.
    pub writes: u64,
    /// Looks at its open files while it read or wrote, in which there was one.
    pub file_looks: u64,
    /// Those in which one was open that had not been seen before.
    pub new_file_looks: u64,
    /// Most sockets that were open in one of these looks.
    pub most_sockets: u64,
    /// Whether a thread of it was seen to poll a socket for new connections, beside others.
    pub serves: bool,
}

/// A distinct state of a thread, with the time in it.
#[derive(Clone, Debug, Default)]
pub struct SeenState {
    /// The thread.
    pub thread: ThreadIndex,
    /// Where it waits; `None` on a CPU or runnable.
    pub wait: Option<SeenWait>,
    /// Time in it, ns.
    pub ns: f64,
    /// Snapshots at which it was seen.
    pub snapshots: u64,
    /// How often it was seen to begin.
    pub entries: u64,
    /// Entries that were still there at the next snapshot.
    pub long_entries: u64,
    /// Entries of a sleep before which the thread ran for less than [`MIN_WORK_OF_TICK_NS`] since its sleep before.
    pub workless_entries: u64,
    /// Waits that lasted as long as their time limit.
    pub expired: u64,
    /// Their limits together, ns.
    pub expired_ns: u64,
    /// Entries of a sleep for a time that is known.
    pub timed_entries: u64,
    /// Their times together, ns.
    pub timed_ns: u64,
}

/// Where and on what a thread waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeenWait {
    /// What for, as far as the system call tells.
    pub reason: WaitReason,
    /// Number of the system call; -1 outside of any.
    pub call: i64,
    /// On what.
    pub object: WaitObject,
    /// Whether it ends by a time limit if nothing comes before.
    pub limited: bool,
    /// The sample in the recording that has its stack: thread and time.
    pub stack: (i32, u64),
}

/// What is waited on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WaitObject {
    /// Nothing with a name.
    Nothing,
    /// A word in memory; in static data with its file and the distance from the file's start in
    /// memory.
    Futex(u64, Option<(String, u64)>),
    /// A file by path, a pipe or socket by `pipe:[INODE]`, or what the kernel calls it.
    Descriptor(String),
    /// The lock of an interpreter, by its name.
    InterpreterLock(&'static str),
    /// A child process; 0 for any.
    Child(i32),
    /// Another thread, whose end is waited for.
    Thread(ThreadIndex),
}

/// The leader's state and those of the threads behind it, the last one waiting for nobody known.
#[derive(Clone, Debug)]
pub struct Chain {
    /// States, the leader's first.
    pub states: Vec<StateIndex>,
    /// Wall time, ns.
    pub ns: f64,
    /// Number of snapshots with this chain.
    pub snapshots: u64,
    /// The part of it in which no thread was on a CPU or runnable, ns.
    pub idle_ns: f64,
    /// The part in which exactly one was, ns.
    pub alone_ns: f64,
    /// The part of `alone_ns` in which no other thread at work was blocked in reading or writing, ns.
    pub others_done_ns: f64,
    /// The part of `alone_ns` in which at least two others waited for threads, ns.
    pub awaited_ns: f64,
}

/// A waiting state with that of the thread that was waited for.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Who waits.
    pub waiter: StateIndex,
    /// What the other did.
    pub holder: StateIndex,
    /// Time, ns.
    pub ns: f64,
    /// Number of snapshots with this pair.
    pub snapshots: u64,
}

/// The end of a wait, and the thread that brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenWakeUp {
    /// When the wait was last seen: it ended before the next snapshot.
    pub at: u64,
    /// For how long it had been seen, ns.
    pub waited: u64,
    /// The thread that was waited for.
    pub waker: ThreadIndex,
    /// The thread that waited.
    pub woken: ThreadIndex,
}

/// A sample of a thread on a CPU, with who waited for it.
#[derive(Clone, Debug)]
pub struct CpuSnapshot {
    /// Thread id of the sample.
    pub tid: i32,
    /// Its time.
    pub time: u64,
    /// How many samples it stands for: of very many only some are kept.
    pub weight: u64,
    /// The chain that ended at this thread.
    pub chain: Option<u32>,
    /// Waiting states that waited for this thread.
    pub waiters: Vec<StateIndex>,
    /// Whether no other thread was on a CPU or runnable.
    pub alone: bool,
}
