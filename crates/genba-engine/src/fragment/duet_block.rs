//! Emits blocks with edits twice: as they are, and edited.
//!
//! ```text
//! selector     jmp gs:[SELECTOR]: to the side that the thread executes
//! side 0       the block as it is, its counter increment, its exits
//! side 1       the same, with other code for edited instructions
//! ```
//!
//! What must hold: both sides begin at the same offset in a cache line, and all that leads to the block
//! leads to its selector.

use super::{BuildContext, Builder, Error, NewDuet, NewRestore, NextBlock};
use crate::basic_block::{Block, BlockEnd};
use crate::counter_placement::place;
use crate::duet_layout::{Edit, NOT_CONTAINED};
use crate::recovery_marks::Mark;
use crate::thread_state;

/// Alignment of sides, bytes: a cache line.
const SIDE_ALIGNMENT: u64 = 64;

impl<W: BuildContext> Builder<'_, W> {
    /// Whether an instruction of a block is edited, other than a call or an indirect branch at its end.
    pub(super) fn has_edits(&self, block: &Block) -> bool {
        let end = match block.instructions.last() {
            Some(last) if ends_apart(block) => last.ip(),
            _ => block.next(),
        };
        self.context.edits_within(block.pc, end)
    }

    /// Emits a block twice; `None` if there are too many such blocks. A call, an indirect branch or a
    /// system call at its end becomes a block of its own, so that both sides share it.
    pub(super) fn duet(&mut self, block: &Block) -> Result<Option<Option<NextBlock>>, Error> {
        let Some(number) = self.context.new_duet_block() else {
            return Ok(None);
        };
        let mut block = block.clone();
        if ends_apart(&block) {
            block.instructions.pop();
            block.end = BlockEnd::Falls;
        }
        let counter = self.context.counter(&block, false)?;
        self.open(&block, counter, false);
        self.emitter().jump_vector(thread_state::selector(number));
        let mut sides = [0; 2];
        for (side, offset) in (0..).zip(&mut sides) {
            self.mark(Mark::Data);
            while self.fragment.emitter.here() % SIDE_ALIGNMENT != 0 {
                self.emitter().bytes(&[0xCC]);
            }
            *offset = self.fragment.emitter.offset() as u16;
            self.open(&block, counter, true);
            self.side(&block, counter, side == 1 && self.context.makes_edits())?;
            if let Some(next) = self.end(&block, None)? {
                self.jump(next.pc);
            }
        }
        self.fragment.duets.push(NewDuet { sides, counter });
        Ok(Some(None))
    }

    fn side(&mut self, block: &Block, counter: u32, edited: bool) -> Result<(), Error> {
        let placement = place(block, &*self.context, self.factory);
        let body = block.body();
        for (index, instruction) in block.instructions.iter().enumerate() {
            if index > 0 {
                self.mark(Mark::Instruction);
            }
            if index == placement.at {
                self.count(placement.method, counter);
            }
            if index >= body {
                continue;
            }
            let raw = self.raw(instruction);
            match self.context.edit(instruction.ip()).filter(|_| edited) {
                Some(edit) if is_for(edit, &raw) => {
                    let edit = *edit;
                    let begin = self.fragment.emitter.offset();
                    let code = edit.code.get(..usize::from(edit.code_length));
                    let code = code.unwrap_or_default();
                    let (before, after) = match edit.original_at {
                        NOT_CONTAINED => (code, None),
                        at => match code.split_at_checked(usize::from(at)) {
                            Some((before, after)) => (before, Some(after)),
                            None => (code, Some(&code[..0])),
                        },
                    };
                    self.emitter().bytes(before);
                    if let Some(after) = after {
                        match edit.without_lock {
                            0 => self.emitter().copy(instruction, &raw)?,
                            _ => self.emitter().copy_without_lock(instruction, &raw)?,
                        }
                        self.emitter().bytes(after);
                    }
                    let restores = edit.restore.iter().take(usize::from(edit.restores));
                    for restore in restores {
                        self.fragment.restores.push(NewRestore {
                            begin: (begin + usize::from(restore.begin)) as u16,
                            end: (begin + usize::from(restore.end)) as u16,
                            register: restore.register,
                            slot: restore.slot,
                        });
                    }
                }
                other => {
                    let foreign = other.is_some();
                    self.emitter().copy(instruction, &raw)?;
                    if foreign {
                        self.context.note_foreign_edit();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether the instruction at the end of a block is not part of its sides.
fn ends_apart(block: &Block) -> bool {
    !matches!(
        block.end,
        BlockEnd::Falls | BlockEnd::Jump(_) | BlockEnd::Branch(_)
    )
}

/// Whether an edit is for the instruction with these bytes.
fn is_for(edit: &Edit, raw: &[u8]) -> bool {
    edit.original.get(..usize::from(edit.original_length)) == Some(raw)
}
