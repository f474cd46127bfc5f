//! Loops that shift a number left until its highest bits are set: `while (v >= 0) v <<= 1`, or
//! `while ((v & TOP_BITS) == 0) v <<= 10`.
//!
//! The number of iterations is that of leading zeros (divided by the shift). Processors count them with
//! one instruction. Loops that also look at memory take their bits from a stream, and are left alone.
//!
//! **Source.** H. Warren, *Hacker's Delight*, section 5-3.

use genba_code::Flow;

use crate::constants::counts::MAX_INSTRUCTIONS_OF_LEADING_ZEROS;
use crate::constants::registers::{FLAGS, XMM0};
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::hot_loops::HotLoop;

/// The shift in a loop that shifts leading zeros out.
pub(crate) fn leading_zeros(found: &HotLoop<'_>) -> Option<usize> {
    let function = found.input;
    let memory = |&at: &usize| !function.data[at].memory.is_empty();
    if found.members.len() > MAX_INSTRUCTIONS_OF_LEADING_ZEROS
        || found.usual().count() != found.members.len()
        || found.has_opaque()
        || found.members.iter().any(memory)
    {
        return None;
    }
    let head = function.flow.loops()[found.index as usize].head;
    let mut shifts = found.members.iter().copied();
    let shift = shifts.find(|&at| shifts_left(function, head, at))?;
    let mut jumps = (found.members.iter().copied())
        .filter(|&at| matches!(function.code[at].flow, Flow::CondJump(_)));
    let (jump, None) = (jumps.next()?, jumps.next()) else {
        return None;
    };
    is_until_high_bit(function, shift, jump).then_some(shift)
}

/// Whether an instruction shifts what the iteration before left by a constant to the left.
fn shifts_left(function: &FunctionInput, head: u32, at: usize) -> bool {
    let code = &function.code[at];
    let carried = |value: Value| function.values.origin(value) == Origin::Join(head);
    let (to, from) = code.text.split_once(',').unwrap_or((&code.text, "1"));
    let register = to.rsplit(' ').next().unwrap_or_default();
    let left = match code.mnemonic {
        "shl" => !from.contains("cl"),
        // Twice itself.
        "add" => from.trim() == register.trim(),
        _ => false,
    };
    let mut reads = function.values.reads(at).iter();
    left && reads.any(|read| read.0 < XMM0 && carried(read.1))
}

/// Whether a branch stays in the loop until a bit at the top of the shifted number is set: by its sign,
/// or by a comparison with a number whose bits below the top are all ones.
fn is_until_high_bit(function: &FunctionInput, shift: usize, jump: usize) -> bool {
    let made = |value: Value| match function.values.origin(value) {
        Origin::Instruction(at) => Some(at as usize),
        _ => None,
    };
    let shifted = |value: &Value| made(*value) == Some(shift) && value.offset == 0;
    let flags = function.values.reads(jump).iter();
    let tests: Vec<usize> = (flags.filter(|one| one.0 >= FLAGS))
        .filter_map(|one| made(one.1))
        .collect();
    let by = |test: usize| {
        let operands: Vec<Value> = (function.values.reads(test).iter())
            .filter(|one| one.0 < XMM0)
            .map(|one| one.1)
            .collect();
        match function.code[jump].mnemonic {
            "jns" => {
                test == shift
                    || function.code[test].mnemonic == "test" && operands.iter().all(&shifted)
            }
            // `number <= 0x003f…ff`, either way round.
            "jae" | "jbe" if function.code[test].mnemonic == "cmp" => {
                let limit = operands.iter().find(|one| one.number == CONSTANT);
                let below_top = limit.is_some_and(|one| {
                    let zeros = (one.offset as u64).leading_zeros();
                    zeros > 0 && one.offset.count_ones() + zeros == u64::BITS
                });
                below_top && operands.iter().any(&shifted)
            }
            _ => false,
        }
    };
    !tests.is_empty() && tests.into_iter().all(by)
}
