//! One loop of the source that is inlined at two places and goes over the same data at both.

use iced_x86::code_asm::*;

use genba_model::{Fact, ObservedFact};
use genba_observe::LoopAgain;

use crate::causes::redundant_computation;
use crate::input::analysis_input::{AnalysisInput, Place};
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, has_fact, program};

const RUNS: u64 = 1_000_000;

/// Two hashes of a text in `book`: of these functions of the source, the second going over what the first
/// went over in this share of its runs.
fn two_hashes(names: [&str; 2], again: f64) -> AnalysisInput {
    let times = 10 * RUNS;
    let mut one = function(
        "book",
        |a| {
            let (mut entry, mut first, mut second) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut entry)?;
            for head in [&mut first, &mut second] {
                a.mov(rdx, rsi)?;
                a.mov(eax, 7)?;
                a.set_label(head)?;
                a.movzx(ecx, byte_ptr(rdx))?;
                a.add(rdx, 1)?;
                a.xor(eax, ecx)?;
                a.imul_3(eax, eax, 0x0100_0193)?;
                a.cmp(rdx, rdi)?;
                a.jne(*head)?;
                a.mov(dword_ptr(rbx), eax)?;
            }
            a.add(rbx, 8)?;
            a.cmp(rbx, r12)?;
            a.jne(entry)?;
            a.ret()
        },
        &[
            RUNS, RUNS, times, times, times, times, times, times, RUNS, //
            RUNS, RUNS, times, times, times, times, times, times, RUNS, //
            RUNS, RUNS, RUNS, 1,
        ],
        &[
            0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0, //
            0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0, //
            0.0, 0.0, 0.0, 0.0,
        ],
        &[(7, times - RUNS), (16, times - RUNS), (20, RUNS - 1)],
    );
    one.calls = Some(1);
    one.places = (0..one.code.len())
        .map(|at| {
            let of = usize::from(at >= 9);
            let inside = (2..8).contains(&(at - 9 * of)) && at < 18;
            Place {
                function: Some((if inside { names[of] } else { "book" }).to_owned()),
                file: Some("stock.cc".to_owned()),
                line: Some(if inside { 45 } else { 70 + of as u32 }),
                inlined: inside,
                within: None,
            }
        })
        .collect();
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.loops_again.push(LoopAgain {
        head: point(&input, 0, 11),
        other: point(&input, 0, 2),
        seen: seen(again),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn second_copy_over_the_same_text_computes_again() {
    let found = redundant_computation::detect(&two_hashes(["locate", "locate"], 0.97));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site[0], 11);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::LoopsAgain {
            copies: 2,
            runs: 2_000_000,
            ..
        })
    )));
    // Half of the runs are spared: all of the second copy's.
    let left = found[0].residual_fraction;
    assert!((0.5..0.75).contains(&left.value), "{left:?}");
    assert!(left.low < left.value && left.value < left.high);
}

#[test]
fn loops_of_two_functions_and_copies_over_other_texts_are_not_the_same() {
    assert!(redundant_computation::detect(&two_hashes(["locate", "check"], 0.97)).is_empty());
    assert!(redundant_computation::detect(&two_hashes(["locate", "locate"], 0.3)).is_empty());
}
