//! The causes about usual and rare paths, on functions assembled by hand: what they must find, and
//! what looks like it and must not be reported.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

use genba_model::{Estimate, Fact, Fix, LoopFact, PathFact};

use crate::causes::{cold_path_in_hot_function, short_trip_vector_loop};
use crate::input::analysis_input::{AnalysisInput, CallSite, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

const CALLS: u64 = 100_000_000;

/// The rare path behind a function's return: a call, and back to the usual path; and the callee.
fn rare_call(
    a: &mut CodeAssembler,
    cold: &mut CodeLabel,
    warm: CodeLabel,
    callee: &mut CodeLabel,
) -> Result<(), IcedError> {
    a.set_label(cold)?;
    a.call(*callee)?;
    a.jmp(warm)?;
    a.set_label(callee)?;
    a.ret()
}

/// `put`: a capacity test, a call that grows the buffer, a store; a call of the same kind on the
/// usual path where `busy`.
fn put(busy: bool, rare: u64, saves: bool) -> FunctionInput {
    let one = function(
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
            rare_call(a, &mut cold, warm, &mut callee)
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
    with_call(one, call(12, "grow", rare, 100.0))
}

/// A function with a call, and the cycles of its instructions.
fn with_call(mut one: FunctionInput, call: CallSite) -> FunctionInput {
    one.call_sites.push(call);
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
    // Half of the instructions; 0.6 of the time are needed to issue them, the rest is a wait beside which they run.
    assert!((0.7..0.8).contains(&residual.value), "{residual:?}");
    assert!(residual.low < 0.3);
}

/// `add`: six arguments, which are copied to saved registers for the flush of a full buffer and stored; with other values
/// of its own in so many more registers.
fn event(busy: bool) -> FunctionInput {
    let one = function(
        "add",
        |a| {
            let (mut cold, mut warm, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.push(rbx)?;
            a.push(rbp)?;
            a.push(r12)?;
            a.push(r13)?;
            a.mov(rbx, rdi)?;
            a.mov(ebp, esi)?;
            a.mov(r12d, ecx)?;
            a.mov(r13, r8)?;
            a.mov(ecx, dword_ptr(rdi + 8))?;
            a.cmp(ecx, dword_ptr(rdi + 12))?;
            a.je(cold)?;
            a.set_label(&mut warm)?;
            a.mov(rax, qword_ptr(rbx))?;
            a.mov(qword_ptr(rax + rcx * 8), r13)?;
            match busy {
                // Both halves of a product, and two more.
                true => a.mul(r10)?,
                false => a.mov(dword_ptr(rax + 8), r12d)?,
            }
            match busy {
                true => a.add(r9, r11)?,
                false => a.mov(dword_ptr(rax + 12), ebp)?,
            }
            match busy {
                true => a.mov(qword_ptr(rsi + r12), rbp)?,
                false => a.mov(dword_ptr(rax + 16), r9d)?,
            }
            a.add(dword_ptr(rbx + 8), 1)?;
            a.pop(r13)?;
            a.pop(r12)?;
            a.pop(rbp)?;
            a.pop(rbx)?;
            a.ret()?;
            rare_call(a, &mut cold, warm, &mut callee)
        },
        &[[CALLS; 22].as_slice(), &[100, 100, 0]].concat(),
        &[[0.04; 22].as_slice(), &[0.0; 3]].concat(),
        &[(10, 100)],
    );
    with_call(one, call(22, "flush", 100, 100.0))
}

#[test]
fn copies_of_arguments_for_the_rare_path_need_no_registers_of_the_usual_one() {
    let found = |busy| cold_path_in_hot_function::detect(&program(vec![event(busy)])).len();
    assert_eq!((found(false), found(true)), (1, 0));
}

/// `check`: tests of twelve arguments and fields one after the other, in as many registers, which a rare call behind them has saved.
fn tests_in_turn() -> FunctionInput {
    let one = function(
        "check",
        |a| {
            let (mut cold, mut warm, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.push(rbx)?;
            a.push(rbp)?;
            a.push(r12)?;
            for register in [rax, rcx, rdx, rsi, r8, r9, r10, r11, rbx, rbp, r12] {
                a.mov(register, qword_ptr(rdi))?;
                a.add(dword_ptr(rdi + 8), 1)?;
                a.mov(qword_ptr(rdi + 16), register)?;
            }
            a.test(edx, edx)?;
            a.je(cold)?;
            a.set_label(&mut warm)?;
            a.pop(r12)?;
            a.pop(rbp)?;
            a.pop(rbx)?;
            a.ret()?;
            rare_call(a, &mut cold, warm, &mut callee)
        },
        &[[CALLS; 42].as_slice(), &[100, 100, 0]].concat(),
        &[[0.02; 42].as_slice(), &[0.0; 3]].concat(),
        &[(37, 100)],
    );
    with_call(one, call(42, "fail", 100, 100.0))
}

#[test]
fn values_that_are_needed_one_after_the_other_share_a_register() {
    let found = cold_path_in_hot_function::detect(&program(vec![tests_in_turn()]));
    assert_eq!(found.len(), 1);
}

#[test]
fn registers_that_the_usual_path_needs_or_a_library_saves_are_not_reported() {
    let mut of_library = put(false, 100, true);
    of_library.of_library = vec![true; of_library.code.len()];
    for other in [
        of_library,
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
            rare_call(a, &mut cold, warm, &mut callee)
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

/// What is done with vectors.
#[derive(Clone, Copy, PartialEq)]
enum Vectors {
    /// They are copied, up to a number of bytes.
    Copied,
    /// What is found in one ends the loop.
    Searched,
    /// One is kept in the frame and loaded again.
    Kept,
    /// As copied, but another one makes room in the frame, and there is much to set up.
    Spilled,
}

/// A copy of bytes, vectorised: checks, a vector loop, a remainder; so many iterations of both for
/// each of the calls.
fn vectorised_copy(vectors: f64, remainder: f64, kind: Vectors) -> AnalysisInput {
    let (calls, heat) = (CALLS, 0.04);
    let of = |times: f64| (times * calls as f64) as u64;
    let (v, s) = (of(vectors), of(remainder));
    let (set_up, spills) = match kind {
        Vectors::Spilled => (150, 2),
        _ => (11, 0),
    };
    let mut counts = vec![calls; set_up + 3];
    counts.extend(vec![v; 4 + spills]);
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
            for _ in 0..set_up {
                a.lea(rax, ptr(rdi + rdx))?;
            }
            a.mov(rcx, rdx)?;
            a.cmp(rcx, 16)?;
            a.jb(rest)?;
            a.set_label(&mut vector)?;
            if kind == Vectors::Kept {
                a.movdqu(xmm0, xmmword_ptr(rsp + 32))?;
                a.movdqu(xmmword_ptr(rsp + 32), xmm0)?;
            } else {
                a.movdqu(xmm0, xmmword_ptr(rsi + r8))?;
                a.movdqu(xmmword_ptr(rdi + r8), xmm0)?;
            }
            for _ in 0..spills / 2 {
                a.movdqa(xmm1, xmmword_ptr(rsp + 32))?;
                a.movdqa(xmmword_ptr(rsp + 32), xmm1)?;
            }
            match kind {
                Vectors::Searched => a.pmovmskb(ecx, xmm0)?,
                _ => a.add(r8, 16)?,
            }
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
            (set_up + 2, calls - of(vectors.min(1.0))),
            (set_up + spills + 6, v - of(vectors.min(1.0))),
            (set_up + spills + 8, 0),
            (set_up + spills + 13, s - of(remainder.min(1.0))),
        ],
    );
    for place in &mut copy.places {
        place.line = Some(7);
    }
    program(vec![copy])
}

#[test]
fn vectorised_loop_of_a_few_elements_is_found() {
    let found = short_trip_vector_loop::detect(&vectorised_copy(0.0, 2.0, Vectors::Copied));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::ShortTrips { elements, element_bytes: 1, .. })
            if (elements - 2.0).abs() < 0.01
    )));
    assert!(found[0].residual_fraction.value < 0.6);
}

#[test]
fn vectors_that_make_room_in_the_frame_are_no_elements() {
    let found = short_trip_vector_loop::detect(&vectorised_copy(1.0, 2.0, Vectors::Spilled));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::ShortTrips { elements, vector_iterations, .. })
            if (elements - 18.0).abs() < 0.01 && (vector_iterations - 1.0).abs() < 0.01
    )));
}

#[test]
fn searches_by_vectors_and_kept_vectors_are_not_vectorised_loops() {
    for kind in [Vectors::Searched, Vectors::Kept] {
        assert!(short_trip_vector_loop::detect(&vectorised_copy(0.0, 2.0, kind)).is_empty());
    }
}

#[test]
fn vectorised_loop_of_many_elements_is_not_reported() {
    assert!(short_trip_vector_loop::detect(&vectorised_copy(8.0, 3.0, Vectors::Copied)).is_empty());
    // One vector and a remainder: a plain loop would take longer.
    assert!(short_trip_vector_loop::detect(&vectorised_copy(1.0, 9.0, Vectors::Copied)).is_empty());
}
