//! Searches that are made again at another place, and that end at the same element.
//!
//! **Signature.** Several loops that search. Observed: most runs of one of them load what a run of another
//! had just loaded, from the same addresses in the same order, so that it took the same way and ended there. An `if (map.count(key))
//! map[key]++` is such a pair, wherever the compiler inlined the two searches.
//!
//! **Near misses.** Searches of other elements, for keys that part, or for another letter in the same text. What computes besides is
//! `redundant-computation` ([`super::super::redundant_computation`]). A program that does all its work again.
//!
//! **Gain.** The measured time of the repeated searches: that of the first one, which fetches the elements, stays.

use std::collections::BTreeSet;

use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::LoopAgain;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::observations::{
    CYCLES_OF_LAST_FOUND, MIN_CYCLES_OF_SEARCH, MIN_REPEATED, MIN_SHARE_OF_REPEATED_WORK,
};
use crate::input::analysis_input::FunctionInput;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::loop_inputs::is_loaded_among;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::search_loops::search_of;

/// A search that is made again.
struct Again<'a> {
    /// Function and loop.
    place: (usize, u32),
    /// Those of the search that it repeats.
    other: (usize, u32),
    seen: &'a LoopAgain,
    runs: u64,
    /// With the comparisons that it calls, of all time.
    share: f64,
}

/// Searches of what has just been searched, those that lead back to the same one together.
pub(super) fn searches_again(sites: &ObservedSites<'_>) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(sites.input) else {
        return Vec::new();
    };
    let mut groups: Vec<Vec<Again<'_>>> = Vec::new();
    for one in (sites.observed.loops_again.iter()).filter_map(|seen| again(sites, seen)) {
        let is_linked = |of: &Again<'_>| {
            of.other == one.other || of.place == one.other || of.other == one.place
        };
        let (linked, others): (Vec<_>, Vec<_>) =
            (groups.into_iter()).partition(|group| group.iter().any(is_linked));
        groups = others;
        let mut group: Vec<Again<'_>> = linked.into_iter().flatten().collect();
        group.push(one);
        groups.push(group);
    }
    (groups.into_iter())
        .filter_map(|group| candidate(sites, group, all))
        .collect()
}

fn again<'a>(sites: &ObservedSites<'_>, seen: &'a LoopAgain) -> Option<Again<'a>> {
    let input = sites.input;
    if !is_enough(&seen.seen) || seen.seen.share.low < MIN_REPEATED {
        return None;
    }
    let place = sites.loop_with_head(seen.head)?;
    let other = sites.loop_with_head(seen.other)?;
    let [asked, before] = [place, other].map(|(number, index)| {
        let function = &input.functions[number];
        search_of(input, function, index).map(|_| constants_of_tests(function, index))
    });
    if asked? != before? {
        return None;
    }
    let (number, index) = place;
    let function = &input.functions[number];
    let members = function.loop_instructions(index);
    let compared = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, number, target));
    Some(Again {
        place,
        other,
        seen,
        runs: entries(function, index)?,
        share: function.heat_of(members.iter().copied()) + compared.sum::<f64>(),
    })
}

/// The constants that a loop compares elements with: one that looks for another letter is another search.
fn constants_of_tests(function: &FunctionInput, index: u32) -> BTreeSet<u64> {
    let members = function.loop_instructions(index);
    let of_elements = |at: usize| {
        let mut reads = function.values.reads(at).iter();
        function.data[at].loads() || reads.any(|one| is_loaded_among(function, &members, one.1))
    };
    let tests = members.iter().copied().filter(|&at| {
        let is_test = matches!(function.code[at].mnemonic, "cmp" | "test");
        let constant = function.data[at].form.ends_with(", i");
        is_test && constant && function.counts[at] > 0 && of_elements(at)
    });
    tests
        .filter_map(|at| function.code[at].last_number())
        .collect()
}

fn candidate(sites: &ObservedSites<'_>, mut list: Vec<Again<'_>>, all: f64) -> Option<Candidate> {
    // What is inside of another one has its time there.
    let places: Vec<(usize, u32)> = list.iter().map(|one| one.place).collect();
    list.retain(|one| {
        let (number, index) = one.place;
        let parent = sites.input.functions[number].flow.loops()[index as usize].parent;
        !parent.is_some_and(|parent| places.contains(&(number, parent)))
    });
    let share = list.iter().map(|one| one.share).sum::<f64>().min(1.0);
    let runs: u64 = list.iter().map(|one| one.runs).sum();
    let each = share * all / runs.max(1) as f64;
    if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_SEARCH {
        return None;
    }
    let most = (list.iter()).max_by(|a, b| a.share.total_cmp(&b.share))?;
    let (number, index) = most.place;
    let function = &sites.input.functions[number];
    let part = |of: &dyn Fn(&Estimate) -> f64| {
        let repeated = list.iter().map(|one| one.share * of(&one.seen.seen.share));
        repeated.sum::<f64>() / share
    };
    let [value, low, high] = CYCLES_OF_LAST_FOUND.map(|cycles| 1.0 - (cycles / each).min(1.0));
    let members = function.loop_instructions(index);
    let mut one = Candidate::new(
        Cause::RepeatedSearch,
        Some(number),
        members,
        Fix::SearchOnce,
    );
    let here = list.iter().filter(|one| one.place.0 == number);
    let affected = here.flat_map(|one| function.loop_instructions(one.place.1));
    one.affected = affected.collect();
    one.affected.sort_unstable();
    one.affected.dedup();
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: 1.0 - part(&|share| share.value) * value,
        low: 1.0 - part(&|share| share.high) * low,
        high: 1.0 - part(&|share| share.low) * high,
    };
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    Some(one.fact(ObservedFact::SearchedAgain {
        places: list.len() as u32,
        searches: runs,
        share: most.seen.seen.share,
        bursts: most.seen.seen.bursts,
        of_time: share,
        cycles: each,
    }))
}
