//! Digits of numbers taken with a division each, and near misses.

use genba_model::{DivisionFact, Fact, Fix};
use iced_x86::IcedError;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::integer_latency_chain;
use crate::tests::synthetic::{function, has_fact, program};

const NUMBERS: u64 = 1_000_000;

/// A loop of these instructions, so many of its iterations for each number.
fn digits(
    per_number: u64,
    before: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>,
    body: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>,
    length: usize,
) -> Vec<Candidate> {
    let all = NUMBERS * per_number;
    let mut counts = vec![NUMBERS];
    counts.extend(vec![all; length]);
    counts.push(NUMBERS);
    let mut heat = vec![0.0];
    heat.extend(vec![0.6 / length as f64; length]);
    heat.push(0.0);
    let to_text = function(
        "to_text",
        |a| {
            let mut head = a.create_label();
            before(a)?;
            a.set_label(&mut head)?;
            body(a)?;
            a.ja(head)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(length, all - NUMBERS)],
    );
    integer_latency_chain::detect(&program(vec![to_text]))
}

/// `do *--p = n % 10 + '0'; while (n /= 10);` for 64 bits, as gcc and rustc write it.
fn of_words(per_number: u64, reciprocal: u64) -> Vec<Candidate> {
    digits(
        per_number,
        |a| a.mov(r15, reciprocal),
        |a| {
            a.mov(rax, rcx)?;
            a.mul(r15)?;
            a.shr(rdx, 3)?;
            a.lea(eax, dword_ptr(rdx + rdx * 4))?;
            a.add(eax, eax)?;
            a.sub(ecx, eax)?;
            a.or(cl, 0x30)?;
            a.mov(byte_ptr(rbx - 1), cl)?;
            a.dec(rbx)?;
            a.mov(rcx, rdx)?;
            a.cmp(rdx, 9)
        },
        12,
    )
}

/// The same of 32 bits: the product is in one register.
fn of_halves(step: i32) -> Vec<Candidate> {
    digits(
        8,
        |a| a.mov(r8d, 0xcccc_cccdu32),
        |a| {
            a.mov(edx, edi)?;
            a.imul_2(rdx, r8)?;
            a.shr(rdx, 35)?;
            a.lea(eax, dword_ptr(rdx + rdx * 4))?;
            a.add(eax, eax)?;
            a.sub(edi, eax)?;
            a.mov(byte_ptr(rsi), dil)?;
            a.sub(rsi, step)?;
            a.mov(edi, edx)?;
            a.cmp(edx, 9)
        },
        11,
    )
}

/// A remainder of each of many numbers, stored in turn.
fn of_loaded() -> Vec<Candidate> {
    digits(
        8,
        |a| a.mov(r15, 0xcccc_cccc_cccc_cccdu64),
        |a| {
            a.mov(rcx, qword_ptr(r9 + rbx * 8))?;
            a.mov(rax, rcx)?;
            a.mul(r15)?;
            a.shr(rdx, 3)?;
            a.lea(eax, dword_ptr(rdx + rdx * 4))?;
            a.add(eax, eax)?;
            a.sub(ecx, eax)?;
            a.mov(byte_ptr(rbx), cl)?;
            a.dec(rbx)?;
            a.cmp(rbx, r12)
        },
        11,
    )
}

#[test]
fn division_for_each_digit_is_found_for_both_widths() {
    for found in [of_words(8, 0xcccc_cccc_cccc_cccd), of_halves(1)] {
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix, Fix::PairsOfDigits { base: 10 });
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Division(DivisionFact::DigitByDigit { base: 10, digits }) if (digits - 8.0).abs() < 1e-9
        )));
    }
}

#[test]
fn short_numbers_hashes_and_single_remainders_are_not_digits() {
    let digit =
        |list: &[Candidate]| (list.iter()).any(|one| matches!(one.fix, Fix::PairsOfDigits { .. }));
    assert!(!digit(&of_words(2, 0xcccc_cccc_cccc_cccd)), "two digits");
    assert!(!digit(&of_words(8, 0x9e37_79b9_7f4a_7c15)), "no reciprocal");
    assert!(!digit(&of_halves(16)), "a record for each");
    assert!(!digit(&of_loaded()), "a number for each iteration");
}
