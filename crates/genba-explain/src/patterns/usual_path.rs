//! The usual path through a function: what its calls reach without a way that few of them take.

use genba_code::{BlockId, Flow};

use crate::input::analysis_input::FunctionInput;

/// By block: whether control comes there from the function's entry by ways that are each taken more than
/// `rarely` times. A loop behind a rare way is not of the usual path, however many rounds it makes.
pub(crate) fn usual_blocks(function: &FunctionInput, rarely: f64) -> Vec<bool> {
    let blocks = function.flow.blocks();
    let mut usual = vec![false; blocks.len()];
    let mut work: Vec<BlockId> = function.flow.block_of(0).into_iter().collect();
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut usual[block as usize], true) {
            continue;
        }
        let next = blocks[block as usize].successors.iter().copied();
        work.extend(next.filter(|&next| way_taken(function, block, next) > rarely));
    }
    usual
}

/// Times that control went from a block's end to another block; at most, where several ways lead on that were not
/// counted apart.
pub(crate) fn way_taken(function: &FunctionInput, from: BlockId, to: BlockId) -> f64 {
    let blocks = function.flow.blocks();
    let head = blocks[to as usize].instructions.start as usize;
    let last = blocks[from as usize].instructions.end as usize - 1;
    let most = function.counts[head].min(function.counts[last]);
    let (Flow::CondJump(target), Some(taken)) = (
        function.code[last].flow,
        function.taken.get(last).copied().flatten(),
    ) else {
        return most as f64;
    };
    match function.code[head].address == target {
        true => taken as f64,
        false => function.counts[last].saturating_sub(taken) as f64,
    }
}
