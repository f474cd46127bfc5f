//! Divisions that carry time and are all needed: what is said of them, and when nothing is.

use genba_model::{DivisionFact, Fact};
use iced_x86::code_asm::*;

use crate::causes::already_optimal;
use crate::causes::duplicate_division;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::needed_divisions::needed_divisions;
use crate::tests::synthetic::{looped, program};

/// Digits by division: quotient and remainder of one, or of two.
fn digits(twice: bool) -> AnalysisInput {
    let heat = [0.05, 0.05, 0.6, 0.1, 0.05, 0.05, 0.05, 0.02, 0.02, 0.01];
    program(vec![looped(20.0, 1, &heat, |a| {
        a.mov(rax, rcx)?;
        a.xor(edx, edx)?;
        a.div(rsi)?;
        a.mov(byte_ptr(rdi), dl)?;
        if twice {
            a.mov(rax, rcx)?;
            a.xor(edx, edx)?;
            a.div(rsi)?;
        } else {
            a.add(rdi, 1)?;
            a.nop()?;
            a.nop()?;
        }
        a.mov(rcx, rax)?;
        a.test(rcx, rcx)
    })])
}

#[test]
fn one_division_for_quotient_and_remainder_is_reported_as_needed() {
    let input = digits(false);
    assert!(duplicate_division::detect(&input).is_empty());
    let found = needed_divisions(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at, [3]);
    let fact = &found[0].fact;
    let both = |fact: &DivisionFact| matches!(fact, DivisionFact::AllNeeded { both_results: Some(div), .. } if div == "div");
    assert!(both(fact), "{fact:?}");
    let found = already_optimal::detect(&input);
    let facts = found.iter().flat_map(|one| &one.facts);
    assert!(
        facts
            .into_iter()
            .any(|one| *one == Fact::from(fact.clone()))
    );
}

#[test]
fn duplicate_divisions_are_not_reported_as_needed() {
    let input = digits(true);
    assert_eq!(duplicate_division::detect(&input).len(), 1);
    assert!(needed_divisions(&input).is_empty());
}

/// A digit by the reciprocal of its base, of the quotient so far; or a product of which nothing
/// is subtracted.
fn reciprocal(divides: bool) -> AnalysisInput {
    let heat = [0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.04, 0.04, 0.02];
    program(vec![looped(20.0, 1, &heat, |a| {
        a.mov(rax, rcx)?;
        a.mul(r8)?;
        a.mov(rbx, rdx)?;
        a.shr(rdx, 3)?;
        a.imul_2(rdx, r9)?;
        if divides {
            a.sub(rcx, rdx)?;
        } else {
            a.xor(rcx, rdx)?;
        }
        a.mov(rcx, rbx)?;
        a.nop()?;
        a.test(rcx, rcx)
    })])
}

#[test]
fn multiplication_by_a_reciprocal_is_reported() {
    let found = reciprocal(true);
    let found = needed_divisions(&found);
    assert_eq!(found.len(), 1);
    let reciprocal_fact = matches!(found[0].fact, DivisionFact::Reciprocal { .. });
    assert!(reciprocal_fact, "{:?}", found[0].fact);
    assert!(needed_divisions(&reciprocal(false)).is_empty());
}

#[test]
fn divisions_without_time_are_not_reported() {
    let mut input = digits(false);
    let function = &mut input.functions[0];
    // All the time stands at the store.
    let all: f64 = function.heat.iter().sum();
    function.heat.iter_mut().for_each(|heat| *heat = 0.0);
    function.heat[8] = all;
    assert!(needed_divisions(&input).is_empty());
}
