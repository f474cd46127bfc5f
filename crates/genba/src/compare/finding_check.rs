//! `--proves`: stores a comparison as the check of a finding's predicted gain.

use genba_case::{Case, Store};
use genba_investigate::proofs::TRIALS;
use genba_model::{CaseKind, ComparisonReport, Finding, Trial};

use crate::exit_code::Failure;

/// The finding whose prediction a comparison checks.
pub struct FindingCheck {
    case: Case,
    number: u32,
    finding: Finding,
}

impl FindingCheck {
    /// Finds the finding by `CASE` or `CASE:NUMBER`, before anything is measured.
    pub fn find(text: &str) -> Result<Self, Failure> {
        let (case, number) = match text.split_once(':') {
            Some((case, number)) => (case, number.parse().ok()),
            None => (text, Some(1)),
        };
        let Some(number @ 1..) = number else {
            return Err(Failure::usage(format!(
                "--proves {text}: write CASE or CASE:NUMBER, as in 7f3a:2"
            )));
        };
        let store = Store::open_root();
        let case = store.find_to_write(&store.id_among(case, &[CaseKind::Investigation])?)?;
        let finding = case.finding(number)?;
        Ok(Self {
            case,
            number,
            finding,
        })
    }

    /// Stores the first comparison with the finding, and returns the result as a sentence.
    pub fn store(&self, report: &ComparisonReport) -> Result<String, Failure> {
        let trial = report.comparisons.first().and_then(|comparison| {
            let comparison_case = report.case.as_deref();
            Trial::of(
                self.case.id(),
                self.number,
                &self.finding,
                comparison,
                comparison_case,
            )
        });
        let Some(trial) = trial else {
            return Ok("no comparison was decided, so the finding was not checked".to_owned());
        };
        let mut trials: Vec<Trial> = self.case.get_document(TRIALS)?.unwrap_or_default();
        let predicted = trial.predicted;
        let words = format!(
            "finding {} of case {} ({}): predicted {:.2}× ({:.2}–{:.2}), measured {:.2}×; the prediction {}",
            self.number,
            self.case.id(),
            self.finding.cause,
            predicted.value,
            predicted.low,
            predicted.high,
            trial.measured.value,
            if trial.holds() {
                "holds"
            } else {
                "does not hold"
            },
        );
        trials.push(trial);
        self.case.put_document(TRIALS, &trials)?;
        Ok(words)
    }
}
