//! Baselines of gates: cases under names, and the newest case that was not refused.

use std::collections::BTreeMap;

use genba_model::CaseKind;
use serde::{Deserialize, Serialize};

use crate::{Case, Error, Result, Store};

/// File of the named baselines in the store.
const FILE: &str = "baselines.json";
/// Document of a case that a gate refused.
const REFUSED: &str = "refused";
/// Largest file of baselines, bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A case under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Id of the case.
    pub case: String,
    /// Full hash of the commit that it measured; empty outside a repository.
    #[serde(default)]
    pub commit: String,
}

impl Case {
    /// Marks the case as refused by a gate: it is not a baseline unless it is asked for by its id.
    ///
    /// # Errors
    /// The disk is full.
    pub fn mark_refused(&self) -> Result<()> {
        self.put_document(REFUSED, &true)
    }
}

impl Store {
    /// Opens the baseline that `wanted` names: a named one, `latest`, or a case's id. `latest` is the
    /// newest complete comparison that no gate refused; otherwise a regression would become its own
    /// baseline at the second attempt.
    ///
    /// # Errors
    /// There is none, or a file is damaged.
    pub fn find_baseline(&self, wanted: &str) -> Result<Case> {
        if let Some(named) = self.baselines()?.get(wanted) {
            return self.find(&named.case);
        }
        if wanted != "latest" {
            return self.find(wanted);
        }
        for one in self.list()? {
            if one.kind != CaseKind::Comparison {
                continue;
            }
            let case = self.find(&one.id)?;
            let refused: Option<bool> = case.get_document(REFUSED)?;
            if refused != Some(true) && case.comparison()?.is_some() {
                return Ok(case);
            }
        }
        Err(Error::NotFound {
            wanted: "latest".to_owned(),
            root: self.root().to_owned(),
        })
    }

    /// The named baselines.
    ///
    /// # Errors
    /// Their file is damaged.
    pub fn baselines(&self) -> Result<BTreeMap<String, Baseline>> {
        let path = self.root().join(FILE);
        let meta = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BTreeMap::new());
            }
            other => other.map_err(Error::io("read", &path))?,
        };
        let damaged = |what: String| Error::Corrupt {
            path: path.clone(),
            what,
        };
        if meta.len() > MAX_BYTES {
            return Err(damaged(format!("it has {} bytes", meta.len())));
        }
        let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))
    }

    /// Gives a case a name, in place of the case that had it.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn set_baseline(&self, name: &str, baseline: Baseline) -> Result<()> {
        let mut all = self.baselines()?;
        all.insert(name.to_owned(), baseline);
        let text = serde_json::to_string_pretty(&all).map_err(|source| Error::Json {
            what: "the baselines".to_owned(),
            source,
        })?;
        let (path, beside) = (
            self.root().join(FILE),
            self.root().join("baselines.json.new"),
        );
        std::fs::write(&beside, text).map_err(Error::io("write", &beside))?;
        std::fs::rename(&beside, &path).map_err(Error::io("write", &path))
    }
}
