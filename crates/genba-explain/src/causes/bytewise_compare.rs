//! `bytewise-compare`: long stretches compared or searched a byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte and only compares it, with another
//! stretch's or with a constant, in runs of 16 bytes and more.
//!
//! **Confirmation.** The counted length of runs; short runs are left alone: wider code does not
//! pay there.
//!
//! **Gain.** Eight to 32 bytes a comparison, and some cycles to begin and to find the place.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use genba_model::{ByteOperation, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};

/// Finds loops that only compare bytes, from the usual path of each loop and its counted run
/// lengths.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    all.iter()
        .filter(|one| one.stores.is_empty())
        .map(candidate)
        .collect()
}

fn candidate(found: &ByteLoop) -> Candidate {
    let fix = match found.compares_two {
        true => Fix::WideCompare,
        false => Fix::LibrarySearch,
    };
    let mut one = Candidate::new(
        Cause::BytewiseCompare,
        Some(found.function),
        found.loads.clone(),
        fix,
    );
    one.affected = found.path.clone();
    one.residual_fraction =
        found.residual_fraction([12.0, 4.0, 28.0], [1.0 / 8.0, 1.0 / 32.0, 1.0 / 4.0]);
    one.executions = Some(found.rounds);
    one.cycles = Some(Estimate::exact(found.each));
    found.facts(ByteOperation::Compare, one)
}
