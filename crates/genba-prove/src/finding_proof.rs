//! The proof of a finding: its module's code, the changes that may be its fix, and the runs.

use std::path::Path;
use std::time::{Duration, Instant};

use genba_model::{Finding, Proof};
use genba_run::{Cancel, CommandSpec, Launcher};
use genba_symbols::Binary;

use crate::branch_shares::{self, BranchShares};
use crate::edits::{bounds, has_bounds, needs_branch_shares, plans};
use crate::proof_run::{Outcome, Progress, ProofRequest, prove};
use crate::{DecodedCode, ProveError};

/// A finding to prove.
#[derive(Clone, Debug)]
pub struct FindingToProve<'a> {
    /// Id of the case.
    pub case: &'a str,
    /// Number of the finding, from 1.
    pub number: u32,
    /// The finding.
    pub finding: &'a Finding,
    /// Build id of the module as it was measured, hexadecimal; `None` if it has none.
    pub build_id: Option<&'a str>,
    /// The command, and how it is run.
    pub spec: &'a CommandSpec,
    /// Time for all runs.
    pub budget: Duration,
    /// Whether the upper bound is measured, even where there is a change that computes the same.
    pub upper_bound: bool,
}

/// Proves a finding, or says why it cannot be proven.
///
/// # Errors
/// If the program cannot be run.
pub fn prove_finding(
    of: &FindingToProve<'_>,
    launcher: &mut Launcher,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Proof, ProveError> {
    let finding = of.finding;
    let mut proof = Proof {
        case: of.case.to_owned(),
        finding: of.number,
        cause: finding.cause.clone(),
        site: finding.site.clone(),
        predicted_speedup: finding.predicted_speedup,
        proven: None,
        reason: None,
        notes: Vec::new(),
    };
    let began = Instant::now();
    let site = finding.site.code();
    let code = match decoded(of) {
        Ok(code) => code,
        Err(reason) => {
            proof.reason = Some(reason);
            return Ok(proof);
        }
    };
    let request = |plans, budget| ProofRequest {
        spec: of.spec.clone(),
        module: site.module.clone(),
        plans,
        share: finding.share,
        program_seconds: program_seconds(finding),
        budget,
        seed: u64::from(of.number) << 32,
    };
    let equivalent = plans(&finding.cause, site, &code);
    let no_form = equivalent.as_ref().err().cloned();
    if let Some(plans) = equivalent.ok().filter(|_| !of.upper_bound) {
        let two = has_bounds(&finding.cause);
        let budget = if two { of.budget / 2 } else { of.budget };
        take(
            &mut proof,
            prove(&request(plans, budget), launcher, cancel, progress)?,
        );
        let gains = proof
            .proven
            .as_ref()
            .is_some_and(|one| one.program_speedup.low > 1.0);
        if gains || !two || cancel.is_triggered() {
            return Ok(proof);
        }
        // Another form of the fix may gain: what is there to be gained at all?
        if let Some(tried) = &proof.proven {
            let speedup = tried.program_speedup;
            proof.notes.push(format!(
                "a change that computes the same was measured before, without a gain: {:.2}× ({:.2}–{:.2})",
                speedup.value, speedup.low, speedup.high
            ));
        }
    }
    let shares = match needs_branch_shares(&finding.cause) {
        true => {
            progress.update("counting how often branches are taken", Some(of.budget / 4));
            let module = &site.module;
            branch_shares::count(of.spec, module, &code, of.budget / 4, launcher, cancel)?
        }
        false => BranchShares::new(),
    };
    match bounds(&finding.cause, site, &code, &shares) {
        Ok(plans) => {
            let left = of.budget.saturating_sub(began.elapsed());
            let bound = prove(&request(plans, left), launcher, cancel, progress)?;
            // What was proven of an equivalent change stays where there is no bound.
            if proof.proven.is_none() || matches!(bound, Outcome::Proven(..)) {
                take(&mut proof, bound);
            }
        }
        Err(reason) if proof.proven.is_none() => {
            let reason = no_form.filter(|_| !of.upper_bound).unwrap_or(reason);
            proof.reason.get_or_insert(reason);
        }
        Err(_) => {}
    }
    Ok(proof)
}

/// CPU time of the whole program for each execution of the site.
fn program_seconds(finding: &Finding) -> Option<f64> {
    let each = finding.cost_seconds?.value / finding.share.value;
    each.is_finite().then_some(each)
}

fn take(proof: &mut Proof, outcome: Outcome) {
    match outcome {
        Outcome::Proven(proven, notes) => {
            proof.proven = Some(*proven);
            proof.reason = None;
            proof.notes.extend(notes);
        }
        Outcome::NoClaim(reason) => proof.reason = Some(reason),
    }
}

/// Returns the code around the finding; a sentence if it is not there.
fn decoded(of: &FindingToProve<'_>) -> Result<DecodedCode, String> {
    let site = of.finding.site.code();
    let Some(&first) = site.addresses.first() else {
        return Err("the finding names no instructions".to_owned());
    };
    let binary = Binary::open(Path::new(&site.module)).map_err(|error| error.to_string())?;
    if of.build_id.is_some() && of.build_id != binary.build_id().as_deref() {
        return Err(format!(
            "{} is another file than when it was measured: measure again (genba explain)",
            site.module
        ));
    }
    DecodedCode::around(&binary, first)
        .ok_or_else(|| format!("{} has no code at {first:#x}", site.module))
}
