//! A list followed to its end, or to an element by its number, from the beginning each time.
//!
//! **Signature.** A loop that loads nothing but the link to the next element, from the element before, stores and
//! calls nothing, and begins with the same element each time, not where an earlier walk stopped. It may end where a
//! field has a constant value (the first element that is empty). Or it adds up
//! one field of the elements besides, until the sum reaches a number that the walk was given: the element
//! that holds the item of a number. It follows hundreds of links for each of many entries. Whatever it finds (where to
//! append, how many there are, the element of a number) is known by what was walked before.
//!
//! **Near misses.** Walks that read or mark their elements (a sum of all of them), that compare them with a key
//! ([`super::search`]), that go on where the last one stopped; short lists.
//!
//! **Gain.** Without the walk. To an item's number, walks from the nearer end are a remedy as well, or a sum kept for
//! each stretch of the list: a good part may stay.

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::list_links::{is_list_element, links_from};
use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES};
use crate::constants::gains::{CYCLES_WITHOUT_STRING_SCAN, WALK_TO_NUMBER_RESIDUAL};
use crate::constants::registers::FLAGS;
use crate::input::analysis_input::AnalysisInput;
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::loop_exits::leads_out;

/// A walk along a list for each of many items.
pub(super) fn list_walk(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (iterations, walks) = (found.trips?, found.cost.entries?);
    if !function.own
        || iterations < MIN_ELEMENTS_PER_SEARCH
        || walks < MIN_SEARCHES
        || found.has_opaque()
    {
        return None;
    }
    let executed = found
        .members
        .iter()
        .copied()
        .filter(|&at| found.times(at) > 0.0);
    let with_memory = executed.filter(|&at| !function.data[at].memory.is_empty());
    let all: Vec<usize> = with_memory.collect();
    let uses = Uses::of(function);
    let (follows, others): (Vec<usize>, Vec<usize>) =
        all.iter().partition(|&&at| only_follows(found, &uses, at));
    let adds: Vec<usize> = (others.into_iter())
        .filter(|&at| !ends_at_constant(found, &uses, at))
        .collect();
    if follows.is_empty() || adds.len() > 1 || !adds.iter().all(|&at| sums_up(found, &uses, at)) {
        return None;
    }
    let mut one = walks_candidate(input, found, follows[0], found.share, Fix::RememberPlace)?;
    if !adds.is_empty() {
        one.residual_fraction = WALK_TO_NUMBER_RESIDUAL;
    }
    Some(one)
}

/// A candidate for walks whose link an instruction loads, with the share of time of the loop and all that belongs to
/// it. No walk is left.
pub(super) fn walks_candidate(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    link: usize,
    share: f64,
    fix: Fix,
) -> Option<Candidate> {
    let (iterations, walks) = (found.trips?, found.cost.entries?);
    let elements = iterations * links_each(found, link);
    let each = share * cycles_of_all(input)? / walks as f64;
    let idle = fix == Fix::SkipWalk;
    let mut one = Candidate::new(Cause::Quadratic, Some(found.function), vec![link], fix);
    one.affected.clone_from(&found.members);
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_STRING_SCAN);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / iterations));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::ListWalks {
            walks,
            elements,
            idle,
        })
        .fact(QuadraticFact::SearchTime {
            share,
            cycles: each,
        }),
    )
}

/// Links of the list that an iteration follows, beginning where an instruction loads one.
fn links_each(found: &HotLoop<'_>, at: usize) -> f64 {
    let from = found.input.values.addresses(at).iter().flatten();
    let links = from
        .into_iter()
        .map(|one| links_from(found, one.base).len());
    links.max().unwrap_or(0).saturating_sub(1).max(1) as f64
}

/// Whether all that an instruction does with memory is to load a link of the list, or to test whether there is one.
fn only_follows(found: &HotLoop<'_>, uses: &Uses, at: usize) -> bool {
    let function = found.input;
    let accesses = function.data[at].memory.iter();
    let mut both = accesses.zip(function.values.addresses(at));
    both.all(|(access, address)| {
        let pointer = usize::from(access.bytes) == size_of::<u64>();
        !access.writes && pointer && address.is_some_and(|from| is_list_element(found, &from))
    }) && (is_link(found, uses, at) || matches!(function.code[at].mnemonic, "cmp"))
}

/// Whether what an instruction loads is the element of the next iteration, or one of those of which a conditional
/// move makes it (a list that is followed in either direction).
pub(super) fn is_link(found: &HotLoop<'_>, uses: &Uses, at: usize) -> bool {
    let function = found.input;
    let values = &function.values;
    let loaded = || values.writes(at).iter().map(|one| one.1);
    let goes_round = |element: Value| {
        let links = links_from(found, element);
        loaded().any(|one| links.contains(&one.number) || values.met(element).contains(&one))
    };
    let chosen = || {
        let readers = loaded().flat_map(|value| uses.readers(value));
        let mut others = readers.filter(|&reader| reader != at).peekable();
        others.peek().is_some()
            && others.all(|reader| {
                function.code[reader].mnemonic.starts_with("cmov")
                    && found.members.binary_search(&reader).is_ok()
                    && is_link(found, uses, reader)
            })
    };
    let from = values.addresses(at).iter().flatten();
    from.into_iter().any(|from| goes_round(from.base))
        || !function.code[at].mnemonic.starts_with("cmov") && chosen()
}

/// Whether an instruction only reads fields of the element, or of the next one.
fn reads_element(found: &HotLoop<'_>, at: usize) -> bool {
    let of_element = |address: &Address| {
        is_list_element(found, address) || address.index.is_none() && is_next(found, address.base)
    };
    let accesses = &found.input.data[at].memory;
    let mut addresses = found.input.values.addresses(at).iter();
    !accesses.iter().any(|access| access.writes)
        && addresses.all(|address| address.as_ref().is_some_and(of_element))
}

/// Whether an instruction compares a field of the element with a constant, or loads it for nothing else, and the walk
/// ends by one of the outcomes.
fn ends_at_constant(found: &HotLoop<'_>, uses: &Uses, at: usize) -> bool {
    let function = found.input;
    let tests = |at: usize| {
        let of_constant = function.data[at].form.ends_with(", i")
            || function.code[at].mnemonic == "test" && function.data[at].memory.is_empty();
        matches!(function.code[at].mnemonic, "cmp" | "test")
            && of_constant
            && leads_out(function, &found.members, at)
    };
    let only_tested = || {
        let loaded = function.values.writes(at).iter().map(|one| one.1);
        let mut readers = loaded.flat_map(|value| uses.readers(value)).peekable();
        function.code[at].mnemonic.starts_with("mov")
            && readers.peek().is_some()
            && readers.all(tests)
    };
    reads_element(found, at) && (tests(at) || only_tested())
}

/// Whether an instruction loads a field of the element that is only added to a sum, which ends the walk when it
/// reaches a number from outside of the loop.
fn sums_up(found: &HotLoop<'_>, uses: &Uses, at: usize) -> bool {
    let function = found.input;
    let values = &function.values;
    if !reads_element(found, at) {
        return false;
    }
    let adds = |at: usize| matches!(function.code[at].mnemonic, "add" | "lea" | "sub");
    let results = |at: usize| {
        let written = values.writes(at).iter();
        written.filter(|one| one.0 < FLAGS).map(|one| one.1)
    };
    let sum = match adds(at) {
        true => at,
        false => {
            let readers: Vec<usize> = results(at).flat_map(|value| uses.readers(value)).collect();
            let &[sum] = readers.as_slice() else {
                return false;
            };
            sum
        }
    };
    let inside = |at: &usize| found.members.binary_search(at).is_ok();
    if !adds(sum) || !inside(&sum) {
        return false;
    }
    let readers: Vec<usize> = results(sum).flat_map(|value| uses.readers(value)).collect();
    readers.contains(&sum) && readers.iter().any(|&reader| ends_at_bound(found, reader))
}

/// Whether a value, whatever is added to it, is the link that the iteration itself has loaded.
fn is_next(found: &HotLoop<'_>, value: Value) -> bool {
    let values = &found.input.values;
    let addresses = found.members.iter().flat_map(|&at| values.addresses(at));
    let mut elements = addresses
        .flatten()
        .filter(|one| is_list_element(found, one));
    elements.any(|one| {
        let mut links = values.met(one.base).iter();
        links.any(|link| link.number == value.number)
    })
}

/// Whether an instruction compares something with a value from outside of the loop, for a branch that leaves it.
fn ends_at_bound(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let (flow, values) = (&function.flow, &function.values);
    let fixed = (values.reads(at).iter())
        .filter(|one| one.0 < FLAGS)
        .any(|one| values.is_invariant(one.1, flow, found.index));
    function.code[at].mnemonic == "cmp" && fixed && leads_out(function, &found.members, at)
}
