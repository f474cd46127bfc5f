//! Loops that shift zeros out, and other loops over bits.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::unpredictable_branch;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const ENTRIES: u64 = 10_000_000;

/// What ends a loop over the bits of a number.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// The lowest bit is set.
    AtSetBit,
    /// Nothing is left: set bits are counted.
    AtZero,
}

fn bits(ends: Ends) -> FunctionInput {
    let all = 2 * ENTRIES;
    function(
        "normalise",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            match ends {
                Ends::AtSetBit => {
                    a.add(ecx, 1)?;
                    a.shr(rdi, 1)?;
                    a.test(dil, 1)?;
                    a.je(head)?;
                }
                Ends::AtZero => {
                    a.add(ecx, 1)?;
                    a.shr(rdi, 1)?;
                    a.test(rdi, rdi)?;
                    a.jne(head)?;
                }
            }
            a.ret()
        },
        &[ENTRIES, all, all, all, all, ENTRIES],
        &[0.0, 0.05, 0.1, 0.1, 0.3, 0.0],
        &[(4, all - ENTRIES)],
    )
}

fn is_told_to_count_zeros(ends: Ends) -> bool {
    let found = unpredictable_branch::detect(&program(vec![bits(ends)]));
    found.iter().any(|one| one.fix == Fix::CountTrailingZeros)
}

#[test]
fn loop_that_shifts_zeros_out_is_told_to_count_them() {
    assert!(is_told_to_count_zeros(Ends::AtSetBit));
    assert!(!is_told_to_count_zeros(Ends::AtZero), "bits are counted");
}
