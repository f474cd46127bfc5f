//! Comparisons by calls that nearly always find a difference: part of `general-case-first`.
//!
//! **Signature.** Calls of the C library's comparisons of texts or memory, of whose answers a test for equality
//! is made at once, and most of which say that both differ. No test of a letter, a length or a hash stands in
//! front of them that would have said so.
//!
//! **Near misses.** Answers that put in order (sorts, trees), also where equality is tested first or the answer is returned; calls behind a test of a part of what they compare;
//! calls that mostly find both equal.
//!
//! **Confirmation.** The first letters compared in front, or a hash kept beside the text.
//!
//! **Gain.** The measured time of the calls that find a difference, less that test; how many of them it
//! rules out depends on the texts.
//!
//! **Source.** As [`super::general_case_first`]; bash's `STREQ`, which compares the first letters in front of `strcmp`;
//! APR's tables, which keep the first four letters of each key.

use genba_code::{BlockId, Flow};
use genba_model::{Cause, Estimate, Fix, PathFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, MIN_PART_UNEQUAL};
use crate::constants::gains::UNEQUAL_SAVED;
use crate::constants::registers::RAX;
use crate::constants::search_limits::{MAX_BLOCKS_BACK, MAX_INSTRUCTIONS_TO_TEST};
use crate::constants::time_shares::MIN_SHARE_OF_TESTS;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::patterns::calls::{Call, all_calls, cycles_of_all};
use crate::patterns::invariance::{value_at, value_behind};
use crate::patterns::search_loops::{compares, stem};

/// The calls of one comparison in one function.
struct Comparisons<'a> {
    first: Call<'a>,
    sites: Vec<usize>,
    calls: u64,
    unequal: f64,
    share: f64,
}

/// Finds comparisons by calls that mostly find a difference.
pub(crate) fn unequal_comparisons(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let mut groups: Vec<Comparisons<'_>> = Vec::new();
    for call in all_calls(input).filter(|call| compares(&call.target.function)) {
        let function = &input.functions[call.caller];
        if !function.can_be_changed() || function.counts.len() != function.code.len() {
            continue;
        }
        let Some(unequal) = unequal(function, call.site.at) else {
            continue;
        };
        if unequal < MIN_PART_UNEQUAL
            || is_ruled_out_before(function, call.site.at)
            || is_for_order(function, call.site.at)
        {
            continue;
        }
        let calls = call.target.count;
        let share = share_of(input, &call);
        let same = |group: &&mut Comparisons<'_>| {
            group.first.caller == call.caller && group.first.target.function == call.target.function
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.sites.push(call.site.at);
                group.calls += calls;
                group.unequal += unequal * calls as f64;
                group.share += share;
            }
            None => groups.push(Comparisons {
                first: call,
                sites: vec![call.site.at],
                calls,
                unequal: unequal * calls as f64,
                share,
            }),
        }
    }
    let found = groups
        .into_iter()
        .filter(|group| group.calls >= MIN_CALLS_IN_HOT_CODE && group.share >= MIN_SHARE_OF_TESTS);
    found.map(|group| candidate(&group, all)).collect()
}

fn candidate(group: &Comparisons<'_>, all: f64) -> Candidate {
    let part = (group.unequal / group.calls as f64).min(1.0);
    let share = group.share.min(1.0);
    let each = share * all / group.calls as f64;
    let mut one = Candidate::new(
        Cause::GeneralCaseFirst,
        Some(group.first.caller),
        group.sites.clone(),
        Fix::CompareFirstLetter,
    );
    one.saves(&[SavedTime::of(share * part, UNEQUAL_SAVED)]);
    one.executions = Some(group.calls);
    one.cycles = Some(Estimate::exact(each));
    one.fact(PathFact::UnequalComparisons {
        function: stem(&group.first.target.function).to_owned(),
        calls: group.calls,
        unequal: part,
    })
    .fact(PathFact::DecisionTime {
        share,
        cycles: each,
    })
}

/// Share of all time in the calls of one place. The library's function may jump to another one of its name (for a
/// locale, by way of a stub), so that the time is in that: all of the name are divided by their calls.
fn share_of(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let name = stem(&call.target.function);
    let time: f64 = (input.functions.iter())
        .filter(|one| !one.is_users() && stem(&one.function) == name)
        .map(|one| one.share.value)
        .sum();
    if time <= 0.0 {
        return 0.0;
    }
    let from_elsewhere = all_calls(input).filter(|one| {
        stem(&one.target.function) == name && stem(&input.functions[one.caller].function) != name
    });
    let calls: u64 = from_elsewhere.map(|one| one.target.count).sum();
    let called = input.program.called.iter();
    let called = called.filter(|one| stem(&one.function) == name);
    let calls = called.map(|one| one.calls).fold(calls, u64::max).max(1);
    let beside = input.functions[call.caller].heat_of([call.site.at, call.site.at + 1]);
    time * call.target.count as f64 / calls as f64 + beside
}

/// Part of the calls of a comparison that find a difference, where its answer is only tested for equality.
fn unequal(function: &FunctionInput, at: usize) -> Option<f64> {
    let test = (at + 1..=at + MAX_INSTRUCTIONS_TO_TEST).find(|&one| {
        function
            .code
            .get(one)
            .is_some_and(|code| code.mnemonic == "test")
    })?;
    let branch = test + 1;
    let code = function.code.get(branch)?;
    let of_result = function.data[test].form == "test r32, r32";
    if !of_result || !matches!(code.flow, Flow::CondJump(_)) {
        return None;
    }
    let (times, taken) = (
        *function.counts.get(branch)?,
        (*function.taken.get(branch)?)?,
    );
    if times == 0 {
        return None;
    }
    let taken = taken as f64 / times as f64;
    match code.mnemonic {
        "jne" => Some(taken),
        "je" => Some(1.0 - taken),
        _ => None,
    }
}

/// Whether a comparison's answer is read by more than tests for equality, as where the order of unequal texts decides
/// (`std::string`'s comparison tests for zero first, and for the sign then).
fn is_for_order(function: &FunctionInput, at: usize) -> bool {
    let Some(answer) = function.values.written(at, RAX) else {
        return false;
    };
    let asks_more = |&reader: &usize| {
        let next = function
            .code
            .get(reader + 1)
            .map_or("", |code| code.mnemonic);
        let equality = matches!(next, "je" | "jne" | "sete" | "setne");
        let is_move = function.code[reader].mnemonic.starts_with("mov");
        let tests = function.code[reader].mnemonic == "test" && equality;
        function.counts[reader] > 0 && !is_move && !tests
    };
    // Whoever gets the answer of unequal ones may put them in order.
    let returned = |at: usize| {
        if function.code[at].flow != Flow::Return || function.counts[at] == 0 {
            return false;
        }
        let here = value_at(function, at, RAX);
        let blocks = function.flow.blocks();
        let before = (function.flow.block_of(at).into_iter())
            .flat_map(|block| blocks[block as usize].predecessors.iter())
            .map(|&block| value_behind(function, block, RAX));
        match here {
            Some(here) => here == answer,
            None => before.into_iter().any(|one| one == Some(answer)),
        }
    };
    Uses::of(function).readers(answer).iter().any(asks_more)
        || (0..function.code.len()).any(returned)
}

/// Whether a test in front of a call compares a part of what it compares: memory with something, and
/// passes by the call where that differs.
fn is_ruled_out_before(function: &FunctionInput, at: usize) -> bool {
    let blocks = function.flow.blocks();
    let Some(mut block) = function.flow.block_of(at) else {
        return false;
    };
    for _ in 0..MAX_BLOCKS_BACK {
        let [before] = blocks[block as usize].predecessors[..] else {
            return false;
        };
        if is_test_of_part(function, before) {
            return true;
        }
        block = before;
    }
    false
}

/// Whether a block ends with a test for equality of a letter or of something in memory.
fn is_test_of_part(function: &FunctionInput, block: BlockId) -> bool {
    let range = &function.flow.blocks()[block as usize].instructions;
    let last = range.end as usize - 1;
    let equality = matches!(function.code[last].mnemonic, "je" | "jne");
    let compare = (range.start as usize..last)
        .rev()
        .find(|&one| function.code[one].mnemonic == "cmp");
    equality
        && compare.is_some_and(|one| {
            let data = &function.data[one];
            data.loads() || data.form.starts_with("cmp r8")
        })
}
