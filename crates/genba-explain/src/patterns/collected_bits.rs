//! Loops that collect a number bit by bit: each iteration takes the next bit of memory and puts it beside those before,
//! or goes by it to the next node of a code tree.
//!
//! A bit is taken where a byte or word is loaded at a position divided by its number of bits, and shifted by what is left
//! of the position; the position advances by one. The bit goes into a number that doubles, to the place of a table that a
//! number that doubles has, or is shifted to its place.
//!
//! **Near misses.** Bits that are tested or counted one by one (bitmaps), which have other remedies; positions that advance
//! by several bits.

use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_STEPS_TO_SHIFT;
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, value_step};

/// A loop that collects bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectedBits {
    /// The load of the byte or word.
    pub load: usize,
    /// What puts the bit beside those before.
    pub collects: usize,
}

/// The bits that a loop collects one by one, if it does.
pub(crate) fn collected_bits(found: &HotLoop<'_>) -> Option<CollectedBits> {
    if found.has_opaque() {
        return None;
    }
    let uses = Uses::of(found.input);
    found.usual().find_map(|load| {
        let (loaded, position) = loaded_at_position(found, load)?;
        let shift = reader(found, &uses, loaded, |name| {
            matches!(name, "shr" | "sar" | "shrx" | "sarx")
        })?;
        let by = operands(found.input, shift).filter(|one| one.number != loaded.number);
        if !by
            .into_iter()
            .any(|by| follows(found.input, by, position, MAX_STEPS_TO_SHIFT))
        {
            return None;
        }
        let shifted = written(found.input, shift)?;
        let bit = reader(found, &uses, shifted, |name| name == "and")?;
        if constant_operand(found.input, bit) != Some(1) {
            return None;
        }
        let bit = written(found.input, bit)?;
        let collects = collector(found, &uses, bit)?;
        Some(CollectedBits { load, collects })
    })
}

/// What an instruction loads, if that is at a position of bits that advances by one; and the position.
fn loaded_at_position(found: &HotLoop<'_>, at: usize) -> Option<(Value, Value)> {
    let function = found.input;
    let data = &function.data[at];
    let ([access], [Some(address)]) = (data.memory.as_slice(), function.values.addresses(at))
    else {
        return None;
    };
    let bits_of_number = match access.bytes {
        1 => 3,
        2 => 4,
        4 => 5,
        8 => 6,
        _ => return None,
    };
    let loads = access.reads && !access.writes && function.code[at].mnemonic.starts_with("mov");
    let mut parts = parts(address).filter_map(|one| divided(function, one, bits_of_number));
    let position = parts.find(|&position| advances_by_one(found, position))?;
    let loaded = written(function, at).filter(|_| loads)?;
    Some((loaded, position))
}

/// Whether a number of bits is made of the position: by a mask, or what is left to the end of a byte.
fn follows(function: &FunctionInput, value: Value, position: Value, steps: u32) -> bool {
    if value.number == position.number {
        return true;
    }
    let (Some(steps), Some(at)) = (steps.checked_sub(1), maker(function, value)) else {
        return false;
    };
    let name = function.code[at].mnemonic;
    matches!(name, "and" | "not" | "neg" | "xor" | "sub" | "mov")
        && operands(function, at).any(|one| follows(function, one, position, steps))
}

fn parts(address: &Address) -> impl Iterator<Item = Value> {
    [Some(address.base), address.index.map(|one| one.0)]
        .into_iter()
        .flatten()
}

/// What is shifted to the right by so many bits to make a value.
fn divided(function: &FunctionInput, value: Value, bits: i64) -> Option<Value> {
    let at = maker(function, value)?;
    let shifts = matches!(function.code[at].mnemonic, "shr" | "sar");
    if !shifts || constant_operand(function, at) != Some(bits) {
        return None;
    }
    operands(function, at).next()
}

/// Whether a value is one more, or one less, in each iteration; or is what such a value was in the one before.
fn advances_by_one(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let by_one = |value: Value| {
        let step = value_step(function, found.index, value);
        matches!(step, Some(Step::Constant(1 | -1)))
    };
    let flow = &function.flow;
    let head = flow.loops()[found.index as usize].head;
    let body = flow.loop_blocks(found.index);
    let before = &flow.blocks()[head as usize].predecessors;
    let handed_on = || {
        let mut back = (before.iter().zip(function.values.met(value)))
            .filter(|one| body.contains(one.0))
            .map(|one| *one.1)
            .peekable();
        back.peek().is_some() && back.all(by_one)
    };
    by_one(value) || function.values.origin(value) == Origin::Join(head) && handed_on()
}

/// What puts a bit beside those before.
fn collector(found: &HotLoop<'_>, uses: &Uses, bit: Value) -> Option<usize> {
    let function = found.input;
    let at = reader(found, uses, bit, |name| {
        matches!(name, "or" | "add" | "lea" | "xor" | "shl" | "shlx")
    })?;
    let name = function.code[at].mnemonic;
    if matches!(name, "shl" | "shlx") {
        let placed = written(function, at)?;
        return reader(found, uses, placed, |name| {
            matches!(name, "or" | "add" | "xor")
        });
    }
    let other = operands(function, at).filter(|one| one.number != bit.number);
    let doubled = |value: Value| {
        let made = maker(function, value);
        made.is_some_and(|made| match function.code[made].mnemonic {
            "add" => {
                let all: Vec<Value> = operands(function, made).collect();
                match all.as_slice() {
                    [_] => adds_to_itself(function, made),
                    [one, other] => one == other,
                    _ => false,
                }
            }
            "shl" => constant_operand(function, made) == Some(1),
            "lea" => function.code[made].text.contains("*2"),
            _ => false,
        })
    };
    let lea_doubles = name == "lea" && function.code[at].text.contains("*2");
    let mut other = other.peekable();
    (other.peek().is_some() && (lea_doubles || other.any(doubled))).then_some(at)
}

/// Whether the operands of an instruction are one register.
fn adds_to_itself(function: &FunctionInput, at: usize) -> bool {
    let text = &function.code[at].text;
    let mut parts = text.rsplit([',', ' ']);
    let second = parts.next();
    second.is_some() && second == parts.next()
}

/// The first instruction of the loop, of those that are named so, that reads a value, perhaps by way of moves.
fn reader(
    found: &HotLoop<'_>,
    uses: &Uses,
    value: Value,
    named: impl Fn(&str) -> bool,
) -> Option<usize> {
    let members = uses.readers(value).into_iter();
    let mut inside = members.filter(|at| found.members.binary_search(at).is_ok());
    inside.find(|&at| named(found.input.code[at].mnemonic))
}

fn maker(function: &FunctionInput, value: Value) -> Option<usize> {
    match function.values.origin(value) {
        Origin::Instruction(at) => Some(at as usize),
        _ => None,
    }
}

/// The value that an instruction makes beside flags.
fn written(function: &FunctionInput, at: usize) -> Option<Value> {
    let mut all = function
        .values
        .writes(at)
        .iter()
        .filter(|one| one.0 < FLAGS);
    all.next().map(|one| one.1)
}

/// Values that an instruction computes from.
fn operands(function: &FunctionInput, at: usize) -> impl Iterator<Item = Value> {
    let reads = function.values.reads(at).iter();
    reads.filter(|one| one.0 < FLAGS).map(|one| one.1)
}

/// The constant that is an instruction's last operand.
fn constant_operand(function: &FunctionInput, at: usize) -> Option<i64> {
    let text = &function.code[at].text;
    let last = text.rsplit(',').next()?.trim();
    match last.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => last.parse().ok(),
    }
}
