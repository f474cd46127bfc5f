//! The proof of a finding: its module's code, the changes that may be its fix, and the runs.

use std::path::Path;
use std::time::Duration;

use genba_model::{Finding, Proof};
use genba_run::{Cancel, CommandSpec, Launcher};
use genba_symbols::Binary;

use crate::proof_run::{Outcome, Progress, ProofRequest, prove};
use crate::{DecodedCode, ProveError, plans};

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
    let changes = match changes(of) {
        Ok(changes) => changes,
        Err(reason) => {
            proof.reason = Some(reason);
            return Ok(proof);
        }
    };
    let request = ProofRequest {
        spec: of.spec.clone(),
        module: finding.site.module.clone(),
        plans: changes,
        share: finding.share,
        budget: of.budget,
        seed: u64::from(of.number) << 32,
    };
    match prove(&request, launcher, cancel, progress)? {
        Outcome::Proven(proven, notes) => {
            proof.proven = Some(*proven);
            proof.notes = notes;
        }
        Outcome::NoClaim(reason) => proof.reason = Some(reason),
    }
    Ok(proof)
}

/// Returns the changes that may be the fix; a sentence if there are none.
fn changes(of: &FindingToProve<'_>) -> Result<Vec<crate::Plan>, String> {
    let site = &of.finding.site;
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
    let code = DecodedCode::around(&binary, first)
        .ok_or_else(|| format!("{} has no code at {first:#x}", site.module))?;
    plans(&of.finding.cause, site, &code)
}
