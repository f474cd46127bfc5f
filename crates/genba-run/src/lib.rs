//! Start a command, account for it, and end its whole process tree.
//!
//! **Scope.** A [`Launcher`] runs one [`CommandSpec`] after another and hands back a
//! [`Finished`] for each: wall time, CPU time of the target apart from that of processes beside
//! it, peak memory, page faults, context switches, what it wrote. [`Launcher::run`] is the plain
//! road; [`Launcher::start`] gives a [`Running`] to watch; [`Launcher::prepare`] gives a
//! [`Gated`] process that waits just before `execve`, so that a profiler can attach first.
//!
//! **How.** Targets are children of a tiny static program (`launcher/`, embedded, started from
//! a sealed memfd), never of genba itself, because on `execve` the kernel carries the peak
//! memory of the starting process over into the target's account. The launcher is a subreaper:
//! whoever descends from the target stays below it and is ended with it — after a time-out, a
//! [`Cancel`], or the death of genba, even by SIGKILL.
//!
//! **What must hold.** Memory and descriptors in use do not grow with the number of runs nor
//! with the bytes that targets write. Nothing that a target does hangs a run: processes that
//! keep its pipes open are ended, and reading is bounded.
//!
//! **Not here.** Statistics, schedules, profiling.

mod account;
mod cancel;
mod channel;
mod embed;
mod encode;
mod error;
mod executor;
mod explain;
mod launcher;
mod output;
#[cfg(test)]
#[path = "../launcher/procstat.rs"]
mod procstat;
#[cfg(test)]
mod procstat_tests;
#[path = "../launcher/protocol.rs"]
#[expect(dead_code)]
mod protocol;
mod resolve;
mod session;
mod shell;
mod spec;
mod streams;

pub use account::Finished;
pub use cancel::Cancel;
pub use error::{ErrorKind, RunError};
pub use executor::{Executor, MockExecutor};
pub use launcher::Launcher;
pub use output::OutputInfo;
pub use resolve::resolve_program;
pub use session::{Gated, Running};
pub use shell::{Shell, split_words};
pub use spec::{CommandSpec, DEFAULT_GRACE, Environment, Output, PassFd, Stdin};
