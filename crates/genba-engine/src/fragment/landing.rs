//! Landings: where indirect branches arrive.

use super::{Builder, Landing, PendingMiss, RCX, World};
use crate::marks::Mark;
use crate::state;

impl<W: World> Builder<'_, W> {
    /// Where indirect branches to `pc` arrive: TARGET has their target, or for returns the top of
    /// the stack; rcx of the program is in its place. Goes on if the target is `pc`.
    pub(super) fn landing(&mut self, pc: u64, kind: Landing) {
        let block = self.fragment.blocks.len() as u8;
        self.block = block;
        let offset = self.fragment.emitter.offset() as u16;
        match kind {
            Landing::Jump => {
                self.fragment.landings.push((pc, offset));
                self.mark(Mark::Landing);
                self.emitter().load(RCX, state::TARGET);
            }
            Landing::Return => {
                self.fragment.returns.push((pc, offset));
                self.mark(Mark::Returned);
                // pop rcx
                self.emitter().bytes(&[0x59]);
                self.mark(Mark::ReturnedPopped);
            }
        }
        // The flags must stay: the target may be another, at which they are live.
        self.emitter().compare_rcx(pc);
        // jrcxz +5; jmp miss
        self.emitter().bytes(&[0xE3, 5, 0xE9]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.misses.push(PendingMiss { at, kind, block });
        self.mark(Mark::Landed);
        self.emitter().load(RCX, state::RCX);
    }
}
