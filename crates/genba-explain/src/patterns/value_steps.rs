//! How values change from iteration to iteration of a loop.

use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_STEP_DEPTH;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, Origin, Value};
use genba_code::BlockId;

/// What a value gains each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So much.
    Constant(i64),
    /// The same each iteration, but known at run time only.
    Invariant,
}

impl Step {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(a.wrapping_add(b)),
            _ => Self::Invariant,
        }
    }

    fn times(self, factor: i64) -> Self {
        match self {
            Self::Constant(step) => Self::Constant(step.wrapping_mul(factor)),
            Self::Invariant => Self::Invariant,
        }
    }
}

/// What an address gains each iteration; `None` if it depends on what the loop loads, or on anything
/// else that is not a sum.
#[must_use]
pub fn address_step(function: &FunctionInput, index: u32, address: &Address) -> Option<Step> {
    let base = value_step(function, index, address.base)?;
    let Some((value, scale)) = address.index else {
        return Some(base);
    };
    Some(base.plus(value_step(function, index, value)?.times(i64::from(scale))))
}

/// What a value gains each iteration.
#[must_use]
pub fn value_step(function: &FunctionInput, index: u32, value: Value) -> Option<Step> {
    step(function, index, value, Inside::Unknown, MAX_STEP_DEPTH)
}

/// What an address at the beginning of a loop inside gains with each iteration of the loop around.
#[must_use]
pub fn step_of_first_address(
    function: &FunctionInput,
    around: u32,
    address: &Address,
) -> Option<Step> {
    let of = |value| step(function, around, value, Inside::First, MAX_STEP_DEPTH);
    let base = of(address.base)?;
    let Some((value, scale)) = address.index else {
        return Some(base);
    };
    Some(base.plus(of(value)?.times(i64::from(scale))))
}

/// What is taken for a value that changes in loops inside of the one that is looked at.
#[derive(Clone, Copy)]
enum Inside {
    /// Nothing is known of it.
    Unknown,
    /// What it is when the loop inside is entered.
    First,
}

/// What a value is when the loops inside of a loop are entered: of what meets at the head of one of them, what is brought
/// there from outside of it; `None` where that is not one value.
#[must_use]
pub fn first_value(function: &FunctionInput, around: u32, value: Value) -> Option<Value> {
    let head = function.flow.loops()[around as usize].head;
    let mut value = value;
    for _ in 0..MAX_STEP_DEPTH {
        match function.values.origin(value) {
            Origin::Join(block) if block != head => {
                value = brought_to(function, around, block, value)?;
            }
            _ => return Some(value),
        }
    }
    None
}

/// The value that is brought to the head of a loop from outside of it; `None` if there are several.
fn brought_to(
    function: &FunctionInput,
    around: u32,
    block: BlockId,
    value: Value,
) -> Option<Value> {
    let loops = function.flow.loops();
    let inner = (0u32..).zip(loops).find(|(_, one)| one.head == block)?.0;
    let bodies = [around, inner].map(|index| function.flow.loop_blocks(index));
    let before = &function.flow.blocks()[block as usize].predecessors;
    let mut outside = (before.iter().zip(function.values.met(value)))
        .filter(|one| bodies[0].contains(one.0) && !bodies[1].contains(one.0))
        .map(|one| *one.1);
    let first = outside.next()?;
    outside.all(|one| one == first).then_some(Value {
        offset: first.offset.wrapping_add(value.offset),
        ..first
    })
}

fn step(
    function: &FunctionInput,
    index: u32,
    value: Value,
    inside: Inside,
    depth: u32,
) -> Option<Step> {
    let values = &function.values;
    if values.is_invariant(value, &function.flow, index) {
        return Some(Step::Constant(0));
    }
    let depth = depth.checked_sub(1)?;
    if is_reloaded(function, index, value) {
        return Some(Step::Constant(0));
    }
    match values.origin(value) {
        Origin::Constant | Origin::Entry => Some(Step::Constant(0)),
        Origin::Join(block) => {
            let found = &function.flow.loops()[index as usize];
            if found.head != block {
                return match inside {
                    Inside::Unknown => None,
                    Inside::First => {
                        let first = brought_to(function, index, block, value)?;
                        step(function, index, first, inside, depth)
                    }
                };
            }
            if found.irreducible {
                return None;
            }
            let body = function.flow.loop_blocks(index);
            let predecessors = &function.flow.blocks()[block as usize].predecessors;
            let mut all: Option<Step> = None;
            for (before, &input) in predecessors.iter().zip(values.met(value)) {
                if !body.contains(before) {
                    continue;
                }
                let one = advance(function, index, input, value.number, depth)?;
                if all.is_some_and(|other| other != one) {
                    return None;
                }
                all = Some(one);
            }
            all
        }
        Origin::Instruction(at) => {
            let at = at as usize;
            let factor = sums(function, at)?;
            let mut all = Step::Constant(0);
            for &(location, read) in values.reads(at) {
                if location >= XMM0 {
                    return None;
                }
                let one = step(function, index, read, inside, depth)?;
                all = all.plus(match (factor, one) {
                    (_, Step::Constant(0)) => one,
                    (Some(factor), one) => one.times(factor),
                    (None, _) => Step::Invariant,
                });
            }
            Some(all)
        }
    }
}

/// Whether a value is loaded again each iteration from an address that does not change: it stays
/// unless a store through another pointer changes it, which compilers must reckon with.
#[must_use]
pub fn is_reloaded(function: &FunctionInput, index: u32, value: Value) -> bool {
    let values = &function.values;
    let fixed = |value: Value| values.is_invariant(value, &function.flow, index);
    values.loaded_from(value).is_some_and(|address| {
        fixed(address.base) && address.index.is_none_or(|(value, _)| fixed(value))
    })
}

/// By how much `value` is more than the value of that number at the head.
fn advance(
    function: &FunctionInput,
    index: u32,
    value: Value,
    head: u32,
    depth: u32,
) -> Option<Step> {
    if value.number == head {
        return Some(Step::Constant(value.offset));
    }
    let depth = depth.checked_sub(1)?;
    let Origin::Instruction(at) = function.values.origin(value) else {
        return None;
    };
    let at = at as usize;
    sums(function, at)?;
    let mut own = None;
    for &(location, read) in function.values.reads(at) {
        if location >= XMM0 {
            return None;
        }
        if function.values.is_invariant(read, &function.flow, index) {
            continue;
        }
        if own.is_some() {
            return None;
        }
        own = Some(advance(function, index, read, head, depth)?);
    }
    own.map(|own| own.plus(Step::Invariant))
}

/// Whether an instruction makes a sum of its operands (times constants): `None` if not, the
/// factor of all operands if it is one and the same and known.
fn sums(function: &FunctionInput, at: usize) -> Option<Option<i64>> {
    let data = function.data.get(at)?;
    if !data.memory.is_empty() || data.opaque.is_some() {
        return None;
    }
    match data.form.split(' ').next()? {
        "add" | "movsxd" | "mov" | "inc" | "dec" | "cdqe" => Some(Some(1)),
        "lea" if !data.form.contains("scaled") && !data.form.contains('3') => Some(Some(1)),
        "lea" | "sub" | "shl" | "sal" | "imul" => Some(None),
        _ => None,
    }
}
