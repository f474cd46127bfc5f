//! The schema of the case store, and opening case files, which may be hostile.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::{Error, MAX_DOCUMENT_BYTES, Result};

/// "gnba": identifies case files in SQLite's header, for `file(1)` and for [`open`].
const APPLICATION_ID: i64 = 0x676e_6261;

/// Version of the schema, in SQLite's `user_version`.
pub(crate) const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (
    seq INTEGER PRIMARY KEY,
    phase TEXT NOT NULL,
    wall_seconds REAL NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE document (kind TEXT PRIMARY KEY, body TEXT NOT NULL);
-- Stacks as a tree: a node is a frame under its caller; parent < id, 0 is the root.
CREATE TABLE frame (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE stack (
    id INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    frame INTEGER NOT NULL,
    weight INTEGER NOT NULL
);
";

/// Only cases of experiments have this table.
pub(crate) const JOURNAL_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, entry TEXT NOT NULL)";

/// Access mode of a case file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Creates a case file with its tables.
pub(crate) fn create(path: &Path) -> Result<Connection> {
    let fail = Error::sqlite(path);
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(&fail)?;
    defend(&connection).map_err(&fail)?;
    journal(&connection).map_err(&fail)?;
    connection
        .execute_batch(&format!(
            "BEGIN; PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION}; \
             {TABLES} COMMIT;"
        ))
        .map_err(&fail)?;
    Ok(connection)
}

/// Opens a case file and checks that this version can read it.
pub(crate) fn open(path: &Path, access: Access) -> Result<Connection> {
    let meta = std::fs::metadata(path).map_err(Error::io("open", path))?;
    if !meta.is_file() {
        return Err(Error::Foreign {
            path: path.to_owned(),
            why: "not a regular file".to_owned(),
        });
    }
    let fail = Error::sqlite(path);
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    } | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(&fail)?;
    if access == Access::Read && pragma(&connection, "schema_version").is_err() {
        // In a read-only directory SQLite cannot create its side files. Without a log nobody is
        // writing, so the file can be opened as immutable.
        if !path.with_extension("sqlite-wal").exists()
            && let Some(still) = open_immutable(path)
        {
            connection = still;
        }
    }
    defend(&connection).map_err(&fail)?;
    check(&connection, path)?;
    if access == Access::Write {
        journal(&connection).map_err(&fail)?;
    }
    Ok(connection)
}

fn open_immutable(path: &Path) -> Option<Connection> {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let absolute = std::path::absolute(path).ok()?;
    let mut uri = String::from("file:");
    for &byte in absolute.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(byte as char);
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags).ok()
}

/// Checks that the file is a case of a known version without unexpected schema objects.
fn check(connection: &Connection, path: &Path) -> Result<()> {
    let fail = Error::sqlite(path);
    let application = pragma(connection, "application_id").map_err(&fail)?;
    let version = pragma(connection, "user_version").map_err(&fail)?;
    if application != APPLICATION_ID {
        return Err(Error::Foreign {
            path: path.to_owned(),
            why: "an SQLite file of another program, or an empty file".to_owned(),
        });
    }
    if version > VERSION {
        return Err(Error::Newer {
            path: path.to_owned(),
            found: version,
            known: VERSION,
        });
    }
    // A view or virtual table in place of a table could run arbitrary SQL on SELECT.
    let strange: i64 = connection
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') \
             OR sql LIKE 'CREATE VIRTUAL%'",
            [],
            |row| row.get(0),
        )
        .map_err(&fail)?;
    if strange != 0 {
        return Err(Error::Foreign {
            path: path.to_owned(),
            why: "it has views, triggers or virtual tables, which cases do not have".to_owned(),
        });
    }
    Ok(())
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Enables a write-ahead log with `synchronous=NORMAL`: commits survive the death of the process;
/// a power failure may lose the last ones, but not the file's consistency
/// (<https://www.sqlite.org/wal.html>).
fn journal(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA synchronous=NORMAL")
}

/// Applies SQLite's advice for untrusted files (<https://www.sqlite.org/security.html>).
fn defend(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_DOCUMENT_BYTES as i32)?;
    connection.execute_batch("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;")
}
