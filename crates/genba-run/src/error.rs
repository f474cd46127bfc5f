//! What can go wrong, to which input, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Whose move it is after an error; the command line makes its exit code of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The person asked for something that cannot be: exit code 2.
    Usage,
    /// This machine refuses something that genba needs: exit code 4.
    Machine,
    /// The run was cancelled before it began.
    Cancelled,
    /// The launcher died or contradicted itself: a defect, or somebody killed it.
    Internal,
}

/// Why a run could not be made. A target that fails is no error: see `RunRecord::exit`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no such program.
    #[error("{program}: not found{searched}; check the spelling, or give the path (./{program})")]
    NotFound {
        /// As given.
        program: String,
        /// Where it was looked for, in words, or empty.
        searched: String,
    },
    /// There is no such file.
    #[error("{}: no such file; check the path", path.display())]
    NoSuchFile {
        /// The program's path.
        path: PathBuf,
    },
    /// The file is there, but may not be executed.
    #[error("{}: permission to execute is missing; `chmod +x` it, or check that its file system \
             is not mounted noexec", path.display())]
    NotExecutable {
        /// The program's path.
        path: PathBuf,
    },
    /// The program is a directory.
    #[error("{}: is a directory, not a program", path.display())]
    IsDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The interpreter that the file names does not exist or may not be executed.
    #[error("{}: cannot be run because its interpreter {interpreter} is missing or not \
             executable; install it, or mend the first line of the script", path.display())]
    BadInterpreter {
        /// The program's path.
        path: PathBuf,
        /// As the file names it.
        interpreter: String,
    },
    /// The kernel does not know the format.
    #[error("{}: not a program of this machine (for a script: add a #! line, or run it through \
             a shell)", path.display())]
    BadFormat {
        /// The program's path.
        path: PathBuf,
    },
    /// Arguments and environment do not fit.
    #[error(
        "{program}: arguments and environment take {bytes} bytes, more than the kernel \
             accepts; pass the data through a file or stdin (limits: `getconf ARG_MAX`, 128 KiB \
             for one argument)"
    )]
    TooLong {
        /// The program.
        program: String,
        /// Size of arguments and environment.
        bytes: usize,
    },
    /// There is no program in the command.
    #[error("the command is empty")]
    EmptyCommand,
    /// A command line cannot be split into words.
    #[error("cannot split into words: {line} (a quote is not closed, or a backslash ends it)")]
    Quoting {
        /// The line.
        line: String,
    },
    /// Something that goes to the kernel as a string has a zero byte in it.
    #[error("{what} contains a zero byte, which no program can be given")]
    ZeroByte {
        /// What.
        what: String,
    },
    /// A variable's name is empty or has `=` in it.
    #[error("{name:?} cannot be the name of an environment variable")]
    VariableName {
        /// The name.
        name: String,
    },
    /// A library cannot be named in LD_PRELOAD.
    #[error("{}: a path with a space or a colon cannot be preloaded; move the library", path.display())]
    Preload {
        /// The library.
        path: PathBuf,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file for a stream cannot be opened.
    #[error("cannot open {} for {stream}: {source}", path.display())]
    Stream {
        /// `stdin`, `stdout`, `stderr`.
        stream: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The CPUs do not exist or are forbidden.
    #[error(
        "cannot run on CPUs {cpus:?}: {source}; `nproc --all` and `taskset -p $$` show \
             which there are"
    )]
    Affinity {
        /// As asked for.
        cpus: Vec<usize>,
        /// Why.
        source: io::Error,
    },
    /// The number for the extra descriptor is taken or impossible.
    #[error("cannot pass a descriptor as number {number}: {why}")]
    Descriptor {
        /// The number.
        number: i32,
        /// Why.
        why: String,
    },
    /// The kernel refused a step on the way to the target.
    #[error("cannot start {program}: {step}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The step.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Somebody killed the process before it became the target.
    #[error("{program} was killed before it started")]
    KilledBeforeStart {
        /// The program.
        program: String,
    },
    /// Cancelled before anything was started.
    #[error("cancelled")]
    Cancelled,
    /// The launcher cannot be started.
    #[error(
        "cannot start genba's launcher: {detail}; it needs an executable memfd \
             (vm.memfd_noexec < 2) or a directory that is not mounted noexec (set \
             XDG_RUNTIME_DIR or TMPDIR to one)"
    )]
    Launcher {
        /// What was tried, and what came of it.
        detail: String,
    },
    /// The launcher has gone.
    #[error(
        "genba's launcher ended unexpectedly (killed by somebody, or out of memory?); what \
             it ran was killed with it, so repeat the run"
    )]
    LauncherDied,
    /// The launcher said something that it never says.
    #[error("genba's launcher gave an answer that makes no sense: this is a defect of genba")]
    Protocol,
    /// A system call of genba's own failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// To do what.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl RunError {
    pub(crate) fn io(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io {
            what,
            source: source.into(),
        }
    }

    /// Whose move it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Launcher { .. } | Self::Io { .. } | Self::Start { .. } => ErrorKind::Machine,
            Self::LauncherDied | Self::Protocol | Self::KilledBeforeStart { .. } => {
                ErrorKind::Internal
            }
            _ => ErrorKind::Usage,
        }
    }

    /// Exit code for the command line: 2 for usage, 4 for what the machine refuses, 130 (as
    /// shells have it for Ctrl-C) when cancelled.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.kind() {
            ErrorKind::Usage => 2,
            ErrorKind::Machine | ErrorKind::Internal => 4,
            ErrorKind::Cancelled => 130,
        }
    }
}
