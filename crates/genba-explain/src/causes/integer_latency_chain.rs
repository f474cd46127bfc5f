//! `integer-latency-chain`: a checksum or hash bound by the latency of its chain.
//!
//! **Signature.** An innermost loop with many iterations over data whose measured cycles are those
//! of a chain of multiplications (or shifts) and additions, `crc32` instructions, sums of which the
//! remainder by a constant is taken at each step, or table look-ups combined by exclusive or, into
//! which each iteration feeds something new. Generators, which read nothing, and
//! state machines, whose steps cannot be split, are not reported. Or a long division of a number of
//! many words by a small constant, inside of another loop ([`crate::patterns::word_division`]): digits
//! taken one at a time. Likewise, observed, a number of many words that is multiplied by a small factor
//! again and again ([`genba_observe::LongProduct`]): digits added one at a time. Or a number of one word that is
//! divided for each of its digits ([`super::digits_one_by_one`]). Or a number that is collected, or divided, bit by bit ([`super::bits_one_by_one`]), or a search by halves in a constant table
//! ([`super::table_searches`]).
//!
//! **Confirmation.** Several steps at once: `h·f⁴ + a·f³ + b·f² + c·f + d`; eight tables; several
//! streams in parallel; the remainder of many steps taken once; a power of the divisor or factor for several
//! digits.
//!
//! **Gain.** The loop is modelled with the chain split and the loop unrolled as often.
//!
//! **Source.** M. Kounavis, F. Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC
//! Generation", 2008 (slicing by 8); A. Fog, section 9.5, on dependency chains.

use genba_model::{Cause, DivisionFact, Estimate, Fix, ObservedFact, Reduction};
use genba_observe::LongProduct;

use crate::candidate::Candidate;
use crate::causes::bits_one_by_one::bits_one_by_one;
use crate::causes::chains_in_memory::chains_in_memory;
use crate::causes::digits_one_by_one::digits_one_by_one;
use crate::causes::table_searches::table_searches;
use crate::constants::counts::{
    MIN_INDEPENDENT_LOOKUPS, MIN_INDEX_BYTES, MIN_SEARCHES, MIN_TRIPS_FOR_OTHER_HASH,
    MIN_WORDS_OF_LONG_NUMBER,
};
use crate::constants::gains::{CYCLES_OF_DIGIT, MAX_RESIDUAL};
use crate::constants::observations::{MIN_REPEATED, MIN_REPEATED_AMONG_FEW};
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::latency_chain::{Chained, candidate, chained};
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use crate::patterns::word_division::{digits_of, word_division};

/// Finds hot loops bound by a chain of integer multiplications, `crc32` instructions or table
/// look-ups over data.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let kinds = [
        Reduction::Polynomial,
        Reduction::Crc32,
        Reduction::Table,
        Reduction::Mixing,
        Reduction::Remainder,
    ];
    let all = chained(input, &kinds);
    let suited = all
        .iter()
        .filter(|one| one.kind != Reduction::Mixing || one.one.is_long(MIN_TRIPS_FOR_OTHER_HASH))
        .filter(|one| one.kind != Reduction::Table || !is_sliced(one));
    suited
        .map(|one| candidate(Cause::IntegerLatencyChain, one))
        .chain(divisions_by_digit(input))
        .chain(products_by_digit(input))
        .chain(digits_one_by_one(input))
        .chain(bits_one_by_one(input))
        .chain(table_searches(input))
        .chain(chains_in_memory(input, false))
        .collect()
}

/// Numbers of many words that are divided by a small constant for each digit.
fn divisions_by_digit(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP);
    let own = loops.iter().filter(|one| one.input.own);
    own.filter_map(|one| {
        let division = word_division(one)?;
        // All that a pass for a digit does is done for several.
        let pass = one.parent()?;
        if pass.cost.iterations < MIN_SEARCHES || one.trips? < MIN_WORDS_OF_LONG_NUMBER {
            return None;
        }
        let site = vec![division.multiplication];
        let fix = Fix::SeveralDigits {
            divisor: division.divisor,
            digits: division.digits,
        };
        let mut found = Candidate::new(Cause::IntegerLatencyChain, Some(one.function), site, fix);
        found.affected.clone_from(&pass.members);
        found.residual_fraction = with_digits_at_once(one, division.digits)?;
        found.executions = Some(one.cost.iterations);
        found.cycles = Some(one.cycles);
        Some(found.fact(one.time()).fact(DivisionFact::WordByWord {
            divisor: division.divisor,
            word_bits: division.word_bits,
            digits: division.digits,
        }))
    })
    .collect()
}

/// Numbers of many words that are multiplied by a small factor for each digit.
fn products_by_digit(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP);
    let products = sites.observed.long_products.iter();
    products
        .filter_map(|product| {
            let (function, at) = sites.users_site(product.at)?;
            let one =
                (loops.iter()).find(|one| one.function == function && one.members.contains(&at))?;
            product_by_digit(one, at, product)
        })
        .collect()
}

fn product_by_digit(one: &HotLoop<'_>, at: usize, product: &LongProduct) -> Option<Candidate> {
    let word_bits = 8 * u32::from(product.word_bytes);
    let digits = digits_of(product.factor, word_bits);
    // The next factor for the same number, not one for each of many numbers.
    let again = product.again >= MIN_REPEATED;
    let fits = is_enough(&product.seen) && product.seen.share.low >= MIN_REPEATED_AMONG_FEW;
    let long = one.cost.entries? >= MIN_SEARCHES && one.trips? >= MIN_WORDS_OF_LONG_NUMBER;
    if digits < 2 || !again || !fits || !long {
        return None;
    }
    let fix = Fix::SeveralDigitsAtOnce {
        factor: product.factor,
        digits,
    };
    let mut found = Candidate::new(
        Cause::IntegerLatencyChain,
        Some(one.function),
        vec![at],
        fix,
    );
    found.affected.clone_from(&one.members);
    found.residual_fraction = with_digits_at_once(one, digits)?;
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    Some(found.fact(one.time()).fact(ObservedFact::LongProduct {
        factor: product.factor,
        word_bits,
        share: product.seen.share,
        digits,
        bursts: product.seen.bursts,
    }))
}

/// What stays of a pass over a number for each digit where it is made for so many at once.
fn with_digits_at_once(one: &HotLoop<'_>, digits: u32) -> Option<Estimate> {
    let fewer = 1.0 / f64::from(digits);
    let apart = CYCLES_OF_DIGIT / (one.trips? * one.cycles.value);
    Some(Estimate {
        value: (fewer + apart).min(MAX_RESIDUAL),
        low: fewer,
        high: (2.0 * (fewer + apart)).min(MAX_RESIDUAL),
    })
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
