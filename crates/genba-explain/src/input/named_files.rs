//! Files that the C library's calls name: tallied in a run of its own.

use serde::{Deserialize, Serialize};

/// Calls of one run that name a file, except of those that the kernel makes up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedFiles {
    /// Openings to read (`open`, `fopen`).
    pub opened: FileCalls,
    /// Questions about a file (`stat`, `access`).
    pub asked: FileCalls,
}

/// Calls of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileCalls {
    /// Number of calls.
    pub calls: u64,
    /// Different files; one that was changed in between counts as another. At least: those that were not told apart count
    /// as different.
    pub different: u64,
    /// The file that most calls name, of those that come again first.
    pub most: Option<MostNamed>,
}

/// A file that many calls name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MostNamed {
    /// Its name, as the calls have it; may be cut short.
    pub name: String,
    /// Calls.
    pub calls: u64,
}
