//! Why an experiment cannot be made.

use genba_run::RunError;

/// Why an experiment cannot be made. A variant that fails is no error as long as another one is
/// left: see `Variant::excluded`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The plan contradicts itself.
    #[error("{what}")]
    Plan {
        /// What is wrong, and what to do.
        what: String,
    },
    /// The definition of a metric cannot be understood.
    #[error("metric {name:?}: {what}")]
    Metric {
        /// Its name, or the definition where there is none.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// Every variant failed.
    #[error("no variant can be measured\n{}", reasons.join("\n"))]
    NothingLeft {
        /// Why, a line for each variant.
        reasons: Vec<String>,
        /// Whether all of them could not even be started for want of a program or file.
        usage: bool,
    },
    /// The launcher itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What was measured cannot be kept.
    #[error("cannot keep what was measured: {what}")]
    Keep {
        /// Why.
        what: String,
    },
    /// Stopped before a single run had ended.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// Results of another machine.
    #[error(
        "case {case} was measured on another host, and results of different hosts are not \
         compared: {there} there, {here} here; measure both here, interleaved"
    )]
    OtherHost {
        /// The case.
        case: String,
        /// Its host.
        there: String,
        /// This host.
        here: String,
    },
}
