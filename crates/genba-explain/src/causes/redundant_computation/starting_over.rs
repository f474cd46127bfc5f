//! Loops that begin anew each time, and make again what the run before left behind.
//!
//! **Signature.** A loop that stores what it makes of what it reads. Observed: most of its iterations load and
//! decide what those of the run before did from its first one on, and what it stores outside of its frame is there
//! already.
//!
//! **Near misses.** A search in a table begins alike each time and stores nothing; a product of matrices or a filter
//! reads a row again beside another one, and stores something else. A program that does all its work again and again.

use genba_code::STACK_POINTER;
use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::RepeatedLoop;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    CYCLES_OF_KEPT_RESULT, MAX_UNSEEN_STORES_OF_RESTART, MIN_CYCLES_OF_REPEATED_LOOP,
    MIN_ITERATIONS_OF_SEARCH, MIN_SHARE_OF_REPEATED_WORK, MIN_STARTED_OVER, MIN_STORED_AGAIN,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};

/// Loops that make again from the beginning what is there already.
pub(super) fn starting_over(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let whole = sites.repeats_as_a_whole();
    let loops = (sites.observed.repeated_loops.iter()).filter(|_| !whole);
    loops
        .filter_map(|seen| candidate(&sites, seen, all))
        .collect()
}

fn candidate(sites: &ObservedSites<'_>, seen: &RepeatedLoop, all: f64) -> Option<Candidate> {
    let alike = (seen.starts_as_previous.as_ref())
        .filter(|one| is_enough(one) && one.share.low >= MIN_STARTED_OVER)?;
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &sites.input.functions[number];
    let members = function.loop_instructions(index);
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let runs = entries(function, index)?;
    let iterations = cost.iterations as f64 / runs as f64;
    let stored_again = stored_again(sites, (number, function), index, cost.iterations)?;
    let called = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(sites.input, number, target));
    let share = (function.heat_of(members.iter().copied()) + called.sum::<f64>()).min(1.0);
    let each = share * all / runs as f64;
    if iterations < MIN_ITERATIONS_OF_SEARCH
        || share < MIN_SHARE_OF_REPEATED_WORK
        || each < MIN_CYCLES_OF_REPEATED_LOOP
    {
        return None;
    }
    let left = |repeated: f64, cycles: f64| {
        (1.0 - repeated * (1.0 - (cycles / each).min(1.0))).min(MAX_RESIDUAL)
    };
    let [value, low, high] = CYCLES_OF_KEPT_RESULT;
    let site = members.clone();
    let mut one = Candidate::new(
        Cause::RedundantComputation,
        Some(number),
        site,
        Fix::GoOnFromThere,
    );
    one.affected = members;
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: left(alike.share.value, value),
        low: left(1.0, low),
        high: left(alike.share.low, high),
    };
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ObservedFact::StartsOver {
            runs,
            iterations,
            share: alike.share,
            stored_again,
            bursts: alike.bursts,
        })
        .fact(time_of_runs(share, all, cost.iterations, runs)),
    )
}

/// Share of the stores outside of the loop's frame that store what is there already, if it is nearly all; `None` of
/// loops that do not store in most iterations.
fn stored_again(
    sites: &ObservedSites<'_>,
    (number, function): (usize, &FunctionInput),
    index: u32,
    iterations: u64,
) -> Option<f64> {
    let mut least: Option<f64> = None;
    let mut most_executed = 0;
    for at in function.loop_instructions(index) {
        let executed = function.counts[at];
        let mut memory = function.data[at].memory.iter();
        let stores = memory.any(|one| one.writes && !one.stack && one.base != Some(STACK_POINTER));
        if executed == 0 || !stores {
            continue;
        }
        match sites.stored_again(number, at).map(|seen| seen.share) {
            Some(share) if share.low >= MIN_STORED_AGAIN => {
                least = Some(least.map_or(share.value, |before| before.min(share.value)));
                most_executed = most_executed.max(executed);
            }
            // What is hardly ever executed was not seen, and does not matter.
            _ if (executed as f64) < MAX_UNSEEN_STORES_OF_RESTART * iterations as f64 => {}
            _ => return None,
        }
    }
    least.filter(|_| most_executed as f64 > MOST_OF_IT * iterations as f64)
}
