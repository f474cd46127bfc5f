//! Loops that shift a number right until its lowest bit is set: `while ((v & 1) == 0) v >>= 1`.
//!
//! The number of iterations is that of trailing zeros, which for arbitrary numbers is a coin toss each
//! time: nearly every exit is mispredicted. Processors count trailing zeros with one instruction.
//!
//! **Source.** H. Warren, *Hacker's Delight*, section 5-4.

use genba_code::Flow;

use crate::constants::counts::MAX_INSTRUCTIONS_OF_TRAILING_ZEROS;
use crate::constants::registers::XMM0;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;

/// The test of the lowest bit in a loop that shifts zeros out.
pub(crate) fn trailing_zeros(found: &HotLoop<'_>) -> Option<usize> {
    let function = found.input;
    let memory = |&at: &usize| !function.data[at].memory.is_empty();
    let straight = found.usual().count() == found.members.len();
    if found.members.len() > MAX_INSTRUCTIONS_OF_TRAILING_ZEROS
        || !straight
        || found.has_opaque()
        || found.members.iter().any(memory)
    {
        return None;
    }
    let head = function.flow.loops()[found.index as usize].head;
    let carried = |value: Value| function.values.origin(value) == Origin::Join(head);
    let shifts = found.members.iter().any(|&at| {
        let code = &function.code[at];
        let by_one = is_one(&code.text) || !code.text.contains(',');
        let mut reads = function
            .values
            .reads(at)
            .iter()
            .filter(|read| read.0 < XMM0);
        matches!(code.mnemonic, "shr" | "sar") && by_one && reads.any(|read| carried(read.1))
    });
    let jumps: Vec<usize> = (found.members.iter().copied())
        .filter(|&at| matches!(function.code[at].flow, Flow::CondJump(_)))
        .collect();
    let [jump] = jumps[..] else {
        return None;
    };
    let test =
        (found.members.iter().copied()).rfind(|&at| at < jump && is_test_of_bit(found, at))?;
    let decides = jump == test + 1 && matches!(function.code[jump].mnemonic, "je" | "jne");
    (shifts && decides).then_some(test)
}

/// Whether an instruction asks for the lowest bit alone.
fn is_test_of_bit(found: &HotLoop<'_>, at: usize) -> bool {
    let code = &found.input.code[at];
    matches!(code.mnemonic, "test" | "and") && is_one(&code.text)
}

/// Whether the last operand of an instruction is 1.
fn is_one(text: &str) -> bool {
    let last = text.rsplit(',').next().unwrap_or_default().trim();
    matches!(last, "1" | "0x1")
}
