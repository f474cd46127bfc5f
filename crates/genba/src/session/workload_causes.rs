//! The causes that `explain` finds for the workload of `genba try`: stored with the trial, taken
//! from the newest case of the same command, or found now.

use std::path::Path;
use std::time::Duration;

use genba_case::Store;
use genba_experiment::VariantPlan;
use genba_investigate::investigate;
use genba_model::{CaseKind, CaseState, Finding, Workload};
use genba_run::{CommandSpec, Output as Stream};

use super::Session;
use crate::exit_code::Failure;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::verbs::explain::options;

/// Name of the document in the trial's case: a resumed session must start with the same causes.
const CAUSES_DOCUMENT: &str = "trial-causes";
/// Share of the budget that explaining may take.
const MAX_SHARE_OF_BUDGET: f64 = 0.2;
/// Upper limit of that time, seconds.
const MAX_SECONDS: f64 = 25.0;
/// Explaining takes about as long as this many runs: a few are timed, one is sampled, and one is
/// counted, which is several times slower.
const RUNS_TO_EXPLAIN: f64 = 6.0;
/// Share of the time for explaining that the timed runs, and the counted run, may each take.
const SHARE_OF_TIME: f64 = 1.0 / 3.0;
/// Bytes of standard error that are captured.
const MAX_ERROR_OUTPUT: usize = 4096;

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
    let found = match earlier(words, &baseline.spec).filter(|_| !built) {
        Some(causes) => causes,
        None => found_now(session, baseline, run_seconds, budget, output)?,
    };
    session
        .put_document(CAUSES_DOCUMENT, &found)
        .map_err(|failure| failure.message)?;
    Ok(found)
}

/// The causes of the newest investigation of this command, if the program has not changed since.
fn earlier(words: &[String], spec: &CommandSpec) -> Option<Vec<String>> {
    let store = Store::open_root();
    let program = spec.argv.first()?;
    let path = spec.environment.get("PATH".as_ref());
    let path = genba_run::resolve_program(program, path.as_deref(), spec.directory.as_deref());
    let changed = std::fs::metadata(path.ok()?).ok()?.modified().ok()?;
    let mut cases = store.list().ok()?;
    cases.retain(|case| {
        case.kind == CaseKind::Investigation
            && case.state == CaseState::Complete
            && case.command == words
    });
    cases.sort_by(|one, two| two.started.cmp(&one.started));
    let case = store.find(&cases.first()?.id).ok()?;
    let made = std::fs::metadata(case.recording_path()).ok()?;
    if made.modified().ok()? < changed {
        return None;
    }
    let investigation = case.investigation().ok()?;
    let here = std::env::current_dir().ok()?;
    (Path::new(&investigation.workload.directory) == here).then(|| in_order(investigation.findings))
}

fn found_now(
    session: &Session,
    baseline: &VariantPlan,
    run_seconds: f64,
    budget: f64,
    output: &Output,
) -> Result<Vec<String>, String> {
    let time = (budget * MAX_SHARE_OF_BUDGET).min(MAX_SECONDS);
    if run_seconds * RUNS_TO_EXPLAIN > time {
        return Err(format!(
            "a run takes {run_seconds:.1} s, too long to explain it first; increase --budget"
        ));
    }
    let mut spec = baseline.spec.clone();
    spec.stdout = Stream::Null;
    spec.stderr = Stream::Capture {
        limit: MAX_ERROR_OUTPUT,
    };
    let words = spec.argv.iter().map(|word| word.to_string_lossy());
    let workload = Workload {
        command: words.map(|word| word.into_owned()).collect(),
        shell: None,
        directory: (spec.directory.clone())
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_default()
            .display()
            .to_string(),
        name: None,
    };
    let time = Duration::from_secs_f64(time);
    let options = options(
        time.mul_f64(SHARE_OF_TIME),
        time.mul_f64(SHARE_OF_TIME),
        time,
    );
    // Not among the user's cases: nobody asked for one, and the program is a temporary copy.
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut progress = ProgressLine::new(output);
    let outcome = investigate(
        &Store::at(place.path()),
        &workload,
        &spec,
        &options,
        session.cancel(),
        &mut progress,
    );
    match outcome {
        Ok(outcome) => Ok(in_order(outcome.investigation.findings)),
        Err(error) => Err(format!(
            "the baseline could not be explained: {}",
            Failure::from(error).message
        )),
    }
}

/// The causes of findings, without duplicates.
fn in_order(findings: Vec<Finding>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for finding in findings {
        if !causes.contains(&finding.cause) {
            causes.push(finding.cause);
        }
    }
    causes
}
