//! Blocks: their instructions and their counter, and what their ends make of them.

use super::{Builder, Error, NewBlock, Next, RAX, RCX, World};
use crate::block::{Block, End};
use crate::marks::Mark;
use crate::placement::{How, place};
use crate::state;

impl<W: World> Builder<'_, W> {
    fn count(&mut self, how: How, counter: u32) {
        let offset = state::counter(counter);
        match how {
            How::Increment => self.emitter().increment(offset),
            How::Dead(register) => {
                let emitter = self.emitter();
                emitter.load(register, offset);
                emitter.add_one(register);
                emitter.store(register, offset);
            }
            // Later, by `count_aside`.
            How::Aside => return,
            How::Spill => {
                self.emitter().store(RAX, state::RAX);
                self.mark(Mark::Rax);
                self.emitter().load(RAX, offset);
                self.emitter().add_one(RAX);
                self.emitter().store(RAX, offset);
                self.mark(Mark::Counted);
                self.mark(Mark::Rax);
                self.emitter().load(RAX, state::RAX);
            }
        }
        self.mark(Mark::Counted);
    }

    /// Emits a block. `None` if control does not go on behind it.
    pub(super) fn block(&mut self, block: &Block) -> Result<Option<Next>, Error> {
        if let End::Unable(reason) = block.end {
            return Err(Error::Unable(reason));
        }
        if block.end == End::Native {
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
        Ok((placement.how == How::Aside).then_some(counter))
    }

    /// Counts where rcx is in its place.
    pub(super) fn count_aside(&mut self, counter: Option<u32>) {
        let Some(counter) = counter else { return };
        self.emitter().load(RCX, state::counter(counter));
        self.emitter().add_one(RCX);
        self.emitter().store(RCX, state::counter(counter));
        self.mark(Mark::Counted);
        self.mark(Mark::Rcx);
    }

    fn end(&mut self, block: &Block, aside: Option<u32>) -> Result<Option<Next>, Error> {
        let falls = |pc| Ok(Some(Next { pc, landing: false }));
        let Some(last) = block.instructions.last() else {
            return Ok(None);
        };
        match block.end {
            End::Falls => {
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            End::Jump(to) => {
                self.world.enters(to);
                // What runs next is put next, without a jump.
                falls(to)
            }
            End::Branch(to) => {
                self.branch(last, to)?;
                // What follows may be a jump to the next block. If this was taken for a place before
                // the branch or on its other way, a `loop` would count down once more.
                self.mark(Mark::NotTaken);
                falls(block.next())
            }
            End::Call(to) => {
                self.world.enters(to);
                if self.shared_call(block.next()) {
                    return Ok(None);
                }
                self.call(last, Some(to));
                Ok(Some(Next {
                    pc: block.next(),
                    landing: true,
                }))
            }
            End::CallIndirect => {
                // The counter is in front of what is shared.
                if aside.is_none() && self.shared_call(block.next()) {
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
            End::JumpIndirect => {
                self.target(last, aside)?;
                self.jump_indirect(last.ip());
                Ok(None)
            }
            End::Return(pops) => {
                self.returns(pops, aside);
                Ok(None)
            }
            End::Syscall => {
                self.syscall(block.next())?;
                falls(block.next())
            }
            End::Native | End::Unable(_) => Ok(None),
        }
    }

    /// If this call has been translated before, behind another beginning of the block, uses
    /// that: a return address has one landing, and the processor's prediction should lead there.
    fn shared_call(&mut self, returns_to: u64) -> bool {
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
