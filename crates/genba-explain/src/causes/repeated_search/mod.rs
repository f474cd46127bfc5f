//! `repeated-search`: a search finds what the one before found.
//!
//! **Signature.** A loop that compares what it loads and computes nothing else from it, several
//! iterations each time. Observed: most runs load the same elements and take the same branches as the
//! run before; or, of binary searches, most iterations are those of the run before, which ended near. Comparisons by
//! order give a range of keys for which the answer holds; of those for
//! equality with a key in a register most must end at a match, since of a key that was not found
//! nothing follows for the next one. Also: searches that a function makes again at another place ([`again_elsewhere`]), descents that are searches by halves in turn ([`descents`]), and calls with repeated inputs whose time is in searches
//! ([`super::redundant_computation`]).
//!
//! **Near misses.** Loops that choose without a branch by a key in a register (a nearest element): that is not in the
//! trace. A program that does all its work many times over, as benchmarks do, finds everything again.
//!
//! **Confirmation.** What was found last, tested first.
//!
//! **Gain.** The measured time of the repeated runs, less a test of what was found last.
//!
//! **Source.** D. Sleator and R. Tarjan, "Amortized efficiency of list update and paging rules", CACM
//! 28, 1985 (move to front); W. Pugh, "Skip lists", CACM 33, 1990, and J. Bentley and A. Yao, "An
//! almost optimal algorithm for unbounded searching", 1976 (search from the last place on).

mod again_elsewhere;
mod descents;

use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::RepeatedLoop;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::causes::redundant_computation::repeated_calls;
use crate::constants::observations::{
    CYCLES_OF_LAST_FOUND, MAX_CALLS_WITH_EFFECTS, MAX_DISTINCT_INPUTS, MIN_CYCLES_OF_SEARCH,
    MIN_ITERATIONS_OF_SEARCH, MIN_MATCHES_OF_SEARCH, MIN_REPEATED, MIN_REPEATED_AMONG_FEW,
    MIN_SHARE_OF_REPEATED_WORK, WAITING_FOR_SEARCH_SAVED,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::loop_inputs::{chooses_unseen, meets_what_is_handed};
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::search_loops::{Comparison, exits_by_match, halves, search_of};
use again_elsewhere::searches_again;
use descents::{descent, starts_alike};

/// Finds searches that find the same again.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let whole = sites.repeats_as_a_whole();
    let loops = (sites.observed.repeated_loops.iter()).filter(|_| !whole);
    let mut found: Vec<Candidate> = loops
        .filter_map(|seen| candidate(&sites, seen, all).or_else(|| descent(&sites, seen, all)))
        .collect();
    if !whole {
        found.extend(searches_again(&sites));
    }
    let calls = repeated_calls(input);
    found.extend(calls.iter().filter(|call| call.searches).map(|call| {
        let fix = Fix::RememberFound {
            few: !call.previous,
        };
        call.candidate(Cause::RepeatedSearch, fix)
    }));
    found
}

fn candidate(sites: &ObservedSites<'_>, seen: &RepeatedLoop, all: f64) -> Option<Candidate> {
    let input = sites.input;
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &input.functions[number];
    if seen.stores_outside > MAX_CALLS_WITH_EFFECTS {
        return None;
    }
    let comparison = search_of(input, function, index)?;
    // Compilers make one loop of the steps to the left, inside of one of those to the right.
    if comparison != Comparison::Order && !function.is_innermost(index) {
        return None;
    }
    let previous = &seen.repeats_previous;
    let after_one_another = is_enough(previous) && previous.share.low >= MIN_REPEATED;
    // Of keys in memory the trace has all; of others only the run before says which.
    let few = comparison == Comparison::Call
        && is_enough(&seen.seen)
        && seen.seen.share.low >= MIN_REPEATED_AMONG_FEW
        && seen.distinct_per_burst <= MAX_DISTINCT_INPUTS;
    // Where the range is halved each time, loads at the same places mean that the range is the same.
    let near = starts_alike(seen).filter(|_| halves(function, index));
    let steps = steps_of(function, index)?;
    let runs = entries(function, index)?;
    let iterations = steps as f64 / runs as f64;
    let matched = exits_by_match(function, index) / runs as f64;
    if !(after_one_another || few || near.is_some())
        || iterations < MIN_ITERATIONS_OF_SEARCH
        || comparison == Comparison::Equality && near.is_none() && matched < MIN_MATCHES_OF_SEARCH
    {
        return None;
    }
    let members = function.loop_instructions(index);
    // Of a key in a register the trace has only what branches on it, or what is loaded by it.
    let unseen = chooses_unseen(function, &members) && !halves(function, index);
    if unseen && meets_what_is_handed(function, index, &members) {
        return None;
    }
    let compared = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, number, target));
    let share = (function.heat_of(members.iter().copied()) + compared.sum::<f64>()).min(1.0);
    let each = share * all / runs as f64;
    if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_SEARCH {
        return None;
    }
    let near = near.filter(|_| !(after_one_another || few));
    let (repeated, bursts) = match (after_one_another, near) {
        (true, _) => (previous.share, previous.bursts),
        (false, Some(near)) => (near.share, near.bursts),
        (false, None) => (seen.seen.share, seen.seen.bursts),
    };
    let [value, low, high] = CYCLES_OF_LAST_FOUND.map(|cycles| (cycles / each).min(1.0));
    let fix = Fix::RememberFound {
        few: !after_one_another && near.is_none(),
    };
    let mut one = Candidate::new(Cause::RepeatedSearch, Some(number), members, fix);
    // What follows waits for the answer, and may run beside a test of it.
    let waiting = match function.flow.loops()[index as usize].parent {
        Some(around) => (function.loop_heat(around) - share).max(0.0),
        None => (function.share.value - share).max(0.0),
    };
    one.saves(&[
        SavedTime {
            share: Estimate::exact(share),
            saved: Estimate {
                value: repeated.value * (1.0 - value),
                low: repeated.low * (1.0 - high),
                high: repeated.high * (1.0 - low),
            },
        },
        SavedTime::of(waiting, WAITING_FOR_SEARCH_SAVED),
    ]);
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    let one = match (after_one_another, near) {
        (true, _) => one.fact(ObservedFact::RepeatedSearches {
            searches: runs,
            iterations,
            share: repeated,
            bursts,
        }),
        (false, Some(_)) => one.fact(ObservedFact::SearchesStartAlike {
            searches: runs,
            iterations,
            share: repeated,
            bursts,
        }),
        (false, None) => one.fact(ObservedFact::FewSearches {
            share: repeated,
            distinct: seen.distinct_per_burst,
        }),
    };
    Some(one.fact(time_of_runs(share, all, steps, runs)))
}

/// Iterations of a search, of the loop with most of them where there are loops in it: a tree with several keys in each
/// node is descended in few.
fn steps_of(function: &FunctionInput, index: u32) -> Option<u64> {
    let within = (0..function.flow.loops().len() as u32)
        .filter(|&inner| function.is_loop_within(inner, index));
    within
        .filter_map(|inner| Some(function.loops.get(inner as usize)?.as_ref()?.iterations))
        .max()
}
