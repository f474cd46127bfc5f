//! Emits blocks: their instructions, and the branches that end them.

use super::{BuildContext, Builder, Error, NewBlock, NextBlock};
use crate::basic_block::{Block, BlockEnd};
use crate::counter_placement::{IncrementMethod, place};
use crate::recovery_marks::Mark;

impl<W: BuildContext> Builder<'_, W> {
    /// Emits a block; the block that follows it, or `None` if control does not fall through.
    pub(super) fn block(&mut self, block: &Block) -> Result<Option<NextBlock>, Error> {
        if let BlockEnd::Refused(reason) = block.end {
            return Err(Error::Refused(reason));
        }
        if block.end == BlockEnd::Native {
            self.open(block, u32::MAX, false);
            // Jumps to the program's own address: jmp [rip]; address. The constant is aligned, as
            // the program may have alignment checked.
            while (self.fragment.emitter.here() + 6) & 7 != 0 {
                self.emitter().bytes(&[0x90]);
            }
            self.emitter().bytes(&[0xFF, 0x25, 0, 0, 0, 0]);
            self.emitter().bytes(&block.pc.to_le_bytes());
            return Ok(None);
        }
        if self.has_edits(block)
            && let Some(next) = self.duet(block)?
        {
            return Ok(next);
        }
        let counter = self.context.counter(block, false)?;
        self.open(block, counter, false);
        if self.context.is_plain() {
            self.uncounted_body(block)?;
            return self.end(block, None);
        }
        let saved_rcx_counter = self.body(block, counter)?;
        self.end(block, saved_rcx_counter)
    }

    pub(super) fn open(&mut self, block: &Block, counter: u32, copy: bool) {
        self.block = self.fragment.blocks.len() as u8;
        let offset = self.fragment.emitter.offset() as u16;
        self.fragment.blocks.push(NewBlock {
            pc: block.pc,
            offset,
            instructions: block.instructions.len() as u16,
            counter,
            target: block.target(),
            copy,
        });
        self.mark(Mark::Block);
    }

    /// Emits the instructions of a block without the one that ends it, and the counter increment;
    /// returns the counter if it is to be incremented later, through rcx.
    pub(super) fn body(&mut self, block: &Block, counter: u32) -> Result<Option<u32>, Error> {
        let placement = place(block, &*self.context, self.factory);
        let body = block.body();
        for (index, instruction) in block.instructions.iter().enumerate() {
            if index > 0 {
                self.mark(Mark::Instruction);
            }
            if index == placement.at {
                self.count(placement.method, counter);
            }
            if index < body {
                let raw = self.raw(instruction);
                self.emitter().copy(instruction, &raw)?;
            }
        }
        Ok((placement.method == IncrementMethod::SavedRcx).then_some(counter))
    }

    /// Emits the instructions of a block without its counter increment.
    fn uncounted_body(&mut self, block: &Block) -> Result<(), Error> {
        let body = block.body();
        for (index, instruction) in block.instructions.iter().enumerate() {
            if index > 0 {
                self.mark(Mark::Instruction);
            }
            if index < body {
                let raw = self.raw(instruction);
                self.emitter().copy(instruction, &raw)?;
            }
        }
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        block: &Block,
        saved_rcx_counter: Option<u32>,
    ) -> Result<Option<NextBlock>, Error> {
        let falls = |pc| Ok(Some(NextBlock { pc, landing: false }));
        let Some(last) = block.instructions.last() else {
            return Ok(None);
        };
        match block.end {
            BlockEnd::Falls => {
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            BlockEnd::Jump(to) => {
                self.context.enters(to);
                // The target is laid out next, without a jump.
                falls(to)
            }
            BlockEnd::Branch(to) => {
                self.branch(last, to)?;
                // What follows may be a jump to the next block. If recovery took it for a place
                // before the branch or on its other path, a `loop` would count down twice.
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            BlockEnd::Call(to) => {
                self.context.enters(to);
                if self.reuse_call(block.next()) {
                    return Ok(None);
                }
                self.call(last, Some(to));
                Ok(Some(NextBlock {
                    pc: block.next(),
                    landing: true,
                }))
            }
            BlockEnd::CallIndirect => {
                // The increment comes before the shared call, so it cannot be one that needs the
                // saved rcx.
                if saved_rcx_counter.is_none() && self.reuse_call(block.next()) {
                    return Ok(None);
                }
                let site = self.fragment.emitter.offset() as u16;
                self.target(last, saved_rcx_counter)?;
                self.call(last, None);
                if saved_rcx_counter.is_some() {
                    // Here the increment is part of the call's code: another block that jumped to
                    // it would count this one, too.
                    self.fragment.calls.pop();
                } else if let Some(call) = self.fragment.calls.last_mut() {
                    call.1 = site;
                }
                Ok(Some(NextBlock {
                    pc: block.next(),
                    landing: true,
                }))
            }
            BlockEnd::JumpIndirect => {
                self.target(last, saved_rcx_counter)?;
                self.jump_indirect(last.ip());
                Ok(None)
            }
            BlockEnd::Return(pops) => {
                self.returns(pops, saved_rcx_counter);
                Ok(None)
            }
            BlockEnd::Syscall => {
                self.syscall(block.next())?;
                falls(block.next())
            }
            BlockEnd::Native | BlockEnd::Refused(_) => Ok(None),
        }
    }

    /// Jumps to the translation of this call if there is one, as the end of a block that begins
    /// elsewhere: a return address has one landing pad, and the processor should predict that one.
    /// Returns whether there is one.
    fn reuse_call(&mut self, returns_to: u64) -> bool {
        let local = self.fragment.calls.iter();
        let known = local
            .filter(|call| call.0 == returns_to)
            .map(|call| self.fragment.emitter.base + u64::from(call.1))
            .next()
            .or_else(|| self.context.call_site(returns_to));
        let Some(known) = known else { return false };
        let offset = self.fragment.emitter.offset();
        self.emitter().bytes(&[0xE9, 0, 0, 0, 0]);
        if self.emitter().aim(offset + 1, known).is_ok() {
            return true;
        }
        self.emitter().code.truncate(offset);
        false
    }
}
