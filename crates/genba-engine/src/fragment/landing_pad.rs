//! Landing pads: where indirect branches arrive.

use super::{BuildContext, Builder, LandingPad, PendingMismatch, RCX};
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    /// Where indirect branches to `pc` arrive: TARGET has their target, or for returns the top of
    /// the stack; rcx of the program is in its place. Goes on if the target is `pc`.
    pub(super) fn landing(&mut self, pc: u64, kind: LandingPad) {
        let block = self.fragment.blocks.len() as u8;
        self.block = block;
        let offset = self.fragment.emitter.offset() as u16;
        match kind {
            LandingPad::Jump => {
                self.fragment.landing_pads.push((pc, offset));
                self.mark(Mark::JumpPad);
                self.emitter().load(RCX, thread_state::TARGET);
            }
            LandingPad::Return => {
                self.fragment.returns.push((pc, offset));
                self.mark(Mark::ReturnPad);
                // pop rcx
                self.emitter().bytes(&[0x59]);
                self.mark(Mark::ReturnPadPopped);
            }
        }
        // The flags must stay: the target may be another, at which they are live.
        self.emitter().compare_rcx(pc);
        // jrcxz +5; jmp miss
        self.emitter().bytes(&[0xE3, 5, 0xE9]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.misses.push(PendingMismatch { at, kind, block });
        self.mark(Mark::PadMatched);
        self.emitter().load(RCX, thread_state::RCX);
    }
}
