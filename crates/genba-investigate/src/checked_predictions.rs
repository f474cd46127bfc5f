//! Predicted gains of findings beside measured ones, stored with the case of the finding.

use genba_case::{Case, Error as CaseError, Store};
use genba_model::{Calibration, CaseKind, ComparisonReport, Finding, Trial};

/// Name of the case document with the checked predictions.
const TRIALS: &str = "trials";

/// The checked predictions of a case.
pub(crate) fn trials(case: &Case) -> Result<Vec<Trial>, CaseError> {
    Ok(case.get_document(TRIALS)?.unwrap_or_default())
}

/// Replaces the checked predictions of a case.
pub(crate) fn put_trials(case: &Case, trials: &[Trial]) -> Result<(), CaseError> {
    case.put_document(TRIALS, &trials)
}

/// The checked predictions of all cases. Cases that cannot be read are left out: the list of cases
/// names them.
///
/// # Errors
/// The directory of cases cannot be read, or the document of a case.
pub fn calibration(store: &Store) -> Result<Calibration, CaseError> {
    let mut all = Vec::new();
    for case in store.list()? {
        if let Ok(case) = store.find(&case.id) {
            all.extend(trials(&case)?);
        }
    }
    Ok(Calibration::of(all))
}

/// A finding whose prediction a comparison checks.
#[derive(Debug)]
pub struct FindingCheck {
    case: Case,
    number: u32,
    finding: Finding,
}

impl FindingCheck {
    /// Finds the finding with this number, from 1, of a case, which may be `latest`.
    ///
    /// # Errors
    /// There is no such case or finding, or the case cannot be written.
    pub fn find(store: &Store, case: &str, number: u32) -> Result<Self, CaseError> {
        let case = store.find_to_write(&store.id_among(case, &[CaseKind::Investigation])?)?;
        let finding = case.finding(number)?;
        Ok(Self {
            case,
            number,
            finding,
        })
    }

    /// Stores the first comparison of a report with the finding; `None` if it was not decided.
    ///
    /// # Errors
    /// The case cannot be written.
    pub fn store(&self, report: &ComparisonReport) -> Result<Option<Trial>, CaseError> {
        let trial = report.comparisons.first().and_then(|comparison| {
            let stored = report.case.as_deref();
            Trial::of(
                self.case.id(),
                self.number,
                &self.finding,
                comparison,
                stored,
            )
        });
        if let Some(trial) = &trial {
            let mut all = trials(&self.case)?;
            all.push(trial.clone());
            put_trials(&self.case, &all)?;
        }
        Ok(trial)
    }
}
