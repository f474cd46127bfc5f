//! The state of a source tree that was measured.

use serde::{Deserialize, Serialize};

/// A commit, and the state of the tree around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Full hash of the commit.
    pub commit: String,
    /// Full hash of its first parent; `None` for a root or where it is unknown.
    pub parent: Option<String>,
    /// Number of first-parent ancestors: the order of commits on a branch. `None` where it is
    /// unknown, as in a shallow clone.
    pub position: Option<i64>,
    /// Committer time, seconds since the epoch.
    pub committed: i64,
    /// First line of the message.
    pub subject: String,
    /// Branch that was measured; empty for a detached head.
    pub branch: String,
    /// Whether the tree had changes that are not committed.
    pub dirty: bool,
}
