//! `bytewise-compare`: long runs compared or searched one byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte and only compares it, with a byte of another
//! run or with a constant, in runs of 16 bytes or more.
//!
//! **Confirmation.** The counted run length. Short runs are not reported: wider code does not pay
//! there.
//!
//! **Gain.** Eight to 32 bytes per comparison, plus some cycles to start and to locate the byte.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use genba_model::{ByteOperation, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::gains::BYTE_COMPARE_CYCLES;
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
    one.residual_fraction = found.residual_fraction(BYTE_COMPARE_CYCLES);
    one.executions = Some(found.iterations);
    one.cycles = Some(Estimate::exact(found.each));
    found.facts(ByteOperation::Compare, one)
}
