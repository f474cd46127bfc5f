//! Blocks: their instructions and their counter, and what their ends make of them.

use super::{BuildContext, Builder, Error, NewBlock, Next, RAX, RCX};
use crate::basic_block::{Block, BlockEnd};
use crate::counter_placement::{IncrementMethod, place};
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    fn count(&mut self, how: IncrementMethod, counter: u32) {
        let offset = thread_state::counter(counter);
        match how {
            IncrementMethod::Memory => self.emitter().increment(offset),
            IncrementMethod::DeadRegister(register) => {
                let emitter = self.emitter();
                emitter.load(register, offset);
                emitter.add_one(register);
                emitter.store(register, offset);
            }
            // Later, by `count_through_saved_rcx`.
            IncrementMethod::SavedRcx => return,
            IncrementMethod::SpilledRax => {
                self.emitter().store(RAX, thread_state::RAX);
                self.mark(Mark::RaxSaved);
                self.emitter().load(RAX, offset);
                self.emitter().add_one(RAX);
                self.emitter().store(RAX, offset);
                self.mark(Mark::Counted);
                self.mark(Mark::RaxSaved);
                self.emitter().load(RAX, thread_state::RAX);
            }
        }
        self.mark(Mark::Counted);
    }

    /// Emits a block. `None` if control does not go on behind it.
    pub(super) fn block(&mut self, block: &Block) -> Result<Option<Next>, Error> {
        if let BlockEnd::Refused(reason) = block.end {
            return Err(Error::Refused(reason));
        }
        if block.end == BlockEnd::Native {
            self.open(block, u32::MAX, false);
            // To the program's own place: jmp [rip]; address, aligned, as the program may have
            // that checked.
            while (self.fragment.emitter.here() + 6) & 7 != 0 {
                self.emitter().bytes(&[0x90]);
            }
            self.emitter().bytes(&[0xFF, 0x25, 0, 0, 0, 0]);
            self.emitter().bytes(&block.pc.to_le_bytes());
            return Ok(None);
        }
        let counter = self.world.counter(block, false)?;
        self.open(block, counter, false);
        let aside = self.body(block, counter)?;
        self.end(block, aside)
    }

    pub(super) fn open(&mut self, block: &Block, counter: u32, copy: bool) {
        self.block = self.fragment.blocks.len() as u8;
        let offset = self.fragment.emitter.offset() as u16;
        self.fragment.blocks.push(NewBlock {
            pc: block.pc,
            offset,
            instructions: block.instructions.len() as u16,
            counter,
            copy,
        });
        self.mark(Mark::Block);
    }

    /// Emits the instructions of a block up to the one that ends it, and the counter; gives it
    /// back if it is to go up later.
    pub(super) fn body(&mut self, block: &Block, counter: u32) -> Result<Option<u32>, Error> {
        let placement = place(block, &*self.world, self.factory);
        let body = block.body();
        for (index, instruction) in block.instructions.iter().enumerate() {
            if index > 0 {
                self.mark(Mark::Instruction);
            }
            if index == placement.at {
                self.count(placement.how, counter);
            }
            if index < body {
                let raw = self.raw(instruction);
                self.emitter().copy(instruction, &raw)?;
            }
        }
        Ok((placement.how == IncrementMethod::SavedRcx).then_some(counter))
    }

    /// Counts where rcx is in its place.
    pub(super) fn count_through_saved_rcx(&mut self, counter: Option<u32>) {
        let Some(counter) = counter else { return };
        self.emitter().load(RCX, thread_state::counter(counter));
        self.emitter().add_one(RCX);
        self.emitter().store(RCX, thread_state::counter(counter));
        self.mark(Mark::Counted);
        self.mark(Mark::RcxSaved);
    }

    fn end(&mut self, block: &Block, aside: Option<u32>) -> Result<Option<Next>, Error> {
        let falls = |pc| Ok(Some(Next { pc, landing: false }));
        let Some(last) = block.instructions.last() else {
            return Ok(None);
        };
        match block.end {
            BlockEnd::Falls => {
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            BlockEnd::Jump(to) => {
                self.world.enters(to);
                // What runs next is put next, without a jump.
                falls(to)
            }
            BlockEnd::Branch(to) => {
                self.branch(last, to)?;
                // What follows may be a jump to the next block. If this was taken for a place before
                // the branch or on its other way, a `loop` would count down once more.
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            BlockEnd::Call(to) => {
                self.world.enters(to);
                if self.reuse_call(block.next()) {
                    return Ok(None);
                }
                self.call(last, Some(to));
                Ok(Some(Next {
                    pc: block.next(),
                    landing: true,
                }))
            }
            BlockEnd::CallIndirect => {
                // The counter is in front of what is shared.
                if aside.is_none() && self.reuse_call(block.next()) {
                    return Ok(None);
                }
                let site = self.fragment.emitter.offset() as u16;
                self.target(last, aside)?;
                self.call(last, None);
                if aside.is_some() {
                    // Here it is behind the site: who shared it would count this block, too.
                    self.fragment.calls.pop();
                } else if let Some(call) = self.fragment.calls.last_mut() {
                    call.1 = site;
                }
                Ok(Some(Next {
                    pc: block.next(),
                    landing: true,
                }))
            }
            BlockEnd::JumpIndirect => {
                self.target(last, aside)?;
                self.jump_indirect(last.ip());
                Ok(None)
            }
            BlockEnd::Return(pops) => {
                self.returns(pops, aside);
                Ok(None)
            }
            BlockEnd::Syscall => {
                self.syscall(block.next())?;
                falls(block.next())
            }
            BlockEnd::Native | BlockEnd::Refused(_) => Ok(None),
        }
    }

    /// If this call has been translated before, behind another beginning of the block, uses
    /// that: a return address has one landing, and the processor's prediction should lead there.
    fn reuse_call(&mut self, returns_to: u64) -> bool {
        let local = self.fragment.calls.iter();
        let known = local
            .filter(|call| call.0 == returns_to)
            .map(|call| self.fragment.emitter.base + u64::from(call.1))
            .next()
            .or_else(|| self.world.call_site(returns_to));
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
