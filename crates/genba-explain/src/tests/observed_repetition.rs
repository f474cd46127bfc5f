//! The causes about work done again, on functions assembled by hand with synthetic observations: what
//! they must find, and what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Estimate, Fact, Fix, ObservedFact};
use genba_observe::{
    DoneElsewhere, MadeAgain, Observations, OperandValues, Recaptured, RedundantCall, RepeatedLoop,
    Seen, ValueShare,
};

use crate::candidate::Candidate;
use crate::causes::{bytewise_copy, redundant_computation, repeated_search};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

pub(super) const CALLS: u64 = 10_000_000;

pub(super) fn seen(share: f64) -> Seen {
    Seen {
        share: share_of(share),
        executions: 10_000,
        bursts: 20,
    }
}

pub(super) fn share_of(share: f64) -> Estimate {
    Estimate {
        value: share,
        low: (share - 0.02).max(0.0),
        high: (share + 0.02).min(1.0),
    }
}

/// Observations of enough bursts; module 0 is the program.
pub(super) fn observations() -> Observations {
    Observations {
        modules: vec!["/bin/prog".to_owned(), "/lib/libc.so.6".to_owned()],
        bursts: 20,
        instructions: 1_000_000,
        threads: 1,
        ..Observations::default()
    }
}

/// Values of an instruction of which one has this share.
pub(super) fn usual_value(
    at: CodePoint,
    stored: bool,
    (size, value): (u16, u64),
    share: Estimate,
) -> OperandValues {
    OperandValues {
        at,
        stored,
        size,
        values: vec![ValueShare { value, share }],
        executions: 10_000,
        bursts: 20,
    }
}

pub(super) fn point(input: &AnalysisInput, function: usize, at: usize) -> CodePoint {
    CodePoint {
        module: 0,
        address: input.functions[function].code[at].address,
    }
}

/// A loop that calls `hash` for each element.
fn caller() -> FunctionInput {
    let mut one = function(
        "find",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.mov(rdi, qword_ptr(rbx))?;
            a.call(callee)?;
            a.add(rbx, 24)?;
            a.cmp(rbx, r12)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, CALLS, CALLS, 1],
        &[0.02, 0.02, 0.02, 0.02, 0.02, 0.0],
        &[(4, CALLS - 1)],
    );
    one.call_sites.push(call(1, "hash", CALLS, 200.0));
    one
}

/// A hash, or with `search` a search through elements of eight bytes.
fn callee(search: bool) -> FunctionInput {
    let times = 20 * CALLS;
    let mut one = function(
        "hash",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            if search {
                a.cmp(rax, qword_ptr(rdi))?;
                a.jb(head)?;
                a.nop()?;
            } else {
                a.movzx(ecx, byte_ptr(rdi))?;
                a.xor(rax, rcx)?;
                a.imul_3(rax, rax, 0x1b3)?;
            }
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[times, times, times, times, times, times, CALLS],
        &[0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1],
        &[(5, times - CALLS)],
    );
    // Apart from the caller, whose code has the same addresses.
    "/bin/other".clone_into(&mut one.module);
    one.calls = Some(CALLS);
    if search {
        one.taken[1] = Some(0);
    }
    one
}

pub(super) fn redundant(change: impl FnOnce(&mut RedundantCall), search: bool) -> AnalysisInput {
    let mut caller = caller();
    "/bin/other".clone_into(&mut caller.call_sites[0].targets[0].module);
    let mut input = program(vec![caller, callee(search)]);
    let mut one = RedundantCall {
        at: point(&input, 0, 1),
        target: CodePoint {
            module: 2,
            address: 0x1000,
        },
        seen: seen(0.97),
        repeats_previous: seen(0.0),
        distinct_per_burst: 24.0,
        share_of_instructions: share_of(0.9),
        instructions_per_call: 200.0,
        stores_outside: 0.0,
        about_one_object: 0.0,
        moved: None,
        recaptured: None,
        elsewhere: None,
        made: None,
    };
    change(&mut one);
    let mut observed = observations();
    observed.modules.push("/bin/other".to_owned());
    observed.redundant_calls.push(one);
    input.observed = Some(observed);
    input
}

#[test]
fn calls_with_few_inputs_in_turn_are_redundant() {
    let input = redundant(|_| {}, false);
    let found = redundant_computation::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.as_slice()),
        (Some(0), &[1][..])
    );
    assert!((found[0].share.unwrap_or(0.0) - 0.9).abs() < 1e-9);
    // 97 % of the calls, of 90 cycles each, against six for a kept result.
    let left = found[0].residual_fraction;
    assert!(
        (left.value - (1.0 - 0.97 * (1.0 - 6.0 / 90.0))).abs() < 1e-9,
        "{left:?}"
    );
    assert!(left.low < left.value && left.value < left.high);
    assert!(repeated_search::detect(&input).is_empty());
}

#[test]
fn calls_that_do_what_another_place_did_are_redundant() {
    // Many inputs, none of which comes again here.
    let elsewhere = |share: f64, part: f64, by_chance: f64| {
        redundant(
            |one| {
                one.seen = seen(0.1);
                one.distinct_per_burst = 1000.0;
                one.elsewhere = Some(DoneElsewhere {
                    at: one.at,
                    seen: seen(share),
                    part,
                    by_chance,
                });
            },
            false,
        )
    };
    let found = redundant_computation::detect(&elsewhere(0.97, 1.0, 0.1));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::RepeatedElsewhere { .. })
    )));
    // What comes again here is kept here, whoever else does it.
    let both = redundant(
        |one| {
            one.elsewhere = Some(DoneElsewhere {
                at: one.at,
                seen: seen(0.97),
                part: 1.0,
                by_chance: 0.1,
            });
        },
        false,
    );
    assert!(has_fact(
        &redundant_computation::detect(&both),
        |fact| matches!(fact, Fact::Observed(ObservedFact::RepeatedCalls { .. }))
    ));
    // Now and then another place had the same; many places, none of which knows.
    assert!(redundant_computation::detect(&elsewhere(0.6, 1.0, 0.1)).is_empty());
    assert!(redundant_computation::detect(&elsewhere(0.97, 0.4, 0.1)).is_empty());
    // Nearly always the same result, whatever it is of.
    assert!(redundant_computation::detect(&elsewhere(0.97, 1.0, 0.9)).is_empty());
}

#[test]
fn calls_whose_inputs_come_again_in_later_bursts_may_keep_results() {
    let found = |different: f64, again: u64, about: f64| {
        let input = redundant(
            |one| {
                one.seen = seen(0.02);
                one.distinct_per_burst = 100.0;
                one.about_one_object = about;
                one.recaptured = Some(Recaptured { again, different });
            },
            false,
        );
        redundant_computation::detect(&input)
    };
    let few = CALLS as f64 / 100.0;
    let all = found(few, 400, 1.0);
    assert_eq!(all.len(), 1);
    assert!(all[0].residual_fraction.value < 0.1);
    assert!(found(CALLS as f64 / 4.0, 400, 1.0).is_empty(), "too many");
    assert!(found(few, 3, 1.0).is_empty(), "by chance");
    assert!(found(few, 400, 0.2).is_empty(), "nobody can keep it");
}

#[test]
fn calls_about_one_object_each_may_keep_results_of_many() {
    let of_objects = |about: f64, share: f64| {
        redundant(
            |one| {
                one.seen = seen(share);
                one.distinct_per_burst = 1000.0;
                one.about_one_object = about;
            },
            false,
        )
    };
    assert_eq!(
        redundant_computation::detect(&of_objects(1.0, 0.8)).len(),
        1
    );
    assert!(redundant_computation::detect(&of_objects(0.3, 0.8)).is_empty());
    assert!(redundant_computation::detect(&of_objects(1.0, 0.3)).is_empty());
    // More may come again than bursts see.
    let found = redundant_computation::detect(&of_objects(1.0, 0.5));
    let left = found[0].residual_fraction;
    assert!(left.low < 0.05 && left.high > 0.5, "{left:?}");
    // They move, so that addresses say nothing.
    let moved = |share: f64| {
        redundant(
            |one| {
                one.seen = seen(0.1);
                one.distinct_per_burst = 1000.0;
                one.moved = Some(seen(share));
            },
            false,
        )
    };
    assert_eq!(redundant_computation::detect(&moved(0.8)).len(), 1);
    assert!(redundant_computation::detect(&moved(0.3)).is_empty());
}

/// Calls that make a structure of a hundred words, most of them the same again.
fn makers(change: impl FnOnce(&mut RedundantCall, &mut MadeAgain)) -> AnalysisInput {
    let mut input = redundant(
        |one| {
            let mut made = MadeAgain {
                seen: seen(0.97),
                repeats_previous: seen(0.4),
                distinct_per_burst: 3.0,
                words: 100.0,
                loads: 400.0,
                instructions: 2500.0,
            };
            one.seen = seen(0.0);
            one.stores_outside = 1.0;
            one.share_of_instructions = share_of(0.7);
            change(one, &mut made);
            one.made = Some(made);
        },
        false,
    );
    // The rest is elsewhere.
    let callee = &mut input.functions[1];
    callee.heat.iter_mut().for_each(|heat| *heat *= 0.7);
    callee.share = callee.share.scaled(0.7);
    input
}

#[test]
fn structures_that_are_made_again_of_the_same_may_be_kept() {
    let found = redundant_computation::detect(&makers(|_, _| {}));
    assert_eq!(found.len(), 1);
    let function = "hash".to_owned();
    assert_eq!(found[0].fix, Fix::KeepMade { function });
    assert!(has_fact(&found, |fact| {
        matches!(fact, Fact::Observed(ObservedFact::MadeAgain { bytes, .. }) if *bytes == 800.0)
    }));
    let changes: [fn(&mut RedundantCall, &mut MadeAgain); 6] = [
        // A constructor.
        |_, made| made.loads = 3.0,
        // A copy.
        |_, made| made.instructions = 400.0,
        // Of something else each time, or of many in turn.
        |_, made| made.seen = seen(0.5),
        |_, made| made.distinct_per_burst = 500.0,
        // Seen too seldom.
        |_, made| {
            made.seen.executions = 20;
            made.repeats_previous.executions = 20;
        },
        // A benchmark that does nothing else.
        |one, _| one.share_of_instructions = share_of(0.95),
    ];
    for change in changes {
        assert!(redundant_computation::detect(&makers(change)).is_empty());
    }
}

#[test]
fn repeated_calls_that_search_are_searches() {
    let input = redundant(|_| {}, true);
    assert!(redundant_computation::detect(&input).is_empty());
    let found = repeated_search::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RememberFound { few: true });
}

#[test]
fn calls_that_do_not_repeat_enough_are_not_redundant() {
    let changes: [fn(&mut RedundantCall); 7] = [
        // What repeats is the short way through the function.
        |one| one.share_of_instructions = share_of(0.05),
        // Inputs come back after a thousand others.
        |one| one.distinct_per_burst = 1000.0,
        // A third is new.
        |one| one.seen = seen(0.66),
        // It writes for others.
        |one| one.stores_outside = 0.5,
        // Keeping the result costs as much.
        |one| one.instructions_per_call = 12.0,
        // Seen too seldom.
        |one| one.seen.bursts = 2,
        |one| one.seen.executions = 20,
    ];
    for change in changes {
        assert!(redundant_computation::detect(&redundant(change, false)).is_empty());
    }
    let mut few = redundant(|_| {}, false);
    few.observed.as_mut().expect("observations").bursts = 3;
    assert!(redundant_computation::detect(&few).is_empty());
}

pub(super) fn repeated_runs(mut input: AnalysisInput, previous: f64) -> AnalysisInput {
    let mut observed = observations();
    observed.repeated_loops.push(RepeatedLoop {
        head: point(&input, 0, 1),
        seen: seen(0.99),
        repeats_previous: seen(previous),
        starts_as_previous: None,
        ends_near_earlier: None,
        loads_as_previous: None,
        repeats_recent: None,
        distinct_per_burst: 3.0,
        share_of_instructions: share_of(0.8),
        instructions_per_run: 50.0,
        stores_outside: 0.0,
    });
    input.observed = Some(observed);
    input
}

/// A function that sums six elements in a loop, with `rest` of the time behind the loop.
fn repeated_sum(rest: f64, calls: u64) -> AnalysisInput {
    let times = 6 * CALLS;
    let mut one = function(
        "surcharge",
        |a| {
            let mut head = a.create_label();
            a.xor(eax, eax)?;
            a.xor(ecx, ecx)?;
            a.set_label(&mut head)?;
            a.add(rax, qword_ptr(rdi + rcx * 8))?;
            a.imul_3(rax, rax, 3)?;
            a.add(rcx, 1)?;
            a.cmp(rcx, 6)?;
            a.jne(head)?;
            a.imul_2(rax, rsi)?;
            a.ret()
        },
        &[
            CALLS, CALLS, times, times, times, times, times, CALLS, CALLS,
        ],
        &[0.0, 0.0, 0.1, 0.3, 0.05, 0.05, 0.0, rest, 0.0],
        &[(6, times - CALLS)],
    );
    one.calls = Some(calls);
    let input = program(vec![one]);
    let head = point(&input, 0, 2);
    let mut input = repeated_runs(input, 0.99);
    let observed = input.observed.as_mut().expect("observations");
    observed.repeated_loops[0].head = head;
    input
}

#[test]
fn gain_of_a_repeated_loop_reaches_to_that_of_its_function() {
    let alone = &redundant_computation::detect(&repeated_sum(0.0, CALLS))[0];
    let with_rest = &redundant_computation::detect(&repeated_sum(0.4, CALLS))[0];
    let saved = |one: &Candidate, left: f64| one.share.expect("a share") * (1.0 - left);
    let most = |one: &Candidate| saved(one, one.residual_fraction.low);
    let likely = |one: &Candidate| saved(one, one.residual_fraction.value);
    assert!(most(with_rest) > most(alone) + 0.35, "{with_rest:?}");
    assert!((likely(with_rest) - likely(alone)).abs() < 0.05);
    let once = &redundant_computation::detect(&repeated_sum(0.4, 1))[0];
    assert!(most(once) < 0.55, "main is not computed again");
}

/// `for (try = 0; try < CALLS; try++) for (i = 0; i < 6; i++) sum += p[i] * slope;` where the slope is made of
/// the try, or of what does not change.
fn tries(slope_of_try: bool, one_sum: bool) -> AnalysisInput {
    let times = 6 * CALLS;
    let one = function(
        "main",
        |a| {
            let (mut head, mut outer) = (a.create_label(), a.create_label());
            a.xor(ebp, ebp)?;
            a.set_label(&mut outer)?;
            match slope_of_try {
                true => a.imul_3(rdx, rbp, 7)?,
                false => a.imul_3(rdx, r12, 7)?,
            }
            a.xor(ecx, ecx)?;
            match one_sum {
                true => a.nop()?,
                false => a.xor(esi, esi)?,
            }
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rdi + rcx * 8))?;
            a.imul_2(rax, rdx)?;
            a.add(rsi, rax)?;
            a.add(rcx, 1)?;
            a.cmp(rcx, 6)?;
            a.jne(head)?;
            a.add(rbp, 1)?;
            a.cmp(rbp, r13)?;
            a.jne(outer)?;
            a.ret()
        },
        &[
            1, CALLS, CALLS, CALLS, times, times, times, times, times, times, CALLS, CALLS, CALLS,
            1,
        ],
        &[
            0.0, 0.0, 0.0, 0.0, 0.2, 0.3, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(9, times - CALLS), (12, CALLS - 1)],
    );
    let input = program(vec![one]);
    let head = point(&input, 0, 4);
    let mut input = repeated_runs(input, 0.99);
    let observed = input.observed.as_mut().expect("observations");
    observed.repeated_loops[0].head = head;
    input
}

#[test]
fn loop_that_computes_with_the_counter_of_the_one_around_does_not_repeat() {
    let found = |slope, sum| redundant_computation::detect(&tries(slope, sum)).len();
    assert_eq!((found(true, false), found(true, true)), (0, 0));
    assert_eq!((found(false, false), found(false, true)), (1, 1));
}

/// A function that copies twenty bytes, one at a time.
fn copier() -> FunctionInput {
    let times = 20 * CALLS;
    let mut copy = function(
        "hash",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.mov(byte_ptr(rsi), al)?;
            a.add(rdi, 1)?;
            a.add(rsi, 1)?;
            a.cmp(rdi, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[CALLS, times, times, times, times, times, times, CALLS],
        &[0.0, 0.2, 0.3, 0.1, 0.1, 0.0, 0.1, 0.0],
        &[(6, times - CALLS)],
    );
    "/bin/other".clone_into(&mut copy.module);
    copy.calls = Some(CALLS);
    copy
}

#[test]
fn calls_that_copy_bytes_are_not_computed_again() {
    let mut input = redundant(|_| {}, false);
    assert_eq!(redundant_computation::detect(&input).len(), 1);
    input.functions[1] = copier();
    assert_eq!(bytewise_copy::detect(&input).len(), 1);
    assert!(redundant_computation::detect(&input).is_empty());
}

#[test]
fn calls_whose_work_is_a_copy_in_the_library_are_not_computed_again() {
    let with_library = |name: &str| {
        let mut input = redundant(|_| {}, false);
        let mut library = function(
            name,
            |a| {
                a.nop()?;
                a.ret()
            },
            &[CALLS, CALLS],
            &[0.9, 0.9],
            &[],
        );
        "/lib/libc.so.6".clone_into(&mut library.module);
        library.calls = Some(CALLS);
        let mut copied = call(1, name, CALLS, 200.0);
        library.module.clone_into(&mut copied.targets[0].module);
        input.functions[1].call_sites.push(copied);
        input.functions.push(library);
        input
    };
    let copied = with_library("__memmove_avx_unaligned_erms");
    assert!(redundant_computation::detect(&copied).is_empty());
    let computed = with_library("__ieee754_pow_fma");
    assert_eq!(redundant_computation::detect(&computed).len(), 1);
}

#[test]
fn repeated_calls_among_instances_of_a_librarys_templates_are_not_reported() {
    let is_reported = |of_library: &[usize]| {
        let mut input = redundant(|_| {}, false);
        for &number in of_library {
            let one = &mut input.functions[number];
            one.of_library = vec![true; one.code.len()];
        }
        !redundant_computation::detect(&input).is_empty()
    };
    assert!(is_reported(&[0]), "a function of the user's, by a library");
    assert!(is_reported(&[1]), "a library's, by the user");
    assert!(!is_reported(&[0, 1]));
}
