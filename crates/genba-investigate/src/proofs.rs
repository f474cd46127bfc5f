//! Proofs of a case's findings: the command is run again with the fix applied to its code, and the result
//! stored with the finding.

use std::time::{Duration, Instant};

use genba_case::{Case, Store};
use genba_model::{Investigation, Proof, ProofKind, Trial, Workload};
use genba_prove::{FindingToProve, prove_finding};
use genba_run::{Cancel, CommandSpec, Launcher, RunError, Shell};

use crate::checked_predictions::{put_trials, trials};
use crate::pipeline::write_page;
use crate::{InvestigateError, Options, Outcome, Progress, investigate};

/// Which finding is proven, and how.
#[derive(Clone, Copy, Debug)]
pub struct ProofOptions {
    /// Number of the finding, from 1.
    pub number: u32,
    /// Time for all runs.
    pub budget: Duration,
    /// Whether the upper bound is measured, even where there is a change that computes the same.
    pub upper_bound: bool,
}

/// Proves a finding of a case and stores the result. Without `spec`, the command
/// is run as the case has it.
///
/// # Errors
/// If there is no such finding, the command cannot be run, or the case cannot be written.
pub fn prove_in_case(
    case: &Case,
    options: ProofOptions,
    spec: Option<&CommandSpec>,
    launcher: &mut Launcher,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Proof, InvestigateError> {
    let ProofOptions {
        number,
        budget,
        upper_bound,
    } = options;
    let mut all = case.investigation()?;
    let finding = case.finding(number)?;
    let stored;
    let spec = match spec {
        Some(spec) => spec,
        None => {
            stored = command_of(&all.workload)?;
            &stored
        }
    };
    let of = FindingToProve {
        case: case.id(),
        number,
        finding: &finding,
        build_id: build_id(&all, &finding.site.code().module),
        spec,
        budget,
        upper_bound,
    };
    let mut told = |stage: &str, left: Option<Duration>| progress.update(stage, left);
    let proof = prove_finding(&of, launcher, cancel, &mut told)?;
    if let (Some(proven), Some(finding)) = (
        &proof.proven,
        all.findings.get_mut(number.max(1) as usize - 1),
    ) {
        finding.proven = Some(proven.clone());
        case.put_document("findings", &all.findings)?;
        let mut trials = trials(case)?;
        trials.retain(|trial| !(trial.in_flight && trial.finding == number));
        // What a fix may surpass tests no prediction.
        if proven.kind == ProofKind::Equivalent || proven.limits_fixes() {
            trials.push(Trial::in_flight(case.id(), &proof, proven));
        }
        put_trials(case, &trials)?;
        let page = case.page_path();
        if page.exists() {
            write_page(&page, &genba_report::page::html(&all))?;
        }
    }
    Ok(proof)
}

/// How many findings are proven in a row.
#[derive(Clone, Copy, Debug)]
pub struct FirstProofs {
    /// Findings that are tried, from the first on.
    pub tried: usize,
    /// Proofs after which no further one is begun.
    pub wanted: usize,
    /// Time for all.
    pub budget: Duration,
    /// Time for one at most.
    pub budget_each: Duration,
}

/// Time below which no proof is begun.
const MIN_PROOF_TIME: Duration = Duration::from_secs(8);

/// Findings that are proven at most after an investigation. Chosen: the first findings are those that a user
/// would try.
const MAX_PROVEN: usize = 3;

/// Budgets of an investigation that its proofs may take together.
const BUDGETS_FOR_PROOFS: u32 = 2;

/// Investigates a command and proves the first findings, all within the limit of the options.
///
/// # Errors
/// As [`investigate`](crate::investigate()) and [`prove_first`].
pub fn investigate_and_prove(
    store: &Store,
    workload: &Workload,
    spec: &CommandSpec,
    options: &Options,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Outcome, InvestigateError> {
    let began = Instant::now();
    let outcome = investigate(store, workload, spec, options, cancel, progress)?;
    let limit = options.limit.unwrap_or_default();
    let left = limit.saturating_sub(began.elapsed());
    let plan = FirstProofs {
        tried: MAX_PROVEN,
        wanted: MAX_PROVEN,
        budget: left.min(options.budget * BUDGETS_FOR_PROOFS),
        budget_each: options.budget,
    };
    let all = outcome.investigation;
    Ok(Outcome {
        investigation: prove_first(store, all, plan, spec, cancel, progress)?,
        ..outcome
    })
}

/// Proves the first findings of an investigation that was stored, as time allows, and returns it with the
/// proofs. Its notes say what was not proven. A proof that fails leaves the investigation as it is, with a note.
///
/// # Errors
/// The case cannot be opened or read, or no launcher be started.
pub fn prove_first(
    store: &Store,
    all: Investigation,
    plan: FirstProofs,
    spec: &CommandSpec,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Investigation, InvestigateError> {
    let case = store.find_to_write(&all.case)?;
    let mut launcher = Launcher::new()?;
    let mut notes = all.notes;
    match prove_findings(&case, plan, spec, &mut launcher, cancel, progress) {
        Ok(unproven) => notes.extend(unproven),
        Err(error) => notes.push(format!("findings were not proven: {error}")),
    }
    Ok(Investigation {
        notes,
        ..case.investigation()?
    })
}

/// Proves the first findings of a case, and stores the results. Returns why findings were not proven, a
/// sentence each.
fn prove_findings(
    case: &Case,
    plan: FirstProofs,
    spec: &CommandSpec,
    launcher: &mut Launcher,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Vec<String>, InvestigateError> {
    let began = Instant::now();
    let findings = case.investigation()?.findings;
    let (mut notes, mut proven) = (Vec::new(), 0);
    for (number, finding) in (1..).zip(&findings).take(plan.tried) {
        let left = plan.budget.saturating_sub(began.elapsed());
        if cancel.is_triggered() || proven == plan.wanted || left < MIN_PROOF_TIME {
            break;
        }
        if !genba_prove::can_be_changed(&finding.cause) {
            continue;
        }
        let options = ProofOptions {
            number,
            budget: left.min(plan.budget_each),
            upper_bound: false,
        };
        let proof = prove_in_case(case, options, Some(spec), launcher, cancel, progress)?;
        match proof.reason {
            Some(reason) => notes.push(format!("{} was not proven: {reason}", finding.cause)),
            None => proven += 1,
        }
    }
    Ok(notes)
}

/// Returns the command as a case has it.
fn command_of(workload: &Workload) -> Result<CommandSpec, RunError> {
    let mut spec = match (&workload.shell, &workload.command[..]) {
        (Some(shell), [line]) => CommandSpec::from_line(line, &Shell::parse(shell)?)?,
        (_, words) => CommandSpec::direct(words),
    };
    spec.directory = Some(genba_run::bytes_of(&workload.directory).into());
    Ok(spec)
}

fn build_id<'a>(all: &'a Investigation, module: &str) -> Option<&'a str> {
    let modules = all.profile.iter().flat_map(|profile| &profile.modules);
    let mut rows = modules.filter(|row| row.module == module);
    rows.find_map(|row| row.build_id.as_deref())
}
