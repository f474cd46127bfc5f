//! Watching what threads wait for, without root and without stopping them.
//!
//! The kernel's own account says how long a thread was on a CPU, how long it was runnable, and thus how
//! long it was blocked (`/proc/TID/schedstat`). What it is blocked in is looked up at random
//! times: the system call with its arguments and the stack pointer (`/proc/TID/syscall`), the
//! stack (`process_vm_readv`), the owner of a lock in its memory, the other end of a pipe or socket.
//! All threads are looked at together, so that in each snapshot it is known who waits for whom. When
//! a thread is sampled on a CPU (cpu-clock), the others are looked at at once: that tells what it
//! did while they waited for it.
//!
//! The samples of stacks are a recording (`perf.data`); the rest is a [`WaitRecording`].

mod activity;
mod command_file;
mod cpu_clock;
mod cpu_quota;
mod descriptor_peers;
mod early_records;
mod file_locks;
mod io_ring;
mod polled_set;
pub(crate) mod process_tree;
mod requests;
mod sampler;
mod scripts;
mod snapshots;
mod stack_copy;
mod switch_log;
mod system_call;
mod thinning;
mod thread_files;
mod thread_load;
mod variable_place;
mod wait_recording;
mod waited_for;
mod wake_trace;
mod wake_up_log;
mod wakers;
mod watch;

pub use requests::{PartKind, SeenPart, SeenRequest, SeenRequests};
pub use sampler::WaitSampler;
pub use scripts::{NoScripts, ScriptFrame, ScriptStacks, ScriptWait, Scripts};
pub use thread_load::ThreadLoad;
pub use wait_recording::{
    Chain, CpuSnapshot, MIN_WORK_OF_TICK_NS, Pair, SeenState, SeenWait, SeenWakeUp, StateIndex,
    ThreadIndex, WaitObject, WaitRecording, WatchedProcess, WatchedThread,
};
pub use watch::{watch_command, watch_process};
