//! `fp-latency-chain`: a floating-point reduction bound by the latency of its chain.
//!
//! **Signature.** An innermost loop with many iterations whose measured cycles are those of a chain
//! of floating-point additions (multiplications, minima or maxima), each of which takes the
//! previous result and a new operand; nothing else in the loop reads the accumulator. Recurrences
//! that need each result (filters, Horner's rule, stored prefix sums) are not reported. Or a number that is kept in
//! memory from one iteration to the next ([`super::chains_in_memory`]).
//!
//! **Confirmation.** Several partial sums that are added at the end. The last digits may differ,
//! because rounding depends on the order.
//!
//! **Gain.** The loop is modelled with every such chain split in four and the loop unrolled as
//! often; vectors of two or four numbers bound it from below.
//!
//! **Source.** A. Fog, "Optimizing subroutines in assembly language", section 9.5, "Break
//! dependency chains".

use genba_model::{Cause, Reduction};

use crate::candidate::Candidate;
use crate::causes::chains_in_memory::chains_in_memory;
use crate::constants::gains::MAX_CHAIN_RESIDUAL;
use crate::constants::processor::VECTOR_BYTES;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::latency_chain::{Chained, candidate, chained};
use crate::patterns::memory_streams::bounded;
use crate::patterns::value_steps::{Step, address_step};

/// Finds hot loops bound by a chain of floating-point additions, multiplications, minima or maxima
/// that only accumulates.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let kinds = [
        Reduction::FloatSum,
        Reduction::FloatProduct,
        Reduction::FloatExtreme,
    ];
    let all = chained(input, &kinds);
    let mut found: Vec<Candidate> = all.iter().map(candidate_of).collect();
    for (candidate, chained) in found.iter_mut().zip(&all) {
        candidate.residual_fraction = bounded(input, &chained.one, candidate.residual_fraction);
    }
    found.extend(chains_in_memory(input, true));
    found
}

fn candidate_of(chained: &Chained<'_>) -> Candidate {
    let mut found = candidate(Cause::FpLatencyChain, chained);
    // Compilers may vectorise independent accumulators of what is read through, but did not where the fix was
    // measured: sums of four accumulators gained 2.4 and 2.7 where 2.8 is modelled without vectors, 4 with them.
    if reads_through(&chained.one) {
        found.residual_fraction.low /= lanes(chained);
    }
    // Two sums instead of four are a fix as well.
    found.residual_fraction.high = found.residual_fraction.high.max(MAX_CHAIN_RESIDUAL);
    found
}

/// Whether each address that a loop loads from advances by what is loaded, or stays: elements from elsewhere would
/// have to be gathered.
fn reads_through(one: &HotLoop<'_>) -> bool {
    let function = one.input;
    one.members.iter().all(|&at| {
        let accesses = function.data[at].memory.iter();
        let mut loads = (accesses.zip(function.values.addresses(at))).filter(|load| load.0.reads);
        loads.all(|(access, address)| {
            let step =
                (address.as_ref()).and_then(|address| address_step(function, one.index, address));
            match step {
                Some(Step::Constant(step)) => {
                    step == 0 || step.unsigned_abs() <= u64::from(access.bytes)
                }
                Some(Step::Invariant) | None => false,
            }
        })
    })
}

/// Numbers that a vector of 16 bytes holds, if the chain is of single ones.
fn lanes(chained: &Chained<'_>) -> f64 {
    let form = |at: &usize| chained.one.input.data[*at].form.as_str();
    let name = |at: &usize| form(at).split(' ').next().unwrap_or_default();
    if chained.links.iter().any(|at| name(at).ends_with("ss")) {
        VECTOR_BYTES / size_of::<f32>() as f64
    } else if chained.links.iter().any(|at| name(at).ends_with("sd")) {
        VECTOR_BYTES / size_of::<f64>() as f64
    } else {
        1.0
    }
}
