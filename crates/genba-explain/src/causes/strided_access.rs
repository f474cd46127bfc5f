//! `strided-access`: each iteration reaches another cache line for a few bytes.
//!
//! **Signature.** In a loop, a load whose address advances by at least a line per iteration (or by
//! an amount that is fixed before the loop, as a row's length) and that takes longer than an L1d
//! hit. Or one of the same element in each of many rows that pointers name, where the loop around
//! advances from element to element.
//!
//! **Confirmation.** Interchanged loops, or the field in an array of its own.
//!
//! **Gain.** Up to the loop with all loads hitting L1d: lines are then used completely and
//! prefetched.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 6.2.

use genba_model::{AddressPattern, Cause, Fix};

use crate::candidate::Candidate;
use crate::constants::gains::STRIDE_SAVED;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::load_stalls::Pattern;
use crate::patterns::slow_loads::{Kind, Slow, candidate, slow};
use crate::patterns::value_steps::Step;

/// Finds slow loads whose address advances by a cache line or more in each iteration.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Strides);
    all.iter().map(|slow| candidate_of(input, slow)).collect()
}

fn candidate_of(input: &AnalysisInput, slow: &Slow) -> Candidate {
    let goes = STRIDE_SAVED;
    let pattern = match slow.list[0].pattern {
        Pattern::Strides(Step::Constant(step)) => AddressPattern::Stride {
            bytes: step.unsigned_abs(),
        },
        Pattern::ColumnOfRows(bytes) => AddressPattern::ColumnOfRows { bytes },
        _ => AddressPattern::InvariantStride,
    };
    candidate(
        input,
        Cause::StridedAccess,
        Fix::TraverseInOrder,
        slow,
        goes,
        true,
    )
    .fact(slow.address(input, pattern))
}
