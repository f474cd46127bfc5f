//! The causes of a workload without a case of its own: those of an earlier investigation of the same
//! command, or found now within a part of another experiment's budget.

use std::path::Path;
use std::time::Duration;

use genba_case::Store;
use genba_model::{CaseKind, CaseState, Finding, Workload};
use genba_run::{Cancel, CommandSpec, Output, PrivateDirectory};

use crate::{InvestigateError, Options, Progress, investigate};

/// Share of the budget that explaining may take. Chosen.
const MAX_SHARE_OF_BUDGET: f64 = 0.2;
/// Upper limit of that time, seconds. Chosen: as long as `genba explain` takes.
const MAX_SECONDS: f64 = 25.0;
/// Explaining takes about as long as this many runs: a few are timed, one is sampled, and one is
/// counted, which is several times slower.
const RUNS_TO_EXPLAIN: f64 = 6.0;
/// Share of the time for explaining that the timed runs, and the counted run, may each take.
/// Chosen.
const SHARE_OF_TIME: f64 = 1.0 / 3.0;
/// Bytes of standard error that are captured.
const MAX_ERROR_OUTPUT: usize = 4096;

/// The causes of the newest complete investigation of this command in this directory, most
/// profitable first, if the program has not changed since.
#[must_use]
pub fn earlier_causes(store: &Store, words: &[String], spec: &CommandSpec) -> Option<Vec<String>> {
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
    let case = store.find(&cases.first()?.id).ok()?;
    let made = std::fs::metadata(case.recording_path()).ok()?;
    if made.modified().ok()? < changed {
        return None;
    }
    let investigation = case.investigation().ok()?;
    let here = std::env::current_dir().ok()?;
    (Path::new(&investigation.workload.directory) == here).then(|| in_order(investigation.findings))
}

/// The time that explaining a command may take before an experiment of `budget` seconds.
///
/// # Errors
/// A run of `run_seconds` is too long for it.
pub fn time_to_explain(run_seconds: f64, budget: f64) -> Result<Duration, String> {
    let time = (budget * MAX_SHARE_OF_BUDGET).min(MAX_SECONDS);
    if run_seconds * RUNS_TO_EXPLAIN > time {
        return Err(format!(
            "a run takes {run_seconds:.1} s, too long to explain it first; increase --budget"
        ));
    }
    Ok(Duration::from_secs_f64(time))
}

/// Investigates a command for `time` and returns its causes, most profitable first. The case is
/// temporary: nobody asked for one, and the program may be a temporary copy.
///
/// # Errors
/// Those of [`investigate`], or no temporary directory.
pub fn causes_now(
    spec: &CommandSpec,
    time: Duration,
    version: &str,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Vec<String>, InvestigateError> {
    let mut spec = spec.clone();
    spec.stdout = Output::Null;
    spec.stderr = Output::Capture {
        limit: MAX_ERROR_OUTPUT,
    };
    let words = spec.argv.iter().map(|word| word.to_string_lossy());
    let directory = (spec.directory.clone()).or_else(|| std::env::current_dir().ok());
    let workload = Workload::in_directory(
        words.map(|word| word.into_owned()).collect(),
        &directory.unwrap_or_default(),
    );
    let part = time.mul_f64(SHARE_OF_TIME);
    let options = Options::for_findings(part, part, time, version);
    let place = PrivateDirectory::new("causes").map_err(|source| InvestigateError::Page {
        path: std::env::temp_dir().display().to_string(),
        source,
    })?;
    let store = Store::at(place.path());
    let outcome = investigate(&store, &workload, &spec, &options, cancel, progress)?;
    Ok(in_order(outcome.investigation.findings))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explaining_takes_a_bounded_part_of_the_budget() {
        assert_eq!(time_to_explain(0.1, 100.0), Ok(Duration::from_secs(20)));
        assert_eq!(time_to_explain(0.1, 10_000.0), Ok(Duration::from_secs(25)));
        let reason = time_to_explain(5.0, 100.0).expect_err("too long");
        assert!(reason.contains("5.0 s"), "{reason}");
    }
}
