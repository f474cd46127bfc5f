//! Branches: what ends blocks.

use iced_x86::Instruction;

use super::{BuildContext, Builder, Error, PendingCall, PendingTaken, RCX, TABLE_BYTES, condition};
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    pub(super) fn jump(&mut self, to: u64) {
        self.emitter().keep_in_line(1, 4);
        self.emitter().bytes(&[0xE9]);
        self.exit(to);
    }

    /// The displacement of a conditional jump, which comes next: to its target, or first to
    /// where it is recorded.
    pub(super) fn taken(&mut self, from: u64, to: u64) -> Result<(), Error> {
        if !self.world.records(from, Some(to)) {
            self.exit(to);
            return Ok(());
        }
        let counter = self.world.transfer(from, to)?;
        self.taken.push(PendingTaken {
            at: self.fragment.emitter.offset(),
            counter,
            target: to,
            block: self.block,
        });
        self.emitter().u32(0);
        Ok(())
    }

    pub(super) fn branch(&mut self, instruction: &Instruction, to: u64) -> Result<(), Error> {
        let raw = self.raw(instruction);
        if let Some(condition) = condition(&raw) {
            self.emitter().keep_in_line(2, 4);
            self.emitter().bytes(&[0x0F, 0x80 | condition]);
            return self.taken(instruction.ip(), to);
        }
        // loop, jrcxz: only with 8 bits. Over a jump that is taken if they do not go.
        let head = raw.len() - 1;
        self.emitter().keep_in_line(head as u64 + 1 + 2 + 1, 4);
        self.emitter().bytes(&raw[..head]);
        self.emitter().bytes(&[2]);
        self.mark(Mark::NotTaken);
        self.emitter().bytes(&[0xEB, 5]);
        self.mark(if self.world.records(instruction.ip(), Some(to)) {
            Mark::TakenUnrecorded
        } else {
            Mark::Taken
        });
        self.emitter().bytes(&[0xE9]);
        self.taken(instruction.ip(), to)
    }

    /// Puts rcx aside, the target into TARGET, its low 16 bits into rcx.
    pub(super) fn target(
        &mut self,
        instruction: &Instruction,
        aside: Option<u32>,
    ) -> Result<(), Error> {
        let raw = self.raw(instruction);
        self.emitter().store(RCX, thread_state::RCX);
        self.mark(Mark::RcxSaved);
        self.count_through_saved_rcx(aside);
        if aside.is_some() {
            // The operand may need it.
            self.emitter().load(RCX, thread_state::RCX);
        }
        self.emitter().load_target(instruction, &raw)?;
        self.emitter().store(RCX, thread_state::TARGET);
        // movzx ecx, cx
        self.emitter().bytes(&[0x0F, 0xB7, 0xC9]);
        Ok(())
    }

    /// `jmp [table + rcx * 8]`
    fn jump_by_table(&mut self) {
        let table = self.world.table();
        self.emitter().bytes(&[0xFF, 0x24, 0xCD]);
        self.emitter().u32(table);
    }

    /// On to where TARGET says, after a jump or call from there.
    pub(super) fn jump_indirect(&mut self, from: u64) {
        if self.world.records(from, None) {
            let site = self.world.site(from);
            self.emitter().store_number(thread_state::SITE, site);
            self.emitter().jump_vector(thread_state::RECORD_TRANSFER);
        } else {
            self.jump_by_table();
        }
    }

    pub(super) fn call(&mut self, instruction: &Instruction, target: Option<u64>) {
        let returns_to = instruction.next_ip();
        let offset = self.fragment.emitter.offset() as u16;
        self.fragment.calls.push((returns_to, offset));
        self.emitter().bytes(&[0xE8, 0, 0, 0, 0]);
        self.pending_calls.push(PendingCall {
            after: self.fragment.emitter.offset(),
            returns_to,
            target,
            from: instruction.ip(),
            block: self.block,
        });
    }

    /// Pushes the address in the cache, so that both are on the stack, and returns to that.
    pub(super) fn returns(&mut self, pops: u16, aside: Option<u32>) {
        let table = self.world.table();
        self.emitter().store(RCX, thread_state::RCX);
        self.mark(Mark::RcxSaved);
        self.count_through_saved_rcx(aside);
        if pops > 0 {
            // Rare: as an indirect jump. mov rcx, [rsp]; …; lea rsp, [rsp + …]; movzx ecx, cx
            self.emitter().bytes(&[0x48, 0x8B, 0x0C, 0x24]);
            self.emitter().store(RCX, thread_state::TARGET);
            self.emitter().bytes(&[0x48, 0x8D, 0xA4, 0x24]);
            self.emitter().u32(u32::from(pops) + 8);
            self.mark(Mark::JumpPad);
            self.emitter().bytes(&[0x0F, 0xB7, 0xC9]);
            return self.jump_by_table();
        }
        // mov rcx, [rsp]: all of it, so that it faults as the return would. movzx ecx, cx;
        // push [table + rcx * 8]; ret
        self.emitter().bytes(&[0x48, 0x8B, 0x0C, 0x24]);
        self.emitter().bytes(&[0x0F, 0xB7, 0xC9, 0xFF, 0x34, 0xCD]);
        self.emitter().u32(table + TABLE_BYTES);
        self.mark(Mark::ReturnPushedRcxSaved);
        self.emitter().bytes(&[0xC3]);
    }

    /// rcx is free, as the kernel overwrites it: it says where to come back to.
    pub(super) fn syscall(&mut self, next: u64) -> Result<(), Error> {
        // lea rcx, [rip + 8]; jmp gs:[SYSCALL]
        self.emitter().bytes(&[0x48, 0x8D, 0x0D, 8, 0, 0, 0]);
        self.emitter().jump_vector(thread_state::SYSCALL);
        self.mark(Mark::SyscallDone);
        // As the kernel would have left it: lea rcx, [rip + …]
        self.emitter().bytes(&[0x48, 0x8D, 0x0D]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.emitter().aim(at, next)?;
        self.mark(Mark::NotTaken);
        Ok(())
    }
}
