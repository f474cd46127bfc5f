//! Walks that go over what an earlier one went over, and end near it.
//!
//! **Signature.** Observed: most iterations of a loop are of runs that do what one of the last few runs did, from its
//! beginning to its end, and end a step before or behind it (the n-th letter of a text of variable-length letters, for
//! each n). The loop calls nothing, stores nothing but how far it has come, and no value that it is handed meets what it loads: what it finds
//! follows from where it begins and how far it goes. Or they meet in comparisons alone, of which one ends the run, and nearly all iterations are
//! of such long runs: a sorted list that is searched for one key after the other.
//!
//! **Near misses.** Searches for another key each time among the same elements, which end anywhere, or go through all that
//! came before. Loops that store what is there already. Products, which multiply what they load with something else each time. The same walk again and
//! again is `redundant-computation` or `repeated-search`.

use genba_code::Flow;
use genba_model::{Cause, Confirmation, Estimate, Fix, ObservedFact};
use genba_observe::RepeatedLoop;

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::{MIN_ELEMENTS_PER_SLOW_SEARCH, MIN_SEARCHES};
use crate::constants::gains::CYCLES_WITHOUT_STRING_SCAN;
use crate::constants::observations::{
    MAX_CALLS_WITH_EFFECTS, MIN_ENDS_NEAR, MIN_ENDS_NEAR_BY_KEYS, MIN_REPEATED_AMONG_FEW,
};
use crate::constants::time_shares::{MIN_SHARE_OF_QUADRATIC_LOOP, MOST_OF_IT};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::input::values::Value;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::loop_exits::leads_out;
use crate::patterns::loop_inputs::{meeting_places, meets_what_is_handed};
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// Loops that walk again from the beginning for each next step.
pub(super) fn walks_again(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let whole = sites.repeats_as_a_whole();
    let loops = (sites.observed.repeated_loops.iter()).filter(|_| !whole);
    let mut found: Vec<Candidate> = Vec::new();
    for one in loops.filter_map(|seen| candidate(&sites, seen, all)) {
        // A library's walk is one, however many loops it has: that with most time tells.
        let known = |other: &&mut Candidate| other.at.is_some() && other.function == one.function;
        match found.iter_mut().find(known) {
            Some(other) if one.share > other.share => *other = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found
}

fn candidate(sites: &ObservedSites<'_>, seen: &RepeatedLoop, all: f64) -> Option<Candidate> {
    let near = (seen.ends_near_earlier.as_ref())
        .filter(|one| is_enough(one) && one.share.low >= MIN_ENDS_NEAR)?;
    if seen.repeats_previous.share.value >= MIN_REPEATED_AMONG_FEW {
        return None;
    }
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &sites.input.functions[number];
    let members = function.loop_instructions(index);
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let runs = entries(function, index)?;
    let iterations = cost.iterations as f64 / runs as f64;
    let calls = (function.call_sites.iter()).any(|site| members.binary_search(&site.at).is_ok());
    // Nobody changes how a library walks, but who asks for it: then the whole function is spared.
    let user = match function.is_users() {
        true => None,
        false => function.user_callers.first(),
    };
    let of_loop = function.heat_of(members.iter().copied());
    let share = match user.is_some() && of_loop >= MOST_OF_IT * function.share.value {
        true => function.share.value,
        false => of_loop,
    };
    let keys_in_order = || {
        near.share.low >= MIN_ENDS_NEAR_BY_KEYS
            && iterations >= MIN_ELEMENTS_PER_SLOW_SEARCH
            && stores_at_one_place(function, index, &members)
            && ends_by_comparisons(function, index, &members)
    };
    if runs < MIN_SEARCHES
        || share < MIN_SHARE_OF_QUADRATIC_LOOP
        || calls
        || seen.stores_outside > MAX_CALLS_WITH_EFFECTS
            && !stores_at_one_place(function, index, &members)
        || meets_what_is_handed(function, index, &members) && !keys_in_order()
    {
        return None;
    }
    let each = share * all / runs as f64;
    let loads = members.iter().filter(|&&at| function.data[at].loads());
    let hottest = *loads.max_by(|&&a, &&b| function.heat[a].total_cmp(&function.heat[b]))?;
    let mut one = Candidate::new(Cause::Quadratic, Some(number), vec![hottest], Fix::ScanOnce);
    one.at = user.map(|user| site_of(&user.function, &user.module, user.address, &user.place));
    one.affected = members;
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_STRING_SCAN);
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(ObservedFact::WalksAgain {
            function: user.map(|_| function.function.clone()),
            runs,
            iterations,
            share: near.share,
            bursts: near.bursts,
        })
        .fact(time_of_runs(of_loop, all, cost.iterations, runs)),
    )
}

/// Whether comparisons alone take what the loop loads together with what it is handed, and one of them ends it.
fn ends_by_comparisons(function: &FunctionInput, index: u32, members: &[usize]) -> bool {
    let mut leaves = false;
    meeting_places(function, index, members).all(|at| {
        let next = at + 1;
        let tested =
            (function.code.get(next)).is_some_and(|one| matches!(one.flow, Flow::CondJump(_)));
        leaves |= tested && leads_out(function, members, next);
        matches!(function.code[at].mnemonic, "cmp" | "test")
    }) && leaves
}

/// Whether what a loop stores goes to places that stay the same: how far it has come, where an iterator keeps it.
fn stores_at_one_place(function: &FunctionInput, index: u32, members: &[usize]) -> bool {
    let fixed = |value: Value| function.values.is_invariant(value, &function.flow, index);
    let executed = members.iter().filter(|&&at| function.counts[at] > 0);
    executed.copied().all(|at| {
        let memory = function.data[at].memory.iter();
        let mut stores = memory
            .zip(function.values.addresses(at))
            .filter(|one| one.0.writes && !one.0.stack);
        stores.all(|(_, address)| {
            address.as_ref().is_some_and(|address| {
                fixed(address.base) && address.index.is_none_or(|(value, _)| fixed(value))
            })
        })
    })
}
