//! Calls whose results stores keep.

use genba_code::{Flow, MemoryAccess, STACK_POINTER};

use crate::constants::search_limits::MAX_MOVES_TO_STORE;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};

/// The call whose result a store keeps, and the value that it returned; `None` if the result was loaded from the
/// frame, where the callee put it.
pub(crate) fn call_behind(
    function: &FunctionInput,
    store: usize,
) -> Option<(usize, Option<Value>)> {
    let data = &function.data[store];
    let reads = function.values.reads(store).iter();
    let stored = reads
        .filter(|one| data.data_reads >> one.0 & 1 == 1)
        .map(|one| one.1);
    stored
        .filter_map(|value| call_of(function, value, MAX_MOVES_TO_STORE))
        .next()
}

fn call_of(function: &FunctionInput, value: Value, depth: u32) -> Option<(usize, Option<Value>)> {
    let depth = depth.checked_sub(1)?;
    let Origin::Instruction(at) = function.values.origin(value) else {
        return None;
    };
    let at = at as usize;
    let code = &function.code[at];
    if matches!(code.flow, Flow::Call(_) | Flow::IndirectCall) {
        return Some((at, Some(value)));
    }
    let mut memory = function.data[at].memory.iter();
    if let Some(from) = memory.find(|one| one.reads && one.base == Some(STACK_POINTER)) {
        if keeps_itself(function, from) {
            return None;
        }
        let block = function.flow.block_of(at)?;
        let call = (0..at).rev().find(|&before| {
            let call = matches!(
                function.code[before].flow,
                Flow::Call(_) | Flow::IndirectCall
            );
            let there = function.flow.block_of(before);
            call && there
                .is_some_and(|there| there == block || function.flow.dominates(there, block))
        });
        return Some((call?, None));
    }
    let data = &function.data[at];
    let mut reads = function.values.reads(at).iter();
    reads
        .by_ref()
        .filter(|one| data.data_reads >> one.0 & 1 == 1)
        .find_map(|one| call_of(function, one.1, depth))
}

/// Whether a function writes a place of its frame itself: a local variable that it had no register for, not what a
/// callee put there.
fn keeps_itself(function: &FunctionInput, place: &MemoryAccess) -> bool {
    let mut all = function.data.iter().flat_map(|data| &data.memory);
    all.any(|one| {
        one.writes
            && (one.base, one.index, one.displacement)
                == (place.base, place.index, place.displacement)
    })
}
