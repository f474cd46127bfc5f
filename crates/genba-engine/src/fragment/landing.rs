//! Landings: where indirect branches arrive.

use super::{Builder, PendingMiss, RAX, RCX, World};
use crate::marks::Mark;
use crate::state;

impl<W: World> Builder<'_, W> {
    /// Where indirect branches to `pc` arrive: rcx has their target, rcx and rax of the program
    /// are in their places. Goes on if the target is `pc`.
    pub(super) fn landing(&mut self, pc: u64) {
        let block = self.fragment.blocks.len() as u8;
        self.block = block;
        let offset = self.fragment.emitter.offset() as u16;
        self.fragment.landings.push((pc, offset));
        self.mark(Mark::Landing);
        let low = u32::try_from(pc).ok().filter(|&low| low <= i32::MAX as u32);
        // The flags must stay: the target may be another, at which they are live.
        match low {
            // lea rcx, [rcx - pc]
            Some(low) => {
                self.emitter().bytes(&[0x48, 0x8D, 0x89]);
                self.emitter().u32(low.wrapping_neg());
            }
            // mov rax, -pc; lea rcx, [rcx + rax]
            None => {
                self.emitter().constant(RAX, pc.wrapping_neg());
                self.emitter().bytes(&[0x48, 0x8D, 0x0C, 0x01]);
            }
        }
        self.mark(Mark::LandingDifference);
        // jrcxz +5; jmp miss
        self.emitter().bytes(&[0xE3, 5, 0xE9]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.misses.push(PendingMiss { at, pc, block });
        self.mark(Mark::Landed);
        self.emitter().load(RCX, state::RCX);
        self.emitter().load(RAX, state::RAX);
    }
}
