//! Exit codes, and the error message of a failed verb.

use std::fmt;
use std::process::ExitCode;

use genba_attribution::AttributionError;
use genba_campaign::CampaignError;
use genba_case::Error as CaseError;
use genba_count::CountError;
use genba_experiment::ExperimentError;
use genba_investigate::InvestigateError;
use genba_profile::ProfileError;
use genba_run::{ErrorKind, RunError};
use genba_suite::SuiteError;

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// `genba gate` refused: a variant is slower than the threshold allows.
    Refused = 1,
    /// The command line or an input file is invalid.
    Usage = 2,
    /// The target could not be started, or failed.
    TargetFailed = 3,
    /// This machine does not support it: no permission, no counter, no tool.
    Unsupported = 4,
    /// Ended by Ctrl-C or SIGTERM: 128 + SIGINT, as shells report it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a verb could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// The exit code of the process.
    pub exit: Exit,
    /// What happened, to which input, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with this exit code and message.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            message: message.to_string(),
        }
    }

    /// A usage error; for `map_err`.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match error.kind() {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Cancelled => Exit::Interrupted,
            ErrorKind::Machine | ErrorKind::Internal => Exit::Unsupported,
        };
        Self::new(exit, error)
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Run(error) => error.into(),
            error => Self::new(Exit::Unsupported, error),
        }
    }
}

impl From<CountError> for Failure {
    fn from(error: CountError) -> Self {
        match error {
            CountError::Run(error) => error.into(),
            error => Self::new(Exit::Unsupported, error),
        }
    }
}

impl From<CaseError> for Failure {
    fn from(error: CaseError) -> Self {
        Self::usage(error)
    }
}

impl From<genba_history::Error> for Failure {
    fn from(error: genba_history::Error) -> Self {
        Self::usage(error)
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Run(error) => error.into(),
            CampaignError::Experiment(error) => error.into(),
            error => {
                let exit = match error.is_of_this_machine() {
                    true => Exit::Unsupported,
                    false => Exit::Usage,
                };
                Self::new(exit, error)
            }
        }
    }
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        let exit = match error {
            SuiteError::Run(error) => return error.into(),
            SuiteError::Experiment(error) => return error.into(),
            SuiteError::Build { .. } => Exit::TargetFailed,
            SuiteError::Temporary { .. } => Exit::Unsupported,
            _ => Exit::Usage,
        };
        Self::new(exit, error)
    }
}

impl From<AttributionError> for Failure {
    fn from(error: AttributionError) -> Self {
        let exit = match error {
            AttributionError::Read(_)
            | AttributionError::NoSuchFunction { .. }
            | AttributionError::NoSamplesAtLine { .. }
            | AttributionError::NoDataAddresses { .. }
            | AttributionError::NotCalled { .. } => Exit::Usage,
            AttributionError::NoSamples { .. } => Exit::TargetFailed,
            AttributionError::NoCode { .. } => Exit::Unsupported,
        };
        Self::new(exit, error)
    }
}

impl From<InvestigateError> for Failure {
    fn from(error: InvestigateError) -> Self {
        let exit = match error {
            InvestigateError::Run(error) => return error.into(),
            InvestigateError::Profile(error) => return error.into(),
            InvestigateError::Count(error) => return error.into(),
            InvestigateError::Attribution(error) => return error.into(),
            InvestigateError::TargetFailed { .. } => Exit::TargetFailed,
            InvestigateError::Interrupted { .. } => Exit::Interrupted,
            InvestigateError::Prove(_) => Exit::Unsupported,
            InvestigateError::Case(_) | InvestigateError::Page { .. } => Exit::Usage,
        };
        Self::new(exit, error)
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let exit = match error {
            ExperimentError::Run(error) => return error.into(),
            ExperimentError::TargetFailed { .. }
            | ExperimentError::NothingLeft { usage: false, .. } => Exit::TargetFailed,
            ExperimentError::Interrupted => Exit::Interrupted,
            _ => Exit::Usage,
        };
        Self::new(exit, error)
    }
}

/// The plan of a variant that the command line could not make, inside an experiment.
impl From<Failure> for ExperimentError {
    fn from(failure: Failure) -> Self {
        Self::Plan {
            what: failure.message,
        }
    }
}

/// The result of every verb.
pub type VerbResult = Result<Exit, Failure>;
