//! Numbers taken from memory bit by bit, and near misses.

use genba_model::{Fact, Fix, LoopFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::integer_latency_chain;
use crate::tests::synthetic::{function, has_fact, program};

const NUMBERS: u64 = 1_000_000;

/// What a loop does with the next bit.
#[derive(Clone, Copy, PartialEq)]
enum Bit {
    /// `v = v << 1 | bit`.
    Collected,
    /// `node = tree[node][bit]`.
    Followed,
    /// `n += bit`.
    Counted,
    /// `if (bit) …`.
    Tested,
    /// Another bit of each byte than that of the position.
    Elsewhere,
}

/// `at` advances by so many bits each iteration, and there are so many iterations for each number.
fn found(bit: Bit, advance: i32, per_number: u64) -> Vec<Candidate> {
    let all = NUMBERS * per_number;
    let length = match bit {
        Bit::Collected | Bit::Followed | Bit::Elsewhere => 11,
        Bit::Counted | Bit::Tested => 10,
    };
    let mut counts = vec![NUMBERS];
    counts.extend(vec![all; length]);
    counts.push(NUMBERS);
    let mut heat = vec![0.0];
    heat.extend(vec![0.8 / length as f64; length]);
    heat.push(0.0);
    let read = function(
        "read",
        |a| {
            let mut head = a.create_label();
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.mov(rdx, rsi)?;
            a.mov(ecx, esi)?;
            a.shr(rdx, 3)?;
            a.and(ecx, 7)?;
            a.movzx(edx, byte_ptr(rdi + rdx))?;
            match bit {
                Bit::Elsewhere => a.sar(edx, 3)?,
                _ => a.sar(edx, cl)?,
            }
            a.and(edx, 1)?;
            match bit {
                Bit::Collected | Bit::Elsewhere => {
                    a.add(eax, eax)?;
                    a.or(eax, edx)?;
                }
                Bit::Followed => {
                    a.lea(rax, ptr(rdx + rax * 2))?;
                    a.movzx(eax, word_ptr(r8 + rax * 2))?;
                }
                Bit::Counted => a.add(eax, edx)?,
                Bit::Tested => a.test(edx, edx)?,
            }
            a.add(rsi, advance)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(length, all - NUMBERS)],
    );
    let mut all = integer_latency_chain::detect(&program(vec![read]));
    all.retain(|one| one.fix == Fix::SeveralBitsAtOnce);
    all
}

#[test]
fn bits_that_are_collected_or_followed_one_by_one_are_found() {
    for bit in [Bit::Collected, Bit::Followed] {
        let found = found(bit, 1, 8);
        assert_eq!(found.len(), 1);
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Loop(LoopFact::BitsOneByOne { numbers: NUMBERS, bits }) if (bits - 8.0).abs() < 1e-9
        )));
        assert!(found[0].residual_fraction.value < 0.9);
    }
}

#[test]
fn bitmaps_wider_steps_and_single_bits_are_no_numbers_by_bits() {
    assert!(found(Bit::Counted, 1, 64).is_empty(), "bits are counted");
    assert!(found(Bit::Tested, 1, 64).is_empty(), "a bitmap");
    assert!(found(Bit::Collected, 3, 8).is_empty(), "other positions");
    assert!(found(Bit::Elsewhere, 1, 8).is_empty(), "one bit of a byte");
    assert!(found(Bit::Collected, 1, 1).is_empty(), "a flag");
}
