//! Samples of threads that stand still for a moment, so that their memory can be read.
//!
//! A stack copy of the kernel's cannot say which function an interpreter is at: that is in
//! memory that changes the next moment. So a clock event tells which thread has just used CPU
//! time; that thread is stopped (`PTRACE_SEIZE`, `PTRACE_INTERRUPT`), its registers and the top
//! of its stack are read, a [`ThreadVisitor`] reads what it knows about, and the thread goes on. Between
//! samples nothing is attached. A thread that sleeps by then is not stopped, since that would
//! interrupt its system call: its memory stands still as it is.
//!
//! Every sample stands for the CPU time since the last one of its thread, so that leaving some
//! out keeps the sums: no more than [`MOST_STOPPED`] of the time is spent with a thread stopped.

mod sample_record;
mod sampler;
mod stopped_thread;
mod x86_64;

pub use sampler::{PtraceSampler, StoppedThread, ThreadVisitor};
pub use stopped_thread::read_memory;

/// The part of the time for which threads may be stopped.
pub const MOST_STOPPED: f64 = 0.03;
