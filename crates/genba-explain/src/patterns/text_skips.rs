//! Positions that go through a text as searches for a word do: by a letter, or by what a table has for a letter.
//!
//! Source: R. N. Horspool, "Practical fast searching in strings", Software: Practice and Experience 10, 1980; D. Sunday, "A very
//! fast substring search algorithm", CACM 33, 1990.

use crate::constants::counts::MIN_ELEMENT_BYTES;
use crate::constants::registers::FLAGS;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::positions::carried;

/// Whether a pointer goes on by a letter, or by what a table has for a letter: texts are searched for texts so.
pub(crate) fn goes_through_text(function: &FunctionInput, index: u32, pointer: Value) -> bool {
    let mut brought = brought_round(function, index, pointer);
    // What meets at the head is without what is added to it for the call.
    let by_letter = |next: &Value| {
        next.number == pointer.number
            && (1..MIN_ELEMENT_BYTES).contains(&next.offset.unsigned_abs())
    };
    brought.any(|next| by_letter(&next) || skip_by_table(function, pointer, next).is_some())
}

/// Where a loop that compares a byte at a position goes on by what a table has for a letter: comparisons and the instructions
/// that add.
pub(crate) struct Skips {
    /// Comparisons of a byte at the position.
    pub(crate) comparisons: Vec<usize>,
    /// What goes on.
    pub(crate) steps: Vec<usize>,
}

/// The skips of a loop through a text; `None` of other loops, and of loops that store.
pub(crate) fn skips(found: &HotLoop<'_>) -> Option<Skips> {
    let function = found.input;
    let stores = |at: usize| {
        let mut accesses = function.data[at].memory.iter();
        accesses.any(|access| access.writes && !access.stack)
    };
    if found.usual().any(stores) {
        return None;
    }
    let body = function.flow.loop_blocks(found.index);
    let skips = |position: Value| {
        let steps: Vec<usize> = brought_round(function, found.index, position)
            .filter_map(|next| skip_by_table(function, position, next))
            .collect();
        let at_position = |at: &usize| {
            let data = &function.data[*at];
            let mut accesses = data.memory.iter().zip(function.values.addresses(*at));
            let tests = matches!(function.code[*at].mnemonic, "cmp" | "test" | "movzx");
            tests
                && accesses.any(|(access, address)| {
                    access.bytes == 1
                        && address.is_some_and(|one| one.base.number == position.number)
                })
        };
        let comparisons: Vec<usize> = found.usual().filter(at_position).collect();
        (!steps.is_empty() && !comparisons.is_empty()).then_some(Skips { comparisons, steps })
    };
    let mut positions: Vec<Value> = carried(function, body).into_values().collect();
    positions.sort_unstable();
    positions.into_iter().find_map(skips)
}

/// What iterations hand on to the next one of a value at the head of their loop.
fn brought_round(
    function: &FunctionInput,
    index: u32,
    value: Value,
) -> impl Iterator<Item = Value> + '_ {
    let (values, flow) = (&function.values, &function.flow);
    let head = flow.loops()[index as usize].head;
    let body = flow.loop_blocks(index);
    let meets = values.origin(value) == Origin::Join(head);
    let before = flow.blocks()[head as usize].predecessors.iter();
    let met = before.zip(values.met(value));
    met.filter(move |one| meets && body.contains(one.0))
        .map(|one| *one.1)
}

/// The instruction that makes the next position, if it adds to this one what is loaded from where a letter is the index.
fn skip_by_table(function: &FunctionInput, position: Value, next: Value) -> Option<usize> {
    let values = &function.values;
    let is_letter = |value: Value| match values.origin(value) {
        Origin::Instruction(at) => {
            let mut accesses = function.data[at as usize].memory.iter();
            accesses.any(|access| access.reads && access.bytes == 1)
        }
        _ => false,
    };
    let looks_up = |at: usize| {
        let mut from = values.addresses(at).iter().flatten();
        function.data[at].loads()
            && from.any(|one| one.index.is_some_and(|(value, _)| is_letter(value)))
    };
    let of_table = |value: Value| match values.origin(value) {
        Origin::Instruction(load) => looks_up(load as usize),
        _ => false,
    };
    let Origin::Instruction(at) = values.origin(next) else {
        return None;
    };
    let at = at as usize;
    let reads = || values.reads(at).iter().filter(|one| one.0 < FLAGS);
    let adds =
        function.code[at].mnemonic == "add" && reads().any(|one| one.1.number == position.number);
    (adds && (looks_up(at) || reads().any(|one| of_table(one.1)))).then_some(at)
}
