//! The same bytes scanned again and again from other starts, by calls of a search.
//!
//! **Signature.** A loop that does nothing but look for where to stop: it calls a function that only reads, or takes
//! apart for its caller's frame what stands there, observed a little further in memory each time
//! ([`genba_observe::AdvancingCall`]), stores nothing, and carries nothing from iteration to iteration but where the
//! search goes on, and a count that only ends it (the element of a number). The steps that bursts saw times the counted
//! calls are the bytes that it passes: many for each entry, and in all many times what the command's input and the
//! program's memory have together.
//!
//! **Near misses.** As of the loops that load themselves ([`super::rescan`]): lines and tokens (short),
//! searches for something else each time, sums and counts over what is found, input through a small buffer. A callee that stores is a parser. Where the
//! place goes on by itself and what a call answers is handed to the next one, the calls make a sum.

use genba_code::{BlockId, Flow, Location, STACK_POINTER};
use genba_model::ObservedFact;
use genba_observe::AdvancingCall;

use super::rescan::Scan;
use crate::candidate::Candidate;
use crate::constants::counts::MIN_SEARCHES;
use crate::constants::observations::{MAX_DEPTH_OF_CALLEES, MIN_ADVANCING};
use crate::constants::registers::{ARGUMENTS, FLAGS, RDI, RDX, RESULTS, RSI};
use crate::constants::search_limits::{MAX_BLOCKS_OF_SCAN, MAX_VALUES_FOLLOWED};
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::invariance::{value_at, value_behind};
use crate::patterns::load_stalls::sources_where;
use crate::patterns::loop_exits::exits;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::positions::{Course, Handed, carried};
use crate::patterns::reading_calls::{is_store_outside, only_reads, takes_apart};
use crate::patterns::search_loops::compares;

/// Loops that search the same bytes from many starts by calls.
pub(crate) fn rescans_by_calls(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let calls = sites.observed.advancing_calls.iter();
    calls.filter_map(|call| by_call(&sites, call)).collect()
}

fn by_call(sites: &ObservedSites<'_>, seen: &AdvancingCall) -> Option<Candidate> {
    let input = sites.input;
    // Of a scan each call but the first goes on behind the one before.
    if !is_enough(&seen.seen) || seen.seen.share.low < MIN_ADVANCING {
        return None;
    }
    let (number, at) = sites.users_site(seen.at)?;
    let function = &input.functions[number];
    let target = sites.target((number, at), seen.target)?;
    let site = function.call_sites.iter().find(|site| site.at == at)?;
    if !only_reads(input, target, MAX_DEPTH_OF_CALLEES) && !takes_apart(input, function, site) {
        return None;
    }
    let argument = *[RDI, RSI, RDX].get(usize::from(seen.argument))?;
    let index = function.flow.loop_of_instruction(at)?;
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let entries = cost.entries.filter(|&entries| entries >= MIN_SEARCHES)?;
    let place = value_at(function, at, argument)?;
    let for_others = compares(&target.function) && looks_for_others(sites, (number, at), place);
    if !only_looks(function, index, at, place) || for_others {
        return None;
    }
    let members = function.loop_instructions(index);
    let share = (function.heat_of(members.iter().copied())
        + share_of_target(input, number, target))
    .min(1.0);
    if share < MIN_SHARE_OF_QUADRATIC_LOOP {
        return None;
    }
    let scan = Scan {
        function: number,
        at,
        entries,
        bytes: seen.bytes_per_call * seen.seen.share.value * target.count as f64,
    };
    let mut one = scan.candidate(input)?;
    one.affected = members;
    one.share = Some(share);
    one.executions = Some(target.count);
    Some(one.fact(ObservedFact::AdvancingCalls {
        function: target.function.clone(),
        calls: target.count,
        share: seen.seen.share,
        bytes: seen.bytes_per_call,
        bursts: seen.seen.bursts,
    }))
}

/// Whether what a comparison compares its `place` with is an argument of the function around that is not mostly the same: each scan
/// looks for something else, and one over the text does not answer them all.
fn looks_for_others(sites: &ObservedSites<'_>, (number, at): (usize, usize), place: Value) -> bool {
    let function = &sites.input.functions[number];
    let Some(entry) = sites.point(number, 0) else {
        return false;
    };
    let is_usual = |argument: u8| {
        let mut values = sites.observed.argument_values.iter();
        values.any(|one| one.target == entry && one.argument == argument)
    };
    let of_function = |location: Location| {
        let value = value_at(function, at, location).filter(|&value| value != place)?;
        let entered = function.values.location_at_entry(value)?;
        let argument = ARGUMENTS.iter().take(6).position(|&one| one == entered)?;
        u8::try_from(argument).ok()
    };
    // The third argument is a length.
    [RDI, RSI]
        .into_iter()
        .filter_map(of_function)
        .any(|argument| !is_usual(argument))
}

/// Whether a loop stores nothing, calls nothing else, and hands on nothing but values of which the
/// place is made where the search goes on.
fn only_looks(function: &FunctionInput, index: u32, call: usize, place: Value) -> bool {
    let body = function.flow.loop_blocks(index);
    if body.len() > MAX_BLOCKS_OF_SCAN {
        return false;
    }
    let members = function.loop_instructions(index);
    let executed = || {
        members
            .iter()
            .copied()
            .filter(|&at| function.counts[at] > 0)
    };
    let stops = |at: usize| {
        matches!(
            function.code[at].flow,
            Flow::CondJump(_) | Flow::IndirectJump
        )
    };
    let works = |at: usize| {
        let data = &function.data[at];
        let stores = data.memory.iter().any(is_store_outside);
        at != call && (stores || data.opaque.is_some())
    };
    if executed().any(works) || !executed().any(stops) || sums(function, index, call, place) {
        return false;
    }
    // What the call takes is followed from its arguments, not through it: it may change registers.
    let mut roots = vec![place];
    roots.extend(
        [RDI, RSI, RDX]
            .iter()
            .filter_map(|&one| value_at(function, call, one)),
    );
    let of_place = sources_where(function, index, &roots, &|at| at != call);
    let is_used = |number: u32| {
        executed().filter(|&at| at != call).any(|at| {
            let reads = function.values.reads(at).iter();
            reads.into_iter().any(|one| one.1.number == number)
        })
    };
    carried(function, body).into_values().all(|value| {
        if !is_used(value.number) || of_place.iter().any(|one| one.number == value.number) {
            return true;
        }
        let handed = Handed::of(function, body, value);
        match handed.course(u64::MAX) {
            Course::Advances(_) => only_ends(function, &members, call, &handed),
            Course::Kept => handed.made.is_empty(),
            Course::New => {
                let made_of = sources_where(function, index, &handed.made, &|at| at != call);
                let itself = made_of.iter().any(|one| one.number == value.number);
                made_of.len() < MAX_VALUES_FOLLOWED && !itself
            }
            Course::Other => false,
        }
    })
}

/// Whether a counter is read by its own step and by comparisons alone, and one of them ends the loop: it says when to stop.
fn only_ends(function: &FunctionInput, members: &[usize], call: usize, handed: &Handed) -> bool {
    let is_of_it = |value: Value| {
        handed.joins.contains(&value.number)
            || handed.made.iter().any(|one| one.number == value.number)
    };
    let reads_it = |at: usize| {
        let reads = function.values.reads(at).iter();
        reads.into_iter().any(|one| is_of_it(one.1))
    };
    let only_steps = |at: usize| {
        let made = function.values.writes(at).iter();
        let mut made = made.filter(|one| one.0 < FLAGS);
        made.all(|one| is_of_it(one.1)) && !function.data[at].loads()
    };
    let executed = || {
        members
            .iter()
            .copied()
            .filter(|&at| function.counts[at] > 0)
    };
    let handed_over =
        |&location: &Location| value_at(function, call, location).is_some_and(is_of_it);
    executed()
        .filter(|&at| at != call && reads_it(at))
        .all(only_steps)
        && exits(function, members).any(|(_, flags)| reads_it(flags))
        && !ARGUMENTS.iter().take(6).any(handed_over)
}

/// Whether a call's result goes into another argument of the next call, but not into the place where that looks.
fn sums(function: &FunctionInput, index: u32, call: usize, place: Value) -> bool {
    let Some(result) = function.values.written(call, RESULTS[0]) else {
        return false;
    };
    let made_of = |value: Value| sources_where(function, index, &[value], &|at| at != call);
    let of_result = |sources: &[Value]| sources.iter().any(|one| one.number == result.number);
    // The frame may keep the result from call to call.
    let in_frame = |at: usize, writes: bool| {
        let mut accesses = function.data[at].memory.iter();
        let access = accesses.find(|one| if writes { one.writes } else { one.reads })?;
        let fixed = access.base == Some(STACK_POINTER) && access.index.is_none();
        fixed.then_some(access.displacement)
    };
    let members = function.loop_instructions(index).into_iter();
    let kept: Vec<i64> = members
        .filter(|&at| function.counts[at] > 0)
        .filter_map(|at| Some((at, in_frame(at, true)?)))
        .filter(|&(at, _)| {
            let mut stored = function.values.reads(at).iter();
            stored.any(|one| of_result(&made_of(one.1)))
        })
        .map(|one| one.1)
        .collect();
    let is_kept = |value: &Value| match function.values.origin(*value) {
        Origin::Instruction(by) => {
            in_frame(by as usize, false).is_some_and(|at| kept.contains(&at))
        }
        _ => false,
    };
    let is_made_of_result = |value: Value| {
        let sources = made_of(value);
        of_result(&sources) || sources.iter().any(is_kept)
    };
    let flow = &function.flow;
    let head = flow.loops()[index as usize].head;
    let body = flow.loop_blocks(index);
    let before = flow.blocks()[head as usize].predecessors.iter();
    let ends: Vec<BlockId> = before.copied().filter(|one| body.contains(one)).collect();
    // Or it is left where the next call takes it.
    let handed = |location| match value_at(function, call, location) {
        Some(value) => vec![value],
        None => (ends.iter())
            .filter_map(|&end| value_behind(function, end, location))
            .collect(),
    };
    let mut arguments = [RDI, RSI, RDX].into_iter().flat_map(handed);
    !is_made_of_result(place) && arguments.any(is_made_of_result)
}
