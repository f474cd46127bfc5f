//! Renders the stored document of an experiment.

use genba_case::Case;
use genba_model::CaseKind;
use genba_report::{Screen, page, terminal};
use serde::de::DeserializeOwned;

use crate::exit_code::Failure;

/// A stored document, rendered for a terminal and as a page.
pub struct StoredDocument {
    /// Text for a terminal.
    pub text: String,
    /// The HTML page.
    pub page: String,
    /// The document itself.
    pub body: serde_json::Value,
}

/// Renders the document of an experiment; an error if it was interrupted before it had one.
pub fn stored_document(
    case: &Case,
    kind: CaseKind,
    screen: Screen,
) -> Result<StoredDocument, Failure> {
    let Some(body) = case.experiment::<serde_json::Value>(kind)? else {
        return Err(Failure::usage(format!(
            "case {0} ({1}) was interrupted after {2} runs and has no result; resume with: genba case \
             resume {0}",
            case.id(),
            kind.name(),
            case.summary()?.runs
        )));
    };
    let rendered: Option<(String, String)> = match kind {
        // (text, page)
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
        CaseKind::Investigation | CaseKind::Comparison | CaseKind::Waits => None,
    };
    let (text, page) = rendered.unwrap_or_default();
    Ok(StoredDocument { text, page, body })
}

fn parsed<T: DeserializeOwned>(body: &serde_json::Value) -> Result<T, Failure> {
    T::deserialize(body)
        .map_err(|error| Failure::usage(format!("cannot read the document of the case: {error}")))
}
