//! `pointer-chase`: each address waits for the load before it, and the memory is far.
//!
//! **Signature.** In a loop, a load whose address comes from what it (or one that it takes turns
//! with) loaded the round before, at which far more time stands than the first cache takes.
//!
//! **Confirmation.** The same with a smaller working set, or with the nodes in order in memory.
//!
//! **Gain.** Up to the round with all loads from the first cache; a contiguous layout comes near
//! it, prefetching and batching go part of the way.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 3.3.

use genba_model::{AddressPattern, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Finds slow loads whose address was loaded in the previous iteration.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Chase);
    all.iter()
        .map(|slow| {
            let goes = Estimate {
                value: 0.92,
                low: 0.3,
                high: 1.0,
            };
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
