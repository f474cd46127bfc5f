//! Part of `discarded-work`: an expensive test in front of cheap ones that mostly say no.
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

use genba_code::{BlockId, Flow};
use genba_model::{Cause, Estimate, Fix, ObservedFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CALLS_HABITUAL, MIN_CYCLES_OF_EXPENSIVE_TEST};
use crate::constants::observations::{MIN_SHARE_OF_REPEATED_WORK, UNASKED_WORK_SAVED};
use crate::constants::registers::FLAGS;
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::decision_chains::{behind_jumps, is_pure};
use crate::patterns::edge_counts::edge;
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::reading_calls::only_reads;
use crate::patterns::work_for_tests::TestedFunction;

/// Calls in calls that are looked at for effects.
const MAX_DEPTH: u32 = 3;

/// Cheap tests that are followed.
const MAX_CHEAP_TESTS: usize = 8;

/// Candidates of one function, one for each expensive test.
pub(crate) fn expensive_tests(input: &AnalysisInput, number: usize) -> Vec<Candidate> {
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

/// The cheap tests behind an expensive one.
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
    let cheap = cheap_tests(function, block, [one, other])
        .or_else(|| cheap_tests(function, block, [other, one]))?;
    let refused = cheap.met.saturating_sub(cheap.passed) as f64;
    let part = refused / cheap.met.max(1) as f64;
    if cheap.met < MIN_CALLS_HABITUAL || part < MOST_OF_IT {
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
    let called = made.clone().max_by_key(|target| target.count)?;
    let of_calls: f64 = made.map(|to| share_of_target(input, number, to)).sum();
    let share = (of_calls + function.heat_of(work.iter().copied())).min(1.0);
    let each = share * cycles_of_all(input)? / calls as f64;
    if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_EXPENSIVE_TEST {
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
            .fact(ObservedFact::ExpensiveTest {
                function: called.function.clone(),
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

/// The tests behind an expensive one's `yes` that change nothing, and go where its `no` goes. They need nothing of its work,
/// which nobody else needs.
fn cheap_tests(
    function: &FunctionInput,
    expensive: BlockId,
    [yes, no]: [BlockId; 2],
) -> Option<CheapTests> {
    let refused = behind_plain_jumps(function, no);
    let goes_there = |block: BlockId| behind_plain_jumps(function, block) == refused;
    let mut found = CheapTests {
        branches: Vec::new(),
        met: 0,
        passed: edge(function, expensive, yes)?,
    };
    let mut block = behind_jumps(function, yes)?;
    while found.branches.len() < MAX_CHEAP_TESTS {
        let Some((branch, _)) = test_of(function, block) else {
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
        // Whoever comes from elsewhere has not passed the tests before.
        let alone = function.counts[branch] <= found.passed.saturating_add(found.passed / 50);
        let range = &function.flow.blocks()[block as usize].instructions;
        let cheap = is_pure(function, range.start as usize..range.end as usize, None);
        let Some(passed) = edge(function, block, next).filter(|_| cheap && alone) else {
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
