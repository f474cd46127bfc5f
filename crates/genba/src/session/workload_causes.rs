//! What `explain` says of the workload of a trial: kept with the trial, taken from the newest case
//! of the same command, or found out now.

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

/// The document in the trial's case: another sitting must begin with the same causes.
const CAUSES: &str = "trial-causes";
/// Of the budget so much may go into explaining, and no more than this, seconds.
const SHARE: f64 = 0.2;
const MOST: f64 = 25.0;
/// Explaining takes about so many runs: a few that are timed, one that is sampled, and one that is
/// counted, which is several times as slow.
const RUNS: f64 = 6.0;
/// Of the time for explaining what the timed runs and the counted one may each take.
const EACH: f64 = 1.0 / 3.0;
/// Standard error of the program that is kept, bytes.
const ERROR_OUTPUT: usize = 4096;

/// Causes that explain the time of a trial's baseline, most profitable first, or why they are not
/// known. `words` are the command as it was given; nothing earlier is believed of a program that is
/// `built` for the trial.
pub fn causes(
    session: &Session,
    words: &[String],
    built: bool,
    baseline: &VariantPlan,
    run_seconds: f64,
    budget: f64,
    output: &Output,
) -> Result<Vec<String>, String> {
    if let Some(known) = session.remembered::<Vec<String>>(CAUSES) {
        return Ok(known);
    }
    let found = match earlier(words, &baseline.spec).filter(|_| !built) {
        Some(causes) => causes,
        None => found_now(session, baseline, run_seconds, budget, output)?,
    };
    session
        .remember(CAUSES, &found)
        .map_err(|failure| failure.message)?;
    Ok(found)
}

/// Those of the newest investigation of this command, if the program is no newer.
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
    let time = (budget * SHARE).min(MOST);
    if run_seconds * RUNS > time {
        return Err(format!(
            "a run of {run_seconds:.1} s leaves no time to explain it first (--budget)"
        ));
    }
    let mut spec = baseline.spec.clone();
    spec.stdout = Stream::Null;
    spec.stderr = Stream::Capture {
        limit: ERROR_OUTPUT,
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
    let options = options(time.mul_f64(EACH), time.mul_f64(EACH), time);
    // Not among the cases: nobody asked for one, and the program is a copy that goes away.
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
            "it cannot be explained: {}",
            Failure::from(error).message
        )),
    }
}

/// The causes of findings, each once.
fn in_order(findings: Vec<Finding>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for finding in findings {
        if !causes.contains(&finding.cause) {
            causes.push(finding.cause);
        }
    }
    causes
}
