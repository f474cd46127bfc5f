//! The schema of the store and its versions.
//!
//! Each migration runs in the transaction that also raises the version, so an interrupted one
//! leaves the old state. Published migrations are never changed; a new one is appended.

use crate::engine::Engine;
use crate::{Error, Result};

/// The migrations in order; entry `i` leads from version `i` to `i + 1`.
pub(crate) const MIGRATIONS: &[&str] = &["
CREATE TABLE genba_host (
    id TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL
);
CREATE TABLE genba_revision (
    id @id,
    project TEXT NOT NULL,
    hash TEXT NOT NULL,
    parent TEXT,
    position @integer,
    committed @integer NOT NULL,
    subject TEXT NOT NULL,
    UNIQUE (project, hash)
);
-- What is followed over commits. A host is part of it: hosts are never pooled.
CREATE TABLE genba_series (
    id @id,
    project TEXT NOT NULL,
    benchmark TEXT NOT NULL,
    variant TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    direction @integer NOT NULL,
    host TEXT NOT NULL REFERENCES genba_host (id),
    UNIQUE (project, benchmark, variant, metric, unit, host)
);
CREATE TABLE genba_recording (
    id @id,
    key TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    started TEXT NOT NULL,
    tool TEXT NOT NULL,
    host TEXT NOT NULL REFERENCES genba_host (id),
    environment TEXT NOT NULL
);
CREATE TABLE genba_measurement (
    id @id,
    series @integer NOT NULL REFERENCES genba_series (id),
    recording @integer NOT NULL REFERENCES genba_recording (id),
    revision @integer REFERENCES genba_revision (id),
    branch TEXT NOT NULL,
    dirty @integer NOT NULL,
    role @integer NOT NULL,
    build TEXT NOT NULL,
    sample @bytes NOT NULL
);
CREATE INDEX genba_measurement_of_series ON genba_measurement (series, role, branch);
CREATE INDEX genba_measurement_of_recording ON genba_measurement (recording);
"];

/// Brings the schema to the latest version.
pub(crate) fn migrate(engine: &mut dyn Engine, store: &str, migrations: &[&str]) -> Result<()> {
    engine.begin()?;
    let result = migrate_in_transaction(engine, store, migrations);
    match result {
        Ok(()) => engine.commit(),
        Err(error) => {
            engine.rollback();
            Err(error)
        }
    }
}

fn migrate_in_transaction(engine: &mut dyn Engine, store: &str, migrations: &[&str]) -> Result<()> {
    engine.lock_migration()?;
    engine.batch("CREATE TABLE IF NOT EXISTS genba_schema (version TEXT NOT NULL)")?;
    let found = version(engine)?;
    let known = migrations.len() as i64;
    if found > known {
        return Err(Error::Newer {
            store: store.to_owned(),
            found,
            known,
        });
    }
    let from = usize::try_from(found).map_err(|_| Error::Corrupt {
        store: store.to_owned(),
        what: format!("its schema version is {found}"),
    })?;
    for migration in &migrations[from..] {
        let mut sql = (*migration).to_owned();
        for (placeholder, word) in engine.column_types() {
            sql = sql.replace(placeholder, word);
        }
        engine.batch(&sql)?;
    }
    if found < known {
        engine.batch("DELETE FROM genba_schema")?;
        engine.batch(&format!("INSERT INTO genba_schema VALUES ('{known}')"))?;
    }
    Ok(())
}

/// The version of the schema; 0 for a new store.
pub(crate) fn version(engine: &mut dyn Engine) -> Result<i64> {
    let rows = engine.query("SELECT max(version) FROM genba_schema", &[])?;
    let text = rows.first().and_then(|row| row.text(0));
    Ok(text.map_or(0, |text| text.parse().unwrap_or(-1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;
    use crate::postgres_engine::PostgresEngine;
    use crate::sqlite_engine::SqliteEngine;
    use genba_testing::PostgresServer;

    const FIRST: &str = "CREATE TABLE a (x @integer); INSERT INTO a VALUES (1)";
    const SECOND: &str = "UPDATE a SET x = 2; CREATE TABLE b (y @bytes)";
    /// Interrupted in the middle: its last statement fails.
    const INTERRUPTED: &str = "UPDATE a SET x = 3; CREATE TABLE c (z TEXT); SELECT * FROM none";

    fn check(engine: &mut dyn Engine) {
        let content =
            |engine: &mut dyn Engine| engine.query("SELECT x FROM a", &[]).unwrap()[0].integer(0);
        migrate(engine, "s", &[FIRST]).unwrap();
        assert!(migrate(engine, "s", &[FIRST, SECOND, INTERRUPTED]).is_err());
        // Not even the migration before the interrupted one has happened.
        assert_eq!((version(engine).unwrap(), content(engine)), (1, Some(1)));
        assert!(engine.query("SELECT * FROM b", &[]).is_err());
        engine.rollback();
        migrate(engine, "s", &[FIRST, SECOND]).unwrap();
        assert_eq!((version(engine).unwrap(), content(engine)), (2, Some(2)));
        migrate(engine, "s", &[FIRST, SECOND]).unwrap();
        assert_eq!(content(engine), Some(2));
        assert!(matches!(
            migrate(engine, "s", &[FIRST]),
            Err(Error::Newer {
                found: 2,
                known: 1,
                ..
            })
        ));
    }

    #[test]
    fn an_interrupted_migration_leaves_the_old_state() {
        let directory = tempfile::tempdir().unwrap();
        check(&mut SqliteEngine::open(&directory.path().join("s.sqlite"), true).unwrap());
        if let Some(server) = PostgresServer::start("an_interrupted_migration_leaves_the_old_state")
        {
            let shown = Location::Postgres(server.url()).display();
            check(&mut PostgresEngine::open(&server.url(), shown).unwrap());
        }
    }
}
