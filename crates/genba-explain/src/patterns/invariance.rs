//! Whether what is computed in a loop is the same in every iteration.

use genba_code::{BlockId, Location};

use crate::constants::registers::FLAGS;
use crate::constants::search_limits::{MAX_BLOCKS_BACK, MAX_EXPRESSION_DEPTH};
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, Origin, Value};

/// Whether a value is the same in every iteration of a loop, though it may be computed there anew:
/// made of values from outside and of memory that the loop does not store to, by what the code
/// says. Calls count as changing no memory that is addressed otherwise.
#[must_use]
pub fn is_same_each_iteration(function: &FunctionInput, index: u32, value: Value) -> bool {
    same(function, index, value, MAX_EXPRESSION_DEPTH)
}

fn same(function: &FunctionInput, index: u32, value: Value, depth: u32) -> bool {
    let values = &function.values;
    if values.is_invariant(value, &function.flow, index) || comes_back(function, index, value) {
        return true;
    }
    let (Some(depth), Origin::Instruction(at)) = (depth.checked_sub(1), values.origin(value))
    else {
        return false;
    };
    let at = at as usize;
    let Some(data) = function.data.get(at) else {
        return false;
    };
    if data.opaque.is_some() || data.stores() {
        return false;
    }
    let reads = values.reads(at).iter();
    let mut operands = reads.filter(|(location, _)| *location < FLAGS);
    let addresses = values.addresses(at);
    operands.all(|one| same(function, index, one.1, depth))
        && addresses
            .iter()
            .all(|address| address.is_some_and(|address| !is_stored(function, index, &address)))
}

/// Whether a value at the head of a loop is that of the previous iteration: kept in memory across
/// a call that saves no register, and read again.
fn comes_back(function: &FunctionInput, index: u32, value: Value) -> bool {
    let values = &function.values;
    let flow = &function.flow;
    let head = flow.loops()[index as usize].head;
    if values.origin(value) != Origin::Join(head) {
        return false;
    }
    let body = flow.loop_blocks(index);
    // What comes back must be what was there, not what is made of it: a pointer that moves on, after it has moved.
    let value = Value { offset: 0, ..value };
    let before = &flow.blocks()[head as usize].predecessors;
    let mut around = before
        .iter()
        .zip(values.met(value))
        .filter(|one| body.contains(one.0))
        .peekable();
    around.peek().is_some()
        && around.all(|(_, &back)| back == value || is_kept(function, index, value, back))
}

/// Whether `back` is loaded from where, before it in the loop, `value` and nothing else was stored.
fn is_kept(function: &FunctionInput, index: u32, value: Value, back: Value) -> bool {
    let values = &function.values;
    let Origin::Instruction(load) = values.origin(back) else {
        return false;
    };
    let load = load as usize;
    let moves = function
        .code
        .get(load)
        .is_some_and(|code| code.mnemonic.starts_with("mov"));
    let [Some(from)] = values.addresses(load) else {
        return false;
    };
    if !moves || !function.data[load].loads() || back.offset != value.offset {
        return false;
    }
    let mut stored = false;
    for at in function.loop_instructions(index) {
        let data = &function.data[at];
        let list = data.memory.iter().zip(values.addresses(at));
        let touches = |one: (&genba_code::MemoryAccess, &Option<Address>)| {
            one.0.writes && !one.0.stack && one.1.is_none_or(|to| overlap(&to, from))
        };
        if !list.into_iter().any(touches) {
            continue;
        }
        let same = values
            .reads(at)
            .iter()
            .any(|&(location, read)| read == value && data.data_reads & (1 << location) != 0);
        let whole = values.addresses(at) == [Some(*from)];
        if !same || !whole || at >= load {
            return false;
        }
        stored = true;
    }
    stored
}

/// Whether the loop stores to an address, as far as addresses can be distinguished: others with the
/// same base and another offset are apart, those with another base too.
#[must_use]
pub fn is_stored(function: &FunctionInput, index: u32, address: &Address) -> bool {
    function.loop_instructions(index).into_iter().any(|at| {
        let data = &function.data[at];
        let list = data.memory.iter().zip(function.values.addresses(at));
        list.filter(|(access, _)| access.writes && !access.stack)
            .filter_map(|(_, stored)| stored.as_ref())
            .any(|stored| overlap(stored, address))
    })
}

/// Whether two accesses of the same base may meet.
pub(crate) fn overlap(a: &Address, b: &Address) -> bool {
    if a.base.number != b.base.number {
        return false;
    }
    if a.index.is_some() || b.index.is_some() {
        return true;
    }
    let (first, second) = (a.base.offset, b.base.offset);
    first < second.saturating_add(i64::from(b.bytes.max(1)))
        && second < first.saturating_add(i64::from(a.bytes.max(1)))
}

/// The value that a register has when an instruction is reached: what was last written to it in
/// its block, or what came in.
#[must_use]
pub fn value_at(function: &FunctionInput, at: usize, location: Location) -> Option<Value> {
    let block = function.flow.block_of(at)?;
    last_written(function, block, at, location, MAX_BLOCKS_BACK)
}

/// The value that a register has behind the last instruction of a block.
#[must_use]
pub fn value_behind(function: &FunctionInput, block: BlockId, location: Location) -> Option<Value> {
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    last_written(function, block, end, location, MAX_BLOCKS_BACK)
}

fn last_written(
    function: &FunctionInput,
    block: BlockId,
    end: usize,
    location: Location,
    depth: u32,
) -> Option<Value> {
    let range = &function.flow.blocks()[block as usize].instructions;
    for at in (range.start as usize..end).rev() {
        if let Some(value) = function.values.written(at, location) {
            return Some(value);
        }
        // The next reader of it tells as well.
        if let Some(value) = function.values.read(at, location) {
            return Some(value);
        }
    }
    // One way in only: what it has at the end of the block before.
    let before = &function.flow.blocks()[block as usize].predecessors;
    let (depth, [before]) = (depth.checked_sub(1)?, before.as_slice()) else {
        return None;
    };
    let end = function.flow.blocks()[*before as usize].instructions.end as usize;
    last_written(function, *before, end, location, depth)
}
