//! Sampling threads by stopping them with ptrace, so that their memory can be read.
//!
//! A stack copy of the kernel does not tell which function an interpreter executes: that is in
//! memory that may change the next moment. So a cpu-clock event shows which thread ran; the
//! thread is stopped (`PTRACE_SEIZE`, `PTRACE_INTERRUPT`), its registers and the top of its stack
//! are read, a [`ThreadVisitor`] reads the interpreter's frames, and the thread is resumed. No
//! tracer is attached between samples. A thread that sleeps by then is not stopped, because that
//! would interrupt its system call, and its memory does not change.
//!
//! Each sample is weighted by its thread's CPU time since the last one, so sums stay right where
//! samples are skipped: threads are stopped for at most [`MAX_STOPPED_SHARE`] of the time.

pub(crate) mod sample_record;
mod sampler;
mod stop_throttle;
mod stopped_thread;
mod x86_64;

pub use sampler::{PtraceSampler, StoppedThread, ThreadVisitor};

/// Largest share of the time for which threads may be stopped.
pub const MAX_STOPPED_SHARE: f64 = 0.03;
