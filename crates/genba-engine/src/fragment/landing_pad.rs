//! Emits landing pads: where indirect branches arrive.

use super::{BuildContext, Builder, LandingPad, PendingMismatch, RCX};
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    /// Emits a landing pad for `pc`. On arrival TARGET, or for returns the top of the stack, has
    /// the branch's target, and rcx is saved. Falls through if the target is `pc`.
    pub(super) fn landing_pad(&mut self, pc: u64, kind: LandingPad) {
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
        // The flags must not change: the target may be another block, in which they are live.
        self.emitter().compare_rcx(pc);
        // jrcxz +5; jmp mismatch
        self.emitter().bytes(&[0xE3, 5, 0xE9]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.mismatches.push(PendingMismatch { at, kind, block });
        self.mark(Mark::PadMatched);
        self.emitter().load(RCX, thread_state::RCX);
    }
}
