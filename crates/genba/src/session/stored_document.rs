//! The kept document of an experiment, shown again.

use genba_case::Case;
use genba_model::CaseKind;
use genba_report::{Screen, page, terminal};
use serde::de::DeserializeOwned;

use crate::exit_code::Failure;

/// A kept document: for a terminal, and as a page.
pub struct StoredDocument {
    /// Words.
    pub text: String,
    /// A page.
    pub page: String,
    /// The document itself.
    pub body: serde_json::Value,
}

/// The document of an experiment; an error if it was interrupted before there was one.
pub fn stored_document(
    case: &Case,
    kind: CaseKind,
    screen: Screen,
) -> Result<StoredDocument, Failure> {
    let Some(body) = case.experiment::<serde_json::Value>(kind)? else {
        return Err(Failure::usage(format!(
            "case {0} is of kind {1} and was interrupted: {2} runs ended, there is no result; go \
             on with: genba case resume {0}",
            case.id(),
            kind.name(),
            case.summary()?.runs
        )));
    };
    let rendered: Option<(String, String)> = match kind {
        // Each kind renders its own document here: (words, page).
        CaseKind::Sweep => {
            let sweep: genba_model::Sweep = parsed(&body)?;
            Some((terminal::sweep(&sweep, screen), page::sweep_html(&sweep)))
        }
        CaseKind::Trial => {
            let trial: genba_model::TrialReport = parsed(&body)?;
            Some((terminal::trial(&trial, screen), page::trial_html(&trial)))
        }
        CaseKind::Bisection => {
            let bisection: genba_model::Bisection = parsed(&body)?;
            Some((
                terminal::bisection(&bisection, screen),
                page::bisection_html(&bisection),
            ))
        }
        CaseKind::Ablation => {
            let ablation: genba_model::Ablation = parsed(&body)?;
            Some((
                terminal::ablation(&ablation, screen),
                page::ablation_html(&ablation),
            ))
        }
        CaseKind::Investigation | CaseKind::Comparison => None,
    };
    let (text, page) = rendered.unwrap_or_default();
    Ok(StoredDocument { text, page, body })
}

fn parsed<T: DeserializeOwned>(body: &serde_json::Value) -> Result<T, Failure> {
    T::deserialize(body)
        .map_err(|error| Failure::usage(format!("the case's document cannot be read: {error}")))
}
