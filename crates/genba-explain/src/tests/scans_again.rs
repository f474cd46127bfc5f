//! `redundant-computation` of loops that look for a delimiter where they have looked before.

use iced_x86::code_asm::*;

use genba_model::{Fact, ObservedFact};
use genba_observe::RedundantCall;

use crate::causes::redundant_computation;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{CALLS, point, repeated_runs, seen, share_of};
use crate::tests::synthetic::{call, function, has_fact, program};

/// `while (*p != ':') p++;`, or to the byte in a register; of its runs in a burst, which are of many places, so many repeat
/// one of the latest ones.
fn scan(constant: bool, recent: Option<f64>) -> AnalysisInput {
    let times = 12 * CALLS;
    let one = function(
        "field",
        |a| {
            let mut head = a.create_label();
            a.mov(rax, rdi)?;
            a.set_label(&mut head)?;
            a.movzx(ecx, byte_ptr(rax))?;
            a.add(rax, 1)?;
            match constant {
                true => a.cmp(cl, i32::from(b':'))?,
                false => a.cmp(cl, sil)?,
            }
            a.jne(head)?;
            a.ret()
        },
        &[CALLS, times, times, times, times, CALLS],
        &[0.0, 0.2, 0.2, 0.2, 0.2, 0.0],
        &[(4, times - CALLS)],
    );
    let input = program(vec![one]);
    let head = point(&input, 0, 1);
    let mut input = repeated_runs(input, 0.0);
    let observed = input.observed.as_mut().expect("observations");
    let seen_loop = &mut observed.repeated_loops[0];
    seen_loop.head = head;
    seen_loop.distinct_per_burst = 300.0;
    seen_loop.repeats_recent = recent.map(seen);
    input
}

/// `while (strcmp(*p, key)) p++;` among the same names.
fn names() -> AnalysisInput {
    let times = 12 * CALLS;
    let one = function(
        "find",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.mov(rbx, r14)?;
            a.set_label(&mut head)?;
            a.mov(rdi, qword_ptr(rbx))?;
            a.mov(rsi, r13)?;
            a.call(callee)?;
            a.add(rbx, 8)?;
            a.test(eax, eax)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, times, times, times, times, times, times, CALLS],
        &[0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(6, times - CALLS)],
    );
    let mut input = scan(true, Some(0.9));
    let observed = input.observed.take();
    let mut one = program(vec![one]);
    (one.functions[0].call_sites).push(call(3, "strcmp", times, 20.0));
    one.observed = observed;
    one
}

#[test]
fn scans_for_a_delimiter_in_what_was_just_scanned_are_found() {
    let found = redundant_computation::detect(&scan(true, Some(0.9)));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::RepeatedLoops { share, .. }) if share.value == 0.9
    )));
}

#[test]
fn scans_of_other_texts_passes_over_all_of_them_and_searches_for_keys_are_none() {
    for input in [
        scan(true, Some(0.5)),
        // A program that goes over all its texts again: too many came in between.
        scan(true, Some(0.0)),
        scan(true, None),
        scan(false, Some(0.9)),
        names(),
        // Benchmarks: the same text as just before, or some texts in turn, taken apart by a function.
        at_once(0.9, None),
        at_once(0.0, Some(0.9)),
    ] {
        assert!(redundant_computation::detect(&input).is_empty());
    }
}

/// Scans of which so many are the same as just before, in a program whose one call with results does the same again so often.
fn at_once(previous: f64, whole: Option<f64>) -> AnalysisInput {
    let mut input = scan(true, Some(0.9));
    let observed = input.observed.as_mut().expect("observations");
    observed.repeated_loops[0].repeats_previous = seen(previous);
    let head = observed.repeated_loops[0].head;
    observed
        .redundant_calls
        .extend(whole.map(|again| RedundantCall {
            at: head,
            target: head,
            seen: seen(again),
            repeats_previous: seen(0.0),
            distinct_per_burst: 3.0,
            share_of_instructions: share_of(0.95),
            instructions_per_call: 2000.0,
            stores_outside: 1.0,
            about_one_object: 0.0,
            moved: None,
            recaptured: None,
            elsewhere: None,
            made: None,
        }));
    input
}

#[test]
fn runs_that_counts_contradict_are_not_believed() {
    // Each iteration was a run to bursts: the loop was entered once.
    let mut input = scan(true, Some(0.9));
    let cost = input.functions[0].loops[0].as_mut().expect("a loop");
    cost.entries = Some(1);
    assert!(redundant_computation::detect(&input).is_empty());
}
