//! Part of `discarded-work`: a dear test in front of cheap ones that mostly say no.
//!
//! **Signature.** A branch whose condition a call computes that changes nothing (a comparison, a search, a distance).
//! Where it says yes there are further tests, which need nothing but a few loads and lead to the same place where they
//! say no. Counted: most that pass the first one fail there.
//!
//! **Near misses.** Tests that need the result of the first one (an element that was found); tests that do something
//! on their way; calls with effects, which are wanted for these.
//!
//! **Gain.** The measured time of what only the first test needs, as often as the cheap ones say no: certainly for
//! those that pass the first one, likely for as many of the others, at most for all that end in no.
//!
//! **Source.** As [`super::discarded_work`]; J. M. Hellerstein and M. Stonebraker, "Predicate migration: optimizing
//! queries with expensive predicates", SIGMOD 1993 (cheap and selective tests first).

use genba_code::{BlockId, Flow, Opaque, STACK_POINTER};
use genba_model::{Cause, Estimate, Fix, ObservedFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CALLS_HABITUAL, MIN_CYCLES_OF_DEAR_TEST};
use crate::constants::observations::{MIN_SHARE_OF_REPEATED_WORK, UNASKED_WORK_SAVED};
use crate::constants::registers::FLAGS;
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::Origin;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::decision_chains::{behind_jumps, edge};
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::reading_calls::only_reads;
use crate::patterns::work_for_tests::TestedFunction;

/// Calls in calls that are looked at for effects.
const MAX_DEPTH: u32 = 3;

/// Cheap tests that are followed.
const MAX_CHEAP_TESTS: usize = 8;

/// Candidates of one function, one for each dear test.
pub(crate) fn dear_tests(input: &AnalysisInput, number: usize) -> Vec<Candidate> {
    let function = &input.functions[number];
    if !function.can_be_changed()
        || !function.counted
        || function.counts.len() != function.code.len()
        || function.call_sites.is_empty()
    {
        return Vec::new();
    }
    let tested = TestedFunction::of(input, function);
    (0..function.flow.blocks().len() as BlockId)
        .filter_map(|block| candidate(input, number, &tested, block))
        .collect()
}

/// The cheap tests behind a dear one.
struct CheapTests {
    /// The branches.
    branches: Vec<usize>,
    /// How often the first one was executed.
    met: u64,
    /// How often all of them said yes.
    passed: u64,
}

fn candidate(
    input: &AnalysisInput,
    number: usize,
    tested: &TestedFunction<'_>,
    block: BlockId,
) -> Option<Candidate> {
    let function = &input.functions[number];
    let (branch, test) = test_of(function, block)?;
    let calls = function.counts[branch];
    let &[one, other] = function.flow.blocks()[block as usize].successors.as_slice() else {
        return None;
    };
    if calls < MIN_CALLS_HABITUAL {
        return None;
    }
    let pure = |at: usize| {
        let site = function.call_sites.iter().find(|site| site.at == at);
        site.is_some_and(|site| {
            let mut targets = site.targets.iter();
            !site.targets.is_empty() && targets.all(|to| only_reads(input, to, MAX_DEPTH))
        })
    };
    let work = tested.work(test, &pure);
    let made = (function.call_sites.iter())
        .filter(|site| work.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets);
    let dear = made.clone().max_by_key(|target| target.count)?;
    let of_calls: f64 = made.map(|to| share_of_target(input, number, to)).sum();
    let share = (of_calls + function.heat_of(work.iter().copied())).min(1.0);
    let each = share * cycles_of_all(input)? / calls as f64;
    if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_DEAR_TEST {
        return None;
    }
    let cheap = cheap_tests(function, &work, one, other)
        .or_else(|| cheap_tests(function, &work, other, one))?;
    let refused = cheap.met.saturating_sub(cheap.passed) as f64;
    let part = refused / cheap.met.max(1) as f64;
    if cheap.met < MIN_CALLS_HABITUAL || part < MOST_OF_IT {
        return None;
    }
    let certain = refused / calls as f64;
    let most = 1.0 - cheap.passed as f64 / calls as f64;
    let first = *cheap.branches.first()?;
    let mut found = Candidate::new(
        Cause::DiscardedWork,
        Some(number),
        vec![test, first],
        Fix::CheapTestFirst,
    );
    found.affected = work.clone();
    found.saves(&[SavedTime::within(
        (share * part, share * certain, share * most),
        UNASKED_WORK_SAVED,
    )]);
    found.executions = Some(calls);
    found.cycles = Some(Estimate::exact(each));
    Some(
        found
            .fact(ObservedFact::DearTest {
                function: dear.function.clone(),
                tests: calls,
                passed: cheap.met,
                share,
                cycles: each,
            })
            .fact(ObservedFact::DiscardingTest {
                executions: cheap.met,
                share: part,
                line: function.places.get(first).and_then(|place| place.line),
            }),
    )
}

/// The branch that a block ends with, and what sets its flags.
fn test_of(function: &FunctionInput, block: BlockId) -> Option<(usize, usize)> {
    let range = &function.flow.blocks()[block as usize].instructions;
    let (start, end) = (range.start as usize, range.end as usize);
    let branch = end.checked_sub(1)?;
    if !matches!(function.code.get(branch)?.flow, Flow::CondJump(_)) {
        return None;
    }
    let sets = |&at: &usize| function.values.writes(at).iter().any(|one| one.0 >= FLAGS);
    Some((branch, (start..branch).rev().find(sets)?))
}

/// The tests behind `yes` that need nothing of the work, change nothing, and go where `no` goes.
fn cheap_tests(
    function: &FunctionInput,
    work: &[usize],
    yes: BlockId,
    no: BlockId,
) -> Option<CheapTests> {
    let refused = behind_plain_jumps(function, no);
    let goes_there = |block: BlockId| behind_plain_jumps(function, block) == refused;
    let mut found = CheapTests {
        branches: Vec::new(),
        met: 0,
        passed: 0,
    };
    let mut block = behind_jumps(function, yes)?;
    while found.branches.len() < MAX_CHEAP_TESTS {
        let Some((branch, test)) = test_of(function, block) else {
            break;
        };
        let &[one, other] = function.flow.blocks()[block as usize].successors.as_slice() else {
            break;
        };
        let next = match (goes_there(one), goes_there(other)) {
            (true, false) => other,
            (false, true) => one,
            _ => break,
        };
        let needed = work_in_front(function, block, test);
        let apart = needed.is_some_and(|reads| {
            let makers = reads.iter().filter_map(|&value| {
                let Origin::Instruction(at) = function.values.origin(value) else {
                    return None;
                };
                Some(at as usize)
            });
            makers.clone().all(|at| work.binary_search(&at).is_err())
        });
        // Whoever comes from elsewhere has not passed the dear test.
        let alone = found.branches.is_empty()
            || function.counts[branch] <= found.passed.saturating_add(found.passed / 50);
        let Some(passed) = edge(function, block, next).filter(|_| apart && alone) else {
            break;
        };
        if found.branches.is_empty() {
            found.met = function.counts[branch];
        }
        found.branches.push(branch);
        found.passed = passed;
        match behind_jumps(function, next) {
            Some(behind) => block = behind,
            None => break,
        }
    }
    (!found.branches.is_empty()).then_some(found)
}

/// The block to which control comes from the head of one through jumps alone.
fn behind_plain_jumps(function: &FunctionInput, from: BlockId) -> BlockId {
    let next = |&block: &BlockId| {
        let one = &function.flow.blocks()[block as usize];
        let jumps = one.instructions.len() == 1
            && matches!(
                function.code.get(one.instructions.start as usize)?.flow,
                Flow::Jump(_)
            );
        (one.successors.first()).copied().filter(|_| jumps)
    };
    std::iter::successors(Some(from), next)
        .take(MAX_CHEAP_TESTS)
        .last()
        .unwrap_or(from)
}

/// What a block reads from in front of it, where it only loads and computes up to its branch.
fn work_in_front(
    function: &FunctionInput,
    block: BlockId,
    test: usize,
) -> Option<Vec<crate::input::values::Value>> {
    let range = &function.flow.blocks()[block as usize].instructions;
    let (start, end) = (range.start as usize, range.end as usize);
    let cheap = (start..end).all(|at| {
        let data = &function.data[at];
        let mut written = data.memory.iter().filter(|one| one.writes);
        let kept = written.all(|one| one.stack || one.base == Some(STACK_POINTER));
        kept && matches!(data.opaque, None | Some(Opaque::Exit))
    });
    if !cheap {
        return None;
    }
    let mut needed = vec![test];
    let mut values = Vec::new();
    let mut next = 0;
    while let Some(&reader) = needed.get(next) {
        next += 1;
        for &(_, value) in function.values.reads(reader) {
            match function.values.origin(value) {
                Origin::Instruction(at) if (start..end).contains(&(at as usize)) => {
                    if !needed.contains(&(at as usize)) {
                        needed.push(at as usize);
                    }
                }
                _ => values.push(value),
            }
        }
    }
    Some(values)
}
