//! `strided-access`: each round reads another cache line for a few bytes of it.
//!
//! **Signature.** In a loop, a load whose address gains at least a line each round (or an
//! amount that is fixed before the loop: a row's length), at which more time stands than the
//! first cache takes.
//!
//! **Confirmation.** Loops swapped, or the wanted field in an array of its own.
//!
//! **Gain.** Up to the round with all loads from the first cache: lines are then used whole and
//! fetched ahead.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 6.2.

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::load_stalls::Pattern;
use crate::patterns::slow_loads::{Kind, Slow, candidate, slow};
use crate::patterns::value_steps::Step;

/// Identifier.
pub const ID: &str = "strided-access";

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Strides);
    all.iter().map(|slow| tell(input, slow)).collect()
}

fn tell(input: &AnalysisInput, slow: &Slow) -> Candidate {
    let goes = Estimate {
        value: 0.85,
        low: 0.25,
        high: 1.0,
    };
    let bytes = input.functions[slow.function].data[slow.list[0].at]
        .memory
        .iter()
        .find(|access| access.reads)
        .map_or(0, |access| access.bytes);
    let fact = match slow.list[0].pattern {
        Pattern::Strides(Step::Constant(step)) => format!(
            "its address gains {} bytes each round, and {bytes} of them are read",
            step.unsigned_abs()
        ),
        _ => format!(
            "its address gains an amount each round that is fixed before the loop, and {bytes} bytes are read"
        ),
    };
    let mut found = candidate(input, ID, slow, goes, true).counted(fact);
    found.fix = "Let the innermost loop go along memory: swap the loops, work in tiles, or keep the fields that this loop reads in an array of their own."
        .to_owned();
    found.example = Some((
        "for (i …) for (j …) for (k …)\n    c[i][j] += a[i][k] * b[k][j];",
        "for (i …) for (k …) for (j …)\n    c[i][j] += a[i][k] * b[k][j];",
    ));
    found
}
