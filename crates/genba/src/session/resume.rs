//! `genba case resume` and `genba case repeat`: run the stored command line again.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use genba_case::{ExperimentPlan, Store};
use genba_model::{CaseKind, CaseState};

use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;

/// Resumes an interrupted experiment; its stored runs are not repeated.
pub fn resume(store: &Store, id: &str, output: &Output) -> VerbResult {
    let (id, kind, mut plan) = {
        let case = store.find(id)?;
        let (kind, plan) = plan_of(&case)?;
        match case.state()? {
            CaseState::Running => {
                return Err(Failure::usage(format!(
                    "case {} is still running",
                    case.id()
                )));
            }
            CaseState::Complete => {
                return Err(Failure::usage(format!(
                    "case {0} is complete; run it again with: genba case repeat {0}",
                    case.id()
                )));
            }
            _ => (case.id().to_owned(), kind, plan),
        }
    };
    let here = env!("CARGO_PKG_VERSION");
    if plan.genba != here {
        return Err(Failure::usage(format!(
            "case {id} was started by genba {}, this is {here}: runs of two versions are not mixed; \
             run it again with: genba case repeat {id}",
            plan.genba
        )));
    }
    let verb = verb_of(kind);
    let place = (plan.arguments.iter())
        .position(|word| word == verb)
        .ok_or_else(|| Failure::usage(format!("case {id} has no stored command line")))?;
    let root = std::path::absolute(store.root()).unwrap_or_else(|_| store.root().to_owned());
    plan.arguments
        .insert(place + 1, format!("--continue-case={id}"));
    run_stored(&plan, &root, output)
}

/// Repeats an experiment as a new case.
pub fn repeat(store: &Store, id: &str, output: &Output) -> VerbResult {
    let plan = plan_of(&store.find(id)?)?.1;
    let root = std::path::absolute(store.root()).unwrap_or_else(|_| store.root().to_owned());
    run_stored(&plan, &root, output)
}

fn plan_of(case: &genba_case::Case) -> Result<(CaseKind, ExperimentPlan), Failure> {
    let kind = case.kind()?;
    let plan = case.experiment_plan()?;
    match plan {
        Some(plan) if kind.is_experiment() => Ok((kind, plan)),
        _ => Err(Failure::usage(format!(
            "case {} cannot be resumed or repeated: only cases of try, ablate, sweep and bisect that \
             were not imported can",
            case.id()
        ))),
    }
}

fn verb_of(kind: CaseKind) -> &'static str {
    match kind {
        CaseKind::Trial => "try",
        CaseKind::Ablation => "ablate",
        CaseKind::Sweep => "sweep",
        CaseKind::Bisection => "bisect",
        CaseKind::Investigation => "investigate",
        CaseKind::Waits => "wait",
        CaseKind::Comparison => "bench",
    }
}

fn run_stored(plan: &ExperimentPlan, root: &std::path::Path, output: &Output) -> VerbResult {
    std::env::set_current_dir(&plan.directory).map_err(|error| {
        Failure::usage(format!(
            "cannot enter the directory {} in which the case was made: {error}",
            plan.directory
        ))
    })?;
    let there = std::path::absolute(Store::open_root().root()).unwrap_or_default();
    if there != root {
        return Err(Failure::usage(format!(
            "the case is under {}, but in {} cases are stored under {}; set GENBA_HOME or run it there",
            root.display(),
            plan.directory,
            there.display()
        )));
    }
    let words = std::iter::once("genba").chain(plan.arguments.iter().map(String::as_str));
    let cli = crate::cli::parse(words.map(genba_run::bytes_of)).map_err(|error| {
        Failure::usage(format!("cannot parse the stored command line: {error}"))
    })?;
    crate::dispatch(cli.verb, output)
}

/// A random seed, from the hasher's keys that the standard library takes from the system.
pub fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
