//! Common cases that are decided last: chains of tests and state machines, on functions assembled by hand, with near
//! misses.

use iced_x86::code_asm::*;

use genba_model::{Fact, Fix, PathFact};
use genba_observe::SameLoad;

use crate::causes::general_case_first;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen, share_of, usual_value};
use crate::tests::synthetic::{call, function, has_fact, looped, program};

const CALLS: u64 = 100_000_000;

/// Four tests of a byte one after the other; the executions that each leaves to the next. With
/// `stores` something is written between them.
fn tests_of_a_byte(left: [u64; 4], stores: bool) -> AnalysisInput {
    let [a, b, c, d] = left;
    let last = d / 100;
    let one = function(
        "classify",
        |code| {
            let mut out = code.create_label();
            code.movzx(eax, byte_ptr(rdi))?;
            for value in [4, 9, 17, 33] {
                if stores {
                    code.mov(byte_ptr(rsi), dl)?;
                } else {
                    code.nop()?;
                }
                code.cmp(eax, value)?;
                code.je(out)?;
            }
            code.set_label(&mut out)?;
            code.ret()
        },
        &[a, a, a, a, b, b, b, c, c, c, d, d, d, a],
        &[
            0.1, 0.0, 0.05, 0.05, 0.0, 0.1, 0.1, 0.0, 0.1, 0.1, 0.0, 0.1, 0.1, 0.1,
        ],
        &[(3, a - b), (6, b - c), (9, c - d), (12, last)],
    );
    program(vec![one])
}

#[test]
fn common_case_behind_tests_that_hardly_ever_hold_is_found() {
    let found = general_case_first::detect(&tests_of_a_byte(
        [CALLS, CALLS - 1000, CALLS - 2000, CALLS - 3000],
        false,
    ));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [3, 6, 9, 12]);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::TestChain {
            tests: 4,
            after: 4,
            strings: false,
            ..
        })
    )));
    // Three of four tests go, of no more than three cycles each.
    let share = found[0].share.unwrap_or(0.0);
    assert!((0.55..0.61).contains(&share), "{share}");
}

#[test]
fn common_case_that_is_tested_first_is_not_reported() {
    let few = [CALLS, CALLS / 50, CALLS / 60, CALLS / 70];
    assert!(general_case_first::detect(&tests_of_a_byte(few, false)).is_empty());
}

#[test]
fn evenly_distributed_cases_have_no_better_order() {
    let even = [CALLS, CALLS * 3 / 4, CALLS / 2, CALLS / 4];
    assert!(general_case_first::detect(&tests_of_a_byte(even, false)).is_empty());
}

#[test]
fn tests_with_effects_between_them_are_not_one_chain() {
    let all = [CALLS, CALLS - 1000, CALLS - 2000, CALLS - 3000];
    assert!(general_case_first::detect(&tests_of_a_byte(all, true)).is_empty());
}

/// A mode, kept on the stack, and a letter that are tested in turn: three tests of the mode and three of the
/// letter, each with the outcome of before but the part `other`.
fn tests_of_a_mode_and_a_letter(other: f64, third: bool) -> AnalysisInput {
    let (gone, last) = ((CALLS as f64 * other) as u64, CALLS / 1000);
    let mut left = CALLS;
    let mut counts = vec![CALLS; 3];
    let mut taken = Vec::new();
    for test in 0..6 {
        counts.extend([left; 2]);
        let leaving = if test < 5 { gone } else { last };
        taken.push((counts.len() - 1, leaving));
        left -= leaving;
    }
    counts.push(CALLS);
    let one = function(
        "width",
        |code| {
            let mut out = code.create_label();
            code.movzx(eax, word_ptr(rdi))?;
            code.mov(qword_ptr(rsp + 8), rax)?;
            code.mov(ecx, dword_ptr(rsi))?;
            for value in [4, 9, 17] {
                code.cmp(dword_ptr(rsp + 8), value)?;
                code.je(out)?;
                match third && value == 9 {
                    true => code.cmp(edx, value)?,
                    false => code.cmp(ecx, value)?,
                }
                code.je(out)?;
            }
            code.set_label(&mut out)?;
            code.ret()
        },
        &counts,
        &[0.05; 16],
        &taken,
    );
    program(vec![one])
}

#[test]
fn tests_of_two_values_with_one_usual_outcome_are_a_chain() {
    let found = general_case_first::detect(&tests_of_a_mode_and_a_letter(0.0, false));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::TestChain {
            tests: 6,
            values: 2,
            ..
        })
    )));
    // Whether one condition tells of both is unknown.
    let [one] = found.as_slice() else { return };
    let of_one_value = tests_of_a_byte([CALLS; 4], false);
    let known = general_case_first::detect(&of_one_value);
    assert!(one.residual_fraction.high > known[0].residual_fraction.high);
}

#[test]
fn tests_of_two_values_in_no_usual_order_are_not_a_chain() {
    let often = tests_of_a_mode_and_a_letter(0.05, false);
    assert!(general_case_first::detect(&often).is_empty());
}

#[test]
fn tests_of_three_values_are_not_one_chain() {
    let three = tests_of_a_mode_and_a_letter(0.0, true);
    assert!(general_case_first::detect(&three).is_empty());
}

/// A name compared with four others by calls, one after the other; always a constant with it, or
/// once something that is none.
fn compared_names(constants: bool) -> AnalysisInput {
    let heat = 0.02;
    let mut one = function(
        "dispatch",
        |code| {
            let (mut out, mut callee) = (code.create_label(), code.create_label());
            code.mov(rbx, rdi)?;
            for name in [0x2000u32, 0x2010, 0x2020, 0x2030] {
                if constants || name != 0x2020 {
                    code.mov(esi, name)?;
                } else {
                    code.mov(rsi, r12)?;
                }
                code.mov(rdi, rbx)?;
                code.call(callee)?;
                code.mov(edx, eax)?;
                code.mov(eax, 1)?;
                code.test(edx, edx)?;
                code.je(out)?;
            }
            code.set_label(&mut out)?;
            code.nop()?;
            code.set_label(&mut callee)?;
            code.ret()
        },
        &[CALLS / 10; 31],
        &[heat; 31],
        &[(7, 0), (14, 0), (21, 0), (28, CALLS / 20)],
    );
    for at in [3, 10, 17, 24] {
        one.call_sites
            .push(call(at, "__strcmp_avx2", CALLS / 10, 20.0));
    }
    program(vec![one])
}

#[test]
fn common_name_compared_last_is_found() {
    let found = general_case_first::detect(&compared_names(true));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::CommonCaseFirst { strings: true });
    assert!(general_case_first::detect(&compared_names(false)).is_empty());
}

/// A loop that waits for the state that the one before looked up, of which `usual` are one state; each looks at
/// the next byte, or at `others` which a counter chooses.
fn state_machine(usual: f64, of_bytes: bool) -> AnalysisInput {
    let heat = [0.05, 0.05, 0.1, 0.6, 0.05, 0.05, 0.05];
    let one = looped(6.0, 1, &heat, |a| {
        match of_bytes {
            true => a.movzx(ecx, byte_ptr(rdi))?,
            false => a.mov(rcx, qword_ptr(rdi))?,
        }
        a.movzx(ecx, byte_ptr(rsi + rcx))?;
        a.add(rax, rcx)?;
        a.movzx(eax, byte_ptr(rdx + rax))?;
        a.add(rdi, if of_bytes { 1 } else { 8 })?;
        a.cmp(rdi, r8)
    });
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.operand_values.push(usual_value(
        point(&input, 0, 4),
        false,
        (1, 12),
        share_of(usual),
    ));
    input.observed = Some(observed);
    input
}

#[test]
fn state_machine_that_stays_in_its_state_is_found() {
    let found = general_case_first::detect(&state_machine(0.99, true));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].fix, found[0].site.as_slice()),
        (&Fix::SkipKeptState, [4].as_slice())
    );
    // Runs of a hundred bytes: what is left is the search for their ends.
    let left = found[0].residual_fraction;
    assert!((0.1..0.3).contains(&left.value), "{left:?}");
    assert!(left.low < left.value && left.value < left.high);
}

/// A loop over bytes around one that follows links of the state, which hardly ever goes on; of its loads this share is
/// the load before.
fn automaton(kept: f64) -> AnalysisInput {
    let (times, entries) = (100_000_000, 100);
    let one = function(
        "find",
        |a| {
            let (mut byte, mut link, mut found) =
                (a.create_label(), a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut byte)?;
            a.movzx(ecx, byte_ptr(rdi))?;
            a.set_label(&mut link)?;
            a.mov(r9d, dword_ptr(rsi + rax * 4))?;
            a.cmp(r9b, cl)?;
            a.je(found)?;
            a.mov(eax, dword_ptr(rsi + rax * 4 + 4))?;
            a.cmp(eax, r10d)?;
            a.ja(link)?;
            a.set_label(&mut found)?;
            a.inc(rdi)?;
            a.cmp(rdi, r8)?;
            a.jne(byte)?;
            a.ret()
        },
        &[
            entries,
            times,
            times + 50,
            times + 50,
            times + 50,
            times,
            times,
            times,
            times,
            times,
            times,
            entries,
        ],
        &[
            0.0, 0.1, 0.3, 0.05, 0.05, 0.2, 0.05, 0.05, 0.1, 0.05, 0.05, 0.0,
        ],
        &[(4, 0), (7, 50), (10, times - entries)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.same_loads.push(SameLoad {
        at: point(&input, 0, 2),
        seen: seen(kept),
        recent: seen(kept),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn loop_around_that_keeps_the_state_is_found() {
    let found = general_case_first::detect(&automaton(0.99));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].fix, found[0].site.as_slice()),
        (&Fix::SkipKeptState, [2].as_slice())
    );
    assert!(general_case_first::detect(&automaton(0.8)).is_empty());
}

#[test]
fn state_machine_of_many_states_or_words_is_not_reported() {
    assert!(general_case_first::detect(&state_machine(0.7, true)).is_empty());
    assert!(general_case_first::detect(&state_machine(0.99, false)).is_empty());
}

/// A loop over bytes whose state is a number of so many bytes in memory, `usual` of the time the same.
fn machine_in_memory(usual: f64, bytes: u16) -> AnalysisInput {
    let heat = [0.1, 0.1, 0.1, 0.1, 0.4, 0.1, 0.05, 0.05];
    let one = looped(10.0, 1, &heat, |a| {
        a.movzx(ecx, byte_ptr(rdi))?;
        match bytes {
            8 => a.mov(rax, qword_ptr(rbx + 16))?,
            _ => a.movzx(eax, byte_ptr(rbx + 16))?,
        }
        a.shl(rax, 8)?;
        a.add(rax, rsi)?;
        a.movzx(r9d, byte_ptr(rax + rcx))?;
        a.add(rdi, 1)?;
        a.cmp(rdi, r8)
    });
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.operand_values.push(usual_value(
        point(&input, 0, 2),
        false,
        (bytes, 12),
        share_of(usual),
    ));
    input.observed = Some(observed);
    input
}

#[test]
fn state_that_is_kept_in_memory_is_found_but_no_mode_no_pointer_and_no_changing_state() {
    let found = general_case_first::detect(&machine_in_memory(0.98, 1));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].fix, found[0].site.as_slice()),
        (&Fix::SkipKeptState, [2].as_slice())
    );
    for (usual, bytes) in [(1.0, 1), (0.7, 1), (0.98, 8)] {
        let found = general_case_first::detect(&machine_in_memory(usual, bytes));
        assert!(found.is_empty(), "{usual} {bytes}");
    }
}

#[test]
fn state_in_memory_that_changes_seldom_stays_for_long_though_others_last_too() {
    let left = |changes: Option<f64>| {
        let mut input = machine_in_memory(0.93, 1);
        let at = point(&input, 0, 2);
        if let (Some(changes), Some(observed)) = (changes, input.observed.as_mut()) {
            observed.same_loads.push(SameLoad {
                at,
                seen: seen(1.0 - changes),
                recent: seen(1.0 - changes),
            });
        }
        general_case_first::detect(&input)[0]
            .residual_fraction
            .value
    };
    // Each tenth byte another state; or only each fiftieth a change, there and back.
    assert!(left(Some(0.02)) < 0.6 * left(None));
    assert!(left(Some(0.5)) == left(None));
}

/// Three rules that are asked for each letter: the first by two ways that meet again, one through another test of the letter, the
/// others by a test of the letter that is loaded again from its position in the frame. Every `fits`-th of a hundred letters
/// fits the last rule; with `stores` each rule that does not fit is written down.
fn rules(fits: u64, stores: bool) -> AnalysisInput {
    let (all, half) = (CALLS, CALLS / 2);
    let hit = CALLS * fits / 100;
    let one = function(
        "render",
        |code| {
            let (mut letter, mut second) = (code.create_label(), code.create_label());
            let (mut out, mut last) = (code.create_label(), code.create_label());
            code.set_label(&mut letter)?;
            code.mov(qword_ptr(rsp + 8), rbp)?;
            code.movzx(edx, byte_ptr(rax + rbp))?;
            code.cmp(edx, 0x7e)?;
            code.ja(second)?;
            code.cmp(edx, 0x2a)?;
            code.je(out)?;
            code.set_label(&mut second)?;
            code.mov(rsi, qword_ptr(rsp + 8))?;
            match stores {
                true => code.mov(byte_ptr(rdi), dl)?,
                false => code.nop()?,
            }
            code.cmp(byte_ptr(rax + rsi), 0x5b)?;
            code.je(out)?;
            code.movzx(ecx, byte_ptr(rax + rsi))?;
            code.cmp(ecx, 0xa)?;
            code.je(last)?;
            code.mov(byte_ptr(rbx), cl)?;
            code.set_label(&mut out)?;
            code.add(rbp, 1)?;
            code.cmp(rbp, r8)?;
            code.jne(letter)?;
            code.ret()?;
            code.set_label(&mut last)?;
            code.add(r9, 1)?;
            code.jmp(out)
        },
        &[
            all,
            all,
            all,
            all,
            half,
            half,
            all,
            all,
            all,
            all,
            all,
            all,
            all,
            all - hit,
            all,
            all,
            all,
            1,
            hit,
            hit,
        ],
        &[
            0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.0, 0.1, 0.1, 0.05, 0.1, 0.1, 0.05, 0.05,
            0.05, 0.05, 0.0, 0.0, 0.0,
        ],
        &[(3, half), (5, 0), (9, 0), (12, hit), (16, all - 1)],
    );
    program(vec![one])
}

#[test]
fn rules_that_are_asked_one_after_the_other_for_a_usual_letter_are_found() {
    let found = general_case_first::detect(&rules(1, false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [3, 5, 9, 12]);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::MeanTests { mean, .. }) if (3.4..3.6).contains(mean)
    )));
    let unusual = general_case_first::detect(&rules(50, false));
    assert!(unusual.is_empty(), "no letter is usual: {unusual:?}");
    assert!(
        general_case_first::detect(&rules(1, true)).is_empty(),
        "what a rule does is seen"
    );
}
