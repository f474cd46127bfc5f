//! The causes that `explain` finds for the workload of `genba try`: stored with the trial, taken
//! from the newest case of the same command, or found now.

use genba_case::Store;
use genba_experiment::VariantPlan;
use genba_investigate::workload_causes::{causes_now, earlier_causes, time_to_explain};

use super::Session;
use crate::exit_code::Failure;
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Name of the document in the trial's case: a resumed session must start with the same causes.
const CAUSES_DOCUMENT: &str = "trial-causes";

/// The causes in a trial's baseline, most profitable first, or why they are not known. `words` are
/// the command as it was given; for a program that is `built` by the trial, cases of earlier
/// binaries are not used.
pub fn causes(
    session: &Session,
    words: &[String],
    built: bool,
    baseline: &VariantPlan,
    run_seconds: f64,
    budget: f64,
    output: &Output,
) -> Result<Vec<String>, String> {
    if let Some(known) = session.document::<Vec<String>>(CAUSES_DOCUMENT) {
        return Ok(known);
    }
    let earlier = (!built)
        .then(|| earlier_causes(&Store::open_root(), words, &baseline.spec))
        .flatten();
    let found = match earlier {
        Some(causes) => causes,
        None => {
            let time = time_to_explain(run_seconds, budget)?;
            let mut progress = ProgressLine::new(output);
            let version = env!("CARGO_PKG_VERSION");
            causes_now(
                &baseline.spec,
                time,
                version,
                session.cancel(),
                &mut progress,
            )
            .map_err(|error| {
                let message = Failure::from(error).message;
                format!("the baseline could not be explained: {message}")
            })?
        }
    };
    session
        .put_document(CAUSES_DOCUMENT, &found)
        .map_err(|failure| failure.message)?;
    Ok(found)
}
