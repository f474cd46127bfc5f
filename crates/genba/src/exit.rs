//! Exit codes, and what a failed verb says.

use std::fmt;
use std::process::ExitCode;

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The command line or an input file cannot be used.
    Usage = 2,
    /// The target could not be started, or failed.
    TargetFailed = 3,
    /// This machine cannot do that.
    Unsupported = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a verb could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub exit: Exit,
    /// What happened, to which input, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with this code.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// For `map_err`: an input that cannot be used.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }
}

/// What every verb returns.
pub type VerbResult = Result<Exit, Failure>;
