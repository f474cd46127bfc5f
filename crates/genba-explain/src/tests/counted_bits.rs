//! Bits of numbers in registers that are counted one by one, and near misses.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::integer_latency_chain;
use crate::tests::synthetic::{function, program};

const NUMBERS: u64 = 1_000_000;

/// What a loop does for each bit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loop {
    /// `n += v & 1; v >>= 1`
    Adds,
    /// `n ^= v & 1; v >>= 1`
    Toggles,
    /// `n++; v >>= 1`
    Counts,
    /// `n++; v &= v - 1`
    Clears,
    /// `n += v & 1; v >>= 4`
    Steps,
    /// `n += table[v & 1]; v >>= 1`
    LooksUp,
    /// `n += v & 3; v >>= 1`
    Pairs,
    /// `if (v & 1) n += i; i++; v >>= 1`
    AddsPlaces,
}

fn fixes(kind: Loop, per_number: u64) -> Vec<Fix> {
    let all = NUMBERS * per_number;
    let counts = [NUMBERS, all, all, all, all, all, NUMBERS];
    let one = function(
        "count",
        |a| {
            let mut head = a.create_label();
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            match kind {
                Loop::Clears => a.lea(edx, ptr(rdi - 1))?,
                Loop::AddsPlaces => a.add(ecx, 1)?,
                _ => a.mov(edx, edi)?,
            }
            match kind {
                Loop::AddsPlaces => a.test(edi, 1)?,
                Loop::Counts | Loop::Clears => a.nop()?,
                Loop::Pairs => a.and(edx, 3)?,
                _ => a.and(edx, 1)?,
            }
            match kind {
                Loop::Adds | Loop::Steps | Loop::Pairs => a.add(eax, edx)?,
                Loop::Toggles => a.xor(eax, edx)?,
                Loop::LooksUp => a.add(eax, dword_ptr(rsi + rdx * 4))?,
                Loop::Counts | Loop::Clears => a.add(eax, 1)?,
                Loop::AddsPlaces => a.add(eax, ecx)?,
            }
            match kind {
                Loop::Clears => a.and(edi, edx)?,
                Loop::Steps => a.shr(edi, 4)?,
                _ => a.shr(edi, 1)?,
            }
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &[0.0, 0.1, 0.2, 0.2, 0.2, 0.2, 0.0],
        &[(5, all - NUMBERS)],
    );
    let found = integer_latency_chain::detect(&program(vec![one]));
    let all = found.into_iter().map(|one| one.fix);
    all.filter(|one| matches!(one, Fix::CountBits { .. }))
        .collect()
}

#[test]
fn bits_that_are_counted_one_by_one_are_found() {
    for (kind, highest) in [
        (Loop::Adds, false),
        (Loop::Clears, false),
        (Loop::Counts, true),
    ] {
        assert_eq!(fixes(kind, 16), [Fix::CountBits { highest }], "{kind:?}");
    }
}

#[test]
fn other_sums_of_bits_and_few_bits_are_not_counts() {
    for kind in [
        Loop::Toggles,
        Loop::Steps,
        Loop::LooksUp,
        Loop::Pairs,
        Loop::AddsPlaces,
    ] {
        assert_eq!(fixes(kind, 16), [], "{kind:?}");
    }
    assert_eq!(fixes(Loop::Adds, 1), [], "a flag");
}
