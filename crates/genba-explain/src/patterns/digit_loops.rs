//! Loops that take a number apart digit by digit: each iteration divides what is left by a small constant and stores
//! one digit.
//!
//! Compilers multiply by the reciprocal and shift: the high half of a product of 64 bits, or a product of twice the
//! number's bits as a whole. What is left goes on to the next iteration, so the digits wait for one another.
//!
//! **Near misses.** Divisions of what is loaded anew in each iteration; powers of two, which are shifts; numbers
//! of many words ([`super::word_division`]).
//!
//! **Source.** T. Granlund, P. Montgomery, "Division by invariant integers using multiplication", PLDI 1994; A.
//! Alexandrescu, "Three Optimization Tips for C++", 2012 (two digits with each division, from a table).

use crate::constants::counts::MAX_BASE_OF_DIGITS;
use crate::constants::registers::{RAX, RDX, XMM0};
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step};
use crate::patterns::word_division::{divisor_of, shift};

/// A loop that takes one digit of a number each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DigitLoop {
    /// The division, or the multiplication by the reciprocal.
    pub division: usize,
    /// The store of the digit.
    pub store: usize,
    /// What the number is divided by.
    pub base: u64,
}

/// The digit loop that a loop is, if it is one.
pub(crate) fn digit_loop(found: &HotLoop<'_>) -> Option<DigitLoop> {
    if found.has_opaque() {
        return None;
    }
    let store = found.usual().find(|&at| stores_next_letter(found, at))?;
    let uses = Uses::of(found.input);
    let (division, base) = found.usual().find_map(|at| {
        let (dividend, quotient, base) = division(found, &uses, at)?;
        let left = (2..=MAX_BASE_OF_DIGITS).contains(&base) && !base.is_power_of_two();
        (left && goes_on_as(found, dividend, quotient)).then_some((at, base))
    })?;
    Some(DigitLoop {
        division,
        store,
        base,
    })
}

/// Whether an instruction stores a letter next to that of the iteration before.
fn stores_next_letter(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let accesses = function.data[at].memory.iter();
    let mut writes = accesses
        .zip(function.values.addresses(at))
        .filter(|one| one.0.writes && one.0.bytes <= 4);
    writes.any(|(access, address)| {
        let step = address.and_then(|one| address_step(function, found.index, &one));
        let next = i64::from(access.bytes);
        matches!(step, Some(Step::Constant(step)) if step.abs() == next)
    })
}

/// What an instruction divides, the quotient, and what it divides by.
fn division(found: &HotLoop<'_>, uses: &Uses, at: usize) -> Option<(Value, Value, u64)> {
    let function = found.input;
    let values = &function.values;
    let operands = || {
        let reads = values.reads(at).iter().filter(|read| read.0 < XMM0);
        reads.map(|read| read.1)
    };
    let constant = || operands().find(|value| value.number == CONSTANT && value.offset != 0);
    let other = || operands().find(|value| value.number != CONSTANT);
    match function.code[at].mnemonic {
        "div" | "idiv" => {
            let quotient = values.written(at, RAX)?;
            Some((values.read(at, RAX)?, quotient, constant()?.offset as u64))
        }
        "mul" => {
            let high = values.written(at, RDX)?;
            let (by, quotient) = shifted(found, uses, high).unwrap_or((0, high));
            let base = divisor_of(constant()?.offset as u64, by)?;
            Some((other()?, quotient, base))
        }
        // A product of which both halves are in one register.
        "imul" => {
            let product = (values.writes(at).iter()).find(|one| one.0 < XMM0)?.1;
            let (by, quotient) = shifted(found, uses, product)?;
            let base = narrow_divisor_of(constant()?.offset as u64, by)?;
            Some((other()?, quotient, base))
        }
        _ => None,
    }
}

/// By how much the loop shifts a value to the right, and what comes of it.
fn shifted(found: &HotLoop<'_>, uses: &Uses, value: Value) -> Option<(u32, Value)> {
    let function = found.input;
    (uses.readers(value).into_iter())
        .filter(|reader| found.members.binary_search(reader).is_ok())
        .find_map(|reader| {
            let by = shift(function, reader, "shr")?;
            let written = function.values.writes(reader).iter();
            Some((by, written.clone().find(|one| one.0 < XMM0)?.1))
        })
}

/// The small number whose reciprocal, 2^shift ÷ it, is rounded up to this one.
fn narrow_divisor_of(reciprocal: u64, shift: u32) -> Option<u64> {
    // Immediate operands are sign-extended.
    let reciprocal = u128::from(reciprocal & u64::from(u32::MAX));
    let one = 1u128.checked_shl(shift).filter(|_| shift < u64::BITS)?;
    if reciprocal == 0 {
        return None;
    }
    let divisor = (one + reciprocal / 2) / reciprocal;
    (divisor <= u128::from(MAX_BASE_OF_DIGITS)
        && divisor > 1
        && one.div_ceil(divisor) == reciprocal)
        .then_some(divisor as u64)
}

/// Whether the next iteration divides what this one's division left.
fn goes_on_as(found: &HotLoop<'_>, dividend: Value, quotient: Value) -> bool {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    let quotient = source(function, quotient);
    let mut seen = vec![source(function, dividend)];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        if function.values.origin(value) != Origin::Join(head) {
            continue;
        }
        for &met in function.values.met(value) {
            let met = source(function, met);
            if met == quotient {
                return true;
            }
            if !seen.contains(&met) && seen.len() < MAX_VALUES_FOLLOWED {
                seen.push(met);
            }
        }
    }
    false
}

/// What a value is a copy of: moves of half a register make a new value.
fn source(function: &FunctionInput, mut value: Value) -> Value {
    for _ in 0..MAX_VALUES_FOLLOWED {
        let Origin::Instruction(at) = function.values.origin(value) else {
            break;
        };
        let at = at as usize;
        let data = &function.data[at];
        let copies = data.form.starts_with("mov r") && data.memory.is_empty();
        let mut reads = function.values.reads(at).iter();
        let Some(read) = reads.find(|read| copies && read.0 < XMM0) else {
            break;
        };
        value = read.1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisor_follows_from_a_reciprocal_of_half_a_register() {
        assert_eq!(narrow_divisor_of(0xcccc_cccd, 35), Some(10));
        assert_eq!(narrow_divisor_of(0xffff_ffff_cccc_cccd, 35), Some(10));
        assert_eq!(narrow_divisor_of(0xcccd, 19), Some(10));
        assert_eq!(narrow_divisor_of(0xcd, 11), Some(10));
        assert_eq!(narrow_divisor_of(0x9e37_79b1, 32), None, "a hash's factor");
        assert_eq!(narrow_divisor_of(10, 0), None);
    }
}
