//! Loops that count the bits of a number one by one: those that are set (population count), or all up to the highest
//! (logarithm to base two).
//!
//! Each iteration shifts the number to the right by one until it is zero, and adds the lowest bit to a sum, or one; or it
//! takes the next bit of the number by a counter; or it clears the lowest set bit (`v &= v - 1`) and counts. The number
//! is in a register: the loop neither loads nor stores, and hands on nothing but the number, counters and the sum.
//!
//! **Near misses.** Loops that do something else for each bit (multiplication by additions, a table, a parity), shifts by
//! several bits.
//!
//! **Source.** H. Warren, *Hacker's Delight*, sections 5-1 and 5-3.

use genba_code::Flow;

use crate::constants::counts::MAX_INSTRUCTIONS_OF_COUNTED_BITS;
use crate::constants::registers::{FLAGS, XMM0};
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, value_step};

/// What a loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Bits that are set.
    Set,
    /// Bits up to the highest that is set.
    UpToHighest,
}

/// What a loop counts of a number's bits, and the instruction that goes to the next one.
pub(crate) fn counted_bits(found: &HotLoop<'_>) -> Option<(Counted, usize)> {
    let function = found.input;
    let plain = |&at: &usize| {
        let code = &function.code[at];
        let name = code.mnemonic;
        function.data[at].memory.is_empty()
            && (matches!(code.flow, Flow::CondJump(_))
                || matches!(
                    name,
                    "mov"
                        | "and"
                        | "add"
                        | "adc"
                        | "sbb"
                        | "sub"
                        | "inc"
                        | "dec"
                        | "lea"
                        | "shr"
                        | "shrx"
                        | "cmp"
                        | "test"
                        | "blsr"
                        | "nop"
                ))
    };
    if found.members.len() > MAX_INSTRUCTIONS_OF_COUNTED_BITS
        || found.has_opaque()
        || !found.members.iter().all(plain)
    {
        return None;
    }
    let uses = Uses::of(function);
    let members = || found.members.iter().copied();
    let found_at = |at: usize| {
        let next = to_next_bit(found, at)?;
        let bit = |number: Value| {
            members().any(|one| takes_lowest(function, one, number) && is_summed(found, &uses, one))
        };
        let counts = || members().any(|one| counts(found, one));
        match next {
            Next::Shifted(number) | Next::Taken(number) if bit(number) => Some(Counted::Set),
            Next::Shifted(_) if counts() => Some(Counted::UpToHighest),
            Next::Cleared if counts() => Some(Counted::Set),
            _ => None,
        }
    };
    members()
        .find_map(|at| Some((found_at(at)?, at)))
        .filter(|one| hands_on_counts_only(found, one.1))
}

/// Whether all that iterations hand on is the number, which one instruction shifts or clears, what counts by one, and a
/// sum of its bits.
fn hands_on_counts_only(found: &HotLoop<'_>, next: usize) -> bool {
    let function = found.input;
    let values = &function.values;
    let flow = &function.flow;
    let head = flow.loops()[found.index as usize].head;
    let body = flow.loop_blocks(found.index);
    let lowest: Vec<Value> = (found.members.iter().copied())
        .filter(|&at| {
            matches!(function.code[at].mnemonic, "and" | "test") && is_one(&function.code[at].text)
        })
        .flat_map(|at| values.writes(at).iter().map(|one| one.1))
        .collect();
    // A bit, or the flags that a comparison makes of it.
    let is_bit = |value: Value| {
        let made_of_bit = |by: u32| {
            let compares = function.code[by as usize].mnemonic == "cmp";
            compares
                && values
                    .reads(by as usize)
                    .iter()
                    .any(|one| lowest.contains(&one.1))
        };
        lowest.contains(&value)
            || matches!(values.origin(value), Origin::Instruction(by) if made_of_bit(by))
    };
    let is_read = |number: u32| {
        let mut reads = found.members.iter().flat_map(|&at| values.reads(at));
        reads.any(|one| one.1.number == number)
    };
    let is_count = |before: Value, made: Value| {
        let by_one = |value: Value| value.number == before.number && value.offset.abs() <= 1;
        let sums_bits = || match values.origin(made) {
            Origin::Instruction(by) if by as usize == next => true,
            Origin::Instruction(by) => {
                let mut others = (values.reads(by as usize).iter())
                    .filter(|one| function.data[by as usize].data_reads >> one.0 & 1 == 1)
                    .filter(|one| one.1.number != before.number);
                others.all(|one| is_bit(one.1))
            }
            _ => false,
        };
        let conditional = || {
            let ways = values.joined(made);
            !ways.is_empty() && ways.iter().all(|&way| by_one(way))
        };
        by_one(made) || sums_bits() || conditional()
    };
    let before = &flow.blocks()[head as usize].predecessors;
    let carried = values
        .joins()
        .map(|(number, _)| Value { number, offset: 0 });
    let mut carried = carried
        .filter(|&value| values.origin(value) == Origin::Join(head) && is_read(value.number));
    carried.all(|value| {
        let met = before.iter().zip(values.met(value));
        let mut inside = met.filter(|one| body.contains(one.0));
        inside.all(|one| is_count(value, *one.1))
    })
}

/// How an instruction goes to the next bit.
enum Next {
    /// The number is shifted by one, until nothing is left of it.
    Shifted(Value),
    /// This value is the number, which stays, shifted by a counter.
    Taken(Value),
    /// The lowest bit that is set is cleared, until nothing is left.
    Cleared,
}

fn to_next_bit(found: &HotLoop<'_>, at: usize) -> Option<Next> {
    let function = found.input;
    let operands: Vec<Value> = operands(function, at).collect();
    let made = written(function, at)?;
    match function.code[at].mnemonic {
        "shr" | "shrx" => match operands[..] {
            [number] => {
                let by_one = is_one(&function.code[at].text);
                (by_one && goes_on(found, number, made) && ends_at_zero(found, at))
                    .then_some(Next::Shifted(number))
            }
            [one, other] => {
                let steps = |value| {
                    matches!(
                        value_step(function, found.index, value),
                        Some(Step::Constant(1 | -1))
                    )
                };
                let stays = |value| {
                    function
                        .values
                        .is_invariant(value, &function.flow, found.index)
                };
                (stays(one) && steps(other) || stays(other) && steps(one))
                    .then_some(Next::Taken(made))
            }
            _ => None,
        },
        "blsr" => {
            let number = operands.first()?;
            (goes_on(found, *number, made) && ends_at_zero(found, at)).then_some(Next::Cleared)
        }
        "and" => {
            let [one, other] = operands[..] else {
                return None;
            };
            let cleared = [(one, other), (other, one)]
                .into_iter()
                .any(|(number, less)| {
                    goes_on(found, number, made) && is_one_less(function, number, less)
                });
            (cleared && ends_at_zero(found, at)).then_some(Next::Cleared)
        }
        _ => None,
    }
}

/// Whether a value is one less than another: by what values know of constants, or made so of a part of a register.
fn is_one_less(function: &FunctionInput, number: Value, less: Value) -> bool {
    let known = less.number == number.number && less.offset.wrapping_sub(number.offset) == -1;
    let made = || match function.values.origin(less) {
        Origin::Instruction(by) => {
            let (by, code) = (by as usize, &function.code[by as usize]);
            let by_one = code.text.ends_with("-1]") || code.text.ends_with("-0x1]");
            code.mnemonic == "lea"
                && by_one
                && (function.values.reads(by).iter()).any(|one| one.1.number == number.number)
        }
        _ => false,
    };
    known || made()
}

/// Whether a value is what the iteration before handed on, and another is what this one does.
fn goes_on(found: &HotLoop<'_>, value: Value, made: Value) -> bool {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    function.values.origin(value) == Origin::Join(head)
        && function.values.met(value).contains(&made)
}

/// Whether the loop goes round while what an instruction made is not zero.
fn ends_at_zero(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let made = written(function, at);
    found.members.iter().any(|&jump| {
        let jumps = matches!(function.code[jump].flow, Flow::CondJump(_))
            && matches!(function.code[jump].mnemonic, "jne" | "je");
        let mut flags = function
            .values
            .reads(jump)
            .iter()
            .filter(|one| one.0 >= FLAGS);
        jumps
            && flags.any(|one| match function.values.origin(one.1) {
                Origin::Instruction(by) if by as usize == at => true,
                Origin::Instruction(by) => {
                    let by = by as usize;
                    function.code[by].mnemonic == "test"
                        && operands(function, by).all(|value| Some(value) == made)
                }
                _ => false,
            })
    })
}

/// Whether an instruction takes or tests the lowest bit of a value.
fn takes_lowest(function: &FunctionInput, at: usize, value: Value) -> bool {
    let code = &function.code[at];
    matches!(code.mnemonic, "and" | "test")
        && is_one(&code.text)
        && operands(function, at).any(|one| one == value)
}

/// Whether a sum is made of a bit: by an addition, by the carry of a comparison, or by a branch on it.
fn is_summed(found: &HotLoop<'_>, uses: &Uses, bit: usize) -> bool {
    let function = found.input;
    let adds = |at: usize| {
        matches!(
            function.code[at].mnemonic,
            "add" | "adc" | "sbb" | "sub" | "lea"
        ) && written(function, at)
            .is_some_and(|made| operands(function, at).any(|one| goes_on(found, one, made)))
    };
    let readers = |at: usize| {
        let made = function.values.writes(at).iter().map(|one| one.1);
        made.flat_map(|value| uses.readers(value))
            .collect::<Vec<usize>>()
    };
    readers(bit)
        .into_iter()
        .any(|reader| match function.code[reader].flow {
            Flow::CondJump(_) => found.members.iter().any(|&at| counts(found, at)),
            _ => adds(reader) || readers(reader).into_iter().any(adds),
        })
}

/// Whether an instruction adds one to a counter.
fn counts(found: &HotLoop<'_>, at: usize) -> bool {
    written(found.input, at).is_some_and(|made| {
        let before = Value { offset: 0, ..made };
        made.offset.abs() == 1 && goes_on(found, before, made)
    })
}

fn operands(function: &FunctionInput, at: usize) -> impl Iterator<Item = Value> {
    let reads = function.values.reads(at).iter();
    let data = function.data[at].data_reads;
    reads
        .filter(move |one| one.0 < XMM0 && data >> one.0 & 1 == 1)
        .map(|one| one.1)
}

fn written(function: &FunctionInput, at: usize) -> Option<Value> {
    let mut all = function.values.writes(at).iter().filter(|one| one.0 < XMM0);
    all.next().map(|one| one.1)
}

/// Whether the constant operand of an instruction is one; of a shift none is written.
fn is_one(text: &str) -> bool {
    match text.rsplit_once(',') {
        Some((_, last)) => matches!(last.trim(), "1" | "0x1"),
        None => true,
    }
}
