//! A list followed to its end, or to an element by its number, from the beginning each time.
//!
//! **Signature.** A loop that loads nothing but the link to the next element, from the element before, stores and
//! calls nothing, and begins with the same element each time, not where an earlier walk stopped. It follows
//! hundreds of links for each of many entries. Whatever it finds (where to append, how many there are, the
//! element of a number) is known by what was walked before.
//!
//! **Near misses.** Walks that read or mark their elements, that compare them with a key ([`super::search`]),
//! that go on where the last one stopped; short lists.

use genba_model::{Cause, Confirmation, Fix, QuadraticFact};

use super::residual_fraction;
use super::search::is_list_element;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES};
use crate::constants::gains::CYCLES_WITHOUT_STRING_SCAN;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;

/// A walk along a list for each of many items.
pub(super) fn list_walk(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (elements, walks) = (found.trips?, found.cost.entries?);
    if !function.own
        || elements < MIN_ELEMENTS_PER_SEARCH
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
    if all.is_empty() || !all.iter().all(|&at| only_follows(found, at)) {
        return None;
    }
    let each = found.share * cycles_of_all(input)? / walks as f64;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![all[0]],
        Fix::RememberPlace,
    );
    one.affected.clone_from(&found.members);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_STRING_SCAN);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::ListWalks { walks, elements })
            .fact(QuadraticFact::SearchTime {
                share: found.share,
                cycles: each,
            }),
    )
}

/// Whether all that an instruction does with memory is to load a link of the list, or to test whether there is one.
fn only_follows(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let accesses = function.data[at].memory.iter();
    let mut both = accesses.zip(function.values.addresses(at));
    both.all(|(access, address)| {
        let pointer = usize::from(access.bytes) == size_of::<u64>();
        !access.writes && pointer && address.is_some_and(|from| is_list_element(found, &from))
    }) && (is_link(found, at) || matches!(function.code[at].mnemonic, "cmp"))
}

/// Whether what an instruction loads is the element of the next iteration.
fn is_link(found: &HotLoop<'_>, at: usize) -> bool {
    let values = &found.input.values;
    let from = values.addresses(at).iter().flatten();
    let loaded = values.writes(at).iter().map(|one| one.1);
    let mut both = from.flat_map(|from| loaded.clone().map(move |value| (from.base, value)));
    both.any(|(element, value)| values.met(element).contains(&value))
}
