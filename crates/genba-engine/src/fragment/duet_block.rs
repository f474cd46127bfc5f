//! Emits blocks with edits twice: as they are, and edited.
//!
//! ```text
//! selector     jmp gs:[SELECTOR]: to the side that the thread executes
//! side 0       the block as it is, its counter increment, its exits
//! side 1       the same, with other code for edited instructions
//! ```
//!
//! A block that branches to itself stays on its side, without the selector.
//!
//! What must hold: both sides begin at the same offset in a cache line, and all that leads to the block
//! from elsewhere leads to its selector.

use alloc::vec::Vec;

use iced_x86::Instruction;

use super::{BuildContext, Builder, Error, NewDuet, NewRestore, NextBlock};
use crate::basic_block::{Block, BlockEnd};
use crate::counter_placement::{IncrementMethod, Placement, place};
use crate::duet_layout::{BRANCH_ALWAYS, BRANCH_AS_IS, BRANCH_NEVER, Edit, NOT_CONTAINED, OPEN};
use crate::recovery_marks::Mark;
use crate::thread_state;

/// Alignment of sides, bytes: a cache line.
const SIDE_ALIGNMENT: u64 = 64;

impl<W: BuildContext> Builder<'_, W> {
    /// Whether an instruction of a block is edited, other than an indirect branch at its end.
    pub(super) fn has_edits(&self, block: &Block) -> bool {
        let end = match block.instructions.last() {
            // A block of a call alone is what both sides of the block before share.
            Some(last)
                if ends_apart(block)
                    && (block.instructions.len() == 1 || self.edit_of_call(block, 1).is_none()) =>
            {
                last.ip()
            }
            _ => block.next(),
        };
        self.context.edits_within(block.pc, end)
    }

    /// Returns the edit of the call at the end of a block.
    fn edit_of_call(&self, block: &Block, side: u8) -> Option<Edit> {
        let last = block.instructions.last()?;
        let calls = matches!(block.end, BlockEnd::Call(_) | BlockEnd::CallIndirect);
        let edit = self.context.edit(last.ip(), side).filter(|_| calls)?;
        is_for(edit, &self.raw(last)).then_some(*edit)
    }

    /// Emits a block twice; `None` if there are too many such blocks. A call, an indirect branch or a
    /// system call at its end becomes a block of its own, so that both sides share it.
    pub(super) fn duet(&mut self, block: &Block) -> Result<Option<Option<NextBlock>>, Error> {
        let Some(number) = self.context.new_duet_block() else {
            return Ok(None);
        };
        let mut block = block.clone();
        let returns_to = block.next();
        let left_out = match self.context.makes_edits() {
            true => self.edit_of_call(&block, 1),
            false => None,
        };
        if ends_apart(&block) {
            block.instructions.pop();
            block.end = BlockEnd::Falls;
        }
        let counter = self.context.counter(&block, false)?;
        self.open(&block, counter, false);
        self.emitter().jump_vector(thread_state::selector(number));
        let repeats = block.end == BlockEnd::Branch(block.pc);
        let (mut sides, mut ends) = ([0; 2], [0; 2]);
        for (side, offset) in sides.iter_mut().enumerate() {
            let exits = self.fragment.exits.len();
            self.mark(Mark::Data);
            while !self.fragment.emitter.here().is_multiple_of(SIDE_ALIGNMENT) {
                self.emitter().bytes(&[0xCC]);
            }
            *offset = self.fragment.emitter.offset() as u16;
            self.open(&block, counter, true);
            // Without edits, both sides are side 0.
            let made = match self.context.makes_edits() {
                true => side as u8,
                false => 0,
            };
            self.side(&block, counter, made)?;
            let own = self.fragment.emitter.base + u64::from(*offset);
            let next = match (self.edit_of_branch(&block, made), &left_out) {
                (Some((to, edit)), _) => self.edited_branch(&block, to, &edit)?,
                // In place of a call: its code, and what follows the call.
                (None, Some(edit)) if made == 1 => {
                    let code = edit.code.get(..usize::from(edit.code_length));
                    self.mark(Mark::NotTaken);
                    self.emitter().bytes(code.unwrap_or_default());
                    let (pc, landing) = (returns_to, false);
                    Some(NextBlock { pc, landing })
                }
                (None, _) => self.end(&block, None)?,
            };
            // A loop stays on its side: a thread that is to change it is led out by the timer.
            for exit in self.fragment.exits.iter_mut().skip(exits) {
                if repeats && exit.target == block.pc {
                    exit.aimed = Some(own);
                }
            }
            if let Some(next) = next {
                self.jump(next.pc);
            }
            ends[side] = self.fragment.emitter.offset() as u16;
        }
        self.fragment.duets.push(NewDuet {
            sides,
            ends,
            repeats,
            counter,
        });
        Ok(Some(None))
    }

    fn side(&mut self, block: &Block, counter: u32, side: u8) -> Result<(), Error> {
        let mut placement = place(block, &*self.context, self.factory);
        // Edits may use a register that is dead in the program.
        if placement.method != IncrementMethod::Memory {
            placement = Placement {
                at: 0,
                method: IncrementMethod::SpilledRax,
            };
        }
        let body = block.body();
        let edits = self.edits_of(block, side);
        let mut is_marked = true;
        for (index, instruction) in block.instructions.iter().enumerate() {
            if !is_marked {
                self.mark(Mark::Instruction);
            }
            is_marked = false;
            if index == placement.at {
                self.count(placement.method, counter);
            }
            if index >= body {
                continue;
            }
            match edits.iter().find(|(at, _)| *at == index) {
                Some((_, edit)) => is_marked = self.edited(instruction, edit)?,
                None => {
                    let raw = self.raw(instruction);
                    self.emitter().copy(instruction, &raw)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the edit of the conditional jump at the end of a block, and where it leads.
    fn edit_of_branch(&self, block: &Block, side: u8) -> Option<(u64, Edit)> {
        let (BlockEnd::Branch(to), Some(last)) = (block.end, block.instructions.last()) else {
            return None;
        };
        let edit = self.context.edit(last.ip(), side)?;
        is_for(edit, &self.raw(last)).then_some((to, *edit))
    }

    /// Emits the code of an edit and the conditional jump after it, with another condition.
    fn edited_branch(
        &mut self,
        block: &Block,
        to: u64,
        edit: &Edit,
    ) -> Result<Option<NextBlock>, Error> {
        let code = edit.code.get(..usize::from(edit.code_length));
        self.emitter().bytes(code.unwrap_or_default());
        match edit.branch {
            BRANCH_AS_IS => return self.end(block, None),
            BRANCH_NEVER => {}
            BRANCH_ALWAYS => self.jump(to),
            other => {
                self.emitter().keep_in_line(2, 4);
                self.emitter().bytes(&[0x0F, 0x80 | other & 15]);
                self.exit(to);
            }
        }
        self.mark(Mark::NotTaken);
        Ok(Some(NextBlock {
            pc: block.next(),
            landing: false,
        }))
    }

    /// Returns the edits that are made in a block, with the indices of their instructions: those of a
    /// group if both are in it.
    fn edits_of(&self, block: &Block, side: u8) -> Vec<(usize, Edit)> {
        let mut found: Vec<(usize, Edit)> = Vec::new();
        for (index, instruction) in block.instructions.iter().take(block.body()).enumerate() {
            match self.context.edit(instruction.ip(), side) {
                Some(edit) if is_for(edit, &self.raw(instruction)) => found.push((index, *edit)),
                Some(_) => self.context.note_foreign_edit(),
                None => {}
            }
        }
        let members = |group| found.iter().filter(|(_, edit)| edit.group == group).count();
        let whole = |edit: &Edit| edit.group == 0 || members(edit.group) == 2;
        let whole: Vec<bool> = found.iter().map(|(_, edit)| whole(edit)).collect();
        let mut whole = whole.into_iter();
        found.retain(|_| whole.next() == Some(true));
        found
    }

    /// Emits an edit; whether it has marked the place from which on the instruction was executed.
    fn edited(&mut self, instruction: &Instruction, edit: &Edit) -> Result<bool, Error> {
        let begin = self.fragment.emitter.offset();
        let raw = self.raw(instruction);
        let code = edit.code.get(..usize::from(edit.code_length));
        let code = code.unwrap_or_default();
        let own = match edit.original_at {
            NOT_CONTAINED => code.len(),
            at => usize::from(at).min(code.len()),
        };
        // The mark comes before the byte at its offset.
        let executed = match edit.executed_at {
            NOT_CONTAINED => usize::MAX,
            at => begin + usize::from(at),
        };
        let (before, after) = code.split_at(own);
        self.emitter().bytes(before);
        if edit.original_at != NOT_CONTAINED {
            match edit.without_lock {
                0 => self.emitter().copy(instruction, &raw)?,
                _ => self.emitter().copy_without_lock(instruction, &raw)?,
            }
        }
        let end = self.fragment.emitter.offset() + after.len();
        let is_marked = (self.fragment.emitter.offset()..=end).contains(&executed);
        let unexecuted = match is_marked {
            true => executed - self.fragment.emitter.offset(),
            false => after.len(),
        };
        self.emitter().bytes(&after[..unexecuted]);
        if is_marked {
            self.mark(Mark::Instruction);
        }
        self.emitter().bytes(&after[unexecuted..]);
        // The second edit of a group ends what the first has left open.
        for restore in self
            .fragment
            .restores
            .iter_mut()
            .filter(|_| edit.group != 0)
        {
            if restore.end == STILL_OPEN {
                restore.end = end as u16;
            }
        }
        for restore in edit.restore.iter().take(usize::from(edit.restores)) {
            self.fragment.restores.push(NewRestore {
                begin: (begin + usize::from(restore.begin)) as u16,
                end: match restore.end {
                    OPEN => STILL_OPEN,
                    at => (begin + usize::from(at)) as u16,
                },
                register: restore.register,
                slot: restore.slot,
            });
        }
        Ok(is_marked)
    }
}

/// End of a restore that a later edit of the block closes.
const STILL_OPEN: u16 = u16::MAX;

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
