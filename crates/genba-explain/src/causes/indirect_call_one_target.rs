//! `indirect-call-one-target`: an indirect call with one dominant target.
//!
//! **Signature.** An indirect call (function pointer, virtual function) nine of ten executions of
//! which go to one function that is small and calls nothing. A sort of the C library with a small
//! comparator is the same. Jumps of interpreters have many targets.
//!
//! **Confirmation.** The counted targets.
//!
//! **Gain.** As for callees that are not inlined, with a comparison of the pointer instead of the
//! call; where the choice can be made before the loop, the comparison goes, too.
//!
//! **Source.** U. Hölzle and D. Ungar, "Optimizing Dynamically-Dispatched Calls with Run-Time Type
//! Feedback", PLDI 1994.

use std::collections::BTreeMap;

use genba_model::{CallFact, CallKind, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{
    DOMINANT_TARGET_PART, MAX_INSTRUCTIONS_OF_COMPARATOR, MAX_INSTRUCTIONS_OF_INDIRECT_CALLEE,
    MIN_CALLS_IN_HOT_CODE, MIN_PART_OF_HOTTEST_CALL,
};
use crate::constants::gains::INDIRECT_SORT_RESIDUAL;
use crate::constants::processor::{DEFAULT_CALL_CYCLES, INDIRECT_TEST_CYCLES};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, cycles_of_all, inlined};

/// Finds indirect calls nearly all of which go to one small function, and sorts of the C library
/// with a small comparator, from counted call targets.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<usize, Vec<Call<'_>>> = BTreeMap::new();
    let mut sorts: BTreeMap<usize, Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input).filter(is_dominant) {
        let Some(callee) = call.callee.map(|callee| (callee, &input.functions[callee])) else {
            continue;
        };
        let each = call.target.instructions_per_call;
        if each > MAX_INSTRUCTIONS_OF_INDIRECT_CALLEE || call.target.calls_others || !callee.1.own {
            continue;
        }
        let small = each <= MAX_INSTRUCTIONS_OF_COMPARATOR && callee.1.flow.loops().is_empty();
        if input.functions[call.caller].own {
            groups.entry(call.caller).or_default().push(call);
        } else if small && is_library_search(&input.functions[call.caller].function) {
            sorts.entry(callee.0).or_default().push(call);
        }
    }
    let mut found: Vec<Candidate> = groups
        .values()
        .filter_map(|c| candidate(input, c))
        .collect();
    found.extend(
        sorts
            .iter()
            .filter_map(|(&callee, calls)| sort(input, callee, calls)),
    );
    found
}

/// Whether a call is the dominant one of an indirect call.
fn is_dominant(call: &Call<'_>) -> bool {
    let all: u64 = call.site.targets.iter().map(|target| target.count).sum();
    call.site.indirect && call.target.count as f64 >= DOMINANT_TARGET_PART * all as f64
}

/// Functions of the C library that call a comparator for each step.
fn is_library_search(name: &str) -> bool {
    [
        "msort",
        "qsort",
        "quicksort",
        "bsearch",
        "lfind",
        "lsearch",
        "introsort",
        "heapsort",
    ]
    .iter()
    .any(|part| name.contains(part))
}

fn candidate(input: &AnalysisInput, calls: &[Call<'_>]) -> Option<Candidate> {
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call [indirect] + ret")
        .map_or(DEFAULT_CALL_CYCLES, |cost| cost.value);
    let hottest = *calls.iter().max_by_key(|call| call.target.count)?;
    let counts = |call: &Call<'_>| {
        call.target.count as f64 >= MIN_PART_OF_HOTTEST_CALL * hottest.target.count as f64
    };
    let calls: Vec<Call<'_>> = calls.iter().copied().filter(counts).collect();
    // A comparison and a branch instead.
    let found = inlined(input, &calls, overhead, INDIRECT_TEST_CYCLES)?;
    if found.calls < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let fix = Fix::TestTarget {
        function: hottest.target.function.clone(),
    };
    let mut one = Candidate::new(
        Cause::IndirectCallOneTarget,
        Some(hottest.caller),
        vec![hottest.site.at],
        fix,
    );
    one.affected = found.around.iter().map(|one| one.1).collect();
    for call in calls {
        let all: u64 = call.site.targets.iter().map(|target| target.count).sum();
        one = one.fact(CallFact::DominantTarget {
            function: call.target.function.clone(),
            share: call.target.count as f64 / all.max(1) as f64,
            calls: all,
            instructions: call.target.instructions_per_call,
        });
    }
    Some(found.told(one, CallKind::Indirect, overhead))
}

/// A sort or search of the C library with a small comparator.
fn sort(input: &AnalysisInput, callee: usize, calls: &[Call<'_>]) -> Option<Candidate> {
    let comparator = &input.functions[callee];
    let times: u64 = calls.iter().map(|call| call.target.count).sum();
    if times < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let mut callers: Vec<usize> = calls.iter().map(|call| call.caller).collect();
    callers.sort_unstable();
    callers.dedup();
    let library: f64 = callers
        .iter()
        .map(|&c| input.functions[c].share.value)
        .sum();
    let share = (library + comparator.share.value).min(1.0);
    let each = share * cycles_of_all(input)? / times as f64;
    let routine = &input.functions[callers[0]].function;
    let mut one = Candidate::new(
        Cause::IndirectCallOneTarget,
        Some(callee),
        (0..comparator.code.len()).collect(),
        Fix::SpecialisedSort,
    );
    one.share = Some(share);
    one.residual_fraction = INDIRECT_SORT_RESIDUAL;
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(CallFact::Comparator {
            routine: routine.clone(),
            function: comparator.function.clone(),
            calls: times,
            instructions: calls[0].target.instructions_per_call,
        })
        .fact(CallFact::Time {
            function: None,
            share,
            cycles: each,
        }),
    )
}
