//! `cold-path-in-hot-function`: each call of a hot function saves registers and makes a stack frame
//! for a path that is hardly ever taken.
//!
//! **Signature.** A short function, called often, whose usual path calls nothing and gets by with
//! the registers that a function may change freely, and yet executes several instructions that
//! save and restore registers or move the stack pointer; blocks that few calls reach make calls,
//! for which the registers are saved. A frame pointer is left out: it is there by choice. A call that
//! takes far longer than its instructions need waits for something beside which they run.
//!
//! **Confirmation.** The rare path in a function of its own that is not inlined.
//!
//! **Gain.** The saving instructions' part of those of a call, of the function's measured time.
//!
//! **Source.** R. Muth and S. Debray, "Partial inlining", technical report, University of Arizona,
//! 1997; F. Chow, "Minimizing register usage penalty at procedure calls", PLDI 1988 (shrink-wrapping,
//! which compilers do only where the frame is not needed on the way); serde_json 0e90b61b8cef.

use genba_code::{Flow, Opaque, STACK_POINTER};
use genba_model::{Cause, Estimate, Fix, PathFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_INSTRUCTIONS_OF_HOT_PATH, MIN_CALLS_IN_HOT_CODE, MIN_FRAME_INSTRUCTIONS, RARE_PATH,
};
use crate::constants::gains::{FRAME_SAVED_RANGE, MAX_RESIDUAL};
use crate::constants::model_fit::MIN_ISSUE_PART_OF_CALL;
use crate::constants::registers::{CALLEE_SAVED, FREE_REGISTERS, RBP, XMM0};
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::bits;
use crate::patterns::calls::{cycles_of_all, slot};

/// Finds functions whose usual path pays for a rare one that makes calls.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let own = input.functions.iter().enumerate().filter(|one| one.1.own);
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
    let (rare, usual): (Vec<usize>, Vec<usize>) = (0..function.code.len())
        .filter(|&at| function.counts[at] > 0 || has_call(function, at))
        .partition(|&at| function.counts[at] as f64 <= rarely);
    let executed = usual
        .iter()
        .map(|&at| function.counts[at] as f64)
        .sum::<f64>()
        / calls as f64;
    let needed_cycles = slot(input) * executed;
    let each = cycles_of_all(input).map(|all| function.share.value * all / calls as f64);
    if executed > MAX_INSTRUCTIONS_OF_HOT_PATH
        || each.is_some_and(|each| needed_cycles < MIN_ISSUE_PART_OF_CALL * each)
        || usual.iter().any(|&at| !returns_or_computes(function, at))
        || !rare.iter().any(|&at| has_call(function, at))
    {
        return None;
    }
    let frame = frame_instructions(function, &usual);
    let saving = frame
        .iter()
        .map(|&at| function.counts[at] as f64)
        .sum::<f64>()
        / calls as f64;
    let needed = registers_of(function, &usual, &frame);
    if saving < MIN_FRAME_INSTRUCTIONS || (needed & !XMM_AND_UP).count_ones() > FREE_REGISTERS {
        return None;
    }
    let reached = rare_entries(function, &rare, rarely);
    let part = saving / executed;
    let fix = Fix::SplitColdPath {
        function: function.function.clone(),
    };
    // The line of the function's head is that of its frame.
    let mut site = frame.clone();
    site.sort_unstable();
    let mut one = Candidate::new(Cause::ColdPathInHotFunction, Some(index), site, fix);
    one.affected = usual;
    one.share = Some(function.share.value);
    one.residual_fraction = Estimate {
        value: 1.0 - part * FRAME_SAVED_RANGE.0,
        low: (1.0 - part * FRAME_SAVED_RANGE.2).max(0.0),
        high: (1.0 - part * FRAME_SAVED_RANGE.1).min(MAX_RESIDUAL),
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
        .fact(PathFact::FunctionTime {
            share: function.share.value,
        }),
    )
}

const XMM_AND_UP: u128 = !((1u128 << XMM0) - 1);

fn has_call(function: &FunctionInput, at: usize) -> bool {
    function.data[at].opaque == Some(Opaque::Call)
}

/// Whether an instruction of the usual path leaves nothing to be saved for.
fn returns_or_computes(function: &FunctionInput, at: usize) -> bool {
    let leaves = matches!(
        function.code[at].flow,
        Flow::Return | Flow::Jump(_) | Flow::CondJump(_) | Flow::Next
    );
    leaves && matches!(function.data[at].opaque, None | Some(Opaque::Exit))
}

/// Instructions of the usual path that save and restore registers, or make and drop the frame.
fn frame_instructions(function: &FunctionInput, usual: &[usize]) -> Vec<usize> {
    let pointer = 1u128 << STACK_POINTER;
    let frame_pointer = usual.iter().take(4).any(|&at| {
        let data = &function.data[at];
        data.sum
            .is_some_and(|sum| sum.to == RBP && sum.source == Some(STACK_POINTER))
    });
    let kept = |set: u128| set & CALLEE_SAVED != 0 && !(frame_pointer && set & (1 << RBP) != 0);
    usual
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
                _ => false,
            }
        })
        .collect()
}

/// General registers that the usual path works with, beside the stack pointer.
fn registers_of(function: &FunctionInput, usual: &[usize], frame: &[usize]) -> u128 {
    let all = usual
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

/// How often the rare blocks are entered from the usual path.
fn rare_entries(function: &FunctionInput, rare: &[usize], rarely: f64) -> f64 {
    let blocks = function.flow.blocks();
    let is_rare = |block: u32| {
        let head = blocks[block as usize].instructions.start as usize;
        function.counts[head] as f64 <= rarely
    };
    let mut heads: Vec<u32> = rare
        .iter()
        .filter_map(|&at| function.flow.block_of(at))
        .collect();
    heads.dedup();
    heads
        .iter()
        .filter(|&&block| {
            let before = &blocks[block as usize].predecessors;
            before.iter().any(|&from| !is_rare(from))
        })
        .map(|&block| function.counts[blocks[block as usize].instructions.start as usize] as f64)
        .sum()
}
