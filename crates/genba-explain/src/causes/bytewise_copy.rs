//! `bytewise-copy`: long runs copied one byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte, stores it unchanged and advances by one, in
//! runs of 16 bytes or more. A comparison that finds the end of the run is no other use of the
//! byte.
//!
//! **Confirmation.** The counted run length.
//!
//! **Gain.** `memcpy` moves 16 to 64 bytes per instruction and takes a dozen cycles to start;
//! finding the end first (`memchr`) takes as much again.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use genba_model::{ByteOperation, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::gains::BYTE_COPY_CYCLES;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};

/// Finds loops that copy bytes unchanged, from the usual path of each loop and its counted run
/// lengths.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    all.iter()
        .filter(|one| !one.stores.is_empty())
        .map(candidate)
        .collect()
}

fn candidate(found: &ByteLoop) -> Candidate {
    let mut site = found.stores.clone();
    site.extend(&found.loads);
    let mut one = Candidate::new(
        Cause::BytewiseCopy,
        Some(found.function),
        site,
        Fix::CopyRuns,
    );
    one.affected = found.path.clone();
    one.residual_fraction = found.residual_fraction(BYTE_COPY_CYCLES);
    one.executions = Some(found.iterations);
    one.cycles = Some(Estimate::exact(found.each));
    found.facts(ByteOperation::Copy, one)
}
