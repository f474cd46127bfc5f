//! Numbers and codes read from memory bit by bit, bits of a number counted one by one, and numbers divided bit by bit: part
//! of `integer-latency-chain`.
//!
//! **Signature.** A loop that collects the next bits of memory one by one ([`crate::patterns::collected_bits`]), several each
//! time; or one that counts those of a number in a register ([`crate::patterns::counted_bits`]), or divides by shift and
//! subtraction ([`crate::patterns::quotient_bits`]).
//!
//! **Confirmation.** Several bits with one load, shift and mask; of codes a table by the next bits; an instruction that
//! counts them, or divides.
//!
//! **Gain.** The measured time of the loop for each number, less a load, a shift and a mask, or a look-up for codes; or
//! less the instruction that counts, or what stands in for it.
//!
//! **Source.** H. Warren, *Hacker's Delight*, sections 5-1 and 5-3; F. Giesen, "Reading bits in far too many ways", 2018;
//! A. Moffat, A. Turpin, "On the implementation of minimum redundancy prefix codes", IEEE Trans. Communications 45, 1997
//! (tables by the next bits).

use genba_model::{Cause, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::causes::quadratic::residual_fraction;
use crate::constants::counts::{MIN_BITS_AT_ONCE, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::{
    CYCLES_OF_BITS_AT_ONCE, CYCLES_OF_COUNTED_BITS, CYCLES_OF_WIDE_DIVISION,
};
use crate::constants::time_shares::MIN_SHARE_OF_BYTE_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::collected_bits::collected_bits;
use crate::patterns::counted_bits::{Counted, counted_bits};
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::quotient_bits::quotient_bits;

/// Finds loops that take or count bits one by one.
pub(crate) fn bits_one_by_one(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP).into_iter();
    let own = loops.filter(|one| one.input.can_be_changed());
    own.filter_map(|one| {
        let bits = one.trips.filter(|&trips| trips >= MIN_BITS_AT_ONCE)?;
        let numbers = one
            .cost
            .entries
            .filter(|&all| all >= MIN_CALLS_IN_HOT_CODE)?;
        let collected = || {
            let found = collected_bits(&one)?;
            let fact = LoopFact::BitsOneByOne { numbers, bits };
            let site = vec![found.load, found.collects];
            Some((site, Fix::SeveralBitsAtOnce, CYCLES_OF_BITS_AT_ONCE, fact))
        };
        let counted = || {
            let (what, at) = counted_bits(&one)?;
            let highest = what == Counted::UpToHighest;
            let fact = LoopFact::BitsCounted { numbers, bits };
            Some((
                vec![at],
                Fix::CountBits { highest },
                CYCLES_OF_COUNTED_BITS,
                fact,
            ))
        };
        let divided = || {
            let at = quotient_bits(&one)?;
            let divisions = numbers;
            let fact = LoopFact::QuotientBits { divisions, bits };
            Some((vec![at], Fix::DivideAtOnce, CYCLES_OF_WIDE_DIVISION, fact))
        };
        let (site, fix, cycles, fact) = collected().or_else(counted).or_else(divided)?;
        let mut candidate =
            Candidate::new(Cause::IntegerLatencyChain, Some(one.function), site, fix);
        candidate.affected.clone_from(&one.members);
        candidate.residual_fraction = residual_fraction(bits * one.cycles.value, cycles);
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        Some(candidate.fact(fact).fact(one.time()))
    })
    .collect()
}
