//! `cold-path-in-hot-function`: each call of a hot function saves registers and makes a stack frame
//! for a path that is hardly ever taken.
//!
//! **Signature.** A function that is called often. Its usual path (what calls reach without a way that few of
//! them take) saves and restores registers or moves the stack pointer, several instructions of each call. If it calls
//! nothing and its values fit in the registers that a function may change freely, all of these are for the rest; if it
//! calls others, those are that save what only the rest uses. A frame pointer is left out: it is there by choice.
//! A call that takes far longer than its instructions need waits for something beside which they run.
//!
//! **Confirmation.** The rare path in a function of its own that is not inlined.
//!
//! **Gain.** The saving instructions' part of those of a call, of the function's measured time. Beside a wait they
//! take no more than their issue slots: the likely and the least gain are those of that part of a call's time
//! which its instructions need.
//!
//! **Source.** R. Muth and S. Debray, "Partial inlining", technical report, University of Arizona,
//! 1997; F. Chow, "Minimizing register usage penalty at procedure calls", PLDI 1988 (shrink-wrapping,
//! which compilers do only where the frame is not needed on the way); serde_json 0e90b61b8cef.

use genba_code::{Flow, Opaque, STACK_POINTER};
use genba_model::{Cause, Estimate, Fix, PathFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_CALLS_IN_HOT_CODE, MIN_FRAME_INSTRUCTIONS, MIN_FRAME_PART_OF_CALL, RARE_PATH,
};
use crate::constants::gains::{FRAME_SAVED_RANGE, MAX_RESIDUAL};
use crate::constants::model_fit::MIN_ISSUE_PART_OF_CALL;
use crate::constants::registers::{CALLEE_SAVED, FREE_REGISTERS, RBP, XMM0};
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::bits;
use crate::patterns::calls::{cycles_of_all, slot};
use crate::patterns::live_registers::most_live_at_once;
use crate::patterns::usual_path::{usual_blocks, way_taken};

/// Finds functions whose usual path pays for a rare one that makes calls.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let functions = input.functions.iter().enumerate();
    // A library's templates are not the user's to split.
    let own = functions.filter(|(_, one)| one.own && !one.is_library_template());
    own.filter_map(|(index, function)| candidate(input, index, function))
        .collect()
}

fn candidate(input: &AnalysisInput, index: usize, function: &FunctionInput) -> Option<Candidate> {
    let calls = function.calls?;
    if !function.counted
        || function.counts.len() != function.code.len()
        || calls < MIN_CALLS_IN_HOT_CODE
        || function.share.value < MIN_SHARE_OF_CALLEE
        || function.counts.first().copied() != Some(calls)
    {
        return None;
    }
    let rarely = RARE_PATH * calls as f64;
    let blocks = usual_blocks(function, rarely);
    let (usual, rest): (Vec<usize>, Vec<usize>) = (0..function.code.len()).partition(|&at| {
        let block = function.flow.block_of(at);
        block.is_some_and(|block| blocks[block as usize])
    });
    let per_call = |list: &[usize]| {
        let times = list.iter().map(|&at| function.counts[at] as f64);
        times.sum::<f64>() / calls as f64
    };
    let share = function.heat_of(usual.iter().copied());
    let executed = per_call(&usual);
    let needed_cycles = slot(input) * executed;
    let each = cycles_of_all(input).map(|all| share * all / calls as f64);
    if share < MIN_SHARE_OF_CALLEE
        || each.is_some_and(|each| needed_cycles < MIN_ISSUE_PART_OF_CALL * each)
    {
        return None;
    }
    let frame = frame_for_the_rest(function, &blocks, &usual, &rest)?;
    let saving = per_call(&frame);
    if saving < MIN_FRAME_INSTRUCTIONS.max(MIN_FRAME_PART_OF_CALL * executed) {
        return None;
    }
    let reached = ways_into_the_rest(function, &blocks);
    let part = saving / executed;
    let issued = part * each.map_or(1.0, |each| (needed_cycles / each).min(1.0));
    let fix = Fix::SplitColdPath {
        function: function.function.clone(),
    };
    // The line of the function's head is that of its frame.
    let mut site = frame.clone();
    site.sort_unstable();
    let mut one = Candidate::new(Cause::ColdPathInHotFunction, Some(index), site, fix);
    one.affected = usual;
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: 1.0 - issued * FRAME_SAVED_RANGE.0,
        low: (1.0 - part * FRAME_SAVED_RANGE.2).max(0.0),
        high: (1.0 - issued * FRAME_SAVED_RANGE.1).min(MAX_RESIDUAL),
    };
    one.executions = Some(calls);
    Some(
        one.fact(PathFact::RarePath {
            function: function.function.clone(),
            calls,
            rare: reached / calls as f64,
        })
        .fact(PathFact::FrameInstructions {
            instructions: executed,
            saving,
        })
        .fact(PathFact::FunctionTime { share }),
    )
}

fn has_call(function: &FunctionInput, at: usize) -> bool {
    function.data[at].opaque == Some(Opaque::Call)
}

/// Instructions of the usual path that make the frame which only the rest of the function needs.
fn frame_for_the_rest(
    function: &FunctionInput,
    blocks: &[bool],
    usual: &[usize],
    rest: &[usize],
) -> Option<Vec<usize>> {
    let frame = frame_instructions(function, usual);
    let saved = frame
        .iter()
        .fold(0, |all, &at| all | saved_by(function, at));
    let of_rest = registers_of(function, rest, &frame_instructions(function, rest));
    let for_the_rest = of_rest & saved != 0 || rest.iter().any(|&at| has_call(function, at));
    let needed = registers_of(function, usual, &frame);
    let calls = usual.iter().any(|&at| has_call(function, at));
    let others = usual.iter().any(|&at| !returns_or_computes(function, at));
    if calls {
        // Values that live across the usual calls are in saved registers, too.
        let idle = saved & of_rest & !needed;
        let idly = |at: &usize| saved_by(function, *at) & idle != 0;
        return Some(frame.into_iter().filter(idly).collect());
    }
    let free = most_live_at_once(function, blocks, &frame) <= FREE_REGISTERS;
    (for_the_rest && free && !others).then_some(frame)
}

/// The register that an instruction pushes or pops, as a set.
fn saved_by(function: &FunctionInput, at: usize) -> u128 {
    let data = &function.data[at];
    let moved = match function.code[at].mnemonic {
        "push" => data.data_reads,
        "pop" => data.writes,
        _ => 0,
    };
    moved & CALLEE_SAVED
}

/// Whether an instruction of the usual path leaves nothing to be saved for.
fn returns_or_computes(function: &FunctionInput, at: usize) -> bool {
    let leaves = matches!(
        function.code[at].flow,
        Flow::Return | Flow::Jump(_) | Flow::CondJump(_) | Flow::Next
    );
    leaves && matches!(function.data[at].opaque, None | Some(Opaque::Exit))
}

/// Instructions of the usual path that save and restore registers, or make, guard and drop the frame.
fn frame_instructions(function: &FunctionInput, usual: &[usize]) -> Vec<usize> {
    let pointer = 1u128 << STACK_POINTER;
    let frame_pointer = usual.iter().take(4).any(|&at| {
        let data = &function.data[at];
        data.sum
            .is_some_and(|sum| sum.to == RBP && sum.source == Some(STACK_POINTER))
    });
    let kept = |set: u128| set & CALLEE_SAVED != 0 && !(frame_pointer && set & (1 << RBP) != 0);
    let mut found: Vec<usize> = usual
        .iter()
        .copied()
        .filter(|&at| {
            let data = &function.data[at];
            let moves_pointer = data
                .sum
                .is_some_and(|sum| sum.to == STACK_POINTER && sum.source == Some(STACK_POINTER));
            match function.code[at].mnemonic {
                "push" => kept(data.data_reads & !pointer),
                "pop" => kept(data.writes & !pointer),
                "add" | "sub" | "lea" => moves_pointer,
                // Pages of a large frame are touched in their order.
                "or" => data
                    .memory
                    .iter()
                    .any(|one| one.base == Some(STACK_POINTER)),
                _ => false,
            }
        })
        .collect();
    let guard = guard_instructions(function, usual);
    let others = |at: &&usize| !found.contains(at) && !guard.contains(at);
    // A usual path with arrays of its own needs the guard itself.
    let own_arrays = usual.iter().filter(others).any(|&at| {
        let data = &function.data[at];
        let mut memory = data.memory.iter();
        data.data_reads & pointer != 0
            || memory.any(|one| one.base == Some(STACK_POINTER) && !one.stack)
    });
    if !own_arrays {
        found.extend(guard);
        found.sort_unstable();
    }
    found
}

/// Instructions that put a guard value behind the arrays of a frame and test it at the end
/// (`-fstack-protector`): of the thread's block, at a fixed place (System V ABI for x86-64 as glibc has it).
fn guard_instructions(function: &FunctionInput, usual: &[usize]) -> Vec<usize> {
    let of_guard = |at: usize| {
        let mut memory = function.data[at].memory.iter();
        memory.any(|one| one.segment && one.displacement == GUARD_OFFSET && one.base.is_none())
    };
    let slot = |at: usize, writes: bool| {
        let mut memory = function.data[at].memory.iter();
        memory
            .find(|one| one.base == Some(STACK_POINTER) && one.writes == writes && !one.stack)
            .map(|one| one.displacement)
    };
    let Some(first) = usual.iter().position(|&at| of_guard(at)) else {
        return Vec::new();
    };
    let value = function.data[usual[first]].writes;
    let stored = usual[first + 1..]
        .iter()
        .copied()
        .find(|&at| slot(at, true).is_some() && function.data[at].data_reads & value != 0);
    let place = stored.and_then(|at| slot(at, true));
    let mut list = Vec::new();
    for (index, &at) in usual.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| usual[before]);
        let tests =
            before.is_some_and(of_guard) && matches!(function.code[at].flow, Flow::CondJump(_));
        let kept = place.is_some() && (slot(at, false) == place || slot(at, true) == place);
        if of_guard(at) || tests || kept {
            list.push(at);
        }
    }
    list
}

/// Where the thread's block has the guard value.
const GUARD_OFFSET: i64 = 0x28;

/// General registers that instructions work with, beside the stack pointer.
fn registers_of(function: &FunctionInput, list: &[usize], frame: &[usize]) -> u128 {
    let all = list
        .iter()
        .filter(|at| !frame.contains(at))
        .fold(0, |all, &at| {
            let data = &function.data[at];
            all | data.reads() | data.writes
        });
    bits(all & !(1 << STACK_POINTER))
        .filter(|&location| location < XMM0)
        .fold(0, |all, location| all | 1 << location)
}

/// How often calls leave the usual path.
fn ways_into_the_rest(function: &FunctionInput, usual: &[bool]) -> f64 {
    let blocks = function.flow.blocks();
    let from = (0..blocks.len() as u32).filter(|&block| usual[block as usize]);
    from.flat_map(|block| {
        let next = blocks[block as usize].successors.iter().copied();
        let out = next.filter(|&next| !usual[next as usize]);
        out.map(move |next| way_taken(function, block, next))
    })
    .sum()
}
