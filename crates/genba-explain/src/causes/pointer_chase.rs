//! `pointer-chase`: each address is loaded by the previous iteration, from slow memory.
//!
//! **Signature.** In a loop, a load whose address was loaded in the previous iteration by itself
//! (or by one that it alternates with), and that takes far longer than an L1d hit.
//!
//! **Confirmation.** The same with a smaller working set, or with the nodes in order in memory.
//!
//! **Gain.** Up to the loop with all loads hitting L1d. A contiguous layout comes near it;
//! prefetching and batching go part of the way.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 3.3.

use genba_model::{AddressPattern, Cause, Fix};

use crate::candidate::Candidate;
use crate::constants::gains::POINTER_CHASE_SAVED;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Finds slow loads whose address was loaded in the previous iteration.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Chase);
    all.iter()
        .map(|slow| {
            let goes = POINTER_CHASE_SAVED;
            candidate(
                input,
                Cause::PointerChase,
                Fix::ContiguousElements,
                slow,
                goes,
                true,
            )
            .fact(slow.address(input, AddressPattern::PreviousLoad))
        })
        .collect()
}
