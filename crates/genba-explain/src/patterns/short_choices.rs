//! Branches between short pieces of code without effects, which a select could decide instead.

use genba_code::{BlockId, Flow};

use crate::constants::counts::MAX_INSTRUCTIONS_OF_CHOICE;
use crate::input::analysis_input::FunctionInput;
use crate::patterns::usual_path::way_taken;

/// A conditional branch whose outcome could be computed with instead.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Instructions of the pieces that only some executions run.
    pub pieces: Vec<usize>,
    /// Executions of an instruction of the pieces that a select would add.
    pub added: f64,
    /// Of two conditions in a row with the same way out: the second branch, and the executions that pass both.
    pub second: Option<(usize, f64)>,
}

/// The choice of the branch at an instruction: a piece that is left out or executed, one of two pieces before the
/// same code goes on, or a second condition that leads to the same place as the first.
pub(crate) fn short_choice(function: &FunctionInput, at: usize) -> Option<Choice> {
    let Flow::CondJump(_) = function.code.get(at)?.flow else {
        return None;
    };
    let block = function.flow.block_of(at)?;
    let &[one, other] = function.flow.blocks()[block as usize].successors.as_slice() else {
        return None;
    };
    if one == other {
        return None;
    }
    let all = function.counts[at] as f64;
    let spared = |piece: BlockId| {
        let times = way_taken(function, block, piece);
        (all - times).max(0.0) * instructions(function, piece).len() as f64
    };
    for (piece, join) in [(one, other), (other, one)] {
        if !is_piece(function, block, piece) {
            continue;
        }
        let next = function.flow.blocks()[piece as usize].successors.as_slice();
        if next == [join] {
            return Some(Choice {
                pieces: instructions(function, piece),
                added: spared(piece),
                second: None,
            });
        }
        if let [a, b] = *next
            && (a == join || b == join)
            && a != b
        {
            let last = function.flow.blocks()[piece as usize].instructions.end as usize - 1;
            let through = if a == join { b } else { a };
            return Some(Choice {
                pieces: instructions(function, piece),
                added: spared(piece),
                second: Some((last, way_taken(function, piece, through))),
            });
        }
    }
    let ends = |piece: BlockId| function.flow.blocks()[piece as usize].successors.as_slice();
    let alike = ends(one).len() == 1 && ends(one) == ends(other);
    (alike && is_piece(function, block, one) && is_piece(function, block, other)).then(|| {
        let mut pieces = instructions(function, one);
        pieces.extend(instructions(function, other));
        Choice {
            pieces,
            added: spared(one) + spared(other),
            second: None,
        }
    })
}

fn instructions(function: &FunctionInput, block: BlockId) -> Vec<usize> {
    let range = &function.flow.blocks()[block as usize].instructions;
    (range.start as usize..range.end as usize).collect()
}

/// Whether a block is only reached from another one, is short, and has no effect but on registers.
fn is_piece(function: &FunctionInput, from: BlockId, block: BlockId) -> bool {
    let one = &function.flow.blocks()[block as usize];
    let plain = |&at: &usize| {
        let data = &function.data[at];
        data.opaque.is_none() && !data.stores()
    };
    let all = instructions(function, block);
    one.predecessors.as_slice() == [from]
        && all.len() <= MAX_INSTRUCTIONS_OF_CHOICE
        && all.iter().all(plain)
}
