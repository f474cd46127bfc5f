//! Emits what is executed rarely, after the blocks: call stubs, recording of taken jumps, landing
//! pad mismatches, exit stubs.

use core::mem::take;

use super::{BuildContext, Builder, LandingPad, NewExit, PendingCall, RAX};
use crate::liveness::flags_live_at;
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    pub(super) fn write_calls(&mut self) {
        for call in take::<alloc::vec::Vec<PendingCall>>(&mut self.pending_calls) {
            self.block = call.block;
            let offset = self.fragment.emitter.offset();
            let to = self.fragment.emitter.here();
            // The target is within the fragment, so it is never out of reach.
            let _ = self.emitter().aim(call.after - 4, to);
            debug_assert!(offset > call.after);
            let direct = call.target.is_some();
            self.mark(if direct {
                Mark::ReturnPushed
            } else {
                Mark::ReturnPushedRcxSaved
            });
            let low = i32::try_from(call.returns_to).ok();
            let mut address = None;
            if let Some(low) = low {
                // mov qword ptr [rsp], …
                self.emitter().bytes(&[0x48, 0xC7, 0x04, 0x24]);
                self.emitter().u32(low as u32);
            } else {
                // lea rsp, [rsp + 8]
                self.emitter().bytes(&[0x48, 0x8D, 0x64, 0x24, 8]);
                self.mark(if direct {
                    Mark::ReturnPopped
                } else {
                    Mark::ReturnPoppedRcxSaved
                });
                // push [rip + …]
                self.emitter().bytes(&[0xFF, 0x35]);
                address = Some(self.fragment.emitter.offset());
                self.emitter().u32(0);
            }
            if let Some(target) = call.target {
                self.mark(Mark::Taken);
                self.jump(target);
            } else {
                self.mark(Mark::BranchedIndirectly);
                self.jump_indirect(call.from);
            }
            self.mark(Mark::Data);
            let Some(address) = address else { continue };
            while self.fragment.emitter.here() & 7 != 0 {
                self.emitter().bytes(&[0xCC]);
            }
            let constant = self.fragment.emitter.here();
            let _ = self.emitter().aim(address, constant);
            self.emitter().bytes(&call.returns_to.to_le_bytes());
        }
    }

    pub(super) fn write_taken(&mut self) {
        for taken in take(&mut self.taken) {
            self.block = taken.block;
            let to = self.fragment.emitter.here();
            let _ = self.emitter().aim(taken.at, to);
            let offset = thread_state::counter(taken.counter);
            self.mark(Mark::TakenUnrecorded);
            if flags_live_at(&*self.context, taken.target, 1) == 0 {
                self.emitter().increment(offset);
            } else {
                self.emitter().store(RAX, thread_state::RAX);
                self.mark(Mark::TakenUnrecordedRaxSaved);
                self.emitter().load(RAX, offset);
                self.emitter().add_one(RAX);
                self.emitter().store(RAX, offset);
                self.mark(Mark::TakenRaxSaved);
                self.emitter().load(RAX, thread_state::RAX);
            }
            self.mark(Mark::Taken);
            self.jump(taken.target);
        }
    }

    pub(super) fn write_mismatches(&mut self) {
        for miss in take(&mut self.mismatches) {
            self.block = miss.block;
            let to = self.fragment.emitter.here();
            let _ = self.emitter().aim(miss.at, to);
            match miss.kind {
                LandingPad::Jump => {
                    self.mark(Mark::JumpPad);
                    self.emitter().jump_vector(thread_state::JUMP_LOOKUP);
                }
                LandingPad::Return => {
                    self.mark(Mark::ReturnPadPopped);
                    // lea rsp, [rsp - 8]
                    self.emitter().bytes(&[0x48, 0x8D, 0x64, 0x24, 0xF8]);
                    self.mark(Mark::ReturnPad);
                    self.emitter().jump_vector(thread_state::RETURN_LOOKUP);
                }
            }
        }
    }

    pub(super) fn write_exits(&mut self, first_exit: u32) {
        self.mark(Mark::ExitStub);
        for index in 0..self.fragment.exits.len() {
            let NewExit {
                target,
                site,
                aimed,
                leaves_burst,
                ..
            } = self.fragment.exits[index];
            let known = (aimed.or_else(|| self.translated_here(target)))
                .or_else(|| self.context.known(target));
            let site = usize::from(site);
            let known = known.filter(|_| !leaves_burst);
            if known.is_some_and(|code| self.fragment.emitter.aim(site, code).is_ok()) {
                continue;
            }
            let stub = self.fragment.emitter.offset();
            self.fragment.exits[index].stub = stub as u16;
            let here = self.fragment.emitter.here();
            let _ = self.emitter().aim(site, here);
            let number = first_exit + index as u32;
            self.emitter().store_number(thread_state::EXIT, number);
            self.emitter().jump_vector(thread_state::DISPATCH);
        }
    }
}
