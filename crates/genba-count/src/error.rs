//! Errors of counting.

use genba_run::RunError;

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
    /// No engine has this name.
    #[error("unknown engine \"{name}\"; engines: {}", crate::engine_names())]
    NoSuchEngine {
        /// The name that was requested.
        name: String,
    },
    /// The command could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}
