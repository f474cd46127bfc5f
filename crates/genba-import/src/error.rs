//! Errors of imports.

use crate::ImportFormat;

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// The file is larger than any that is read.
    #[error("more than {0} MB, also where it is packed")]
    TooLarge(u64),
    /// It is none of the known formats.
    #[error(
        "neither a recording (perf.data) nor a profile in a known format: collapsed stacks, pprof, callgrind, Firefox Profiler"
    )]
    Unknown,
    /// It has no samples.
    #[error("a profile ({}) without samples", .0.name())]
    Empty(ImportFormat),
    /// It is not as its program writes it.
    #[error("a damaged profile ({}): {what}", format.name())]
    Damaged {
        /// The format that its begin has.
        format: ImportFormat,
        /// What is wrong.
        what: String,
    },
    /// It has no weight of that name.
    #[error("no event named `{name}`; it has {}", known.join(", "))]
    NoSuchEvent {
        /// The requested name.
        name: String,
        /// Those that the file has.
        known: Vec<String>,
    },
}

impl ImportError {
    pub(crate) fn damaged(format: ImportFormat, what: impl Into<String>) -> Self {
        Self::Damaged {
            format,
            what: what.into(),
        }
    }
}
