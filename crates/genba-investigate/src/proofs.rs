//! Proofs of a case's findings: the command is run again with the fix applied to its code, and the result
//! stored with the finding.

use std::time::Duration;

use genba_case::Case;
use genba_model::{Investigation, Proof, Trial, Workload};
use genba_prove::{FindingToProve, prove_finding};
use genba_run::{Cancel, CommandSpec, Launcher, RunError, Shell};

use crate::pipeline::write_page;
use crate::{InvestigateError, Progress};

/// Name of the case document with the checked predictions.
pub const TRIALS: &str = "trials";

/// Proves a finding of a case, by its number from 1, and stores the result. Without `spec`, the command
/// is run as the case has it.
///
/// # Errors
/// If there is no such finding, the command cannot be run, or the case cannot be written.
pub fn prove_in_case(
    case: &Case,
    number: u32,
    spec: Option<&CommandSpec>,
    budget: Duration,
    launcher: &mut Launcher,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Proof, InvestigateError> {
    let mut all = case.investigation()?;
    let many = all.findings.len();
    let Some(finding) = all.findings.get(number.max(1) as usize - 1).cloned() else {
        return Err(InvestigateError::NoFinding {
            case: case.id().to_owned(),
            many,
            number,
        });
    };
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
        build_id: build_id(&all, &finding.site.module),
        spec,
        budget,
    };
    let mut told = |stage: &str, left: Option<Duration>| progress.update(stage, left);
    let proof = prove_finding(&of, launcher, cancel, &mut told)?;
    if let (Some(proven), Some(finding)) = (
        &proof.proven,
        all.findings.get_mut(number.max(1) as usize - 1),
    ) {
        finding.proven = Some(proven.clone());
        case.put_document("findings", &all.findings)?;
        let mut trials: Vec<Trial> = case.get_document(TRIALS)?.unwrap_or_default();
        trials.retain(|trial| !(trial.in_flight && trial.finding == number));
        trials.push(Trial::in_flight(case.id(), &proof, proven));
        case.put_document(TRIALS, &trials)?;
        let page = case.page_path();
        if page.exists() {
            write_page(&page, &genba_report::page::html(&all))?;
        }
    }
    Ok(proof)
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
