//! Linear searches for an element that meets a predicate, or for the minimum or maximum: the first block that is free and
//! large enough, the place of a key in a sorted list, the entry that was used least recently.
//!
//! **Signature.** A loop that passes a list or an array from its beginning, hundreds of elements for each of many items,
//! and only tests what it loads: it stores and calls nothing (or only what answers, [`super::best_by_calls`]), and hands on nothing but where it is and the best element
//! so far. Most searches end at an element that meets the predicate, or keep the minimum or maximum. In all they pass many
//! times what the program's memory holds, so that they test the same elements again.
//!
//! **Near misses.** Sums and counts of elements; loops that change them; distances, which are computed from the elements
//! and a key; arrays that are refilled with what is read, or with what is computed (the peak of each block of samples); searches for one equal value ([`super::search`]), walks for an
//! end or a number ([`super::list_walk`]); the minimum of each of many rows.
//!
//! **Gain.** One look-up for each item is left.
//!
//! **Source.** P. Wilson, M. Johnstone, M. Neely, D. Boles, "Dynamic storage allocation: a survey and critical review",
//! IWMM 1995 (first fit against segregated lists); D. Knuth, "The Art of Computer Programming" 3, section 5.2.3 (heaps
//! for repeated selection).

use genba_model::{Cause, Confirmation, Fix, QuadraticFact};

use super::best_by_calls::best_by_calls;
use super::list_links::{is_list_element, links_from};
use super::rescan::{carries_positions_only, input_read};
use super::residual_fraction;
use super::search::is_element;
use super::sweep::goes_over_unchanged;
use crate::candidate::Candidate;
use crate::constants::counts::{
    LIST_ELEMENT_BYTES, MIN_ELEMENTS_PER_SEARCH, MIN_PASSES_OVER_ALL_MEMORY, MIN_SEARCHES,
    SELDOM_EXECUTIONS,
};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::observations::MIN_REPEATED_AMONG_FEW;
use crate::constants::registers::ARGUMENTS;
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::loop_inputs::meets_what_is_handed;
use crate::patterns::observed_sites::{ObservedSites, share_of_target};
use crate::patterns::positions::{Course, Handed, carried};
use crate::patterns::search_loops::{exits_by_match, search_of};
use crate::patterns::value_steps::{Step, address_step, value_step};

/// A search from the beginning for an element that meets a predicate, for each of many items.
pub(super) fn predicate_search(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (elements, searches) = (found.trips?, found.cost.entries?);
    let is_long = elements >= MIN_ELEMENTS_PER_SEARCH && searches >= MIN_SEARCHES;
    let share = match found.has_opaque() {
        true => (found.share + share_of_calls(input, found)).min(1.0),
        false => found.share,
    };
    if !function.own || !is_long || share < MIN_SHARE_OF_QUADRATIC_LOOP {
        return None;
    }
    let whole = || ObservedSites::of(input).is_none_or(|sites| sites.repeats_as_a_whole());
    let (at, bytes, matches) = match found.has_opaque() {
        true => best_by_calls(input, found)
            .filter(|_| !whole() && goes_over_unchanged(input, found))
            .map(|(at, bytes)| (at, bytes, false))?,
        false => shown_by_loop(input, found, searches, &whole)?,
    };
    let passed = found.cost.iterations as f64 * bytes as f64;
    let holds = (input.program.max_rss_bytes?).max(input_read(input).unwrap_or(0) as f64);
    if passed < MIN_PASSES_OVER_ALL_MEMORY * holds {
        return None;
    }
    let each = share * cycles_of_all(input)? / searches as f64;
    let fix = Fix::FindDirectly { best: !matches };
    let mut one = Candidate::new(Cause::Quadratic, Some(found.function), vec![at], fix);
    one.affected.clone_from(&found.members);
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::PredicateSearches {
            searches,
            elements,
            best: !matches,
        })
        .fact(QuadraticFact::SearchTime {
            share,
            cycles: each,
        }),
    )
}

/// Share of all time in what a loop calls, nearly always.
fn share_of_calls(input: &AnalysisInput, found: &HotLoop<'_>) -> f64 {
    let function = found.input;
    let inside = |at: usize| found.members.binary_search(&at).is_ok();
    let usual = (function.call_sites.iter())
        .filter(|site| inside(site.at) && found.times(site.at) > SELDOM_EXECUTIONS);
    let targets = usual.flat_map(|site| &site.targets);
    targets
        .map(|target| share_of_target(input, found.function, target))
        .sum()
}

/// The load of an element, the bytes to the next, and whether searches end at an element that matches, of a loop that calls
/// nothing.
fn shown_by_loop(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    searches: u64,
    whole: &dyn Fn() -> bool,
) -> Option<(usize, u64, bool)> {
    let function = found.input;
    search_of(input, function, found.index)?;
    let (at, bytes, anew) = element(input, found)?;
    let is_link = |value: Value| !links_from(found, value).is_empty();
    let steps = |value: Value| {
        let step = value_step(function, found.index, value);
        matches!(step, Some(Step::Constant(_)))
    };
    let goes_on = |value: Value| is_link(value) || is_kept(found, value) || steps(value);
    if !carries_positions_only(found, goes_on) {
        return None;
    }
    let matches = exits_by_match(function, found.index) >= searches as f64 / 2.0;
    // A distance from a key is another one for each search.
    let keyed = || meets_what_is_handed(function, found.index, &found.members);
    let best = || keeps_best(found) && !keyed() && !whole() && goes_over_unchanged(input, found);
    (anew && (matches || best())).then_some((at, bytes, matches))
}

/// The most frequent load of an element's field, the bytes from element to element, and whether searches begin at one
/// place, as far as the function shows it.
fn element(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<(usize, u64, bool)> {
    let function = found.input;
    let executed = (found.members.iter().copied()).filter(|&at| found.times(at) > 0.0);
    let loads = executed.filter_map(|at| {
        let mut accesses =
            (function.data[at].memory.iter()).zip(function.values.addresses(at).iter());
        accesses.find_map(|(access, address)| {
            let address = address
                .as_ref()
                .filter(|_| access.reads && !access.writes)?;
            let step = match address_step(function, found.index, address) {
                Some(Step::Constant(step)) => step.unsigned_abs(),
                _ if is_list_element(found, address) => LIST_ELEMENT_BYTES,
                _ => return None,
            };
            is_element(found, address)
                .then(|| (at, step, begins_at_one_place(input, found, address)))
        })
    });
    let all: Vec<(usize, u64, bool)> = loads.collect();
    let most = all.iter().map(|one| function.counts[one.0]).max()?;
    all.into_iter().find(|one| function.counts[one.0] == most)
}

/// Whether each search begins where the others do: where the loop around does not change it, or, of a function's only
/// loop, at a fixed address, or at what is loaded or handed over and was observed to be the same nearly each time. A list as
/// long as that is one wherever it begins.
pub(super) fn begins_at_one_place(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    address: &Address,
) -> bool {
    let list = is_list_element(found, address);
    let mut parts = [Some(address.base), address.index.map(|one| one.0)]
        .into_iter()
        .flatten()
        .map(|part| first_of(found, part));
    parts.all(|first| first.is_some_and(|first| stays_between_searches(input, found, first, list)))
}

/// Whether a value from outside of the loop is the same for each search, as far as it is known; what leads to a `list` may be
/// loaded by anything.
pub(super) fn stays_between_searches(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    first: Value,
    list: bool,
) -> bool {
    let function = found.input;
    let around = function.flow.loops()[found.index as usize].parent;
    match around {
        Some(around) => value_step(function, around, first) == Some(Step::Constant(0)),
        None => match function.values.origin(first) {
            Origin::Constant => true,
            Origin::Instruction(at) => {
                let at = at as usize;
                function.data[at].loads() && (list || loads_the_same(input, found, at))
            }
            Origin::Entry => is_usual_argument(input, found, first),
            Origin::Join(_) => false,
        },
    }
}

/// Whether a load was observed to bring nearly always one of the few things that it brought the times before.
fn loads_the_same(input: &AnalysisInput, found: &HotLoop<'_>, at: usize) -> bool {
    ObservedSites::of(input).is_some_and(|sites| {
        let point = sites.point(found.function, at);
        let mut steady = sites.observed.same_loads.iter();
        steady.any(|one| Some(one.at) == point && one.recent.share.low >= MIN_REPEATED_AMONG_FEW)
    })
}

/// Whether a value is an argument of the function that has one value in nearly all calls from where most come.
fn is_usual_argument(input: &AnalysisInput, found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let Some(sites) = ObservedSites::of(input) else {
        return false;
    };
    let Some(register) = function.values.location_at_entry(value) else {
        return false;
    };
    let entry = sites.point(found.function, 0);
    let observed = &sites.observed.argument_values;
    let of_entry = observed.iter().filter(|one| Some(one.target) == entry);
    let arguments =
        of_entry.filter(|one| ARGUMENTS.get(usize::from(one.argument)) == Some(&register));
    arguments.max_by_key(|one| one.calls).is_some_and(|one| {
        let site = sites.users_site(one.at);
        let target = site.and_then(|site| sites.target(site, one.target));
        let most = |count: u64| 2 * count >= function.calls.unwrap_or(u64::MAX / 2);
        one.value.share.low >= MIN_REPEATED_AMONG_FEW && target.is_some_and(|one| most(one.count))
    })
}

/// What a value is where the loop begins.
fn first_of(found: &HotLoop<'_>, value: Value) -> Option<Value> {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    if function.values.origin(value) != Origin::Join(head) {
        return Some(value);
    }
    let before = &function.flow.blocks()[head as usize].predecessors;
    let body = function.flow.loop_blocks(found.index);
    let mut outside = (before.iter().zip(function.values.met(value)))
        .filter(|one| !body.contains(one.0))
        .map(|one| *one.1);
    let first = outside.next()?;
    outside.all(|one| one == first).then_some(first)
}

/// Whether iterations hand a value on until another replaces it, by a branch or by a conditional move.
fn is_kept(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let handed = Handed::of(function, function.flow.loop_blocks(found.index), value);
    let is_of_it = |value: Value| handed.joins.contains(&value.number);
    let chooses = |made: &Value| {
        let Origin::Instruction(at) = function.values.origin(*made) else {
            return false;
        };
        let at = at as usize;
        let mut reads = function.values.reads(at).iter();
        function.code[at].mnemonic.starts_with("cmov") && reads.any(|one| is_of_it(one.1))
    };
    match handed.course(1) {
        Course::Kept => true,
        Course::New => !handed.made.is_empty() && handed.made.iter().all(chooses),
        Course::Advances(_) | Course::Other => false,
    }
}

/// Whether iterations hand on the best element of those before, or its place.
pub(super) fn keeps_best(found: &HotLoop<'_>) -> bool {
    best_so_far(found).next().is_some()
}

/// Whether code behind the loop reads such a one.
pub(super) fn hands_best_on(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let values = &function.values;
    let body = function.flow.loop_blocks(found.index);
    let handed: Vec<u32> = best_so_far(found)
        .flat_map(|value| {
            let handed = Handed::of(function, body, value);
            let made = handed.made.iter().map(|one| one.number);
            handed
                .joins
                .iter()
                .copied()
                .chain(made)
                .collect::<Vec<u32>>()
        })
        .collect();
    let is_one = |value: &Value| handed.contains(&value.number);
    let behind = (0..function.code.len())
        .filter(|&at| function.counts[at] > 0 && found.members.binary_search(&at).is_err());
    behind.into_iter().any(|at| {
        let data = &function.data[at];
        let mut reads = (values.reads(at).iter()).filter(|one| data.reads() >> one.0 & 1 == 1);
        reads.any(|one| is_one(&one.1) || values.met(one.1).iter().any(is_one))
    })
}

/// Whether iterations compare with such a one, wherever it goes then: registers are few, and it may be in the frame.
pub(super) fn compares_with_best(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let kept: Vec<u32> = best_so_far(found)
        .flat_map(|value| Handed::of(function, body, value).joins)
        .collect();
    found.usual().any(|at| {
        let compares = function.code[at].mnemonic;
        let data = &function.data[at];
        let mut reads = function.values.reads(at).iter();
        (compares == "cmp" || compares.contains("comis"))
            && reads.any(|one| data.data_reads >> one.0 & 1 == 1 && kept.contains(&one.1.number))
    })
}

/// What iterations hand on until another replaces it.
fn best_so_far<'a>(found: &'a HotLoop<'_>) -> impl Iterator<Item = Value> + 'a {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let replaced = move |value: Value| {
        let handed = Handed::of(function, body, value);
        let others = handed.joins.iter().skip(1);
        let mut others = others.map(|&number| Value { number, offset: 0 });
        !handed.made.is_empty() || others.any(|one| !is_kept(found, one))
    };
    let all = carried(function, body).into_values();
    all.filter(move |&value| is_kept(found, value) && replaced(value))
}
