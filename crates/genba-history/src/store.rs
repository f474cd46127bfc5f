//! The store: opening it and recording.

use genba_model::HostFingerprint;

use crate::engine::{Engine, Value};
use crate::migrations::{MIGRATIONS, migrate, version};
use crate::postgres_engine::PostgresEngine;
use crate::recording_rows::insert;
use crate::sqlite_engine::SqliteEngine;
use crate::{Error, Location, Recording, Result};

/// How often a transaction is repeated that conflicts with another one.
const MAX_CONFLICTS: usize = 20;

/// Whether a recording is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It was stored now.
    New,
    /// Its key was stored before; nothing changed.
    AlreadyThere,
}

/// An open store.
pub struct History {
    pub(crate) engine: Box<dyn Engine>,
    store: String,
}

impl std::fmt::Debug for History {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "History({})", self.store)
    }
}

impl History {
    /// Opens the store for reading and writing; creates it where it is missing and migrates it
    /// where it is old.
    ///
    /// # Errors
    /// The database cannot be reached, is that of another program, or of a later genba.
    pub fn open(location: &Location) -> Result<Self> {
        Self::open_with(location, true)
    }

    /// Opens a store that must exist.
    ///
    /// # Errors
    /// As [`History::open`], and where there is no such store.
    pub fn open_existing(location: &Location) -> Result<Self> {
        Self::open_with(location, false)
    }

    fn open_with(location: &Location, create: bool) -> Result<Self> {
        let store = location.display();
        let mut engine: Box<dyn Engine> = match location {
            Location::Sqlite(path) => Box::new(SqliteEngine::open(path, create)?),
            Location::Postgres(url) => Box::new(PostgresEngine::open(url, store.clone())?),
        };
        // Most openings need no migration, and then no lock.
        if version(engine.as_mut()).ok() != Some(MIGRATIONS.len() as i64) {
            migrate(engine.as_mut(), &store, MIGRATIONS)?;
        }
        Ok(Self { engine, store })
    }

    /// The location as it may be printed.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.store
    }

    /// Stores a recording in one transaction, unless its key is stored already.
    ///
    /// # Errors
    /// The recording exceeds a limit, or the database fails. Then nothing of it is stored.
    pub fn record(&mut self, recording: &Recording) -> Result<Recorded> {
        recording.check()?;
        self.transaction(|engine| insert(engine, recording))
    }

    /// Those of the keys that begin with `prefix` and are stored, in order of storing.
    ///
    /// # Errors
    /// The database fails.
    pub fn keys(&mut self, prefix: &str) -> Result<Vec<String>> {
        let rows = self.engine.query(
            "SELECT key FROM genba_recording WHERE substr(key, 1, length(?1)) = ?1 ORDER BY id",
            &[prefix.into()],
        )?;
        Ok(rows.iter().filter_map(|row| row.text(0)).collect())
    }

    /// The fingerprint of a host.
    ///
    /// # Errors
    /// The database fails, or has no such host.
    pub fn host(&mut self, id: &str) -> Result<HostFingerprint> {
        let sql = "SELECT fingerprint FROM genba_host WHERE id = ?1";
        let rows = self.engine.query(sql, &[Value::from(id)])?;
        let text = rows.first().and_then(|row| row.text(0)).unwrap_or_default();
        serde_json::from_str(&text)
            .map_err(|_| self.corrupt(&format!("no fingerprint of host {id}")))
    }

    pub(crate) fn corrupt(&self, what: &str) -> Error {
        Error::Corrupt {
            store: self.store.clone(),
            what: what.to_owned(),
        }
    }

    /// Runs `body` in a transaction, again where it conflicts with another transaction.
    fn transaction<T>(&mut self, body: impl Fn(&mut dyn Engine) -> Result<T>) -> Result<T> {
        let engine = self.engine.as_mut();
        for attempt in 1.. {
            let result = engine.begin().and_then(|()| {
                let value = body(engine)?;
                engine.commit()?;
                Ok(value)
            });
            match result {
                Err(error) => {
                    engine.rollback();
                    if attempt == MAX_CONFLICTS || !engine.is_conflict(&error) {
                        return Err(error);
                    }
                }
                Ok(value) => return Ok(value),
            }
        }
        unreachable!("the loop ends by returning")
    }
}
