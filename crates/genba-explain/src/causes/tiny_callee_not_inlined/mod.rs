//! `tiny-callee-not-inlined`: a small function that is called instead of inlined.
//!
//! **Signature.** A function of few instructions that calls nothing and has no loop, called
//! directly and often where the compiler could not inline it: from another translation unit
//! ([`across_units`]), or through the procedure linkage table ([`through_plt`]); or one of the C library for a character
//! of a stream ([`character_streams`]), or that rounds a number ([`rounding`]).
//!
//! **Confirmation.** A build with link-time optimisation; for calls through the PLT one without
//! interposition of symbols.
//!
//! **Gain.** From the measured cycles of callee and call to the cycles of the instructions that are
//! left when it is inlined ([`crate::patterns::calls`]).
//!
//! **Source.** W. W. Hwu and P. P. Chang, "Inline Function Expansion for Compiling C
//! Programs", PLDI 1989.

mod across_units;
mod character_streams;
mod rounding;
mod through_plt;

use crate::candidate::Candidate;
use crate::constants::counts::{MAX_CODE_OF_TINY_CALLEE, MAX_INSTRUCTIONS_OF_TINY_CALLEE};
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};

/// Finds small functions that are called often where the compiler could not inline them.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = across_units::detect(input);
    found.extend(through_plt::detect(input));
    found.extend(character_streams::detect(input));
    found.extend(rounding::detect(input));
    found
}

/// Whether a callee is so small that the call costs as much as it does, and that compilers inline it.
fn is_tiny(target: &CallTarget, callee: &FunctionInput) -> bool {
    target.instructions_per_call <= MAX_INSTRUCTIONS_OF_TINY_CALLEE
        && target.instructions_per_call > 0.0
        && callee.code.len() <= MAX_CODE_OF_TINY_CALLEE
        && !target.calls_others
        && callee.flow.loops().is_empty()
        && !callee.code.iter().any(|one| one.is_lock)
}
