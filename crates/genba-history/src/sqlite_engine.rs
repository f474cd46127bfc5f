//! History in an SQLite file.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::engine::{Engine, Row, Value};
use crate::{Error, Result};

/// "gnbh": identifies history files in SQLite's header.
const APPLICATION_ID: i64 = 0x676e_6268;

/// How long a writer waits for others: fifty of them take turns of milliseconds each.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct SqliteEngine {
    connection: Connection,
    file: String,
}

impl SqliteEngine {
    /// Opens the file, and creates it if `create` is set.
    pub(crate) fn open(path: &Path, create: bool) -> Result<Self> {
        let file = path.display().to_string();
        if !create && !path.exists() {
            return Err(Error::Missing(file));
        }
        if let Some(directory) = path.parent().filter(|_| create) {
            std::fs::create_dir_all(directory).map_err(|source| Error::Directory {
                path: directory.display().to_string(),
                source,
            })?;
        }
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let fail = |source| Error::Sqlite {
            file: file.clone(),
            source,
        };
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        configure(&connection).map_err(fail)?;
        let engine = Self { connection, file };
        engine.check()?;
        Ok(engine)
    }

    fn fail(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let file = self.file.clone();
        move |source| Error::Sqlite {
            file: file.clone(),
            source,
        }
    }

    /// Refuses files of other programs, and schema objects that could run code on a SELECT.
    fn check(&self) -> Result<()> {
        let number = |sql: &str| {
            (self.connection)
                .query_row(sql, [], |row| row.get::<_, i64>(0))
                .map_err(self.fail())
        };
        let foreign = |what: &str| {
            Err(Error::Corrupt {
                store: self.file.clone(),
                what: what.to_owned(),
            })
        };
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        let application = number("PRAGMA application_id")?;
        if application != APPLICATION_ID && (application != 0 || tables != 0) {
            return foreign("it is an SQLite file of another program");
        }
        let strange = number(
            "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') \
             OR sql LIKE 'CREATE VIRTUAL%'",
        )?;
        if strange != 0 {
            return foreign(
                "it has views, triggers or virtual tables, which histories do not have",
            );
        }
        Ok(())
    }
}

/// Defensive mode (<https://www.sqlite.org/security.html>) and a write-ahead log: commits survive
/// the death of the process.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.execute_batch("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;")?;
    // The change to WAL does not wait for other connections by itself.
    let start = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())) {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => break result?,
        }
    }
    connection.execute_batch("PRAGMA synchronous=NORMAL")
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

impl Engine for SqliteEngine {
    fn begin(&mut self) -> Result<()> {
        self.batch("BEGIN IMMEDIATE")
    }

    fn commit(&mut self) -> Result<()> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            // An error here means that SQLite has rolled back by itself.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(self.fail())
    }

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>> {
        let fail = self.fail();
        let mut statement = self.connection.prepare_cached(sql).map_err(&fail)?;
        let columns = statement.column_count();
        let mut rows = statement
            .query(params_from_iter(parameters.iter().map(to_sqlite)))
            .map_err(&fail)?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next().map_err(&fail)? {
            let row = (0..columns)
                .map(|column| row.get_ref(column).map(from_sqlite))
                .collect::<rusqlite::Result<_>>()
                .map_err(&fail)?;
            answer.push(Row(row));
        }
        Ok(answer)
    }

    fn column_types(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("@id", "INTEGER PRIMARY KEY"),
            ("@integer", "INTEGER"),
            ("@bytes", "BLOB"),
        ]
    }

    fn lock_migration(&mut self) -> Result<()> {
        // BEGIN IMMEDIATE holds the one lock there is.
        self.batch(&format!("PRAGMA application_id={APPLICATION_ID}"))
    }

    fn is_conflict(&self, error: &Error) -> bool {
        matches!(error, Error::Sqlite { source, .. } if is_busy(source))
    }
}

fn to_sqlite(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Sql;
    match value {
        Value::Null => Sql::Null,
        Value::Integer(value) => Sql::Integer(*value),
        Value::Text(value) => Sql::Text(value.clone()),
        Value::Bytes(value) => Sql::Blob(value.clone()),
    }
}

fn from_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_owned()),
        // No column is a floating-point number.
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
    }
}
