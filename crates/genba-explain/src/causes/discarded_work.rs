//! `discarded-work`: a result is computed before a test that mostly discards it.
//!
//! **Signature.** Observed: most results of calls or of computations are stored and overwritten by those of the
//! next round unread; some are read, so that they are wanted now and then. For stores of the user's own
//! there is a test behind them, or behind the loop that makes nothing but these results, with whose outcome, as
//! bursts show, it is decided whether they are read; a library function that writes text for its caller needs
//! none, since its caller does not read it. Or a call changes nothing, and its result is read on one way of a
//! test only. Or it only answers a test, and cheap tests behind it mostly say no ([`super::expensive_tests`]). Or a
//! test behind a loop often drops what the loop made ([`super::dropped_loops`]). Or a caller reads
//! some fields of a result only ([`super::unread_fields`]), or gives back what a call made for it unread
//! ([`super::unread_results`]).
//!
//! **Confirmation.** The test before the work.
//!
//! **Gain.** The measured time of the discarded calls and computations, but for what the test itself needs.
//!
//! **Source.** R. Bodik and R. Gupta, "Partial dead code elimination using slicing transformations", PLDI
//! 1997; J. A. Butts and G. Sohi, "Dynamic dead-instruction detection and elimination", ASPLOS 2002.

use genba_code::{BlockId, Flow};
use genba_model::{CallFact, Cause, Estimate, Fix, ObservedFact};
use genba_observe::{DeadStore, OverwrittenBuffer};

use crate::candidate::Candidate;
use crate::causes::dropped_loops::dropped_loops;
use crate::causes::expensive_tests::expensive_tests;
use crate::causes::loop_invariant_call::{entries, is_harmless};
use crate::causes::unasked_results;
use crate::causes::unread_fields;
use crate::causes::unread_results;
use crate::constants::counts::MIN_RESULTS_OF_WORK;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    DISCARDED_WORK_SAVED, MAX_DISCARDED, MIN_DISCARDED, MIN_SHARE_OF_REPEATED_WORK,
    SAME_TIMES_TOLERANCE, WORK_BEFORE_TEST_SAVED,
};
use crate::constants::registers::FLAGS;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::{is_copy_function, plain};
use crate::input::value_uses::Uses;
use crate::input::values::{Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::calls_behind_stores::call_behind;
use crate::patterns::invariance::is_same_each_iteration;
use crate::patterns::needed_code::needed_for_only;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};

/// Finds work whose result is mostly overwritten unread.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let functions = 0..input.functions.len();
    let mut found: Vec<Candidate> = functions
        .flat_map(|number| {
            let tests = expensive_tests(input, number);
            tests.into_iter().chain(dropped_loops(input, number))
        })
        .collect();
    let Some(sites) = ObservedSites::of(input).filter(|_| input.program.threads <= 1) else {
        return found;
    };
    let buffers = sites.observed.overwritten_buffers.iter();
    found.extend(buffers.filter_map(|one| text(&sites, one)));
    found.extend(unasked_results::candidates(&sites));
    found.extend(unread_results::candidates(&sites));
    for number in 0..input.functions.len() {
        found.extend(results(&sites, number));
        found.extend(of_callees(&sites, number));
        found.extend(unread_fields::candidate(&sites, number));
    }
    found
}

fn is_discarded(share: Estimate) -> bool {
    share.low >= MIN_DISCARDED && share.value <= MAX_DISCARDED
}

fn residual(discarded: Estimate) -> Estimate {
    let (value, low, high) = DISCARDED_WORK_SAVED;
    Estimate {
        value: 1.0 - discarded.value * value,
        low: 1.0 - discarded.high * high,
        high: (1.0 - discarded.low * low).min(MAX_RESIDUAL),
    }
}

/// A library function that writes into its caller's buffer, which the next call overwrites.
fn text(sites: &ObservedSites<'_>, one: &OverwrittenBuffer) -> Option<Candidate> {
    let (number, at) = sites.users_site(one.at)?;
    let target = sites.target((number, at), one.target)?;
    let name = plain(&target.function);
    // What fills memory computes nothing.
    let fills = is_copy_function(name) || name.starts_with("memset") || name.starts_with("str");
    let by_itself = sites.site(one.overwritten_by) == Some((number, at));
    if fills || !by_itself || !is_enough(&one.seen) || !is_discarded(one.seen.share) {
        return None;
    }
    let share = share_of_target(sites.input, number, target);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let mut found = Candidate::new(
        Cause::DiscardedWork,
        Some(number),
        vec![at],
        Fix::TestBeforeWork,
    );
    found.share = Some(share);
    found.residual_fraction = residual(one.seen.share);
    found.executions = Some(target.count);
    Some(
        found
            .fact(sites.overwritten_buffer(one, target.function.clone()))
            .fact(ObservedFact::FillTime { share }),
    )
}

/// A test behind the stores that decides whether they are read.
struct Test {
    at: usize,
    discards: f64,
    /// The loop before the test that makes the results, if one does.
    made_by: Option<u32>,
}

/// Results of a function that are stored before a test and mostly discarded: one candidate for
/// each test.
fn results(sites: &ObservedSites<'_>, number: usize) -> Vec<Candidate> {
    let function = &sites.input.functions[number];
    if !function.can_be_changed() || function.counts.len() != function.code.len() {
        return Vec::new();
    }
    let mut groups: Vec<(Test, Vec<(usize, &DeadStore)>)> = Vec::new();
    for one in &sites.observed.dead_stores {
        let Some((_, at)) = sites.site(one.at).filter(|site| site.0 == number) else {
            continue;
        };
        let plain = function.data[at]
            .memory
            .iter()
            .any(|m| m.writes && !m.stack);
        let here = sites
            .site(one.overwritten_by)
            .is_some_and(|site| site.0 == number);
        if !plain || !here || !is_enough(&one.seen) || !is_discarded(one.seen.share) {
            continue;
        }
        let decides = |branch| decides(sites, one, (number, branch));
        let Some(test) = test_behind(function, at, function.counts[at], &decides)
            .or_else(|| test_behind_loop(function, at, &decides))
        else {
            continue;
        };
        let same = |group: &&mut (Test, Vec<(usize, &DeadStore)>)| {
            (group.0.at, group.0.made_by) == (test.at, test.made_by)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.1.push((at, one)),
            None => groups.push((test, vec![(at, one)])),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let uses = Uses::of(function);
    (groups.iter())
        .filter_map(|(test, stores)| of_test(sites, number, &uses, test, stores))
        .collect()
}

fn of_test(
    sites: &ObservedSites<'_>,
    number: usize,
    uses: &Uses,
    test: &Test,
    stores: &[(usize, &DeadStore)],
) -> Option<Candidate> {
    let function = &sites.input.functions[number];
    let discarded: Vec<usize> = stores.iter().map(|one| one.0).collect();
    let feeding = needed_for_only(function, &discarded);
    // What a call returns may be wanted elsewhere, too.
    let only_stored = |value: &Value| {
        let mut readers = uses.readers(*value).into_iter();
        readers.all(|reader| feeding.contains(&reader))
    };
    let mut calls: Vec<usize> = (discarded.iter())
        .filter_map(|&at| call_behind(function, at))
        .filter(|(_, result)| result.iter().all(only_stored))
        .map(|(call, _)| call)
        .collect();
    calls.sort_unstable();
    calls.dedup();
    let work = match test.made_by {
        Some(index) if !makes_only(function, index, &discarded) => return None,
        Some(index) => function.loop_instructions(index),
        None => feeding,
    };
    let of_calls: f64 = (function.call_sites.iter())
        .filter(|site| calls.contains(&site.at))
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(sites.input, number, target))
        .sum();
    let share = (of_calls + function.heat_of(work.iter().copied())).min(1.0);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let before = work_before(sites.input, number, test.at);
    let first = stores
        .iter()
        .map(|one| one.1)
        .max_by_key(|one| one.seen.executions)?;
    let mut site = vec![test.at];
    site.extend(calls);
    let mut found = Candidate::new(
        Cause::DiscardedWork,
        Some(number),
        site,
        Fix::TestBeforeWork,
    );
    found.affected = work;
    let (discarded_share, left) = (first.seen.share, residual(first.seen.share));
    let (value, low, high) = WORK_BEFORE_TEST_SAVED;
    let other = (
        discarded_share.value * value,
        discarded_share.low * low,
        discarded_share.high * high,
    );
    found.saves(&[
        SavedTime::of(share, (1.0 - left.value, 1.0 - left.high, 1.0 - left.low)),
        SavedTime::of((before - share).max(0.0), other),
    ]);
    found.executions = Some(function.counts[test.at]);
    let executions = discarded.iter().map(|&at| function.counts[at]).sum();
    Some(
        found
            .fact(ObservedFact::DiscardedResults {
                executions,
                share: first.seen.share,
                bursts: first.seen.bursts,
            })
            .fact(ObservedFact::DiscardingTest {
                executions: function.counts[test.at],
                share: test.discards,
                line: function.places[test.at].line,
            })
            .fact(ObservedFact::FillTime { share }),
    )
}

/// Share of all time in what is done each time before a test, in the innermost loop around it: calls
/// with all that they call, and instructions.
fn work_before(input: &AnalysisInput, number: usize, test: usize) -> f64 {
    let function = &input.functions[number];
    let Some(there) = function.flow.block_of(test) else {
        return 0.0;
    };
    let times = function.counts[test] as f64;
    let each_time = |at: &usize| {
        let count = function.counts[*at] as f64;
        let before = function.flow.block_of(*at).is_some_and(|block| {
            block == there && *at < test || function.flow.dominates(block, there)
        });
        before && (count - times).abs() <= SAME_TIMES_TOLERANCE * times
    };
    let members = match function.flow.loop_of_instruction(test) {
        Some(index) => function.loop_instructions(index),
        None => (0..function.code.len()).collect(),
    };
    let all: Vec<usize> = members.into_iter().filter(each_time).collect();
    let of_calls: f64 = (function.call_sites.iter())
        .filter(|site| all.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, number, target))
        .sum();
    (of_calls + function.heat_of(all)).min(1.0)
}

/// Whether a branch decides what becomes of a store, as bursts show.
fn decides(sites: &ObservedSites<'_>, store: &DeadStore, branch: (usize, usize)) -> bool {
    let mut all = store.decided_by.iter();
    all.any(|one| sites.site(*one) == Some(branch))
}

/// The first branch behind a store, on all ways from it, that decides whether it is read. One that decides whether
/// the store's loop goes on discards nothing: the next round begins with what this one made.
fn test_behind(
    function: &FunctionInput,
    store: usize,
    times: u64,
    decides: &dyn Fn(usize) -> bool,
) -> Option<Test> {
    let block = function.flow.block_of(store)?;
    let round = function.flow.loop_of_instruction(store);
    let behind = |at: usize, there: BlockId| {
        if there == block {
            at > store
        } else {
            function.flow.dominates(block, there)
        }
    };
    first_test(function, (store, round), times, &|at, there| {
        behind(at, there) && decides(at)
    })
}

/// The same of a store in a loop that ends before the test: its run as a whole makes the results.
fn test_behind_loop(
    function: &FunctionInput,
    store: usize,
    decides: &dyn Fn(usize) -> bool,
) -> Option<Test> {
    function.loops_around(store).find_map(|index| {
        let one = &function.flow.loops()[index as usize];
        let members = function.flow.loop_blocks(index);
        let behind = |at: usize, there: BlockId| {
            !members.contains(&there) && function.flow.dominates(one.head, there) && decides(at)
        };
        let runs = entries(function, index)?;
        let test = first_test(function, (store, one.parent), runs, &behind)?;
        Some(Test {
            made_by: Some(index),
            ..test
        })
    })
}

/// Whether all that a loop changes is among the discarded results, or belongs to it alone: places at fixed
/// addresses (counters of the results), and the stack.
fn makes_only(function: &FunctionInput, index: u32, discarded: &[usize]) -> bool {
    let harmless = |at: usize| {
        let site = function.call_sites.iter().find(|site| site.at == at);
        site.is_some_and(|site| site.targets.iter().all(|to| is_harmless(&to.function)))
    };
    (function.loop_instructions(index).into_iter())
        .filter(|&at| function.counts[at] > 0)
        .all(|at| {
            let data = &function.data[at];
            let own = |access: &genba_code::MemoryAccess| !access.writes || access.stack;
            let stays = || {
                function.values.addresses(at).iter().all(|address| {
                    address.is_some_and(|address| {
                        let same = |value| is_same_each_iteration(function, index, value);
                        same(address.base) && address.index.is_none_or(|(value, _)| same(value))
                    })
                })
            };
            harmless(at)
                || data.opaque.is_none()
                    && (data.memory.iter().all(own) || discarded.contains(&at) || stays())
        })
}

/// The nearest branch for which `decides` holds that is met as often as the store, and does not end the store's
/// loop. What a loop behind the store tests in each of its iterations is of the iteration, not of the result.
fn first_test(
    function: &FunctionInput,
    (store, round): (usize, Option<u32>),
    times: u64,
    decides: &dyn Fn(usize, BlockId) -> bool,
) -> Option<Test> {
    let stays = |block: u32| {
        let next = &function.flow.blocks()[block as usize].successors;
        round.is_none_or(|round| {
            let members = function.flow.loop_blocks(round);
            next.iter().all(|one| members.contains(one))
        })
    };
    let around: Vec<u32> =
        std::iter::successors(round, |&index| function.flow.loops()[index as usize].parent)
            .collect();
    let is_beside = |there: BlockId| {
        let inside = function.flow.innermost_loop(there);
        inside.is_none_or(|index| around.contains(&index))
    };
    let tests = (0..function.code.len()).filter_map(|at| {
        let Flow::CondJump(_) = function.code[at].flow else {
            return None;
        };
        let there = function.flow.block_of(at)?;
        let all = function.counts[at] as f64;
        let taken = function.taken.get(at).copied().flatten()? as f64 / all.max(1.0);
        let discards = taken.max(1.0 - taken);
        let as_often = all >= (1.0 - SAME_TIMES_TOLERANCE) * times as f64;
        let fits = as_often && discards <= MAX_DISCARDED;
        (fits && stays(there) && is_beside(there) && decides(at, there)).then_some(Test {
            at,
            discards,
            made_by: None,
        })
    });
    tests.min_by_key(|test| test.at.abs_diff(store))
}

/// Results that a function writes for its caller, whose test behind the call mostly discards them.
fn of_callees(sites: &ObservedSites<'_>, number: usize) -> Option<Candidate> {
    let input = sites.input;
    let callee = &input.functions[number];
    let stores: Vec<(usize, &DeadStore)> = (sites.observed.dead_stores.iter())
        .filter_map(|one| {
            let (_, at) = sites.site(one.at).filter(|site| site.0 == number)?;
            let memory = &callee.data[at].memory;
            let frame = Some(genba_code::STACK_POINTER);
            // What is in its own frame is not for the caller.
            let result = memory
                .iter()
                .any(|m| m.writes && !m.stack && m.base != frame);
            let here = sites
                .site(one.overwritten_by)
                .is_some_and(|site| site.0 == number);
            let fits = result && here && is_enough(&one.seen) && is_discarded(one.seen.share);
            fits.then_some((at, one))
        })
        .collect();
    if !callee.own || stores.len() < MIN_RESULTS_OF_WORK {
        return None;
    }
    let first = stores
        .iter()
        .map(|one| one.1)
        .max_by_key(|one| one.seen.executions)?;
    let all = calls_of(callee);
    let (caller, site, target) = input
        .functions
        .iter()
        .enumerate()
        .find_map(|(caller, one)| {
            let known = one.can_be_changed() && one.counts.len() == one.code.len();
            let sites = one.call_sites.iter().filter(|_| known && caller != number);
            let mut targets = sites.flat_map(|site| site.targets.iter().map(move |to| (site, to)));
            targets
                .find(|(_, to)| {
                    let same = to.function == callee.function && to.module == callee.module;
                    same && to.count as f64 >= (1.0 - SAME_TIMES_TOLERANCE) * all as f64
                })
                .map(|(site, to)| (caller, site.at, to))
        })?;
    let function = &input.functions[caller];
    let decides = |branch| decides(sites, first, (caller, branch));
    let test = test_behind(function, site, target.count, &decides)?;
    let share = share_of_target(input, caller, target);
    if share < MIN_SHARE_OF_REPEATED_WORK || tests_return_value(function, test.at, site) {
        return None;
    }
    let places = vec![test.at, site];
    let mut found = Candidate::new(
        Cause::DiscardedWork,
        Some(caller),
        places,
        Fix::TestBeforeWork,
    );
    found.share = Some(share);
    found.residual_fraction = residual(first.seen.share);
    found.executions = Some(target.count);
    Some(
        found
            .fact(ObservedFact::DiscardedResults {
                executions: stores.iter().map(|one| callee.counts[one.0]).sum(),
                share: first.seen.share,
                bursts: first.seen.bursts,
            })
            .fact(ObservedFact::DiscardingTest {
                executions: function.counts[test.at],
                share: test.discards,
                line: function.places[test.at].line,
            })
            .fact(CallFact::Time {
                function: Some(target.function.clone()),
                share,
                cycles: share * cycles_of_all(input)? / target.count.max(1) as f64,
            }),
    )
}

/// Whether a branch tests what a call returns: then the call cannot wait for the test.
fn tests_return_value(function: &FunctionInput, branch: usize, call: usize) -> bool {
    let Some(block) = function.flow.block_of(branch) else {
        return false;
    };
    let first = function.flow.blocks()[block as usize].instructions.start as usize;
    let sets_flags = |at: &usize| function.data[*at].writes >> FLAGS & 1 == 1;
    let compared = (first..branch).rev().find(sets_flags);
    let reads = compared
        .into_iter()
        .flat_map(|at| function.values.reads(at));
    reads
        .into_iter()
        .any(|&(_, value)| function.values.origin(value) == Origin::Instruction(call as u32))
}

fn calls_of(function: &FunctionInput) -> u64 {
    function.calls.unwrap_or(0).max(1)
}
