//! Cases of comparisons: the runs of variants, stored as they end, and the report.

use std::collections::BTreeMap;

use genba_model::{CaseKind, ComparisonReport, Document, RunRecord, Workload};
use serde::{Deserialize, Serialize};

use crate::{Case, Phase, Result};

/// A run of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantRun {
    /// Name of the variant.
    pub variant: String,
    /// Number of its block, from 0; runs of one block are compared with one another.
    pub block: u32,
    /// The target's own metrics, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, f64>,
    /// What the run cost.
    #[serde(flatten)]
    pub run: RunRecord,
}

impl Case {
    /// Kind of the case.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn kind(&self) -> Result<CaseKind> {
        let name = self.get("kind")?;
        let of_name = |name: &str| CaseKind::ALL.into_iter().find(|kind| kind.name() == name);
        Ok(name.as_deref().and_then(of_name).unwrap_or_default())
    }

    pub(crate) fn mark(&self, kind: CaseKind) -> Result<()> {
        self.set("kind", kind.name())
    }

    /// Adds a finished run of a variant and commits it: SIGKILL loses at most the run in progress.
    ///
    /// # Errors
    /// As [`Case::add_run`]; also if a metric is NaN or infinite.
    pub fn add_variant_run(&self, run: &VariantRun) -> Result<()> {
        // JSON has no NaN: it would store null, which cannot be read as a number.
        if run.own.values().any(|v| !v.is_finite()) {
            self.check_round_trip("a run", run)?;
        }
        self.keep_run(run.run.wall_seconds, run, Phase::Variant)
    }

    /// The runs of all variants in the order in which they ended; also those of a case that
    /// was interrupted.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn variant_runs(&self) -> Result<Vec<VariantRun>> {
        self.kept_runs(Phase::Variant)
    }

    /// Stores the report, replacing an earlier one.
    ///
    /// # Errors
    /// As [`Case::put_investigation`].
    pub fn put_comparison(&self, report: &ComparisonReport) -> Result<()> {
        self.check_round_trip("comparison", report)?;
        self.put("comparison", report)
    }

    /// The report under this case's own identifier; `None` while there is none, as in a case
    /// that was interrupted.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn comparison(&self) -> Result<Option<ComparisonReport>> {
        let report: Option<ComparisonReport> = self.get_document("comparison")?;
        Ok(report.map(|mut report| {
            // An import may have been given another id.
            report.case = Some(self.id().to_owned());
            report
        }))
    }

    /// The case as the JSON document that [`crate::Store::import`] reads on another machine:
    /// of the kind that the case is of, if it has its report, else `investigation` (which has
    /// what `genba wait` saw).
    ///
    /// # Errors
    /// The file is damaged.
    pub fn export_json(&self) -> Result<String> {
        let kind = self.kind()?;
        if kind.is_experiment()
            && let Some(text) = self.experiment_json(kind)?
        {
            return Ok(text);
        }
        match self.comparison()? {
            Some(report) => self.json("comparison", &Document::new("comparison", report)),
            None => self.json("investigation", &self.export()?),
        }
    }

    pub(crate) fn count_variant_runs(&self) -> Result<u64> {
        let kept: i64 = self
            .connection()
            .query_row(
                "SELECT count(*) FROM run WHERE phase = ?1",
                [Phase::Variant.name()],
                |row| row.get(0),
            )
            .map_err(self.fail())?;
        // An import has its runs in the report only.
        if kept > 0 {
            return Ok(u64::try_from(kept).unwrap_or_default());
        }
        let report = self.comparison()?;
        Ok(report.map_or(0, |r| r.variants.iter().map(|v| u64::from(v.runs)).sum()))
    }
}

/// The workload of an imported comparison: its baseline.
pub(crate) fn workload(report: &ComparisonReport) -> Workload {
    let first = report.variants.first();
    Workload {
        command: first.map(|v| vec![v.command.clone()]).unwrap_or_default(),
        shell: None,
        directory: String::new(),
        name: first.map(|v| v.name.clone()),
    }
}
