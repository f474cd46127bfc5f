//! Proofs: the fix of a finding is applied to the code that runs, and its gain measured in the running
//! program, with its data, before anyone edits the source.
//!
//! **Scope.** Edits, made from a finding and the decoded code around it, one file per kind of change
//! (pure); windows of time to a speedup with its interval (pure); and the runs: native, with two copies
//! of the code as it is, with one of them edited.
//!
//! **Not here.** Translating, switching sides, measuring windows: genba-engine, by genba-count.

mod branch_shares;
mod decoded_code;
mod edit_assembler;
mod edits;
mod finding_proof;
mod proof_run;
mod register_liveness;
mod window_pairs;

pub use branch_shares::BranchShares;
pub use decoded_code::DecodedCode;
pub use edits::{Plan, bounds, can_be_changed, plans};
pub use finding_proof::{FindingToProve, prove_finding};
pub use proof_run::{Outcome, Progress, ProofRequest, prove};
pub use window_pairs::{Pairs, pairs};

/// Why a proof failed for another reason than that there is nothing to claim.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The module cannot be read.
    #[error(transparent)]
    Symbols(#[from] genba_symbols::SymbolsError),
    /// A run failed.
    #[error(transparent)]
    Count(#[from] genba_count::CountError),
    /// A run could not be started.
    #[error(transparent)]
    Run(#[from] genba_run::RunError),
    /// Statistics refused their input.
    #[error(transparent)]
    Stats(#[from] genba_stats::StatsError),
}
