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

/// What ends a loop that shifts left.
#[derive(Clone, Copy, PartialEq)]
enum ShiftedLeft {
    /// The sign is set.
    Sign,
    /// Ten bits at a time: one of the ten highest is set.
    HighBits,
    /// Bits shifted out are tested by the carry: a stream of bits.
    Carry,
    /// A limit that is not a row of ones.
    Limit,
}

fn shifted_left(ends: ShiftedLeft) -> bool {
    let all = 5 * ENTRIES;
    let function = function(
        "normalise",
        |a| {
            let mut head = a.create_label();
            a.mov(
                rdx,
                if ends == ShiftedLeft::Limit {
                    1000u64
                } else {
                    u64::MAX >> 10
                },
            )?;
            a.set_label(&mut head)?;
            a.sub(ecx, 1)?;
            match ends {
                ShiftedLeft::Sign | ShiftedLeft::Carry => {
                    a.nop()?;
                    a.add(rdi, rdi)?;
                }
                ShiftedLeft::HighBits | ShiftedLeft::Limit => {
                    a.shl(rdi, 10)?;
                    a.cmp(rdx, rdi)?;
                }
            }
            match ends {
                ShiftedLeft::Sign => a.jns(head)?,
                ShiftedLeft::Carry => a.jae(head)?,
                ShiftedLeft::HighBits | ShiftedLeft::Limit => a.jae(head)?,
            }
            a.ret()
        },
        &[ENTRIES, all, all, all, all, ENTRIES],
        &[0.0, 0.05, 0.1, 0.1, 0.3, 0.0],
        &[(4, all - ENTRIES)],
    );
    let found = unpredictable_branch::detect(&program(vec![function]));
    found.iter().any(|one| one.fix == Fix::CountLeadingZeros)
}

#[test]
fn loop_that_shifts_leading_zeros_out_is_told_to_count_them() {
    assert!(shifted_left(ShiftedLeft::Sign));
    assert!(shifted_left(ShiftedLeft::HighBits));
    assert!(!shifted_left(ShiftedLeft::Carry), "a stream of bits");
    assert!(!shifted_left(ShiftedLeft::Limit), "a limit");
}
