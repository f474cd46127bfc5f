//! Errors of resolving, annotating and joining.

use genba_profile::ReadError;

/// Why a recording cannot be resolved or annotated.
#[derive(Debug, thiserror::Error)]
pub enum AttributionError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The recording has no samples.
    #[error(
        "{recording} has no samples: the command ended before the first one was due; record a longer run, or raise the rate with -F"
    )]
    NoSamples {
        /// Name of the recording.
        recording: String,
    },
    /// No sample of the recording says which data was accessed.
    #[error(
        "the samples of {recording} do not say where data was; record with: genba record --data, perf mem record"
    )]
    NoDataAddresses {
        /// Name of the recording.
        recording: String,
    },
    /// No function of this name was sampled.
    #[error("no samples in a function named `{name}`{hint}")]
    NoSuchFunction {
        /// The requested name.
        name: String,
        /// Similar names, or the command that lists them.
        hint: String,
    },
    /// No sample is at this source line.
    #[error("no samples at {place}{hint}")]
    NoSamplesAtLine {
        /// The requested file and line.
        place: String,
        /// The nearest lines, or the command that lists them.
        hint: String,
    },
    /// The function whose calls are the unit was not called.
    #[error("no function named `{name}` was called{hint}")]
    NotCalled {
        /// The requested name.
        name: String,
        /// Similar names, or the command that lists them.
        hint: String,
    },
    /// The code of a function cannot be shown.
    #[error("cannot show the code of `{function}` in {module}: {reason}")]
    NoCode {
        /// The function.
        function: String,
        /// Its module.
        module: String,
        /// Why not.
        reason: String,
    },
}
