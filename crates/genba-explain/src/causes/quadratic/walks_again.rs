//! Walks that go over what an earlier one went over, and end near it.
//!
//! **Signature.** Observed: most iterations of a loop are of runs that do what one of the last few runs did, from its
//! beginning to its end, and end a step before or behind it (the n-th letter of a text of variable-length letters, for
//! each n). The loop calls nothing, stores nothing but how far it has come, and no value that it is handed meets what it loads: what it finds
//! follows from where it begins and how far it goes.
//!
//! **Near misses.** Searches for another key each time among the same elements, which end anywhere, or go through all that
//! came before. Products, which multiply what they load with something else each time. The same walk again and
//! again is `redundant-computation` or `repeated-search`.

use genba_code::STACK_POINTER;
use genba_model::{Cause, Confirmation, Estimate, Fix, LoopFact, ObservedFact};
use genba_observe::RepeatedLoop;

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::MIN_SEARCHES;
use crate::constants::gains::CYCLES_WITHOUT_STRING_SCAN;
use crate::constants::observations::{
    MAX_CALLS_WITH_EFFECTS, MIN_ENDS_NEAR, MIN_REPEATED_AMONG_FEW,
};
use crate::constants::registers::{FLAGS, VECTORS};
use crate::constants::time_shares::{MIN_SHARE_OF_QUADRATIC_LOOP, MOST_OF_IT};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::input::values::{Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::load_stalls::sources_where;
use crate::patterns::loop_inputs::is_loaded_among;
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
    let (number, index) = sites.loop_with_head(seen.head)?;
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
    if runs < MIN_SEARCHES
        || share < MIN_SHARE_OF_QUADRATIC_LOOP
        || calls
        || seen.stores_outside > MAX_CALLS_WITH_EFFECTS
            && !stores_at_one_place(function, index, &members)
        || meets_what_is_handed(function, index, &members)
    {
        return None;
    }
    let each = share * all / runs as f64;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(number),
        members.clone(),
        Fix::ScanOnce,
    );
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
        .fact(LoopFact::Time {
            share: Some(of_loop),
            iterations: cost.iterations,
            cycles: of_loop * all / cost.iterations.max(1) as f64,
            trip_count: Some(iterations),
        }),
    )
}

/// Whether an instruction of a loop takes what the loop loads together with a value that it was handed, or that is made of
/// one: a key, a factor.
fn meets_what_is_handed(function: &FunctionInput, index: u32, members: &[usize]) -> bool {
    let executed = members.iter().filter(|&&at| function.counts[at] > 0);
    executed.copied().any(|at| {
        let data = &function.data[at];
        let reads = function.values.reads(at).iter();
        let operands = || {
            let read_as_data = |one: &&(u8, Value)| data.data_reads >> one.0 & 1 == 1;
            (reads.clone().filter(read_as_data))
                .filter(|one| one.0 < FLAGS)
                .map(|one| one.1)
        };
        let is_handed = |value: Value| {
            let made_of =
                sources_where(function, index, &[value], &|by| !function.data[by].loads());
            is_input(function, index, value)
                || made_of.iter().any(|one| takes_input(function, index, *one))
        };
        let reads_frame = |framed: bool| {
            let mut accesses = data.memory.iter().filter(|one| one.reads);
            accesses.any(|one| (one.base == Some(STACK_POINTER)) == framed)
        };
        let loads =
            reads_frame(false) || operands().any(|value| is_loaded_among(function, members, value));
        loads && (reads_frame(true) || operands().any(is_handed))
    })
}

/// Whether a value comes from outside of a loop, and is no constant.
fn is_input(function: &FunctionInput, index: u32, value: Value) -> bool {
    function.values.is_invariant(value, &function.flow, index) && !is_constant(function, value)
}

/// Whether a value is computed in a loop from such a one.
fn takes_input(function: &FunctionInput, index: u32, value: Value) -> bool {
    let Origin::Instruction(by) = function.values.origin(value) else {
        return false;
    };
    let taken = function.data[by as usize].data_reads;
    let mut reads = function.values.reads(by as usize).iter();
    reads.any(|one| taken >> one.0 & 1 == 1 && is_input(function, index, one.1))
}

/// Whether a value is a constant, or a vector of constants, which code loads from where it lies beside it.
fn is_constant(function: &FunctionInput, value: Value) -> bool {
    match function.values.origin(value) {
        Origin::Constant => true,
        Origin::Instruction(by) => {
            let data = &function.data[by as usize];
            let mut memory = data.memory.iter();
            let fixed = memory.all(|one| one.base.is_none() && one.index.is_none() && !one.segment);
            data.writes & VECTORS != 0 && data.loads() && fixed
        }
        _ => false,
    }
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
