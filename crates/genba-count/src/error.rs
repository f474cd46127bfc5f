//! What goes wrong with counting.

use genba_run::RunError;

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The engine is not installed.
    #[error("{engine} is not installed; {remedy}")]
    Missing {
        /// Which engine.
        engine: String,
        /// What installs it: a command.
        remedy: String,
    },
    /// The engine cannot count this target, or not here.
    #[error("{engine} cannot count {target}: {reason}")]
    Unable {
        /// Which engine.
        engine: String,
        /// The target's program.
        target: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// The engine ran and failed.
    #[error("{engine} failed on {target}: {reason}")]
    Failed {
        /// Which engine.
        engine: String,
        /// The target's program.
        target: String,
        /// What it said.
        reason: String,
    },
    /// There is no engine of this name.
    #[error("there is no engine {name}; there are: {}", crate::engine_names())]
    NoSuchEngine {
        /// As asked for.
        name: String,
    },
    /// The command could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}
