//! Errors of starting and running commands: what happened, to which input, and what to do.

use std::io;
use std::path::PathBuf;

/// Kind of an error, which decides the exit code of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line is invalid: exit code 2.
    Usage,
    /// This machine does not permit something that genba needs: exit code 4.
    Machine,
    /// The run was cancelled before it started.
    Cancelled,
    /// The launcher died or broke the protocol: a defect, or it was killed.
    Internal,
}

/// Why a command could not be run. A target that fails is not an error: see `RunRecord::exit`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program was not found in `PATH`.
    #[error("{program}: not found{searched}; check the spelling, or give the path (./{program})")]
    NotFound {
        /// The program as given.
        program: String,
        /// Where it was searched, as text, or empty.
        searched: String,
    },
    /// The file does not exist.
    #[error("{}: no such file; check the path", path.display())]
    NoSuchFile {
        /// The program's path.
        path: PathBuf,
    },
    /// The file is not executable.
    #[error("{}: not executable; run `chmod +x` on it, or check that its file system is not mounted \
             noexec", path.display())]
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
    /// The interpreter of the file does not exist or is not executable.
    #[error("{}: its interpreter {interpreter} is missing or not executable; install it, or correct \
             the first line of the script", path.display())]
    BadInterpreter {
        /// The program's path.
        path: PathBuf,
        /// The interpreter as the file names it.
        interpreter: String,
    },
    /// The kernel does not know the executable format.
    #[error("{}: not an executable of this machine; if it is a script, add a #! line or run it \
             through a shell", path.display())]
    BadFormat {
        /// The program's path.
        path: PathBuf,
    },
    /// Arguments and environment are too long.
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
    /// The command has no program.
    #[error("the command is empty")]
    EmptyCommand,
    /// The command line cannot be split into words.
    #[error(
        "cannot split the command line into words: {line}; close the quote, or remove the \
             backslash at the end"
    )]
    Quoting {
        /// The line.
        line: String,
    },
    /// A string for the kernel contains a zero byte.
    #[error("{what} contains a zero byte, which cannot be passed to a program")]
    ZeroByte {
        /// The argument or variable.
        what: String,
    },
    /// The name of an environment variable is empty or contains `=`.
    #[error("invalid name of an environment variable: {name:?}")]
    VariableName {
        /// The name.
        name: String,
    },
    /// The path of a library cannot be written in LD_PRELOAD.
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
        /// The system error.
        source: io::Error,
    },
    /// A file for a stream cannot be opened.
    #[error("cannot open {} for {stream}: {source}", path.display())]
    Stream {
        /// `stdin`, `stdout`, `stderr`.
        stream: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The CPUs do not exist or are not permitted.
    #[error(
        "cannot run on CPUs {cpus:?}: {source}; `nproc --all` and `taskset -p $$` show \
             which there are"
    )]
    Affinity {
        /// The requested CPUs.
        cpus: Vec<usize>,
        /// The system error.
        source: io::Error,
    },
    /// The number for the extra descriptor is in use or invalid.
    #[error("cannot pass a descriptor as number {number}: {why}")]
    Descriptor {
        /// The number.
        number: i32,
        /// The system error.
        why: String,
    },
    /// A system call on the way to the target failed.
    #[error("cannot start {program}: {step}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The step.
        step: &'static str,
        /// The system error.
        source: io::Error,
    },
    /// The process was killed before it became the target.
    #[error("{program} was killed before it started")]
    KilledBeforeStart {
        /// The program.
        program: String,
    },
    /// The run was cancelled before it started.
    #[error("cancelled")]
    Cancelled,
    /// The launcher cannot be started.
    #[error(
        "cannot start genba's launcher: {detail}; it needs an executable memfd \
             (vm.memfd_noexec < 2) or a directory that is not mounted noexec (set \
             XDG_RUNTIME_DIR or TMPDIR to one)"
    )]
    Launcher {
        /// What was tried, and the errors.
        detail: String,
    },
    /// The launcher died.
    #[error(
        "genba's launcher died unexpectedly (killed, or out of memory), and the target with it; \
             repeat the run"
    )]
    LauncherDied,
    /// The launcher broke the protocol.
    #[error("genba's launcher broke the protocol: this is a defect of genba")]
    Protocol,
    /// A system call of genba itself failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What it was for.
        what: &'static str,
        /// The system error.
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

    /// The kind of the error.
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
}
