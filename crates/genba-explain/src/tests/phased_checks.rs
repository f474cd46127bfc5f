//! `invariant-check` where the outcome is another one from phase to phase: what is tested was seen to be what it was the
//! time before.

use iced_x86::code_asm::*;

use genba_model::{Fact, ObservedFact};
use genba_observe::SameLoad;

use crate::causes::invariant_check;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_data::{TIMES, load_site};
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{ALL, function, program};

/// A loop over pixels that tests a format and an option of the picture, both as often the one as the other over the whole
/// run; of the loads so many bring what they brought the time before. A loop of four iterations inside is entered for so many
/// of a hundred pixels.
fn pixels(again: f64, entered: u64) -> AnalysisInput {
    let (half, entries) = (TIMES / 2, TIMES * entered / 100);
    let heat = |count: u64| 9.0 * count as f64 / ALL / 11.0;
    let counts = [
        1000,
        TIMES,
        TIMES,
        TIMES,
        half,
        TIMES,
        TIMES,
        TIMES,
        half,
        TIMES,
        TIMES,
        entries,
        4 * entries,
        4 * entries,
        TIMES,
        TIMES,
        TIMES,
        TIMES,
        1000,
    ];
    let one = function(
        "blit",
        |a| {
            let (mut head, mut narrow, mut plain) =
                (a.create_label(), a.create_label(), a.create_label());
            let (mut bits, mut store) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.mov(ecx, dword_ptr(rdi + 12))?;
            a.test(ecx, ecx)?;
            a.je(narrow)?;
            a.add(r9, 1)?;
            a.set_label(&mut narrow)?;
            a.mov(ecx, dword_ptr(rdi + 16))?;
            a.test(ecx, ecx)?;
            a.je(plain)?;
            a.add(r9, 2)?;
            a.set_label(&mut plain)?;
            a.test(byte_ptr(rsi + rax), 1)?;
            a.je(store)?;
            a.mov(edx, 4)?;
            a.set_label(&mut bits)?;
            a.sub(edx, 1)?;
            a.jne(bits)?;
            a.set_label(&mut store)?;
            a.mov(byte_ptr(rsi + rax), r9b)?;
            a.add(rax, 1)?;
            a.cmp(rax, r8)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &counts.map(heat),
        &[
            (3, half),
            (7, half),
            (10, TIMES - entries),
            (13, 3 * entries),
            (17, TIMES - 1000),
        ],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [1, 5] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, 0.0, Some(0)));
        observed.same_loads.push(SameLoad {
            at,
            seen: seen(again),
            recent: seen(1.0),
        });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn options_that_stay_for_a_phase_are_checks_of_the_loop() {
    assert_eq!(invariant_check::detect(&pixels(0.999, 0)).len(), 1);
    // A loop inside that hardly ever runs is no matter.
    assert_eq!(invariant_check::detect(&pixels(0.999, 5)).len(), 1);
}

#[test]
fn options_of_another_object_each_time_and_outer_loops_are_none() {
    assert!(invariant_check::detect(&pixels(0.9, 0)).is_empty());
    // Most of the time is in a loop inside.
    assert!(invariant_check::detect(&pixels(0.999, 100)).is_empty());
}

/// Elements that are appended one by one: whether they are on the heap, and whether there is room, is tested for each.
/// The length is stored and loaded again; or, if it is not `kept`, the next position is what the element there says.
fn appended(kept: bool) -> AnalysisInput {
    let one = function(
        "extend",
        |a| {
            let (mut head, mut grow) = (a.create_label(), a.create_label());
            a.xor(r12d, r12d)?;
            a.set_label(&mut head)?;
            a.movzx(ecx, byte_ptr(rdi + 8))?;
            a.mov(rdx, qword_ptr(rdi + 24))?;
            a.test(cl, cl)?;
            a.mov(eax, 64)?;
            a.cmovne(rax, rdx)?;
            a.cmp(r12, rax)?;
            a.je(grow)?;
            a.test(cl, cl)?;
            a.je(grow)?;
            a.mov(dword_ptr(rsi + r12 * 4), ebx)?;
            match kept {
                true => a.mov(r12, qword_ptr(rdi + 16))?,
                false => a.mov(r12, qword_ptr(rsi + r12 * 8))?,
            }
            a.inc(r12)?;
            a.mov(qword_ptr(rdi + 16), r12)?;
            a.dec(r9)?;
            a.jne(head)?;
            a.ret()?;
            a.set_label(&mut grow)?;
            a.ret()
        },
        &[
            1000, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES,
            TIMES, TIMES, TIMES, TIMES, 1000, 0,
        ],
        &[
            0.0, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.05,
            0.05, 0.0, 0.0,
        ],
        &[(7, 0), (9, 0), (15, TIMES - 1000)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [1, 2, 11] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, 0.0, Some(0)));
    }
    input.observed = Some(observed);
    input
}

#[test]
fn checks_of_elements_appended_one_by_one_are_those_of_a_position() {
    let found = invariant_check::detect(&appended(true));
    assert_eq!(found.len(), 1);
    // Of fifteen instructions: both tests use what tells heap from inline, so it serves no check alone.
    let checks = |fact: &Fact| match fact {
        Fact::Observed(ObservedFact::CheckInstructions { checks, .. }) => Some(*checks),
        _ => None,
    };
    let counted: Vec<f64> = found[0].facts.iter().filter_map(checks).collect();
    assert!(counted.iter().all(|checks| *checks > 6.5), "{counted:?}");
    assert!(
        invariant_check::detect(&appended(false)).is_empty(),
        "it follows what it loads"
    );
}

#[test]
fn counts_that_contradict_each_other_are_no_panic() {
    let mut input = pixels(0.999, 0);
    input.functions[0].taken[3] = Some(2 * TIMES);
    assert_eq!(invariant_check::detect(&input).len(), 1);
}
