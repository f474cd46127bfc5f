//! Starts commands, accounts for each run, and ends its whole process tree.
//!
//! **Scope.** A [`Launcher`] runs one [`CommandSpec`] after another and hands back a
//! [`Finished`] for each: wall time, CPU time of the target and of its children, peak memory, page
//! faults, context switches, output. [`Launcher::run`] runs to the end; [`Launcher::start`] returns
//! a [`Running`] target; [`Launcher::prepare`] returns a [`Gated`] process that waits just before
//! `execve`, so that a profiler can attach first.
//!
//! **How.** Targets are children of a tiny static program (`launcher/`, embedded, started from
//! a sealed memfd), never of genba itself, because on `execve` the kernel carries the peak
//! memory of the starting process over into the target's account. The launcher is a subreaper: all
//! descendants of the target stay below it and are ended with it, after a time-out, a [`Cancel`],
//! or the death of genba, even by SIGKILL.
//!
//! **Invariants.** Memory and descriptors do not grow with the number of runs or the bytes that
//! targets write. No target can hang a run: processes that keep its pipes open are ended, and
//! reading is bounded.
//!
//! **Not here.** Statistics, schedules, profiling.

mod abandoned_directories;
mod byte_text;
mod cancel;
mod command_spec;
mod embedded_launcher;
mod error;
mod executor;
mod hard_end;
mod launcher;
mod launcher_channel;
mod output;
mod private_directory;
#[cfg(test)]
#[path = "../launcher/procstat.rs"]
mod procstat;
#[cfg(test)]
mod procstat_tests;
#[path = "../launcher/protocol.rs"]
#[expect(dead_code)]
mod protocol;
mod resolve_program;
mod run_account;
mod run_in_progress;
mod shell;
mod start_error;
mod start_request;
mod target_streams;
mod valgrind_files;

pub use abandoned_directories::{lock_directory, remove_abandoned};
pub use byte_text::{byte_of, bytes_of, text_of};
pub use cancel::{Cancel, Protected};
pub use command_spec::{CommandSpec, Environment, Output, PassFd, Stdin};
pub use error::{ErrorKind, RunError};
pub use executor::{Executor, MockExecutor};
pub use hard_end::exit_at_once;
pub use launcher::Launcher;
pub use output::OutputInfo;
pub use private_directory::PrivateDirectory;
pub use resolve_program::resolve_program;
pub use run_account::Finished;
pub use run_in_progress::{Gated, Running};
pub use shell::{
    Shell, is_shell_line, join_words, line_as_given, quote_bytes, quote_word, split_words,
    words_of_line,
};
pub use valgrind_files::remove_files_of_ended_valgrinds;
