//! Values as the usual path makes them: a rare way into the middle of it (a buffer that grows, a
//! table that is made at first use) brings others, which cost nothing. And values that the compiler
//! had no register for: stored, and loaded again in the same iteration.

use genba_code::{BlockId, MemoryAccess, STACK_POINTER};

use crate::constants::counts::{SELDOM_EXECUTIONS, USUAL_PREDECESSOR};
use crate::constants::search_limits::{MAX_INSTRUCTIONS_BACK, MAX_STEP_DEPTH, MAX_VALUES_FOLLOWED};
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::edge_counts::{edge, edge_at_most, executions};

/// What nearly every execution brings where several values meet; the value itself where no way is
/// the usual one.
pub(crate) fn usual_value(function: &FunctionInput, value: Value) -> Value {
    usual_value_until(function, value, |_, _| false)
}

/// What nearly every execution of one iteration brings: not followed beyond the head of a loop.
pub(crate) fn usual_value_of_iteration(function: &FunctionInput, value: Value) -> Value {
    let heads = |block| function.flow.loops().iter().any(|one| one.head == block);
    usual_value_until(function, value, |block, _| heads(block))
}

/// What meets at a block's head on all but the ways that hardly ever come there, each as nearly every execution
/// brings it; not followed beyond the value that is met there itself.
pub(crate) fn usually_met(function: &FunctionInput, value: Value) -> Vec<Value> {
    let Origin::Join(block) = function.values.origin(value) else {
        return Vec::new();
    };
    let all = executions(function, block) as f64;
    let before = function.flow.blocks()[block as usize].predecessors.iter();
    let often = |from: BlockId| {
        edge_at_most(function, from, block) as f64 > SELDOM_EXECUTIONS * all || all == 0.0
    };
    (before.zip(function.values.met(value)))
        .filter(|one| often(*one.0))
        .map(|one| usual_value_until(function, *one.1, |_, met| met.number == value.number))
        .collect()
}

/// Whether a value is the same in all iterations of a loop but those behind a way that hardly ever comes to its
/// head, as registers are that a rare call restores.
pub(crate) fn usually_stays(function: &FunctionInput, index: u32, value: Value) -> bool {
    let fixed = |value: Value| function.values.is_invariant(value, &function.flow, index);
    let head = function.flow.loops()[index as usize].head;
    let again = |one: Value| one == Value { offset: 0, ..value } || fixed(one);
    fixed(value)
        || function.values.origin(value) == Origin::Join(head)
            && usually_met(function, value).into_iter().all(again)
}

/// The usual value, followed through joins up to one for which `ends` says so of its block and value.
fn usual_value_until(
    function: &FunctionInput,
    value: Value,
    ends: impl Fn(BlockId, Value) -> bool,
) -> Value {
    let mut value = value;
    for _ in 0..MAX_VALUES_FOLLOWED {
        let Origin::Join(block) = function.values.origin(value) else {
            break;
        };
        if ends(block, value) {
            break;
        }
        let before = &function.flow.blocks()[block as usize].predecessors;
        let met = function.values.met(value);
        let usual = usual_predecessor(function, block);
        let mut brought = before.iter().zip(met).filter(|_| before.len() == met.len());
        let Some((_, brought)) = brought.find(|one| Some(*one.0) == usual) else {
            break;
        };
        let Some(offset) = brought.offset.checked_add(value.offset) else {
            break;
        };
        value = Value { offset, ..*brought };
    }
    value
}

/// Whether a value is one constant, on whichever way control came: ways from code that was never executed
/// do not count.
pub(crate) fn is_constant(function: &FunctionInput, value: Value) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    let mut constant: Option<i64> = None;
    while let Some(&one) = seen.get(next) {
        next += 1;
        if one.number == CONSTANT {
            if constant.is_some_and(|before| before != one.offset) {
                return false;
            }
            constant = Some(one.offset);
            continue;
        }
        let Origin::Join(block) = function.values.origin(one) else {
            return false;
        };
        let begin = function.flow.blocks()[block as usize].instructions.start as usize;
        if function.counts.get(begin) == Some(&0) {
            continue;
        }
        let met = function.values.met(one);
        if met.is_empty() || one.offset != 0 || seen.len() >= MAX_VALUES_FOLLOWED {
            return false;
        }
        for &one in met {
            if !seen.contains(&one) {
                seen.push(one);
            }
        }
    }
    constant.is_some()
}

/// What a value was before it was kept in memory and loaded again, on the usual path of one
/// iteration; the value itself where it was not.
pub(crate) fn before_spills(function: &FunctionInput, value: Value) -> Value {
    let mut value = usual_value(function, value);
    for _ in 0..MAX_STEP_DEPTH {
        let Some(stored) = reloaded(function, value) else {
            break;
        };
        let Some(offset) = stored.offset.checked_add(value.offset) else {
            break;
        };
        value = usual_value(function, Value { offset, ..stored });
    }
    value
}

/// What was stored where a value was loaded from, if that was in the same iteration.
fn reloaded(function: &FunctionInput, value: Value) -> Option<Value> {
    let Origin::Instruction(at) = function.values.origin(value) else {
        return None;
    };
    let at = at as usize;
    if function.data[at].memory.len() != 1 || function.code[at].mnemonic != "mov" {
        return None;
    }
    let from = (*function.values.addresses(at).first()?)?;
    let (stored, bytes) = stored_before(function, at, &from)?;
    (bytes == from.bytes).then_some(stored)
}

/// What was stored last at the place that an instruction reads, with its bytes, on the usual path of one iteration
/// and by a move.
pub(crate) fn stored_before(
    function: &FunctionInput,
    at: usize,
    from: &Address,
) -> Option<(Value, u16)> {
    let head = (function.flow.loop_of_instruction(at))
        .map(|index| function.flow.loops()[index as usize].head);
    let mut block = function.flow.block_of(at)?;
    let mut end = at;
    let mut left = MAX_INSTRUCTIONS_BACK;
    let base = usual_value_of_iteration(function, from.base);
    loop {
        let start = function.flow.blocks()[block as usize].instructions.start as usize;
        for before in (start..end).rev() {
            left = left.checked_sub(1)?;
            let (data, addresses) = (&function.data[before], function.values.addresses(before));
            let mut writes = (data.memory.iter().zip(addresses)).filter(|one| one.0.writes);
            // The stack pointer behind a rare call is another value.
            let here = |address: &Address| {
                let its = usual_value_of_iteration(function, address.base);
                (its, address.index) == (base, from.index)
            };
            if !writes.any(|one| one.1.as_ref().is_some_and(here)) {
                continue;
            }
            let mut reads = function.values.reads(before).iter();
            let moved = data.memory.len() == 1 && function.code[before].mnemonic == "mov";
            let stored = reads.find(|one| data.data_reads >> one.0 & 1 == 1)?.1;
            return moved.then_some((stored, data.memory[0].bytes));
        }
        if Some(block) == head {
            return None;
        }
        block = usual_predecessor(function, block)?;
        end = function.flow.blocks()[block as usize].instructions.end as usize;
    }
}

/// What the only move brings that usually stores to the place of the frame that a load reads, before it in the same
/// iteration, with its bytes. Between calls the stack pointer stays.
pub(crate) fn usually_kept(function: &FunctionInput, at: usize) -> Option<(Value, u16)> {
    let of_frame =
        |one: &&MemoryAccess| one.base == Some(STACK_POINTER) && one.index.is_none() && !one.stack;
    let place = function.data[at].memory.iter().find(of_frame)?;
    let rare = SELDOM_EXECUTIONS * *function.counts.get(at)? as f64;
    let mut stores = (0..function.code.len()).filter(|&store| {
        let mut to = function.data[store].memory.iter().filter(of_frame);
        let is_here = |one: &MemoryAccess| one.writes && one.displacement == place.displacement;
        function.counts[store] as f64 > rare && to.any(is_here)
    });
    let store = stores.next().filter(|_| stores.next().is_none())?;
    let data = &function.data[store];
    let (store_block, block) = (function.flow.block_of(store)?, function.flow.block_of(at)?);
    let comes_first = store_block != block && function.flow.dominates(store_block, block);
    let around = function.flow.loop_of_instruction(store) == function.flow.loop_of_instruction(at);
    let moves = data.memory.len() == 1 && function.code[store].mnemonic == "mov";
    let mut reads = function.values.reads(store).iter();
    let stored = reads.find(|one| data.data_reads >> one.0 & 1 == 1)?.1;
    (comes_first && around && moves).then_some((stored, data.memory[0].bytes))
}

/// The block from which nearly every execution of a block comes.
fn usual_predecessor(function: &FunctionInput, block: BlockId) -> Option<BlockId> {
    let all = executions(function, block) as f64;
    let before = &function.flow.blocks()[block as usize].predecessors;
    let usual = |before: &BlockId| {
        edge(function, *before, block).unwrap_or(0) as f64 >= USUAL_PREDECESSOR * all && all > 0.0
    };
    before.iter().copied().find(usual)
}
