//! One case: writing and reading its runs and documents.

use std::fs::File;
use std::path::{Path, PathBuf};

use genba_model::{CaseKind, CaseState, CaseSummary, HostFingerprint, RunRecord, Workload};
use rusqlite::{Connection, OptionalExtension as _};
use serde::{Serialize, de::DeserializeOwned};

use crate::schema::{self, Access};
use crate::{Error, Result, writer_lock};

/// Maximum size of a stored document, bytes.
pub const MAX_DOCUMENT_BYTES: usize = 512 << 20;

/// Name of the database in the case's directory.
pub(crate) const DATABASE: &str = "case.sqlite";

/// Purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A warm-up run; in no summary.
    Warmup,
    /// A measured run without a profiler.
    Measure,
    /// A run with event counters.
    Stat,
    /// A sampled run.
    Sample,
    /// A run of one variant of a comparison; see [`Case::add_variant_run`].
    Variant,
}

impl Phase {
    /// Name in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measure => "measure",
            Self::Stat => "stat",
            Self::Sample => "sample",
            Self::Variant => "variant",
        }
    }
}

/// An open case, for reading or as its only writer.
#[derive(Debug)]
pub struct Case {
    id: String,
    directory: PathBuf,
    connection: Connection,
    /// The writer's lock; `None` for a case open for reading.
    lock: Option<File>,
}

impl Case {
    pub(crate) fn begin(
        id: String,
        directory: PathBuf,
        workload: &Workload,
        host: &HostFingerprint,
        started: &str,
        genba: &str,
    ) -> Result<Self> {
        // The lock comes first, so that the case is `running` as soon as it is visible.
        let lock = writer_lock::take(&directory)?;
        let connection = schema::create(&directory.join(DATABASE))?;
        let case = Self {
            id,
            directory,
            connection,
            lock,
        };
        let transaction = case
            .connection
            .unchecked_transaction()
            .map_err(case.fail())?;
        case.set("id", &case.id)?;
        case.set("genba", genba)?;
        case.set("started", started)?;
        case.set("state", CaseState::Running.name())?;
        case.put("workload", workload)?;
        case.put("host", host)?;
        transaction.commit().map_err(case.fail())?;
        Ok(case)
    }

    pub(crate) fn open(id: String, directory: PathBuf, access: Access) -> Result<Self> {
        let connection = schema::open(&directory.join(DATABASE), access)?;
        let lock = match access {
            Access::Read => None,
            Access::Write => writer_lock::take(&directory)?,
        };
        Ok(Self {
            id,
            directory,
            connection,
            lock,
        })
    }

    /// Id of the case.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Directory of the case.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Path of the page: `case.html` in the case's directory.
    #[must_use]
    pub fn page_path(&self) -> PathBuf {
        self.directory.join("case.html")
    }

    /// Path of the recording: `perf.data` in the case's directory.
    #[must_use]
    pub fn recording_path(&self) -> PathBuf {
        self.directory.join("perf.data")
    }

    /// Adds a finished run and commits it.
    ///
    /// # Errors
    /// The disk is full, the file was removed, or another process locks it for over 5 s.
    pub fn add_run(&self, run: &RunRecord, phase: Phase) -> Result<()> {
        self.keep_run(run.wall_seconds, run, phase)
    }

    pub(crate) fn keep_run(&self, wall: f64, run: &impl Serialize, phase: Phase) -> Result<()> {
        let record = self.json("a run", run)?;
        self.connection
            .prepare_cached("INSERT INTO run (phase, wall_seconds, record) VALUES (?1, ?2, ?3)")
            .and_then(|mut insert| insert.execute((phase.name(), wall, record)))
            .map_err(self.fail())?;
        Ok(())
    }

    /// The finished runs of a phase, in order.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn runs(&self, phase: Phase) -> Result<Vec<RunRecord>> {
        self.kept_runs(phase)
    }

    pub(crate) fn kept_runs<T: DeserializeOwned>(&self, phase: Phase) -> Result<Vec<T>> {
        let mut query = self
            .connection
            .prepare("SELECT record FROM run WHERE phase = ?1 ORDER BY seq")
            .map_err(self.fail())?;
        let rows = query
            .query_map([phase.name()], |row| row.get::<_, String>(0))
            .map_err(self.fail())?;
        rows.map(|text| self.parse("a run", &text.map_err(self.fail())?))
            .collect()
    }

    /// Stores a document under its kind, replacing an earlier one.
    ///
    /// The kinds that [`Case::investigation`] looks for are `summary` (a [`RunSummary`]; its
    /// runs are not kept twice), `hazards`, `noise_floor`, `stat`, `annotations` and `notes`,
    /// each of the type of that field of [`Investigation`]. A profile goes to
    /// [`Case::put_profile`], which stores its stacks once.
    ///
    /// # Errors
    /// The document is over [`MAX_DOCUMENT_BYTES`], or the disk is full.
    pub fn put_document(&self, kind: &str, body: &impl Serialize) -> Result<()> {
        self.put(kind, body)
    }

    /// The document of this kind, or `None`.
    ///
    /// # Errors
    /// The file is damaged, or the document is of another type.
    pub fn get_document<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<T>> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT body FROM document WHERE kind = ?1", [kind], |row| {
                row.get(0)
            })
            .optional()
            .map_err(self.fail())?;
        text.map(|text| self.parse(kind, &text)).transpose()
    }

    /// Marks the case as complete and merges its write-ahead log, so that the file can be copied
    /// alone or read from a read-only directory.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(&mut self) -> Result<()> {
        self.close(CaseState::Complete)
    }

    /// Marks the case as interrupted (Ctrl-C, or a failure).
    ///
    /// # Errors
    /// The disk is full.
    pub fn interrupt(&mut self) -> Result<()> {
        self.close(CaseState::Interrupted)
    }

    fn close(&mut self, state: CaseState) -> Result<()> {
        let transaction = self
            .connection
            .unchecked_transaction()
            .map_err(self.fail())?;
        self.set("ended", &now())?;
        self.set("state", state.name())?;
        transaction.commit().map_err(self.fail())?;
        // Fails while another process reads; the log then remains, which does no harm.
        let _ = self
            .connection
            .query_row("PRAGMA journal_mode=DELETE", [], |_| Ok(()));
        self.lock = None;
        Ok(())
    }

    /// State of the case. A case marked `running` without a living writer is interrupted.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn state(&self) -> Result<CaseState> {
        Ok(match self.get("state")?.as_deref() {
            Some("complete") => CaseState::Complete,
            Some("running") if self.lock.is_some() || writer_lock::is_held(&self.directory) => {
                CaseState::Running
            }
            _ => CaseState::Interrupted,
        })
    }

    /// Summary of the case for lists.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn summary(&self) -> Result<CaseSummary> {
        let workload = self.workload()?;
        let kind = self.kind()?;
        let walls = {
            let mut query = self
                .connection
                .prepare("SELECT wall_seconds FROM run WHERE phase = 'measure' ORDER BY 1")
                .map_err(self.fail())?;
            let rows = query
                .query_map([], |row| row.get::<_, f64>(0))
                .map_err(self.fail())?;
            rows.collect::<rusqlite::Result<Vec<f64>>>()
                .map_err(self.fail())?
        };
        let middle = walls.len() / 2;
        let median = match walls.len() {
            0 => None,
            n if n % 2 == 1 => Some(walls[middle]),
            _ => Some(f64::midpoint(walls[middle - 1], walls[middle])),
        };
        Ok(CaseSummary {
            id: self.id.clone(),
            kind,
            state: self.state()?,
            started: self.get("started")?.unwrap_or_default(),
            ended: self.get("ended")?,
            command: workload.command,
            name: workload.name,
            runs: match kind {
                CaseKind::Investigation | CaseKind::Waits => walls.len() as u64,
                CaseKind::Comparison => self.count_variant_runs()?,
                _ => self.journal_length()?,
            },
            wall_seconds: median,
            path: self.directory.to_string_lossy().into_owned(),
            error: None,
        })
    }

    pub(crate) fn put(&self, kind: &str, body: &impl Serialize) -> Result<()> {
        let text = self.json(kind, body)?;
        self.connection
            .execute(
                "INSERT OR REPLACE INTO document (kind, body) VALUES (?1, ?2)",
                (kind, text),
            )
            .map_err(self.fail())?;
        Ok(())
    }

    /// The command that was measured.
    ///
    /// # Errors
    /// The case cannot be read.
    pub fn workload(&self) -> Result<Workload> {
        self.required("workload")
    }

    pub(crate) fn required<T: DeserializeOwned>(&self, kind: &str) -> Result<T> {
        self.get_document(kind)?
            .ok_or_else(|| self.corrupt(&format!("it has no document {kind:?}")))
    }

    pub(crate) fn set(&self, key: &str, value: &str) -> Result<()> {
        self.connection
            .execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)",
                (key, value),
            )
            .map_err(self.fail())?;
        Ok(())
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<String>> {
        self.connection
            .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
                row.get(0)
            })
            .optional()
            .map_err(self.fail())
    }

    pub(crate) fn json(&self, what: &str, body: &impl Serialize) -> Result<String> {
        let text = serde_json::to_string(body).map_err(|source| Error::Json {
            what: what.to_owned(),
            source,
        })?;
        if text.len() >= MAX_DOCUMENT_BYTES {
            return Err(Error::TooLarge {
                what: what.to_owned(),
                bytes: text.len() as u64,
                limit: MAX_DOCUMENT_BYTES as u64,
            });
        }
        Ok(text)
    }

    /// Checks that a document can be read again before it is written.
    pub(crate) fn check_round_trip<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        body: &T,
    ) -> Result<()> {
        let text = self.json(what, body)?;
        match serde_json::from_str::<T>(&text) {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Json {
                what: format!("{what} (does it contain NaN or an infinite number?)"),
                source,
            }),
        }
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, what: &str, text: &str) -> Result<T> {
        serde_json::from_str(text).map_err(|error| self.corrupt(&format!("{what}: {error}")))
    }

    pub(crate) fn corrupt(&self, what: &str) -> Error {
        Error::Corrupt {
            path: self.directory.join(DATABASE),
            what: what.to_owned(),
        }
    }

    pub(crate) fn fail(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let path = self.directory.join(DATABASE);
        move |error| Error::sqlite(&path)(error)
    }
}

/// The current time, RFC 3339 in UTC, with three decimals: such times sort as text.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
