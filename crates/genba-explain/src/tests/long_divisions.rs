//! Digits of long numbers taken one at a time, and near misses.

use genba_model::{DivisionFact, Fact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::integer_latency_chain;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, has_fact, program};

const PASSES: u64 = 100_000;

/// Where a pass belongs.
#[derive(Clone, Copy, PartialEq)]
enum Passes {
    /// One for each digit.
    PerDigit,
    /// The number is divided once in each call.
    Once,
}

/// `for (i = words; i; i--) { r = r << 32 | p[i]; q[i] = r / d; r %= d; }` by a reciprocal.
fn long_division(reciprocal: u64, words: u64, passes: Passes) -> FunctionInput {
    let all = PASSES * words;
    let outer = PASSES;
    let calls = match passes {
        Passes::PerDigit => 1,
        Passes::Once => PASSES,
    };
    function(
        "to_text",
        |a| {
            let (mut pass, mut word) = (a.create_label(), a.create_label());
            a.mov(r13, reciprocal)?;
            a.set_label(&mut pass)?;
            a.mov(rcx, r14)?;
            a.xor(esi, esi)?;
            a.set_label(&mut word)?;
            a.mov(eax, dword_ptr(rdi + rcx * 4 - 4))?;
            a.shl(rsi, 32)?;
            a.or(rsi, rax)?;
            a.mov(rax, rsi)?;
            a.mul(r13)?;
            a.shr(rdx, 3)?;
            a.lea(rax, qword_ptr(rdx + rdx * 4))?;
            a.mov(dword_ptr(r9 + rcx * 4 - 4), edx)?;
            a.add(rax, rax)?;
            a.sub(rsi, rax)?;
            a.sub(rcx, 1)?;
            a.jne(word)?;
            match passes {
                Passes::PerDigit => {
                    a.sub(rbx, 1)?;
                    a.jne(pass)?;
                }
                Passes::Once => {
                    a.nop()?;
                    a.nop()?;
                }
            }
            a.ret()
        },
        &[
            calls, outer, outer, all, all, all, all, all, all, all, all, all, all, all, all, outer,
            outer, calls,
        ],
        &[
            0.0, 0.0, 0.0, 0.05, 0.1, 0.05, 0.05, 0.3, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
            0.0, 0.0, 0.0,
        ],
        &match passes {
            Passes::PerDigit => vec![(14, all - outer), (16, outer - calls)],
            Passes::Once => vec![(14, all - outer)],
        },
    )
}

const TENTH: u64 = 0xcccc_cccc_cccc_cccd;

fn found(reciprocal: u64, words: u64, passes: Passes) -> Vec<Candidate> {
    integer_latency_chain::detect(&program(vec![long_division(reciprocal, words, passes)]))
}

#[test]
fn digits_taken_one_at_a_time_are_found() {
    let found = found(TENTH, 300, Passes::PerDigit);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Division(DivisionFact::WordByWord {
            divisor: 10,
            word_bits: 32,
            digits: 9
        })
    )));
    assert!((found[0].residual_fraction.value - 1.0 / 9.0).abs() < 0.05);
}

#[test]
fn one_division_short_numbers_and_hashes_are_not_digits() {
    assert!(found(TENTH, 300, Passes::Once).is_empty(), "once");
    assert!(
        found(TENTH, 2, Passes::PerDigit).is_empty(),
        "a short number"
    );
    let golden = 0x9e37_79b9_7f4a_7c15;
    assert!(
        found(golden, 300, Passes::PerDigit).is_empty(),
        "no reciprocal"
    );
}
