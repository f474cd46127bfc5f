//! Zeros that are multiplied and the product only added, and near misses.

use genba_model::{Fix, KnownValueKind};
use genba_observe::SameLoad;
use iced_x86::code_asm::*;

use crate::causes::known_operand;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::observed_data::{TIMES, loaded};
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, program};

/// A program of one function whose first instruction loads zero as often as that.
fn with_zeros(one: FunctionInput, zeros: f64) -> AnalysisInput {
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed
        .operand_values
        .push(loaded(point(&input, 0, 0), 0, zeros));
    input.observed = Some(observed);
    input
}

/// What is done with the weights of rows.
#[derive(Clone, Copy, PartialEq)]
enum Weights {
    /// Multiples of a row are added to another one.
    Added,
    /// The same, of the weight's multiple.
    ScaledAndAdded,
    /// The products are kept.
    Stored,
}

/// For each weight a loop over a row.
fn weighted_rows(zeros: f64, weights: Weights) -> AnalysisInput {
    let (outer, inner) = (TIMES / 64, TIMES);
    let one = function(
        "apply",
        |a| {
            let (mut row, mut column) = (a.create_label(), a.create_label());
            a.set_label(&mut row)?;
            a.movss(xmm1, dword_ptr(rsi + rbx * 4))?;
            match weights {
                Weights::ScaledAndAdded => a.mulss(xmm1, xmm2)?,
                _ => a.xor(eax, eax)?,
            }
            a.set_label(&mut column)?;
            a.movss(xmm0, dword_ptr(rdx + rax * 4))?;
            a.mulss(xmm0, xmm1)?;
            if weights == Weights::Stored {
                a.nop()?;
            } else {
                a.addss(xmm0, dword_ptr(rdi + rax * 4))?;
            }
            a.movss(dword_ptr(rdi + rax * 4), xmm0)?;
            a.add(rax, 1)?;
            a.cmp(rax, rcx)?;
            a.jne(column)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, r8)?;
            a.jne(row)?;
            a.ret()
        },
        &[
            outer, outer, inner, inner, inner, inner, inner, inner, inner, outer, outer, outer, 1,
        ],
        &[
            0.01, 0.0, 0.1, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(8, inner - outer), (11, outer - 1)],
    );
    with_zeros(one, zeros)
}

#[test]
fn zero_weight_of_a_whole_row_is_found() {
    for weights in [Weights::Added, Weights::ScaledAndAdded] {
        let found = known_operand::detect(&weighted_rows(0.75, weights));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].fix,
            Fix::TestForValue {
                value: KnownValueKind::ZeroFactor
            }
        );
        assert!((found[0].share.unwrap_or(0.0) - 0.9).abs() < 1e-9);
        assert!((0.25..0.3).contains(&found[0].residual_fraction.value));
    }
}

#[test]
fn zeros_that_are_few_or_whose_products_are_kept_are_not_reported() {
    assert!(known_operand::detect(&weighted_rows(0.2, Weights::Added)).is_empty());
    assert!(known_operand::detect(&weighted_rows(0.75, Weights::Stored)).is_empty());
}

/// A product of two loaded numbers that is added up, without a loop inside.
fn sum_of_products(zeros: f64) -> AnalysisInput {
    let one = function(
        "sum",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.movss(xmm1, dword_ptr(rsi + rbx * 4))?;
            a.mulss(xmm1, dword_ptr(rdi + rbx * 4))?;
            a.addss(xmm0, xmm1)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, 1],
        &[0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.0],
        &[(5, TIMES - 1)],
    );
    with_zeros(one, zeros)
}

#[test]
fn zeros_in_half_of_the_products_are_not_worth_a_branch() {
    assert!(known_operand::detect(&sum_of_products(0.5)).is_empty());
    assert_eq!(known_operand::detect(&sum_of_products(0.97)).len(), 1);
}

/// A loop that turns numbers by a fixed matrix, whose two outer coefficients are zero as often.
fn turned(zeros: f64, steady: bool) -> AnalysisInput {
    let one = function(
        "turn",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.movsd_2(xmm0, qword_ptr(rsi))?;
            a.mulsd(xmm0, xmm4)?;
            a.movapd(xmm3, xmm0)?;
            a.movsd_2(xmm1, qword_ptr(rsi + 8))?;
            a.mulsd(xmm1, xmm5)?;
            a.addsd(xmm3, xmm1)?;
            a.addsd(xmm2, xmm3)?;
            a.mulsd(xmm2, xmm6)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[[TIMES; 11].as_slice(), &[1]].concat(),
        &[[0.09; 11].as_slice(), &[0.0]].concat(),
        &[(10, TIMES - 1)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [0, 3] {
        let at = point(&input, 0, at);
        observed.operand_values.push(loaded(at, 0, zeros));
        if steady {
            let (seen, recent) = (seen(0.99), seen(0.99));
            observed.same_loads.push(SameLoad { at, seen, recent });
        }
    }
    input.observed = Some(observed);
    input
}

#[test]
fn zeros_that_stay_for_long_are_one_finding_with_all_that_they_spare() {
    let found = known_operand::detect(&turned(0.6, true));
    assert_eq!(found.len(), 1);
    // Loads, products, the copy of one and its sum with the other, and the sum that it goes into.
    assert_eq!(found[0].affected(), [0, 1, 2, 3, 4, 5, 6]);
    // Of zeros that come and go in 40 % of the executions a test would be mispredicted.
    assert!(known_operand::detect(&turned(0.6, false)).is_empty());
}

/// A loop over columns of coefficients: four are scaled, added, and turned by a factor; each is zero as often.
fn transformed(zeros: f64) -> AnalysisInput {
    let one = function(
        "columns",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(eax, dword_ptr(rsi + 32))?;
            a.imul_2(eax, r8d)?;
            a.mov(ecx, dword_ptr(rsi + 64))?;
            a.imul_2(ecx, r9d)?;
            a.mov(r10d, dword_ptr(rsi + 96))?;
            a.imul_2(r10d, r8d)?;
            a.mov(r11d, dword_ptr(rsi + 128))?;
            a.imul_2(r11d, r9d)?;
            a.add(eax, ecx)?;
            a.add(r10d, r11d)?;
            a.imul_3(eax, eax, 4433)?;
            a.shl(r10d, 13)?;
            a.add(eax, r10d)?;
            a.add(eax, dword_ptr(rsi))?;
            a.mov(dword_ptr(rdi), eax)?;
            a.add(rsi, 4)?;
            a.cmp(rsi, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[[TIMES; 18].as_slice(), &[1]].concat(),
        &[[0.05; 18].as_slice(), &[0.0]].concat(),
        &[(17, TIMES - 1)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [0, 2, 4, 6] {
        let at = point(&input, 0, at);
        observed.operand_values.push(loaded(at, 0, zeros));
    }
    input.observed = Some(observed);
    input
}

#[test]
fn zeros_that_must_come_together_are_tested_together() {
    let found = known_operand::detect(&transformed(0.98));
    assert_eq!(found.len(), 1);
    // All but the constant term, the store and the loop's own instructions.
    let all: Vec<usize> = (0..14).collect();
    assert_eq!(found[0].affected(), all);
    let left = found[0].residual_fraction;
    assert!(
        left.value > 0.07,
        "one of four may be another each time: {left:?}"
    );
    // Each is zero in nine of ten, which says too little of all four.
    assert!(
        known_operand::detect(&transformed(0.9))
            .iter()
            .all(|one| one.affected().len() < all.len())
    );
}
