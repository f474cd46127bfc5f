//! Errors of counting.

use genba_run::RunError;

use crate::CountRequest;

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The engine is not installed.
    #[error("{engine} is not installed; {remedy}")]
    Missing {
        /// Name of the engine.
        engine: String,
        /// The command that installs it.
        remedy: String,
    },
    /// The engine cannot count this target, or not here.
    #[error("{engine} cannot count {target}: {reason}")]
    Unable {
        /// Name of the engine.
        engine: String,
        /// The target's program.
        target: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The engine ran and failed.
    #[error("{engine} failed on {target}: {reason}")]
    Failed {
        /// Name of the engine.
        engine: String,
        /// The target's program.
        target: String,
        /// The engine's message.
        reason: String,
    },
    /// No engine could count the target.
    #[error("no engine could count {target}:\n{}", reasons.join("\n"))]
    Exhausted {
        /// The target's program.
        target: String,
        /// The reason of each engine, in the order in which they were tried.
        reasons: Vec<String>,
    },
    /// No engine has this name.
    #[error(
        "unknown engine \"{name}\"; engines: {}",
        crate::engine_selection::engine_names()
    )]
    NoSuchEngine {
        /// The name that was requested.
        name: String,
    },
    /// The command could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl CountError {
    /// The engine cannot count the target of a request.
    pub(crate) fn unable(engine: &str, request: &CountRequest, reason: impl Into<String>) -> Self {
        Self::Unable {
            engine: engine.to_owned(),
            target: program(request),
            reason: reason.into(),
        }
    }

    /// The engine failed on the target of a request.
    pub(crate) fn failed(engine: &str, request: &CountRequest, reason: impl Into<String>) -> Self {
        Self::Failed {
            engine: engine.to_owned(),
            target: program(request),
            reason: reason.into(),
        }
    }
}

impl CountError {
    /// The error of all engines, those that were passed over before the others; that of the only one
    /// is returned as it is.
    pub(crate) fn of_all(
        request: &CountRequest,
        passed_over: &[String],
        mut errors: Vec<Self>,
    ) -> Option<Self> {
        if passed_over.is_empty() && errors.len() < 2 {
            return errors.pop();
        }
        let errors = errors.iter().map(ToString::to_string);
        let reasons = passed_over.iter().cloned().chain(errors);
        Some(Self::Exhausted {
            target: program(request),
            reasons: reasons.map(|reason| format!("  {reason}")).collect(),
        })
    }
}

/// The program of a request's command, for messages.
fn program(request: &CountRequest) -> String {
    let program = request.spec.argv.first();
    program.map_or(String::new(), |program| {
        program.to_string_lossy().into_owned()
    })
}
