//! The work behind stores: calls whose results they keep, and instructions that only compute for them.

use genba_code::{Flow, Locations, MemoryAccess, STACK_POINTER};

use crate::constants::registers::{ARGUMENTS, LIVE_AT_RETURN};
use crate::constants::search_limits::{MAX_INSTRUCTIONS_FOR_WORK, MAX_MOVES_TO_STORE};
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

/// These stores, and the instructions that are needed for nothing else: faint code, if the stores are (R. Giegerich et al.,
/// "Invariance of approximative semantics with respect to program transformations", 1981; K. Kennedy, in "Program Flow
/// Analysis", 1981). Of branches those are needed that went both ways; what never ran needs nothing.
pub(crate) fn needed_for_only(function: &FunctionInput, stores: &[usize]) -> Vec<usize> {
    if function.code.len() > MAX_INSTRUCTIONS_FOR_WORK {
        return stores.to_vec();
    }
    let (without, with) = (needed(function, stores), needed(function, &[]));
    let only = |at: &usize| stores.contains(at) || (with[*at] && !without[*at]);
    (0..function.code.len()).filter(only).collect()
}

/// By instruction: whether anything that the function does needs it, if these stores do not count.
fn needed(function: &FunctionInput, ignored: &[usize]) -> Vec<bool> {
    let blocks = function.flow.blocks();
    let counted = function.counts.len() == function.code.len();
    let runs = |at: usize| !counted || function.counts[at] > 0;
    let mut live: Vec<Locations> = vec![0; blocks.len()];
    let mut needed = vec![false; function.code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            let range = block.instructions.start as usize..block.instructions.end as usize;
            if range.is_empty() || !runs(range.start) {
                continue;
            }
            let next = block.successors.iter().map(|&next| next as usize);
            let mut now = next.fold(0, |all, next| all | live[next]);
            if block.successors.is_empty() {
                now |= LIVE_AT_RETURN;
            }
            for at in range.rev().filter(|at| !ignored.contains(at)) {
                let data = &function.data[at];
                let computes = match function.code[at].flow {
                    Flow::Next => data.opaque.is_none() && !data.stores(),
                    Flow::CondJump(_) => counted && goes_one_way(function, at),
                    _ => false,
                };
                if !computes || data.writes & now != 0 {
                    needed[at] = true;
                    now = now & !data.writes | data.reads() | called_with(function, at);
                }
            }
            changed |= now != live[index];
            live[index] = now;
        }
    }
    needed
}

fn goes_one_way(function: &FunctionInput, branch: usize) -> bool {
    let taken = function.taken.get(branch).copied().flatten();
    taken.is_some_and(|taken| taken == 0 || taken == function.counts[branch])
}

/// Registers that a call may hand over.
fn called_with(function: &FunctionInput, at: usize) -> Locations {
    match function.code[at].flow {
        Flow::Call(_) | Flow::IndirectCall => ARGUMENTS.iter().fold(0, |all, one| all | 1 << one),
        _ => 0,
    }
}
