//! Numbers and codes read from memory bit by bit: part of `integer-latency-chain`.
//!
//! **Signature.** A loop that collects the next bits of memory one by one ([`crate::patterns::collected_bits`]), several each
//! time.
//!
//! **Confirmation.** Several bits with one load, shift and mask; of codes a table by the next bits.
//!
//! **Gain.** The measured time of the loop for each number, less a load, a shift and a mask, or a look-up for codes.
//!
//! **Source.** F. Giesen, "Reading bits in far too many ways", 2018; A. Moffat, A. Turpin, "On the implementation of
//! minimum redundancy prefix codes", IEEE Trans. Communications 45, 1997 (tables by the next bits).

use genba_model::{Cause, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::causes::quadratic::residual_fraction;
use crate::constants::counts::{MIN_BITS_AT_ONCE, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::CYCLES_OF_BITS_AT_ONCE;
use crate::constants::time_shares::MIN_SHARE_OF_BYTE_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::collected_bits::collected_bits;
use crate::patterns::hot_loops::hot_loops;

/// Finds loops that take bits one by one.
pub(crate) fn bits_one_by_one(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP).into_iter();
    let own = loops.filter(|one| one.input.can_be_changed());
    own.filter_map(|one| {
        let bits = one.trips.filter(|&trips| trips >= MIN_BITS_AT_ONCE)?;
        let entries = one
            .cost
            .entries
            .filter(|&all| all >= MIN_CALLS_IN_HOT_CODE)?;
        let found = collected_bits(&one)?;
        let site = vec![found.load, found.collects];
        let fix = Fix::SeveralBitsAtOnce;
        let mut candidate =
            Candidate::new(Cause::IntegerLatencyChain, Some(one.function), site, fix);
        candidate.affected.clone_from(&one.members);
        candidate.residual_fraction =
            residual_fraction(bits * one.cycles.value, CYCLES_OF_BITS_AT_ONCE);
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        let fact = LoopFact::BitsOneByOne {
            numbers: entries,
            bits,
        };
        Some(candidate.fact(fact).fact(one.time()))
    })
    .collect()
}
