//! The causes about usual and rare paths, on functions assembled by hand: what they must find, and
//! what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{Estimate, Fact, Fix, LoopFact, PathFact};

use crate::causes::{cold_path_in_hot_function, general_case_first, short_trip_vector_loop};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

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

/// `put`: a capacity test, a call that grows the buffer, a store; a call of the same kind on the
/// usual path where `busy`.
fn put(busy: bool, rare: u64, saves: bool) -> FunctionInput {
    let mut one = function(
        "put",
        |a| {
            let (mut cold, mut warm, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            if saves {
                a.push(rbx)?;
                a.push(rbp)?;
                a.push(r12)?;
            } else {
                a.nop()?;
                a.nop()?;
                a.nop()?;
            }
            a.mov(rbx, rdi)?;
            a.mov(rax, qword_ptr(rbx))?;
            a.cmp(rax, qword_ptr(rbx + 8))?;
            a.je(cold)?;
            a.set_label(&mut warm)?;
            if busy {
                a.call(callee)?;
            } else {
                a.mov(byte_ptr(rax), sil)?;
            }
            if saves {
                a.pop(r12)?;
                a.pop(rbp)?;
                a.pop(rbx)?;
            } else {
                a.nop()?;
                a.nop()?;
                a.nop()?;
            }
            a.ret()?;
            a.set_label(&mut cold)?;
            a.call(callee)?;
            a.jmp(warm)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS,
            rare, rare, 0,
        ],
        &[
            0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0,
        ],
        &[(6, rare)],
    );
    one.call_sites.push(call(12, "grow", rare, 100.0));
    let cycles = one
        .heat
        .iter()
        .map(|heat| Some(Estimate::exact(4.0 * heat)));
    one.cycles = cycles.collect();
    one
}

#[test]
fn registers_saved_for_a_rare_call_are_found() {
    let found = cold_path_in_hot_function::detect(&program(vec![put(false, 100, true)]));
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].fix,
        Fix::SplitColdPath {
            function: "put".to_owned()
        }
    );
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::FrameInstructions { instructions, saving })
            if (instructions - 12.0).abs() < 1e-9 && (saving - 6.0).abs() < 1e-9
    )));
    let residual = found[0].residual_fraction;
    assert!((0.5..0.7).contains(&residual.value), "{residual:?}");
}

#[test]
fn registers_that_the_usual_path_needs_are_not_reported() {
    for other in [
        // The usual path calls as well.
        put(true, 100, true),
        // The path is not rare.
        put(false, CALLS / 4, true),
        // Nothing is saved.
        put(false, 100, false),
    ] {
        assert!(cold_path_in_hot_function::detect(&program(vec![other])).is_empty());
    }
}

/// `height`: a test whether the tile is there, and a loop that unpacks it with the saved registers, so many rounds
/// in all; with `calls` the usual path calls another function.
fn unpacking(rounds: u64, rare: u64, calls: bool) -> FunctionInput {
    let mut one = function(
        "height",
        |a| {
            let (mut cold, mut warm, mut round, mut callee) = (
                a.create_label(),
                a.create_label(),
                a.create_label(),
                a.create_label(),
            );
            a.push(rbp)?;
            a.push(r12)?;
            a.mov(rax, qword_ptr(rdi))?;
            a.test(rax, rax)?;
            a.je(cold)?;
            a.set_label(&mut warm)?;
            if calls {
                a.call(callee)?;
            } else {
                a.movzx(eax, byte_ptr(rax))?;
            }
            a.pop(r12)?;
            a.pop(rbp)?;
            a.ret()?;
            a.set_label(&mut cold)?;
            a.xor(ebp, ebp)?;
            a.set_label(&mut round)?;
            a.lea(r12, ptr(rbp + rbp))?;
            a.mov(byte_ptr(rsi + rbp), r12b)?;
            a.inc(rbp)?;
            a.cmp(rbp, 4096)?;
            a.jne(round)?;
            a.jmp(warm)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, rare, rounds, rounds,
            rounds, rounds, rounds, rare, 0,
        ],
        &[
            0.1, 0.1, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.05, 0.0, 0.04, 0.04, 0.04, 0.04, 0.04,
            0.0, 0.0,
        ],
        &[(4, rare), (14, rounds - rare)],
    );
    let cycles = one
        .heat
        .iter()
        .map(|heat| Some(Estimate::exact(3.0 * heat)));
    one.cycles = cycles.collect();
    one
}

#[test]
fn registers_saved_for_a_loop_behind_a_rare_way_are_found() {
    // The loop's rounds are as many as the calls: what is rare is the way to it.
    let found =
        cold_path_in_hot_function::detect(&program(vec![unpacking(CALLS, CALLS / 4096, false)]));
    assert_eq!(found.len(), 1);
    assert!((found[0].share.unwrap_or(0.0) - 0.7).abs() < 1e-9);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::RarePath { rare, .. }) if (rare - 1.0 / 4096.0).abs() < 1e-6
    )));
    // What a usual path with calls of its own does not use is saved for the rest.
    let calling = unpacking(CALLS, CALLS / 4096, true);
    assert_eq!(
        cold_path_in_hot_function::detect(&program(vec![calling])).len(),
        1
    );
}

/// `next`: a byte of a block; a rare way fills the block through an array on the stack, which is guarded. With
/// `array` the usual path reads the array as well.
fn guarded(array: bool) -> FunctionInput {
    let rare = CALLS / 1000;
    let mut one = function(
        "next",
        |a| {
            let (mut cold, mut warm, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.sub(rsp, 0x88)?;
            a.mov(rax, qword_ptr(0x28).fs())?;
            a.mov(qword_ptr(rsp + 0x80), rax)?;
            a.mov(rdx, qword_ptr(rdi))?;
            a.cmp(rdx, qword_ptr(rdi + 8))?;
            a.je(cold)?;
            a.set_label(&mut warm)?;
            if array {
                a.movzx(eax, byte_ptr(rsp + rdx))?;
            } else {
                a.movzx(eax, byte_ptr(rdi + rdx))?;
            }
            a.mov(rdx, qword_ptr(rsp + 0x80))?;
            a.sub(rdx, qword_ptr(0x28).fs())?;
            a.jne(callee)?;
            a.add(rsp, 0x88)?;
            a.ret()?;
            a.set_label(&mut cold)?;
            a.call(callee)?;
            a.jmp(warm)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS,
            rare, rare, 0,
        ],
        &[
            0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0,
        ],
        &[(5, rare), (9, 0)],
    );
    let cycles = one
        .heat
        .iter()
        .map(|heat| Some(Estimate::exact(3.0 * heat)));
    one.cycles = cycles.collect();
    one
}

#[test]
fn guard_of_an_array_that_only_the_rare_path_has_is_part_of_its_frame() {
    let found = cold_path_in_hot_function::detect(&program(vec![guarded(false)]));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::FrameInstructions { saving, .. }) if (saving - 7.0).abs() < 1e-9
    )));
    assert!(cold_path_in_hot_function::detect(&program(vec![guarded(true)])).is_empty());
}

#[test]
fn loop_that_a_good_part_of_the_calls_reach_is_not_rare() {
    let often = unpacking(CALLS, CALLS / 4, false);
    assert!(cold_path_in_hot_function::detect(&program(vec![often])).is_empty());
}

#[test]
fn registers_saved_beside_a_long_wait_are_not_reported() {
    let mut one = put(false, 100, true);
    for cycles in one.cycles.iter_mut().flatten() {
        *cycles = cycles.scaled(4.0);
    }
    assert!(cold_path_in_hot_function::detect(&program(vec![one])).is_empty());
}

/// A copy of bytes, vectorised: checks, a vector loop, a remainder; so many iterations of both for
/// each of the calls.
fn vectorised_copy(vectors: f64, remainder: f64) -> AnalysisInput {
    let (calls, heat) = (CALLS, 0.04);
    let of = |times: f64| (times * calls as f64) as u64;
    let (v, s) = (of(vectors), of(remainder));
    let mut counts = vec![calls; 14];
    counts.extend([v; 4]);
    counts.extend([calls; 2]);
    counts.extend([s; 5]);
    counts.push(calls);
    let mut copy = function(
        "copy",
        |a| {
            let (mut vector, mut rest, mut scalar, mut end) = (
                a.create_label(),
                a.create_label(),
                a.create_label(),
                a.create_label(),
            );
            for _ in 0..11 {
                a.lea(rax, ptr(rdi + rdx))?;
            }
            a.mov(rcx, rdx)?;
            a.cmp(rcx, 16)?;
            a.jb(rest)?;
            a.set_label(&mut vector)?;
            a.movdqu(xmm0, xmmword_ptr(rsi + r8))?;
            a.movdqu(xmmword_ptr(rdi + r8), xmm0)?;
            a.add(r8, 16)?;
            a.jne(vector)?;
            a.set_label(&mut rest)?;
            a.test(rdx, rdx)?;
            a.je(end)?;
            a.set_label(&mut scalar)?;
            a.movzx(eax, byte_ptr(rsi + r9))?;
            a.mov(byte_ptr(rdi + r9), al)?;
            a.add(r9, 1)?;
            a.cmp(r9, rdx)?;
            a.jb(scalar)?;
            a.set_label(&mut end)?;
            a.ret()
        },
        &counts,
        &vec![heat; counts.len()],
        &[
            (13, calls - of(vectors.min(1.0))),
            (17, v - of(vectors.min(1.0))),
            (19, 0),
            (24, s - of(remainder.min(1.0))),
        ],
    );
    for place in &mut copy.places {
        place.line = Some(7);
    }
    program(vec![copy])
}

#[test]
fn vectorised_loop_of_a_few_elements_is_found() {
    let found = short_trip_vector_loop::detect(&vectorised_copy(0.0, 2.0));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::ShortTrips { elements, element_bytes: 1, .. })
            if (elements - 2.0).abs() < 0.01
    )));
    assert!(found[0].residual_fraction.value < 0.6);
}

#[test]
fn vectorised_loop_of_many_elements_is_not_reported() {
    assert!(short_trip_vector_loop::detect(&vectorised_copy(8.0, 3.0)).is_empty());
    // One vector and a remainder: a plain loop would take longer.
    assert!(short_trip_vector_loop::detect(&vectorised_copy(1.0, 9.0)).is_empty());
}
