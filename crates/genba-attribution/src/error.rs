//! What can go wrong.

use genba_profile::ReadError;

/// Why a recording could not be explained.
#[derive(Debug, thiserror::Error)]
pub enum AttributionError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no samples.
    #[error(
        "{recording} has no samples: the command ended before the first one was due; record a longer run, or raise the rate with -F"
    )]
    NoSamples {
        /// Name of the recording.
        recording: String,
    },
    /// No function of this name was sampled.
    #[error("no samples in a function named `{name}`{hint}")]
    NoSuchFunction {
        /// As asked for.
        name: String,
        /// What to do instead.
        hint: String,
    },
    /// The function whose calls are the unit was not called.
    #[error("no function named `{name}` was called{hint}")]
    NotCalled {
        /// As asked for.
        name: String,
        /// What to do instead.
        hint: String,
    },
    /// The code of a function cannot be shown.
    #[error("cannot show the code of `{function}` in {module}: {reason}")]
    NoCode {
        /// The function.
        function: String,
        /// Its module.
        module: String,
        /// Why.
        reason: String,
    },
}
