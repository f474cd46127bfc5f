//! Numbers that are divided bit by bit, and near misses.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::integer_latency_chain;
use crate::tests::synthetic::{function, program};

const DIVISIONS: u64 = 100_000;

/// What a loop does with each bit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loop {
    /// `rest = rest << 1 | bit; if (rest >= divisor) rest -= divisor;` by a mask
    Divides,
    /// The same by a conditional move.
    Chooses,
    /// `if (factor & bit) sum += number; number <<= 1;`
    Multiplies,
    /// `rest = rest << 1 ^ (rest >> 63) & polynomial;`
    Checks,
    /// `sum += table[i] - base;`
    Loads,
}

fn fixes(kind: Loop, bits: u64) -> Vec<Fix> {
    let all = DIVISIONS * bits;
    let counts = [DIVISIONS, all, all, all, all, all, all, all, all, DIVISIONS];
    let one = function(
        "divide",
        |a| {
            let mut head = a.create_label();
            a.xor(edx, edx)?;
            a.set_label(&mut head)?;
            match kind {
                Loop::Loads => a.mov(rcx, qword_ptr(rdi + rdx * 8))?,
                _ => a.add(rdi, rdi)?,
            }
            match kind {
                Loop::Multiplies => a.nop()?,
                Loop::Loads => a.inc(rdx)?,
                _ => a.adc(rdx, rdx)?,
            }
            a.mov(rax, rdx)?;
            match kind {
                Loop::Divides | Loop::Chooses => a.sub(rax, rsi)?,
                Loop::Multiplies => a.and(rax, r9)?,
                Loop::Checks => a.sar(rax, 63)?,
                Loop::Loads => a.sub(rcx, rsi)?,
            }
            match kind {
                Loop::Divides => a.sbb(rcx, rcx)?,
                Loop::Chooses => a.cmovae(rdx, rax)?,
                Loop::Checks => a.and(rax, rsi)?,
                _ => a.nop()?,
            }
            match kind {
                Loop::Divides => a.and(rcx, rsi)?,
                Loop::Checks => a.xor(rdx, rax)?,
                Loop::Multiplies => a.add(rdx, rax)?,
                _ => a.nop()?,
            }
            match kind {
                Loop::Divides => a.lea(rdx, ptr(rax + rcx))?,
                _ => a.dec(r8)?,
            }
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &[0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(8, all - DIVISIONS)],
    );
    let found = integer_latency_chain::detect(&program(vec![one]));
    let of_division = found.into_iter().map(|one| one.fix);
    of_division
        .filter(|fix| *fix == Fix::DivideAtOnce)
        .collect()
}

#[test]
fn numbers_divided_bit_by_bit_want_a_division() {
    assert_eq!(fixes(Loop::Divides, 64), [Fix::DivideAtOnce]);
    assert_eq!(fixes(Loop::Chooses, 64), [Fix::DivideAtOnce]);
}

#[test]
fn products_checksums_loads_and_long_loops_are_no_divisions() {
    for (kind, bits) in [
        (Loop::Multiplies, 64),
        (Loop::Checks, 64),
        (Loop::Loads, 64),
        (Loop::Divides, 1000),
        (Loop::Divides, 2),
    ] {
        assert!(fixes(kind, bits).is_empty(), "{kind:?} {bits}");
    }
}
