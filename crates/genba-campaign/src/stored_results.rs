//! Results of builds and blocks as they are stored.

use std::path::PathBuf;

use genba_experiment::run_journal::JournalEntry;
use genba_model::HostFingerprint;
use serde::{Deserialize, Serialize};

/// Result of a build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuildResult {
    /// Key of the build.
    pub key: String,
    /// Its tree.
    pub tree: PathBuf,
    /// Node that made it.
    pub node: String,
    /// Time that it took, seconds.
    pub seconds: f64,
    /// Why it failed; `None` if it succeeded.
    pub failure: Option<String>,
}

/// Result of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockResult {
    /// Key of the block.
    pub key: String,
    /// Node that measured it.
    pub node: String,
    /// Fingerprint of that node.
    pub fingerprint: HostFingerprint,
    /// Start, RFC 3339.
    pub started: String,
    /// Time that it took, seconds.
    pub seconds: f64,
    /// Version of genba.
    pub genba: String,
    /// The runs in the order in which they were made.
    pub runs: Vec<JournalEntry>,
    /// Variants without runs, with the reason.
    pub excluded: Vec<(String, String)>,
    /// Why no variant could be run; `None` if one could.
    pub failure: Option<String>,
    /// Notes on the runs, a sentence each.
    pub notes: Vec<String>,
}
