//! Errors of an investigation.

use genba_attribution::AttributionError;
use genba_case::Error as CaseError;
use genba_count::CountError;
use genba_model::{ExitKind, RunRecord};
use genba_profile::ProfileError;
use genba_prove::ProveError;
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
    /// The command failed.
    #[error("{how}; {advice}{output}")]
    TargetFailed {
        /// How it ended.
        how: String,
        /// What to do.
        advice: &'static str,
        /// The end of its standard error.
        output: String,
    },
    /// The page cannot be written.
    #[error("cannot write {path}: {source}")]
    Page {
        /// Path of the page.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Counts cannot be given to functions.
    #[error(transparent)]
    Attribution(#[from] AttributionError),
    /// A proof failed.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// The user interrupted it.
    #[error("interrupted{kept}")]
    Interrupted {
        /// Where measurements are stored.
        kept: String,
    },
}

/// Maximum number of lines of the command's standard error that are shown.
const MAX_ERROR_LINES: usize = 8;

/// What to do with a command whose runs do not end.
const ADVICE_FOR_SERVERS: &str =
    "a command that does not end by itself is recorded with: genba record -- COMMAND, until Ctrl-C";

impl InvestigateError {
    /// Returns the error for an interruption before a run had ended.
    pub(crate) fn nothing_measured() -> Self {
        Self::Interrupted {
            kept: format!(
                " before the first run had ended, so no case is kept; {ADVICE_FOR_SERVERS}"
            ),
        }
    }

    /// Returns the error for a failed run.
    pub(crate) fn of(finished: &Finished) -> Self {
        let text = String::from_utf8_lossy(&finished.stderr.captured);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(MAX_ERROR_LINES);
        let output = if lines.is_empty() {
            String::new()
        } else {
            format!(
                "\n  standard error: {}",
                lines[from..].join("\n                  ")
            )
        };
        Self::TargetFailed {
            how: in_words(&finished.record),
            advice: match finished.record.exit {
                ExitKind::TimedOut => ADVICE_FOR_SERVERS,
                _ => "use --ignore-failure to measure it nevertheless",
            },
            output,
        }
    }
}

/// Returns how a run ended, as a sentence.
#[must_use]
pub fn in_words(record: &RunRecord) -> String {
    match record.exit {
        ExitKind::Code(code) => format!("the command exited with code {code}"),
        ExitKind::Signal { signal, core } => {
            let dump = if core { " and dumped core" } else { "" };
            format!("the command was killed by signal {signal}{dump}")
        }
        ExitKind::TimedOut => "the command timed out".to_owned(),
        ExitKind::Cancelled => "the command was cancelled".to_owned(),
    }
}
