//! Digits added one at a time to long numbers, and near misses.

use genba_model::{Fact, ObservedFact};
use genba_observe::LongProduct;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::integer_latency_chain;
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, has_fact, program};

const PASSES: u64 = 100_000;

/// `for (i = 0; i < words; i++) { c += (u128)p[i] * f; p[i] = c; c >>= 64; }`, observed to be a product by
/// this factor, of words that were stored by the pass before in this share.
fn found(words: u64, factor: u64, again: f64) -> Vec<Candidate> {
    let all = PASSES * words;
    let mut input = program(vec![function(
        "from_text",
        |a| {
            let mut head = a.create_label();
            a.xor(r8d, r8d)?;
            a.set_label(&mut head)?;
            a.mov(rax, r12)?;
            a.mul(qword_ptr(rsi))?;
            a.add(rax, r8)?;
            a.mov(qword_ptr(rsi), rax)?;
            a.adc(rdx, 0)?;
            a.mov(r8, rdx)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rcx)?;
            a.jne(head)?;
            a.ret()
        },
        &[PASSES, all, all, all, all, all, all, all, all, all, PASSES],
        &[0.0, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.1, 0.0],
        &[(9, all - PASSES)],
    )]);
    let mut all = observations();
    all.long_products.push(LongProduct {
        at: point(&input, 0, 4),
        factor,
        word_bytes: 8,
        seen: seen(0.97),
        again,
    });
    input.observed = Some(all);
    integer_latency_chain::detect(&input)
}

#[test]
fn digits_added_one_at_a_time_are_found() {
    let found = found(300, 10, 0.9);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::LongProduct {
            factor: 10,
            word_bits: 64,
            digits: 19,
            ..
        })
    )));
    assert!((found[0].residual_fraction.value - 1.0 / 19.0).abs() < 0.05);
}

#[test]
fn short_or_different_numbers_and_large_factors_are_not_digits() {
    assert!(found(2, 10, 0.9).is_empty(), "a short number");
    assert!(found(300, 10, 0.0).is_empty(), "another number each time");
    assert!(found(300, 1 << 40, 0.9).is_empty(), "a large factor");
}
