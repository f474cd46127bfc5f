//! Recovers the program's state from a place in translated code: its program counter and registers,
//! and what its counters have too much or too little.
//!
//! What must hold: the recovered state is one that the program has natively, before or after an
//! instruction, and resuming there has the same effect as resuming in the code cache. Dead values
//! may differ.

use crate::recovery_marks::{Mark, Marked};
use crate::thread_state::register;

/// What recovery needs of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    /// Address in the program.
    pub pc: u64,
    /// Lengths of its instructions.
    pub lengths: &'a [u8],
    /// Target of the direct branch that ends it; 0 for none. The program may have changed its code
    /// since.
    pub target: u64,
}

impl BlockView<'_> {
    /// Address of an instruction by its index; for one past the last, of what follows the block.
    #[must_use]
    pub fn address(&self, index: usize) -> u64 {
        let before = self.lengths.iter().take(index);
        self.pc + before.map(|&length| u64::from(length)).sum::<u64>()
    }

    fn last(&self) -> usize {
        self.lengths.len().saturating_sub(1)
    }
}

/// A correction of the count of a block that was left in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Index of the block in the fragment.
    pub block: usize,
    /// Index of the first instruction that was not executed.
    pub from: usize,
    /// Whether the block's counter had been incremented.
    pub counted: bool,
}

/// The program's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredState {
    /// Address of the next instruction.
    pub pc: u64,
    /// General registers, rsp included.
    pub registers: [u64; 16],
    /// If set, the address of the word that has the address of the next instruction; `pc` is not
    /// valid.
    pub next_at: Option<u64>,
    /// The count that is to be corrected, if any.
    pub correction: Option<Correction>,
    /// A jump from the first address to the second which was executed and not recorded.
    pub unrecorded: Option<(u64, u64)>,
}

/// What recovery needs of a fragment.
pub struct FragmentView<'a, B: Fn(usize) -> BlockView<'a>, E: Fn(u16) -> Option<u64>> {
    /// The fragment's recovery marks, by offset.
    pub marks: &'a [Marked],
    /// Returns a block by its index in the fragment.
    pub block: B,
    /// Returns the target of the exit whose stub an offset is in.
    pub stub: E,
}

/// The program's registers that translated code has saved in the thread's state.
#[derive(Clone, Copy, Debug, Default)]
pub struct SavedRegisters {
    /// The program's rax.
    pub rax: u64,
    /// The program's rcx.
    pub rcx: u64,
    /// The program's rdx.
    pub rdx: u64,
    /// Target of the indirect branch that is under way.
    pub target: u64,
}

struct Position {
    mark: Mark,
    block: usize,
    index: usize,
    counted: bool,
}

fn position(marks: &[Marked], offset: u16) -> Option<Position> {
    let mut at: Option<Position> = None;
    for marked in marks {
        if marked.offset > offset {
            break;
        }
        let block = usize::from(marked.block);
        match (marked.mark, &mut at) {
            (Mark::Instruction, Some(at)) => {
                at.index += 1;
                at.mark = Mark::Instruction;
            }
            (Mark::Counted, Some(at)) => {
                at.counted = true;
                at.mark = Mark::Instruction;
            }
            (
                mark @ (Mark::RaxSaved | Mark::RcxSaved | Mark::RaxRcxSaved | Mark::RaxRcxRdxSaved),
                Some(at),
            ) => {
                at.mark = mark;
            }
            (mark, at) => {
                *at = Some(Position {
                    mark,
                    block,
                    index: 0,
                    counted: mark != Mark::Block,
                });
            }
        }
    }
    at
}

/// Index of the block that an offset of a fragment belongs to.
#[must_use]
pub fn block_at(marks: &[Marked], offset: u16) -> Option<usize> {
    position(marks, offset).map(|at| at.block)
}

/// Index of the block at an offset if its counter has not been incremented there.
#[must_use]
pub fn uncounted_block_at(marks: &[Marked], offset: u16) -> Option<usize> {
    position(marks, offset)
        .filter(|at| !at.counted && at.mark != Mark::Data)
        .map(|at| at.block)
}

/// Recovers the state at an offset of a fragment; `None` where the code cache has no instruction.
#[must_use]
pub fn recover<'a, B, E>(
    view: &FragmentView<'a, B, E>,
    offset: u16,
    registers: &[u64; 16],
    saved: SavedRegisters,
) -> Option<RecoveredState>
where
    B: Fn(usize) -> BlockView<'a>,
    E: Fn(u16) -> Option<u64>,
{
    let at = position(view.marks, offset)?;
    let mut found = RecoveredState {
        pc: 0,
        registers: *registers,
        next_at: None,
        correction: None,
        unrecorded: None,
    };
    if at.mark == Mark::ExitStub {
        found.pc = (view.stub)(offset)?;
        return Some(found);
    }
    let block = (view.block)(at.block);
    let restore_rax =
        |found: &mut RecoveredState| found.registers[register::RAX as usize] = saved.rax;
    let restore_rcx =
        |found: &mut RecoveredState| found.registers[register::RCX as usize] = saved.rcx;
    let add_rsp = |found: &mut RecoveredState, bytes: u64| {
        let rsp = &mut found.registers[register::RSP as usize];
        *rsp = rsp.wrapping_add(bytes);
        *rsp
    };
    // Goes back to before an instruction, and corrects the block's count accordingly.
    let back = |found: &mut RecoveredState, index: usize| {
        found.pc = block.address(index);
        let executed_uncounted = !at.counted && index > 0;
        let counted_unexecuted = at.counted && index < block.lengths.len();
        found.correction = (executed_uncounted || counted_unexecuted).then_some(Correction {
            block: at.block,
            from: index,
            counted: at.counted,
        });
    };
    match at.mark {
        Mark::Block | Mark::Instruction | Mark::Counted => back(&mut found, at.index),
        Mark::RaxSaved => {
            restore_rax(&mut found);
            back(&mut found, at.index);
        }
        Mark::RcxSaved => {
            restore_rcx(&mut found);
            back(&mut found, at.index);
        }
        Mark::RaxRcxSaved | Mark::RaxRcxRdxSaved => {
            restore_rax(&mut found);
            restore_rcx(&mut found);
            if at.mark == Mark::RaxRcxRdxSaved {
                found.registers[register::RDX as usize] = saved.rdx;
            }
            back(&mut found, at.index);
        }
        Mark::ReturnPushed | Mark::ReturnPushedRcxSaved => {
            add_rsp(&mut found, 8);
            if at.mark == Mark::ReturnPushedRcxSaved {
                restore_rcx(&mut found);
            }
            back(&mut found, block.last());
        }
        Mark::ReturnPopped => back(&mut found, block.last()),
        Mark::ReturnPoppedRcxSaved => {
            restore_rcx(&mut found);
            back(&mut found, block.last());
        }
        Mark::Taken => found.pc = block.target,
        Mark::TakenUnrecorded | Mark::TakenUnrecordedRaxSaved => {
            if at.mark == Mark::TakenUnrecordedRaxSaved {
                restore_rax(&mut found);
            }
            let from = block.address(block.last());
            found.pc = block.target;
            found.unrecorded = Some((from, found.pc));
        }
        Mark::TakenRaxSaved => {
            restore_rax(&mut found);
            found.pc = block.target;
        }
        Mark::NotTaken => found.pc = block.address(block.lengths.len()),
        Mark::SyscallDone => {
            found.pc = block.address(block.lengths.len());
            found.registers[register::RCX as usize] = found.pc;
        }
        Mark::BranchedIndirectly => {
            restore_rcx(&mut found);
            found.pc = saved.target;
            found.unrecorded = Some((block.address(block.last()), saved.target));
        }
        Mark::JumpPad => {
            restore_rcx(&mut found);
            found.pc = saved.target;
        }
        Mark::ReturnPad | Mark::ReturnPadPopped => {
            restore_rcx(&mut found);
            let popped = if at.mark == Mark::ReturnPad { 8 } else { 0 };
            found.next_at = Some(add_rsp(&mut found, popped).wrapping_sub(8));
        }
        Mark::PadMatched => {
            restore_rcx(&mut found);
            found.pc = block.pc;
        }
        Mark::Data | Mark::ExitStub => return None,
    }
    Some(found)
}
