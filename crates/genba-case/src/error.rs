//! What can go wrong, in words that say what to do.

use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the case store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "create", "read".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// SQLite refused, for a reason other than a damaged or foreign file.
    #[error("case file {}: {source}", path.display())]
    Sqlite {
        /// The case file.
        path: PathBuf,
        /// SQLite's own words.
        source: rusqlite::Error,
    },
    /// Not a case at all.
    #[error("{} is not a case file of genba ({why})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that is known.
        why: String,
    },
    /// Damaged.
    #[error("case file {} is damaged: {what}\n  its other files, such as perf.data, can still be read on their own", path.display())]
    Corrupt {
        /// The case file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Written by a later version.
    #[error("case file {} has format {found}, this genba knows up to {known}\n  open it with the genba that wrote it, or a later one", path.display())]
    Newer {
        /// The case file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The last format known here.
        known: i64,
    },
    /// No such case.
    #[error("no case {wanted:?} under {}\n  genba case list shows those that there are", root.display())]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Where.
        root: PathBuf,
    },
    /// A prefix that several cases share.
    #[error("{wanted:?} is the start of several cases: {}\n  give more digits", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The cases (the first few).
        matches: Vec<String>,
    },
    /// Something to be stored or exported does not make JSON.
    #[error("cannot turn {what} into JSON: {source}")]
    Json {
        /// What.
        what: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// Something too large to be kept.
    #[error("{what} is too large for a case: {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// What.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A file to import that is no exported case.
    #[error("cannot import: {why}\n  genba case export --format json CASE writes such a file")]
    Import {
        /// Why not.
        why: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Tells damage and foreign files from other refusals of SQLite.
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| {
            use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
            match source.sqlite_error_code() {
                Some(NotADatabase) => Self::Foreign {
                    path: path.to_owned(),
                    why: "it is no SQLite file".to_owned(),
                },
                Some(DatabaseCorrupt) => Self::Corrupt {
                    path: path.to_owned(),
                    what: source.to_string(),
                },
                _ if is_shape(&source) => Self::Corrupt {
                    path: path.to_owned(),
                    what: source.to_string(),
                },
                _ => Self::Sqlite {
                    path: path.to_owned(),
                    source,
                },
            }
        }
    }
}

/// Errors that mean that a table or value is not what this crate wrote.
fn is_shape(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..)
        | E::QueryReturnedNoRows => true,
        E::SqlInputError { .. } => true,
        // "no such table", "no such column": the plain error code of SQLite.
        E::SqliteFailure(code, _) => code.extended_code == 1,
        _ => false,
    }
}
