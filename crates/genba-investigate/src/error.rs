//! What can go wrong on the road.

use genba_case::Error as CaseError;
use genba_count::CountError;
use genba_model::{ExitKind, RunRecord};
use genba_profile::ProfileError;
use genba_run::{Finished, RunError};

/// Why an investigation ended early.
#[derive(Debug, thiserror::Error)]
pub enum InvestigateError {
    /// The command cannot be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Counting or sampling failed.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// There are no exact counts.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The case cannot be written.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The target failed.
    #[error("{how}; --ignore-failure measures it all the same{said}")]
    TargetFailed {
        /// In words.
        how: String,
        /// The end of what it wrote to standard error, if anything.
        said: String,
    },
    /// The page cannot be written.
    #[error("cannot write {path}: {source}")]
    Page {
        /// Where to.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The person ended it.
    #[error("interrupted{kept}")]
    Interrupted {
        /// Where to find what was measured.
        kept: String,
    },
}

/// Lines of the target's error output that are shown.
const SHOWN_LINES: usize = 8;

impl InvestigateError {
    /// The error of a run that failed.
    pub(crate) fn of(finished: &Finished) -> Self {
        let text = String::from_utf8_lossy(&finished.stderr.captured);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(SHOWN_LINES);
        let said = if lines.is_empty() {
            String::new()
        } else {
            format!("\n  it wrote: {}", lines[from..].join("\n            "))
        };
        Self::TargetFailed {
            how: in_words(&finished.record),
            said,
        }
    }
}

/// How a run ended, in words.
#[must_use]
pub fn in_words(record: &RunRecord) -> String {
    match record.exit {
        ExitKind::Code(code) => format!("the command exited with code {code}"),
        ExitKind::Signal { signal, core } => {
            let dump = if core { " and dumped core" } else { "" };
            format!("signal {signal} ended the command{dump}")
        }
        ExitKind::TimedOut => "the command ran into its time-out".to_owned(),
        ExitKind::Cancelled => "the command was cancelled".to_owned(),
    }
}
