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

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Identifier.
pub const ID: &str = "pointer-chase";

/// Looks for it.
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
            let mut found = candidate(input, ID, slow, goes, true).counted(
                "its address is what the loop loaded the round before: the next load cannot begin earlier",
            );
            found.fix = "Keep the elements side by side (an array or a vector instead of a list, nodes from one pool in the order of use, indices instead of pointers), so that addresses are known ahead and lines are shared; or walk several lists at once."
                .to_owned();
            found.example = Some((
                "for (node *p = head; p; p = p->next)\n    sum += p->value;",
                "for (size_t i = 0; i < n; i++)\n    sum += items[i].value;",
            ));
            found
        })
        .collect()
}
