//! Errors of the history store.

use crate::postgres_engine::PASSWORD_VARIABLE;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the history store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The location names no known kind of store.
    #[error("invalid history {0:?}; write sqlite:FILE or postgres://USER@HOST/DATABASE")]
    Location(String),
    /// There is no store at this location.
    #[error("no history at {0}; make one with: genba history record -- COMMAND")]
    Missing(String),
    /// A directory for the SQLite file cannot be made.
    #[error("cannot create {path}: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// The system error.
        source: std::io::Error,
    },
    /// An SQLite operation failed.
    #[error("history {file}: {source}")]
    Sqlite {
        /// Path of the database.
        file: String,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A PostgreSQL operation failed.
    #[error("history {server}: {}", postgres_text(source))]
    Postgres {
        /// The server, without password.
        server: String,
        /// The error of the client.
        source: postgres::Error,
    },
    /// The store was written by a later version.
    #[error(
        "history {store} has schema {found}, this genba knows up to {known}; use the genba version that wrote it, or a later one"
    )]
    Newer {
        /// The store.
        store: String,
        /// Its schema version.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// Content of the store is not as this crate writes it.
    #[error("history {store} is damaged: {what}")]
    Corrupt {
        /// The store.
        store: String,
        /// What is wrong.
        what: String,
    },
    /// A recording cannot be stored.
    #[error("cannot record: {0}")]
    Recording(String),
}

/// The server's message with its detail; the client's own text is "db error".
fn postgres_text(error: &postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        return format!("{}: {}", server.severity(), server.message());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    if text.contains("password missing") {
        text.push_str(&format!("; set {PASSWORD_VARIABLE}"));
    }
    text
}
