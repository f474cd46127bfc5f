//! From a place in the cache to the state of the program: where it is, what its registers are,
//! and what has been counted too much or too little.
//!
//! What must hold: the state found is one that the program has natively — before the
//! instruction named, or after it — and going on from there has the same effect as going on in
//! the cache. Values that are dead may differ.

use iced_x86::{Decoder, DecoderOptions};

use crate::liveness::ProgramCode;
use crate::recovery_marks::{Mark, Marked};
use crate::thread_state::register;

/// A block as far as needed here.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    /// Address in the program.
    pub pc: u64,
    /// Lengths of its instructions.
    pub lengths: &'a [u8],
}

impl BlockView<'_> {
    /// Address of an instruction, or of what follows the last.
    #[must_use]
    pub fn address(&self, index: usize) -> u64 {
        let before = self.lengths.iter().take(index);
        self.pc + before.map(|&length| u64::from(length)).sum::<u64>()
    }

    fn last(&self) -> usize {
        self.lengths.len().saturating_sub(1)
    }
}

/// A block's count does not fit what has been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Index of the block in the fragment.
    pub block: usize,
    /// The first instruction that has not been executed.
    pub from: usize,
    /// Whether the block has been counted.
    pub counted: bool,
}

/// The state found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredState {
    /// Next instruction of the program.
    pub pc: u64,
    /// General registers, rsp included.
    pub registers: [u64; 16],
    /// Address of the word that says what is next, instead of `pc`.
    pub next_at: Option<u64>,
    /// What is to be corrected.
    pub correction: Option<Correction>,
    /// The jump at the first address went to the second, which has not been recorded.
    pub unrecorded: Option<(u64, u64)>,
}

/// A fragment as far as needed here.
pub struct FragmentView<'a, B: Fn(usize) -> BlockView<'a>, E: Fn(u16) -> Option<u64>> {
    /// What holds where.
    pub marks: &'a [Marked],
    /// A block by its index.
    pub block: B,
    /// Target of the exit whose stub this offset is in.
    pub stub: E,
}

/// Registers put aside.
#[derive(Clone, Copy, Debug, Default)]
pub struct SavedRegisters {
    /// rax.
    pub rax: u64,
    /// rcx.
    pub rcx: u64,
    /// Where an indirect branch goes.
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
            (mark @ (Mark::RaxSaved | Mark::RcxSaved), Some(at)) => {
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

/// The block at an offset whose counter has not gone up yet, if that is so.
#[must_use]
pub fn uncounted_at(marks: &[Marked], offset: u16) -> Option<usize> {
    position(marks, offset)
        .filter(|at| !at.counted && at.mark != Mark::Data)
        .map(|at| at.block)
}

/// Finds the state at an offset of a fragment. `None` where the cache has nothing to execute.
#[must_use]
pub fn recover<'a, B, E>(
    view: &FragmentView<'a, B, E>,
    code: &dyn ProgramCode,
    offset: u16,
    registers: &[u64; 16],
    aside: SavedRegisters,
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
    let rax_aside =
        |found: &mut RecoveredState| found.registers[register::RAX as usize] = aside.rax;
    let rcx_aside =
        |found: &mut RecoveredState| found.registers[register::RCX as usize] = aside.rcx;
    let add_rsp = |found: &mut RecoveredState, bytes: u64| {
        let rsp = &mut found.registers[register::RSP as usize];
        *rsp = rsp.wrapping_add(bytes);
        *rsp
    };
    // Backwards to before an instruction: what of the block has not been executed?
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
            rax_aside(&mut found);
            back(&mut found, at.index);
        }
        Mark::RcxSaved => {
            rcx_aside(&mut found);
            back(&mut found, at.index);
        }
        Mark::ReturnPushed | Mark::ReturnPushedRcxSaved => {
            add_rsp(&mut found, 8);
            if at.mark == Mark::ReturnPushedRcxSaved {
                rcx_aside(&mut found);
            }
            back(&mut found, block.last());
        }
        Mark::ReturnPopped => back(&mut found, block.last()),
        Mark::ReturnPoppedRcxSaved => {
            rcx_aside(&mut found);
            back(&mut found, block.last());
        }
        Mark::Taken => found.pc = branch_target(code, block.address(block.last())),
        Mark::TakenUnrecorded | Mark::TakenUnrecordedRaxSaved => {
            if at.mark == Mark::TakenUnrecordedRaxSaved {
                rax_aside(&mut found);
            }
            let from = block.address(block.last());
            found.pc = branch_target(code, from);
            found.unrecorded = Some((from, found.pc));
        }
        Mark::TakenRaxSaved => {
            rax_aside(&mut found);
            found.pc = branch_target(code, block.address(block.last()));
        }
        Mark::NotTaken => found.pc = block.address(block.lengths.len()),
        Mark::SyscallDone => {
            found.pc = block.address(block.lengths.len());
            found.registers[register::RCX as usize] = found.pc;
        }
        Mark::BranchedIndirectly => {
            rcx_aside(&mut found);
            found.pc = aside.target;
            found.unrecorded = Some((block.address(block.last()), aside.target));
        }
        Mark::JumpPad => {
            rcx_aside(&mut found);
            found.pc = aside.target;
        }
        Mark::ReturnPad | Mark::ReturnPadPopped => {
            rcx_aside(&mut found);
            let popped = if at.mark == Mark::ReturnPad { 8 } else { 0 };
            found.next_at = Some(add_rsp(&mut found, popped).wrapping_sub(8));
        }
        Mark::PadMatched => {
            rcx_aside(&mut found);
            found.pc = block.pc;
        }
        Mark::Data | Mark::ExitStub => return None,
    }
    Some(found)
}

/// Where the jump at an address goes.
fn branch_target(code: &dyn ProgramCode, pc: u64) -> u64 {
    let mut decoder = Decoder::with_ip(64, code.bytes(pc), pc, DecoderOptions::NONE);
    decoder.decode().near_branch_target()
}
