//! Searches of several loops that begin as the one before: a descent through the pages of a tree, each of which
//! is searched by halves, or a path whose names are looked up level by level.
//!
//! **Signature.** A loop with a loop inside it, or in a function that it calls, that halves a range: a shift by one of
//! the sum or difference of two numbers. Or a loop most of whose time is that of loops inside it that search, by order or by calls that
//! compare. Observed: most iterations of the whole search load and decide what
//! those of the one before did, so that it ended near.
//!
//! **Near misses.** Keys at random have the first steps in common, no more. What a search stores (the way that it took)
//! does not matter: it is stored again.

use genba_model::{Cause, Estimate, Fix, LoopFact, ObservedFact};
use genba_observe::{RepeatedLoop, Seen};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::observations::{
    CYCLES_OF_LAST_FOUND, MIN_CYCLES_OF_SEARCH, MIN_SHARE_OF_REPEATED_WORK, MIN_STARTED_ALIKE,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::index_of;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::search_loops::{Comparison, halves, scans_for_constants, search_of};

/// A search over several loops that mostly does what the one before did.
pub(super) fn descent(
    sites: &ObservedSites<'_>,
    seen: &RepeatedLoop,
    all: f64,
) -> Option<Candidate> {
    let input = sites.input;
    let alike = starts_alike(seen)?;
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &input.functions[number];
    let members = function.loop_instructions(index);
    let callees: Vec<(usize, f64)> = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .filter_map(|target| {
            let callee = index_of(input, &target.function, &target.module)?;
            Some((callee, share_of_target(input, number, target)))
        })
        .collect();
    let here = function.heat_of(members.iter().copied());
    let share = (here + callees.iter().map(|one| one.1).sum::<f64>()).min(1.0);
    // What searches has much of the time: a search is what the loop is for.
    let inside: Vec<u32> = (0..function.flow.loops().len() as u32)
        .filter(|&inner| inner != index && function.is_loop_within(inner, index))
        .collect();
    let halving = inside
        .iter()
        .copied()
        .find(|&inner| halves(function, inner));
    let inner = halving.or_else(|| {
        let searches = searches_among(input, function, &inside);
        let time = share_of_searches(sites, number, &searches);
        let steps = searches.into_iter().max_by(|a, b| {
            let heat = |inner: u32| function.loop_heat(inner);
            heat(*a).total_cmp(&heat(*b))
        });
        steps.filter(|_| time > MOST_OF_IT * share)
    });
    let iterations = match inner {
        Some(inner) => function.loops.get(inner as usize)?.as_ref()?.iterations,
        None => {
            let halving = callees.iter().filter_map(|&(callee, of_callee)| {
                let callee = &input.functions[callee];
                let mut loops = 0..callee.flow.loops().len() as u32;
                let inner = loops.find(|&inner| halves(callee, inner))?;
                let iterations = callee.loops.get(inner as usize)?.as_ref()?.iterations;
                (callee.can_be_changed() && of_callee > MOST_OF_IT * share).then_some(iterations)
            });
            halving.max()?
        }
    };
    let runs = entries(function, index)?;
    let each = share * all / runs as f64;
    if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_SEARCH {
        return None;
    }
    let [value, low, high] = CYCLES_OF_LAST_FOUND.map(|cycles| (cycles / each).min(1.0));
    let fix = Fix::RememberFound { few: false };
    let mut one = Candidate::new(Cause::RepeatedSearch, Some(number), members, fix);
    one.saves(&[SavedTime {
        share: Estimate::exact(share),
        saved: Estimate {
            value: alike.share.value * (1.0 - value),
            low: alike.share.low * (1.0 - high),
            high: 1.0 - low,
        },
    }]);
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    let iterations = iterations as f64 / runs as f64;
    Some(
        one.fact(ObservedFact::SearchesStartAlike {
            searches: runs,
            iterations,
            share: alike.share,
            bursts: alike.bursts,
        })
        .fact(LoopFact::Time {
            share: Some(share),
            iterations: runs,
            cycles: each,
            trip_count: Some(iterations),
        }),
    )
}

/// The loops that search for a key of which each answers for itself, not a letter in a text.
fn searches_among(input: &AnalysisInput, function: &FunctionInput, loops: &[u32]) -> Vec<u32> {
    let searches = |&&inner: &&u32| {
        let comparison = search_of(input, function, inner);
        comparison.is_some_and(|one| one != Comparison::Equality)
            && !scans_for_constants(function, inner)
    };
    loops.iter().filter(searches).copied().collect()
}

/// Time in loops of a function, with what they call to compare.
fn share_of_searches(sites: &ObservedSites<'_>, number: usize, loops: &[u32]) -> f64 {
    let function = &sites.input.functions[number];
    let mut members: Vec<usize> = (loops.iter())
        .flat_map(|&inner| function.loop_instructions(inner))
        .collect();
    members.sort_unstable();
    members.dedup();
    let compared = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(sites.input, number, target));
    function.heat_of(members.iter().copied()) + compared.sum::<f64>()
}

/// The share of iterations that repeat the run before, if it is most of them.
pub(super) fn starts_alike(seen: &RepeatedLoop) -> Option<&Seen> {
    (seen.starts_as_previous.as_ref())
        .filter(|one| is_enough(one) && one.share.low >= MIN_STARTED_ALIKE)
}
