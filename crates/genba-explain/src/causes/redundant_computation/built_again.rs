//! Functions that make in memory what is there already: tables built again and again of the same.
//!
//! **Signature.** A function with a loop whose work is to store, and that calls nothing that does more than answer.
//! Observed: nearly all that it stores outside of its frame is there already, most of it values that differ from one
//! another; and most of its calls take the arguments and read the memory of an earlier one, among few, and leave nothing
//! new.
//!
//! **Near misses.** Buffers cleared again, flags set again, pictures of one colour (one value is most of what is
//! stored); a picture that hardly changes, unpacked from bytes that do; a few calls; work that changes what it makes; a
//! program that does all its work again and again.
//!
//! **Gain.** The measured time of the calls, less what a look at what they are built of costs.
//!
//! **Source.** K. Lepak and M. Lipasti, "On the value locality of store instructions", ISCA 2000 (silent stores).

use genba_code::Opaque;
use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::RedundantCall;

use super::left;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_SEARCHES, RARE_WAY};
use crate::constants::observations::{
    CYCLES_OF_KEPT_RESULT, MAX_CALLS_WITH_EFFECTS, MAX_DISTINCT_INPUTS, MAX_PART_OF_MAKER,
    MIN_CYCLES_OF_REPEATED_LOOP, MIN_ITERATIONS_OF_SEARCH, MIN_REPEATED_AMONG_FEW,
    MIN_SHARE_OF_REPEATED_WORK, MIN_STORED_AGAIN,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::{cycles_of_all, index_of};
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use crate::patterns::reading_calls::stores_outside;
use crate::patterns::search_loops::only_answers;

/// Functions whose calls mostly store what is there already, but for those that are `named` as repeated.
pub(super) fn built_again(input: &AnalysisInput, named: &dyn Fn(usize) -> bool) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    if sites.repeats_as_a_whole() || sites.repeats_in_turn() {
        return Vec::new();
    }
    let numbers = (0..input.functions.len()).filter(|&number| !named(number));
    numbers
        .filter_map(|number| candidate(&sites, number, all))
        .collect()
}

fn candidate(sites: &ObservedSites<'_>, number: usize, all: f64) -> Option<Candidate> {
    let input = sites.input;
    let function = &input.functions[number];
    let calls = function.calls.filter(|&calls| calls >= MIN_SEARCHES)?;
    let share = function.share.value;
    let each = share * all / calls as f64;
    let is_counted = function.counted && function.counts.len() == function.code.len();
    if !function.own
        || !is_counted
        || function.is_library_template()
        || !(MIN_SHARE_OF_REPEATED_WORK..=MAX_PART_OF_MAKER).contains(&share)
        || each < MIN_CYCLES_OF_REPEATED_LOOP
    {
        return None;
    }
    let rare = (RARE_WAY * calls as f64) as u64;
    let usual = || (0..function.code.len()).filter(move |&at| function.counts[at] > rare);
    if usual().any(|at| does_more(input, function, at)) {
        return None;
    }
    let stores: Vec<usize> = usual().filter(|&at| stores_outside(function, at)).collect();
    let made = stored_again(sites, (number, function), &stores)?;
    let alike = calls_alike(sites, number);
    if (alike as f64) < MOST_OF_IT * calls as f64 {
        return None;
    }
    let in_loops = stores.iter().map(|&at| function.counts[at]).max()?;
    if (in_loops as f64) < MIN_ITERATIONS_OF_SEARCH * calls as f64 {
        return None;
    }
    let mut one = Candidate::new(
        Cause::RedundantComputation,
        Some(number),
        stores,
        Fix::KeepMade {
            function: function.function.clone(),
        },
    );
    one.affected = usual().collect();
    one.share = Some(share * (alike as f64 / calls as f64).min(1.0));
    one.residual_fraction = left(made.share, CYCLES_OF_KEPT_RESULT.map(|one| one / each));
    one.executions = Some(calls);
    one.cycles = Some(Estimate::exact(each));
    Some(one.fact(ObservedFact::StoredAgain {
        calls,
        share: made.share,
        bursts: made.bursts,
    }))
}

/// How many calls of a function are from places where most of them take what an earlier one took, and leave nothing new.
fn calls_alike(sites: &ObservedSites<'_>, number: usize) -> u64 {
    let alike = |seen: &&RedundantCall| {
        is_enough(&seen.seen)
            && seen.seen.share.low >= MIN_REPEATED_AMONG_FEW
            && seen.distinct_per_burst <= MAX_DISTINCT_INPUTS
            && seen.stores_outside <= 1.0 - seen.seen.share.value + MAX_CALLS_WITH_EFFECTS
    };
    let calls = sites.observed.redundant_calls.iter().filter(alike);
    calls
        .filter_map(|seen| {
            let place = sites.users_site(seen.at)?;
            let target = sites.target(place, seen.target)?;
            let callee = index_of(sites.input, &target.function, &target.module)?;
            (callee == number).then_some(target.count)
        })
        .sum()
}

/// What a function stores that is there already, of all that it stores.
struct Made {
    share: Estimate,
    bursts: u32,
}

/// Whether an instruction has effects beside its stores: system calls, calls of what does more than answer.
fn does_more(input: &AnalysisInput, function: &FunctionInput, at: usize) -> bool {
    match function.data[at].opaque {
        None | Some(Opaque::Exit) => false,
        Some(Opaque::Call) => {
            let site = function.call_sites.iter().find(|site| site.at == at);
            !site.is_some_and(|site| {
                !site.targets.is_empty() && site.targets.iter().all(|one| only_answers(input, one))
            })
        }
        Some(_) => true,
    }
}

/// How much of what these instructions store is there already, if it is nearly all; `None` if most of it is one value.
fn stored_again(
    sites: &ObservedSites<'_>,
    (number, function): (usize, &FunctionInput),
    stores: &[usize],
) -> Option<Made> {
    let (mut all, mut varied, mut bursts) = (0.0, 0.0, u32::MAX);
    let [mut value, mut low, mut high] = [0.0; 3];
    for &at in stores {
        let times = function.counts[at] as f64;
        all += times;
        if !sites.stores_one_value(number, at) {
            varied += times;
        }
        let Some(again) = sites.stored_again(number, at) else {
            continue;
        };
        value += times * again.share.value;
        low += times * again.share.low;
        high += times * again.share.high;
        bursts = bursts.min(again.bursts);
    }
    let share = Estimate { value, low, high }.scaled(1.0 / all);
    (share.low >= MIN_STORED_AGAIN && varied > MOST_OF_IT * all).then_some(Made { share, bursts })
}
