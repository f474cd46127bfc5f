//! `integer-latency-chain`: a checksum or hash bound by the latency of its chain.
//!
//! **Signature.** An innermost loop with many iterations over data whose measured cycles are those
//! of a chain of multiplications and additions, `crc32` instructions, or table look-ups combined by
//! exclusive or, into which each iteration feeds something new. Generators, which read nothing, and
//! state machines, whose steps cannot be split, are not reported.
//!
//! **Confirmation.** Several steps at once: `h·f⁴ + a·f³ + b·f² + c·f + d`; eight tables; several
//! streams in parallel.
//!
//! **Gain.** The loop is modelled with the chain split and the loop unrolled as often.
//!
//! **Source.** M. Kounavis, F. Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC
//! Generation", 2008 (slicing by 8); A. Fog, section 9.5, on dependency chains.

use genba_model::{Cause, Reduction};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_INDEPENDENT_LOOKUPS, MIN_INDEX_BYTES, MIN_TRIPS_FOR_OTHER_HASH,
};
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Origin, Value};
use crate::patterns::latency_chain::{Chained, candidate, chained};

/// Finds hot loops bound by a chain of integer multiplications, `crc32` instructions or table
/// look-ups over data.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let kinds = [
        Reduction::Polynomial,
        Reduction::Crc32,
        Reduction::Table,
        Reduction::Mixing,
    ];
    let all = chained(input, &kinds);
    let suited = all
        .iter()
        .filter(|one| one.kind != Reduction::Mixing || one.one.is_long(MIN_TRIPS_FOR_OTHER_HASH))
        .filter(|one| one.kind != Reduction::Table || !is_sliced(one));
    suited
        .map(|one| candidate(Cause::IntegerLatencyChain, one))
        .collect()
}

/// Whether an iteration looks up several tables side by side already: of the bytewise loop, however
/// often it is unrolled, the place of every look-up waits for the look-up before.
fn is_sliced(chained: &Chained<'_>) -> bool {
    let function = chained.one.input;
    let in_chain = |value: Value| match function.values.origin(value) {
        Origin::Instruction(at) => chained.links.contains(&(at as usize)),
        _ => false,
    };
    let beside = |&at: &usize| {
        let list = function.data[at].memory.iter();
        let mut loads = list.zip(function.values.addresses(at));
        loads.any(|(access, address)| {
            let index = address.and_then(|address| address.index);
            let reads = access.reads && !access.stack;
            reads
                && index
                    .is_some_and(|(value, factor)| factor >= MIN_INDEX_BYTES && !in_chain(value))
        })
    };
    chained.one.usual().filter(beside).count() >= MIN_INDEPENDENT_LOOKUPS
}
