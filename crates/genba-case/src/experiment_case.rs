//! Cases of experiments: the plan for resuming them, the journal of their runs, and the document.

use genba_model::{CaseKind, CaseState, Document};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::schema::JOURNAL_TABLE;
use crate::{Case, Result};

const PLAN: &str = "experiment";

/// The plan of an experiment, from which it is resumed or repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// Arguments of the command line.
    pub arguments: Vec<String>,
    /// Working directory.
    pub directory: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Version of genba.
    pub genba: String,
}

impl Case {
    /// Stores the plan, and sets the kind of the case.
    ///
    /// # Errors
    /// The disk is full.
    pub fn begin_experiment(&self, kind: CaseKind, plan: &ExperimentPlan) -> Result<()> {
        self.connection()
            .execute_batch(JOURNAL_TABLE)
            .map_err(self.fail())?;
        self.set("kind", kind.name())?;
        self.put(PLAN, plan)
    }

    /// The plan; `None` for a case of another kind, and for an imported one.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn experiment_plan(&self) -> Result<Option<ExperimentPlan>> {
        self.get_document(PLAN)
    }

    /// Marks a case as running again.
    ///
    /// # Errors
    /// The disk is full.
    pub fn resume(&self) -> Result<()> {
        self.connection()
            .execute_batch(JOURNAL_TABLE)
            .map_err(self.fail())?;
        self.set("state", CaseState::Running.name())
    }

    /// Adds an entry to the journal and commits it: SIGKILL loses at most the run in progress.
    ///
    /// # Errors
    /// The disk is full, the file was removed, or another process locks it for over 5 s.
    pub fn add_to_journal(&self, entry: &impl Serialize) -> Result<()> {
        let text = self.json("an entry of the journal", entry)?;
        self.connection()
            .prepare_cached("INSERT INTO journal (entry) VALUES (?1)")
            .and_then(|mut insert| insert.execute([text]))
            .map_err(self.fail())?;
        Ok(())
    }

    /// The journal from its beginning; empty for a case without one.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn journal<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        if !self.has_journal()? {
            return Ok(Vec::new());
        }
        let mut query = self
            .connection()
            .prepare("SELECT entry FROM journal ORDER BY seq")
            .map_err(self.fail())?;
        let rows = query
            .query_map([], |row| row.get::<_, String>(0))
            .map_err(self.fail())?;
        rows.map(|text| self.parse("an entry of the journal", &text.map_err(self.fail())?))
            .collect()
    }

    pub(crate) fn journal_length(&self) -> Result<u64> {
        if !self.has_journal()? {
            return Ok(0);
        }
        let count: i64 = self
            .connection()
            .query_row("SELECT count(*) FROM journal", [], |row| row.get(0))
            .map_err(self.fail())?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    fn has_journal(&self) -> Result<bool> {
        let tables: i64 = self
            .connection()
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'journal'",
                [],
                |row| row.get(0),
            )
            .map_err(self.fail())?;
        Ok(tables > 0)
    }

    /// Stores the document of an experiment under its kind.
    ///
    /// # Errors
    /// As [`Case::put_document`].
    pub fn put_experiment(&self, kind: CaseKind, body: &impl Serialize) -> Result<()> {
        self.put(kind.name(), body)
    }

    /// The document of an experiment; `None` while there is none.
    ///
    /// # Errors
    /// The file is damaged, or the document is of another type.
    pub fn experiment<T: DeserializeOwned>(&self, kind: CaseKind) -> Result<Option<T>> {
        self.get_document(kind.name())
    }

    /// The experiment as the JSON document that [`crate::Store::import`] reads.
    pub(crate) fn experiment_json(&self, kind: CaseKind) -> Result<Option<String>> {
        let Some(mut body) = self.experiment::<serde_json::Value>(kind)? else {
            return Ok(None);
        };
        if let Some(body) = body.as_object_mut() {
            body.insert("case".to_owned(), self.id().into());
        }
        self.json(kind.name(), &Document::new(kind.name(), body))
            .map(Some)
    }
}
