//! `dead-store`: memory is written and overwritten before anything reads it.
//!
//! **Signature.** Observed: nearly all bytes that a call fills (`memset`, `memcpy`, `strncpy`), or that a store writes,
//! are overwritten unread, by code of the same function that the first cannot be bypassed on the way to, so that the
//! first is of no use on any way. A result that the next round of the same work overwrites is none of these: that
//! nobody read it may lie in the input, or in a benchmark; but a buffer that is cleared (`memset`), and cleared again
//! by the same call before anybody has read or written most of it, need not have been cleared so far. Stores of a loop
//! to one place whose next iteration overwrites it count as well, and clears of more than the program loads
//! ([`unread_clears`]). Programs with several threads are left out: another thread's reads are not seen.
//!
//! **Confirmation.** The fill left out.
//!
//! **Gain.** The measured time of the fill; of a store in a loop at most what the loop's model saves
//! without it.
//!
//! **Source.** M. Chabbi and J. Mellor-Crummey, "DeadSpy: a tool to pinpoint program inefficiencies", CGO
//! 2012.

use genba_code::{BlockId, Flow};
use genba_loop_model::Change;
use genba_model::{Cause, CodePoint, Estimate, Fix, MIN_GAIN, ObservedFact};
use genba_observe::{DeadStore, OverwrittenBuffer};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::causes::unread_clears;
use crate::constants::counts::{EVICTING_CLEAR_BYTES, MIN_TRIPS_FOR_BRANCHES, SELDOM_EXECUTIONS};
use crate::constants::gains::{MAX_RESIDUAL, REST_SAVED_WITHOUT_EVICTION};
use crate::constants::model_fit::MAX_CYCLES_OF_STORES;
use crate::constants::observations::{
    BYTES_OF_UNSEEN_COPY, DEAD_STORES_SAVED, MIN_OVERWRITTEN, MIN_OVERWRITTEN_LOW,
    MIN_SHARE_OF_REPEATED_WORK,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::runtime_services::plain;
use crate::patterns::calls::index_of;
use crate::patterns::invariance::is_same_each_iteration;
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// Finds fills and stores that are overwritten unread.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input).filter(|_| input.program.threads <= 1) else {
        return Vec::new();
    };
    let buffers = sites.observed.overwritten_buffers.iter();
    let mut found: Vec<Candidate> = buffers.filter_map(|one| buffer(&sites, one)).collect();
    found.extend(stores(&sites));
    let is_known = |one: &Candidate| {
        let at = one.at.as_ref().and_then(|site| site.addresses.first());
        found.iter().any(|other| {
            let function = other.function.map(|number| &input.functions[number]);
            let mut addresses =
                (other.site.iter()).filter_map(|&at| Some(function?.code[at].address));
            addresses.any(|address| Some(&address) == at)
        })
    };
    let unread = unread_clears::candidates(&sites).into_iter();
    let unread: Vec<Candidate> = unread.filter(|one| !is_known(one)).collect();
    found.extend(unread);
    found
}

/// Whether nearly all executions of a store are overwritten unread.
pub(crate) fn is_overwritten(share: Estimate) -> bool {
    share.value >= MIN_OVERWRITTEN && share.low >= MIN_OVERWRITTEN_LOW
}

/// Whether a library function fills memory with one byte.
pub(crate) fn is_clearing_function(name: &str) -> bool {
    // Of several versions the one for this processor: `__memset_evex_unaligned`.
    let stem = plain(name).split('_').next();
    matches!(stem, Some("memset" | "bzero"))
}

/// What fills a buffer: a function that is called, or a string instruction.
struct Fill {
    name: String,
    executions: u64,
    /// Of all time.
    share: f64,
    /// Whether it fills with one value.
    clears: bool,
}

fn fill_of(
    sites: &ObservedSites<'_>,
    (number, at): (usize, usize),
    one: &OverwrittenBuffer,
) -> Option<Fill> {
    if one.target == one.at {
        let function = &sites.input.functions[number];
        let mut words = function.code[at].text.split_whitespace();
        return Some(Fill {
            name: format!("{} {}", words.next()?, words.next()?),
            executions: function.counts[at],
            share: function.heat[at],
            clears: function.code[at].text.contains("stos"),
        });
    }
    let target = sites.target((number, at), one.target)?;
    Some(Fill {
        name: target.function.clone(),
        executions: target.count,
        share: share_by_bytes(sites, one, target),
        clears: is_clearing_function(&target.function),
    })
}

fn buffer(sites: &ObservedSites<'_>, one: &OverwrittenBuffer) -> Option<Candidate> {
    let (number, at) = sites.users_site(one.at)?;
    if !is_enough(&one.seen) || !is_overwritten(one.seen.share) {
        return None;
    }
    let fill = fill_of(sites, (number, at), one)?;
    // What a clear writes is not a result: that nobody used it means that it was not needed.
    let cleared_again = one.overwritten_by == one.at && fill.clears;
    if !cleared_again && !comes_first(sites, (number, at), one.overwritten_by) {
        return None;
    }
    let share = fill.share;
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let fix = match cleared_again {
        true => Fix::ClearUsedPart,
        false => Fix::DropDeadStores { buffer: true },
    };
    let mut found = Candidate::new(Cause::DeadStore, Some(number), vec![at], fix);
    found.share = Some(share);
    found.residual_fraction = residual(1.0);
    if one.bytes_per_call >= EVICTING_CLEAR_BYTES {
        found.saves(&[
            SavedTime::of(share, DEAD_STORES_SAVED),
            SavedTime::of(1.0 - share, REST_SAVED_WITHOUT_EVICTION),
        ]);
    }
    found.executions = Some(fill.executions);
    Some(
        found
            .fact(sites.overwritten_buffer(one, fill.name))
            .fact(ObservedFact::FillTime { share }),
    )
}

/// Share of all time in a function that fills memory which is that of one call: by the bytes of its
/// callers, as far as they were seen.
fn share_by_bytes(sites: &ObservedSites<'_>, one: &OverwrittenBuffer, to: &CallTarget) -> f64 {
    let input = sites.input;
    let Some(callee) = index_of(input, &to.function, &to.module) else {
        return 0.0;
    };
    let callee = &input.functions[callee];
    let seen = |address: u64| {
        let list = sites.observed.overwritten_buffers.iter();
        let mut same = list.filter(|other| other.target == one.target);
        same.find(|other| other.at.address == address)
            .map(|other| other.bytes_per_call)
    };
    let (mut mine, mut all) = (0.0, 0.0);
    for user in &callee.user_callers {
        let bytes = user.calls * seen(user.address).unwrap_or(BYTES_OF_UNSEEN_COPY);
        all += bytes;
        if user.address == one.at.address {
            mine += bytes;
        }
    }
    match all > 0.0 && mine > 0.0 {
        true => callee.share.value * mine / all,
        // Who calls it was not counted: by calls.
        false => callee.share.value * to.count as f64 / callee.calls.unwrap_or(1).max(1) as f64,
    }
}

/// Stores of the same loop, or of the same block outside of loops, are one finding.
fn stores(sites: &ObservedSites<'_>) -> Vec<Candidate> {
    let input = sites.input;
    let mut groups: Vec<Group<'_>> = Vec::new();
    for one in &sites.observed.dead_stores {
        let Some((number, at)) = sites.users_site(one.at) else {
            continue;
        };
        let function = &input.functions[number];
        let plain = function.data[at]
            .memory
            .iter()
            .any(|m| m.writes && !m.stack);
        let in_place = is_overwritten_in_place(sites, (number, at), one.overwritten_by);
        if !plain
            || !is_enough(&one.seen)
            || !is_overwritten(one.seen.share)
            || !(in_place || comes_first(sites, (number, at), one.overwritten_by))
        {
            continue;
        }
        let around = function.flow.loop_of_instruction(at);
        let same = |group: &&mut Group<'_>| {
            (group.function, group.around, group.in_place) == (number, around, in_place)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.list.push((at, one)),
            None => groups.push(Group {
                function: number,
                around,
                in_place,
                list: vec![(at, one)],
            }),
        }
    }
    groups
        .iter()
        .filter_map(|group| of_group(sites, group))
        .collect()
}

/// Dead stores of one loop, or of a function outside of loops.
struct Group<'a> {
    function: usize,
    around: Option<u32>,
    /// Whether the next iteration overwrites them.
    in_place: bool,
    list: Vec<(usize, &'a DeadStore)>,
}

fn of_group(sites: &ObservedSites<'_>, group: &Group<'_>) -> Option<Candidate> {
    let (number, list) = (group.function, &group.list);
    let function = &sites.input.functions[number];
    let mut site: Vec<usize> = list.iter().map(|one| one.0).collect();
    site.sort_unstable();
    // A loop that does nothing but fill goes as a whole.
    let fills = group.around.filter(|_| !group.in_place);
    let whole = fills.filter(|&index| only_stores(function, index, &site));
    // What a constructor of a library stores is not the user's to leave out; a fill is.
    let of_library = |at: usize| function.of_library.get(at) == Some(&true);
    if whole.is_none() && site.iter().all(|&at| of_library(at)) {
        return None;
    }
    let affected = match whole {
        Some(index) => function.loop_instructions(index),
        None => site.clone(),
    };
    let share = function.heat_of(affected.iter().copied());
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let hottest = list.iter().max_by(|a, b| {
        let heat = |one: &&(usize, &DeadStore)| function.heat[one.0];
        heat(a).total_cmp(&heat(b))
    })?;
    let fix = Fix::DropDeadStores {
        buffer: whole.is_some(),
    };
    let stored = site.clone();
    let mut found = Candidate::new(Cause::DeadStore, Some(number), site, fix);
    found.affected = affected;
    let kept = match group.in_place {
        true => group
            .around
            .map_or(0.0, |index| last_rounds(function, index)),
        false => 0.0,
    };
    found.residual_fraction = residual(hottest.1.seen.share.value * (1.0 - kept));
    let beside = match whole {
        Some(_) => None,
        None => saved_beside_the_rest(sites.input, group, &stored),
    };
    if let Some((likely, most)) = beside {
        // Samples at a store are also of what it waits for.
        let [likely, most] = [likely, most].map(|saved| saved * (1.0 - kept) / share);
        if share * most < MIN_GAIN {
            return None;
        }
        let all = &mut found.residual_fraction;
        all.low = all.low.max(1.0 - most).min(MAX_RESIDUAL);
        all.value = all.value.max(all.low).max((1.0 - likely).min(MAX_RESIDUAL));
        all.high = all.high.max(all.value);
    }
    let bytes: f64 = (list.iter())
        .map(|(at, one)| f64::from(one.size) * function.counts[*at] as f64)
        .sum();
    let runs = whole.and_then(|index| entries(function, index));
    if runs.is_some_and(|runs| bytes / runs as f64 >= EVICTING_CLEAR_BYTES) {
        found.saves(&[
            SavedTime::of(share, DEAD_STORES_SAVED),
            SavedTime::of(1.0 - share, REST_SAVED_WITHOUT_EVICTION),
        ]);
    }
    let executions = list.iter().map(|one| function.counts[one.0]).sum();
    found.executions = Some(executions);
    Some(found.fact(ObservedFact::DeadStores {
        executions,
        share: hottest.1.seen.share,
        overwritten_line: sites.line(hottest.1.overwritten_by),
        bursts: hottest.1.seen.bursts,
    }))
}

/// Share of all time that goes when stores leave their innermost loop, by the model of its iterations, and that goes at
/// most: stores run beside the rest. `None` where there is no model.
fn saved_beside_the_rest(
    input: &AnalysisInput,
    group: &Group<'_>,
    stores: &[usize],
) -> Option<(f64, f64)> {
    let function = &input.functions[group.function];
    let index = group.around.filter(|&index| function.is_innermost(index))?;
    let change = Change {
        gone: stores.to_vec(),
        ..Change::default()
    };
    let gain = function.loop_after(&input.program.costs, index, &change)?;
    let heat = function.loop_heat(index);
    let [before, after] = [&gain.before, &gain.after].map(|model| model.cycles());
    let (before, measured) = (before?.value, gain.measured.value);
    let [likely, most] =
        [gain.residual_fraction.value, gain.residual_fraction.low].map(|left| 1.0 - left);
    // What the model does not know of a loop, its mispredictions, misses and ends, is not the stores'.
    let is_long =
        1.0 / last_rounds(function, index).max(f64::MIN_POSITIVE) >= MIN_TRIPS_FOR_BRANCHES;
    let known = match is_long && measured <= MAX_CYCLES_OF_STORES * before {
        true => likely,
        false => (before - after?.value).max(0.0) / measured,
    };
    Some((heat * known.min(likely), heat * most))
}

/// Share of a loop's rounds that are the last before it is left: the store of that one stays.
fn last_rounds(function: &FunctionInput, index: u32) -> f64 {
    let cost = function.loops.get(index as usize).and_then(Option::as_ref);
    let rounds = cost.and_then(|cost| Some((cost.entries?, cost.iterations.max(1))));
    rounds.map_or(0.0, |(entries, all)| (entries as f64 / all as f64).min(1.0))
}

/// What stays of the time of stores of which this part is dead.
pub(crate) fn residual(dead: f64) -> Estimate {
    let (value, low, high) = DEAD_STORES_SAVED;
    Estimate {
        value: 1.0 - dead * value,
        low: 1.0 - dead * high,
        high: (1.0 - dead * low).min(MAX_RESIDUAL),
    }
}

/// Whether the way to what overwrites always leads through a place: it is in the same function, in one that this
/// calls behind it, or both are called from one function, in this order.
fn comes_first(sites: &ObservedSites<'_>, place: (usize, usize), killer: CodePoint) -> bool {
    let Some(killer) = sites.site(killer) else {
        return false;
    };
    let function = &sites.input.functions[place.0];
    if killer.0 == place.0 {
        return leads_through(function, place.1, killer.1);
    }
    let calls = function.call_sites.iter().filter(|site| {
        let mut targets = site.targets.iter();
        targets.any(|to| index_of(sites.input, &to.function, &to.module) == Some(killer.0))
    });
    let mut calls = calls.peekable();
    if calls.peek().is_some() {
        return calls.all(|site| leads_through(function, place.1, site.at));
    }
    let (before, after) = (
        calls_from_above(sites.input, place),
        calls_from_above(sites.input, killer),
    );
    let common = before.iter().find_map(|&(number, at)| {
        let then = after.iter().find(|one| one.0 == number)?;
        Some(leads_through(&sites.input.functions[number], at, then.1))
    });
    common.unwrap_or(false)
}

/// A place, the call of its function that is made nearly each time, the call of that one, and so on.
fn calls_from_above(input: &AnalysisInput, place: (usize, usize)) -> Vec<(usize, usize)> {
    let mut found = vec![place];
    while let Some(&(number, _)) = found.last() {
        let function = &input.functions[number];
        let calls = function.calls.unwrap_or(0) as f64;
        let usual = (function.callers.first())
            .filter(|caller| caller.own && caller.count as f64 >= MIN_OVERWRITTEN * calls);
        let above = usual.and_then(|caller| {
            let number = index_of(input, &caller.function, &caller.module)?;
            let code = &input.functions[number].code;
            let at = code.iter().position(|one| one.address == caller.address)?;
            Some((number, at))
        });
        match above {
            Some(above) if !found.iter().any(|one| one.0 == above.0) => found.push(above),
            _ => break,
        }
    }
    found
}

/// Whether each executed way from the function's entry to `then` leads through `first`.
fn leads_through(function: &FunctionInput, first: usize, then: usize) -> bool {
    let (Some(without), Some(goal)) = (function.flow.block_of(first), function.flow.block_of(then))
    else {
        return false;
    };
    if without == goal {
        return first < then;
    }
    let blocks = function.flow.blocks();
    let Some(entry) = function.flow.block_of(0) else {
        return false;
    };
    let mut met = vec![false; blocks.len()];
    let mut work = vec![entry];
    while let Some(block) = work.pop() {
        if block == without || std::mem::replace(&mut met[block as usize], true) {
            continue;
        }
        if block == goal {
            return false;
        }
        let last = blocks[block as usize].instructions.end as usize - 1;
        let next = blocks[block as usize].successors.iter().copied();
        work.extend(next.filter(|&next| is_executed(function, last, next)));
    }
    true
}

/// Whether control went from the end of a block to another block often enough to matter.
fn is_executed(function: &FunctionInput, last: usize, next: BlockId) -> bool {
    let head = function.flow.blocks()[next as usize].instructions.start as usize;
    if function.counts[head] == 0 {
        return false;
    }
    let (Flow::CondJump(target), Some(taken)) = (
        function.code[last].flow,
        function.taken.get(last).copied().flatten(),
    ) else {
        return true;
    };
    let times = match function.code[head].address == target {
        true => taken,
        false => function.counts[last].saturating_sub(taken),
    };
    times as f64 > SELDOM_EXECUTIONS * function.counts[last] as f64
}

/// Whether a store of a loop writes to one place, which the next iteration overwrites.
fn is_overwritten_in_place(
    sites: &ObservedSites<'_>,
    (number, at): (usize, usize),
    killer: CodePoint,
) -> bool {
    let function = &sites.input.functions[number];
    let Some(around) = function.flow.loop_of_instruction(at) else {
        return false;
    };
    let inside = sites.site(killer).is_some_and(|(other, there)| {
        other == number && function.loops_around(there).any(|index| index == around)
    });
    inside
        && function.values.addresses(at).iter().all(|address| {
            address.is_some_and(|address| {
                let same = |value| is_same_each_iteration(function, around, value);
                same(address.base) && address.index.is_none_or(|(value, _)| same(value))
            })
        })
}

/// Whether a loop calls nothing and all that it stores is dead.
fn only_stores(function: &FunctionInput, index: u32, dead: &[usize]) -> bool {
    (function.loop_instructions(index).into_iter())
        .filter(|&at| function.counts[at] > 0)
        .all(|at| {
            let data = &function.data[at];
            data.opaque.is_none() && (!data.stores() || dead.contains(&at)) && !data.loads()
        })
}
