//! Errors of experiments.

use genba_run::RunError;

/// Why an experiment failed. A failing variant is not an error as long as others are left: see
/// `Variant::excluded`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The plan or an argument is invalid.
    #[error("{what}")]
    Plan {
        /// What is wrong, and what to do.
        what: String,
    },
    /// The command fails where the experiment cannot do without it, such as at an end of a search.
    #[error("{what}")]
    TargetFailed {
        /// What must run, and why it does not.
        what: String,
    },
    /// The definition or the values of a metric are invalid.
    #[error("metric {name:?}: {what}")]
    Metric {
        /// Its name, or the definition if it has none.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// Every variant failed.
    #[error("no variant can be measured\n{}", reasons.join("\n"))]
    NothingLeft {
        /// Why, a line for each variant.
        reasons: Vec<String>,
        /// Whether none of them could be started because a program or file is missing.
        usage: bool,
    },
    /// The launcher itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A measured run cannot be stored.
    #[error("cannot store a measured run: {what}")]
    Keep {
        /// Why it cannot be stored.
        what: String,
    },
    /// Interrupted before the first run had ended.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The case is from another host.
    #[error(
        "case {case} was measured on another host ({there}; this one is {here}), and results of \
         different hosts are not comparable; measure both variants here, interleaved"
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
