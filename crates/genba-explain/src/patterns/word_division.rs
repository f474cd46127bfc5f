//! Long divisions of a number of many words by a small constant, again and again: digits taken one at
//! a time.
//!
//! Each word is divided together with the remainder of the word before, so that the remainder goes
//! through a multiplication (the constant's reciprocal) and back for each word: the chain cannot be
//! split. But a word has room for the remainder by a power of the constant: dividing by the largest
//! one that fits takes as many digits at once.
//!
//! **Source.** D. Knuth, *The Art of Computer Programming* 2, section 4.4 (method 1b, and exercise on
//! conversion by larger radices); T. Granlund, P. Montgomery, PLDI 1994 (the reciprocal).

use crate::constants::counts::MAX_DIVISOR_OF_WORDS;
use crate::constants::registers::{RDX, XMM0};
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::hot_loops::HotLoop;

/// A loop that divides a number word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordDivision {
    /// The multiplication by the reciprocal.
    pub multiplication: usize,
    /// What is divided by.
    pub divisor: u64,
    /// Bits of a word.
    pub word_bits: u32,
    /// Digits that one pass could take.
    pub digits: u32,
}

/// Whether a loop divides a number of many words by a small constant.
pub(crate) fn word_division(found: &HotLoop<'_>) -> Option<WordDivision> {
    if found.has_opaque() {
        return None;
    }
    let uses = Uses::of(found.input);
    found.usual().find_map(|at| by_reciprocal(found, &uses, at))
}

fn by_reciprocal(found: &HotLoop<'_>, uses: &Uses, at: usize) -> Option<WordDivision> {
    let function = found.input;
    if function.code[at].mnemonic != "mul" {
        return None;
    }
    let high = function.values.written(at, RDX)?;
    let operands: Vec<Value> = (function.values.reads(at).iter())
        .filter(|read| read.0 < XMM0)
        .map(|read| read.1)
        .collect();
    let reciprocal = operands
        .iter()
        .find(|value| value.number == CONSTANT)?
        .offset as u64;
    let dividend = *operands.iter().find(|value| value.number != CONSTANT)?;
    let shifted = (uses.readers(high).into_iter())
        .filter(|&reader| found.members.contains(&reader))
        .find_map(|reader| shift(function, reader, "shr"));
    let divisor = divisor_of(reciprocal, shifted.unwrap_or(0))?;
    let word_bits = word_of(found, dividend)?;
    let stores_quotient = found.usual().any(|one| {
        let mut memory = function.data[one].memory.iter();
        memory.any(|access| access.writes && u32::from(access.bytes) * 8 == word_bits)
    });
    let digits = digits_of(divisor, word_bits);
    (stores_quotient && digits >= 2).then_some(WordDivision {
        multiplication: at,
        divisor,
        word_bits,
        digits,
    })
}

/// The small number whose reciprocal, 2^(64 + shift) ÷ it, is rounded up to this one.
pub(crate) fn divisor_of(reciprocal: u64, shift: u32) -> Option<u64> {
    if reciprocal == 0 || shift >= u64::BITS {
        return None;
    }
    let one = 1u128.checked_shl(u64::BITS + shift)?;
    let reciprocal = u128::from(reciprocal);
    let divisor = (one + reciprocal / 2) / reciprocal;
    let fits = (2..=u128::from(MAX_DIVISOR_OF_WORDS)).contains(&divisor)
        && one.div_ceil(divisor) == reciprocal;
    fits.then_some(divisor as u64)
}

/// Digits to a base that fit into a word together.
pub(crate) fn digits_of(base: u64, word_bits: u32) -> u32 {
    let room = 1u128 << word_bits.min(u64::BITS);
    let mut power = u128::from(base);
    let mut digits = 0;
    while power < room {
        digits += 1;
        power *= u128::from(base);
    }
    digits
}

/// Bits of the words of which a dividend is the next one below the remainder of those before.
fn word_of(found: &HotLoop<'_>, dividend: Value) -> Option<u32> {
    let function = found.input;
    let made = |value: Value| match function.values.origin(value) {
        Origin::Instruction(at) => Some(at as usize),
        _ => None,
    };
    let at = made(dividend)?;
    if !matches!(function.code[at].mnemonic, "or" | "add" | "lea") {
        return None;
    }
    let parts = function
        .values
        .reads(at)
        .iter()
        .filter(|read| read.0 < XMM0);
    let parts: Vec<usize> = parts.filter_map(|read| made(read.1)).collect();
    let bits = parts.iter().find_map(|&part| carried_shift(found, part))?;
    let is_word =
        |access: &genba_code::MemoryAccess| access.reads && u32::from(access.bytes) * 8 == bits;
    let word = parts
        .iter()
        .any(|&part| function.data[part].memory.iter().any(is_word));
    let folded = function.data[at].memory.iter().any(is_word);
    (word || folded).then_some(bits)
}

/// By how much an instruction shifts what the iteration before left.
fn carried_shift(found: &HotLoop<'_>, at: usize) -> Option<u32> {
    let function = found.input;
    let bits = shift(function, at, "shl")?;
    let head = function.flow.loops()[found.index as usize].head;
    let mut reads = function.values.reads(at).iter();
    reads
        .any(|read| function.values.origin(read.1) == Origin::Join(head))
        .then_some(bits)
}

/// The constant by which an instruction of this name shifts.
pub(crate) fn shift(function: &FunctionInput, at: usize, name: &str) -> Option<u32> {
    let code = &function.code[at];
    if code.mnemonic != name {
        return None;
    }
    u32::try_from(code.last_number()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisor_follows_from_its_reciprocal_and_shift() {
        assert_eq!(divisor_of(0xcccc_cccc_cccc_cccd, 3), Some(10));
        assert_eq!(divisor_of(0xcccc_cccc_cccc_cccd, 2), Some(5));
        assert_eq!(divisor_of(0xaaaa_aaaa_aaaa_aaab, 1), Some(3));
        assert_eq!(
            divisor_of(0x9e37_79b9_7f4a_7c15, 0),
            None,
            "a hash's factor"
        );
        assert_eq!(divisor_of(0, 3), None);
    }

    #[test]
    fn power_of_the_divisor_fits_into_a_word() {
        assert_eq!(digits_of(10, 32), 9);
        assert_eq!(digits_of(10, 64), 19);
        assert_eq!(digits_of(1 << 16, 16), 0);
    }
}
