//! The sentences of genba: every text that the terminal, the page and the exports share, a file
//! for each subject.
//!
//! Functions here take the plain types of `genba_model` and return text. Names in it come from
//! elsewhere and are passed on as they are: whoever prints a sentence escapes it for its medium.

pub(crate) mod ablation;
pub(crate) mod bisection;
pub(crate) mod campaign;
pub(crate) mod causes;
mod confirmations;
pub(crate) mod counters;
pub(crate) mod counts;
pub(crate) mod diagnosis;
mod evidence;
pub(crate) mod execution_costs;
pub(crate) mod findings;
mod fix_examples;
mod fix_variants;
mod fixes;
pub(crate) mod gate;
pub(crate) mod growth;
pub(crate) mod history;
pub(crate) mod loop_verdicts;
pub(crate) mod loops;
pub(crate) mod metrics;
pub(crate) mod observed_instruction;
pub(crate) mod places;
pub(crate) mod profile;
pub(crate) mod profile_diff;
pub(crate) mod proofs;
pub(crate) mod requests;
pub(crate) mod runs;
pub mod source_fix;
pub(crate) mod sweep;
pub(crate) mod try_variants;
pub(crate) mod verdicts;
pub(crate) mod wait_findings;
pub(crate) mod waits;

#[cfg(test)]
mod diagnosis_tests;
