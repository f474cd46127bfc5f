//! One case: adding to it, reading it.

use std::fs::File;
use std::path::{Path, PathBuf};

use genba_model::{CaseKind, CaseState, CaseSummary, HostFingerprint, RunRecord, Workload};
use rusqlite::{Connection, OptionalExtension as _};
use serde::{Serialize, de::DeserializeOwned};

use crate::schema::{self, Access};
use crate::{Error, Result, lock};

/// Largest document that a case keeps or that is read from one, bytes.
pub const MAX_DOCUMENT_BYTES: usize = 512 << 20;

/// Name of the database in the case's directory.
pub(crate) const DATABASE: &str = "case.sqlite";

/// What a run was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Before the measurement; not counted in any summary.
    Warmup,
    /// Without any observer: the runs whose times count.
    Measure,
    /// With counters.
    Stat,
    /// Under the sampler.
    Sample,
    /// Of one variant of a comparison; see [`Case::add_variant_run`].
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

/// A case that is open, for reading, or for writing as its only writer.
#[derive(Debug)]
pub struct Case {
    id: String,
    directory: PathBuf,
    connection: Connection,
    /// Held while this process writes to the case; `None` for one that is read.
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
        // The lock comes first: from the first moment that the case can be seen, it is running.
        let lock = lock::take(&directory)?;
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
            Access::Write => lock::take(&directory)?,
        };
        Ok(Self {
            id,
            directory,
            connection,
            lock,
        })
    }

    /// Identifier of the case.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The case's directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the page of this case belongs: `case.html` in its directory.
    #[must_use]
    pub fn page_path(&self) -> PathBuf {
        self.directory.join("case.html")
    }

    /// Where the recording of this case belongs: `perf.data` in its directory.
    #[must_use]
    pub fn recording_path(&self) -> PathBuf {
        self.directory.join("perf.data")
    }

    /// Adds a run that ended and commits it at once.
    ///
    /// # Errors
    /// The disk is full, the file went away, or another process keeps it locked for 5 s.
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

    /// The runs of a phase that ended, in their order.
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

    /// Keeps a document under its kind, in the place of an earlier one.
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

    /// The document of this kind, `None` if there is none.
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

    /// Marks the case as brought to its end, and makes its file one that stands alone (no
    /// journal beside it), to be copied or read from where nothing can be written.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(&mut self) -> Result<()> {
        self.close(CaseState::Complete)
    }

    /// Marks the case as stopped before its end (Ctrl-C, a failure on the way).
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
        // Not possible while somebody reads; the journal then stays, to no harm.
        let _ = self
            .connection
            .query_row("PRAGMA journal_mode=DELETE", [], |_| Ok(()));
        self.lock = None;
        Ok(())
    }

    /// How far the case came. One that says "running" and whose writer is gone is interrupted.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn state(&self) -> Result<CaseState> {
        Ok(match self.get("state")?.as_deref() {
            Some("complete") => CaseState::Complete,
            Some("running") if self.lock.is_some() || lock::is_held(&self.directory) => {
                CaseState::Running
            }
            _ => CaseState::Interrupted,
        })
    }

    /// The row of this case in a list.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn summary(&self) -> Result<CaseSummary> {
        let workload: Workload = self.required("workload")?;
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
                CaseKind::Investigation => walls.len() as u64,
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

    pub(crate) fn required<T: DeserializeOwned>(&self, kind: &str) -> Result<T> {
        self.get_document(kind)?
            .ok_or_else(|| self.corrupt(&format!("it has no {kind}")))
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

    /// Makes sure that what is about to be written can be read again.
    pub(crate) fn check_round_trip<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        body: &T,
    ) -> Result<()> {
        let text = self.json(what, body)?;
        match serde_json::from_str::<T>(&text) {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Json {
                what: format!("{what} (has it a number that is NaN or infinite?)"),
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

/// The present, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}
