//! Errors of the case store.

use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the case store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation: "create", "read".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// An SQLite operation failed, other than by a damaged or foreign file.
    #[error("case file {}: {source}", path.display())]
    Sqlite {
        /// The case file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The file is not a case.
    #[error("{} is not a case file of genba ({why})", path.display())]
    Foreign {
        /// Its path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The case file is damaged.
    #[error("case file {} is damaged: {what}; its other files, such as perf.data, can be read on their own", path.display())]
    Corrupt {
        /// The case file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The case was written by a later version.
    #[error("case file {} has format {found}, this genba knows up to {known}; open it with the genba version that wrote it, or a later one", path.display())]
    Newer {
        /// The case file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The latest format known here.
        known: i64,
    },
    /// No case matches.
    #[error("no case {wanted:?} under {}; list them with: genba case list", root.display())]
    NotFound {
        /// The requested id.
        wanted: String,
        /// The store.
        root: PathBuf,
    },
    /// Several cases match.
    #[error("{wanted:?} matches several cases: {}; give more digits", matches.join(", "))]
    Ambiguous {
        /// The requested id.
        wanted: String,
        /// The cases (the first few).
        matches: Vec<String>,
    },
    /// The case is of another kind than what is asked of it needs.
    #[error(
        "case {case} is of another kind ({kind}, not {wanted}); list the cases with: genba case list"
    )]
    OtherKind {
        /// Id of the case.
        case: String,
        /// Its kind.
        kind: &'static str,
        /// The kinds that would do.
        wanted: String,
    },
    /// There is no case of the kind.
    #[error("no case of this kind ({wanted}) under {}; list the cases with: genba case list", root.display())]
    NoneOfKind {
        /// The kinds that would do.
        wanted: String,
        /// The store.
        root: PathBuf,
    },
    /// A case has no finding of this number.
    #[error("{}", no_finding(case, *many, *number))]
    NoFinding {
        /// Id of the case.
        case: String,
        /// Number of its findings.
        many: usize,
        /// The number that was asked for.
        number: u32,
    },
    /// A document cannot be converted to JSON.
    #[error("cannot convert {what} to JSON: {source}")]
    Json {
        /// Name of the document.
        what: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A document is too large.
    #[error("{what} is too large for a case: {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Name of the document.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file to import is not an exported case.
    #[error("cannot import: {why}; export a case with: genba case export --format json CASE")]
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

    /// Separates damaged and foreign files from other errors of SQLite.
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| {
            use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
            match source.sqlite_error_code() {
                Some(NotADatabase) => Self::Foreign {
                    path: path.to_owned(),
                    why: "not an SQLite file".to_owned(),
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

fn no_finding(case: &str, many: usize, number: u32) -> String {
    match many {
        0 => format!("case {case} has no findings; it says why: genba explain -i {case}"),
        1 => format!(
            "case {case} has one finding, no number {number}; show it with: genba explain -i {case}"
        ),
        _ => format!(
            "case {case} has findings 1 to {many}, no number {number}; list them with: genba explain -i {case}"
        ),
    }
}

/// Whether an error means that a table or value is not as this crate writes it.
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
