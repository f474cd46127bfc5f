//! Emits the branches that end blocks.

use iced_x86::Instruction;

use super::{
    BuildContext, Builder, Error, PendingCall, PendingTaken, RCX, TABLE_BYTES, condition_code,
};
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    pub(super) fn jump(&mut self, to: u64) {
        self.emitter().keep_in_line(1, 4);
        self.emitter().bytes(&[0xE9]);
        self.exit(to);
    }

    /// Emits the displacement of a conditional jump: to its target, or first to where the jump is
    /// recorded.
    pub(super) fn taken(&mut self, from: u64, to: u64) -> Result<(), Error> {
        if !self.context.records(from, Some(to)) {
            self.exit(to);
            return Ok(());
        }
        let counter = self.context.transfer(from, to)?;
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
        if let Some(condition) = condition_code(&raw) {
            self.emitter().keep_in_line(2, 4);
            self.emitter().bytes(&[0x0F, 0x80 | condition]);
            return self.taken(instruction.ip(), to);
        }
        // loop and jrcxz have 8-bit displacements only: emitted over a jump that is executed if
        // they are not taken.
        let head = raw.len() - 1;
        self.emitter().keep_in_line(head as u64 + 1 + 2 + 1, 4);
        self.emitter().bytes(&raw[..head]);
        self.emitter().bytes(&[2]);
        self.mark(Mark::NotTaken);
        self.emitter().bytes(&[0xEB, 5]);
        self.mark(if self.context.records(instruction.ip(), Some(to)) {
            Mark::TakenUnrecorded
        } else {
            Mark::Taken
        });
        self.emitter().bytes(&[0xE9]);
        self.taken(instruction.ip(), to)
    }

    /// Saves rcx, writes the branch's target to TARGET and its low 16 bits to rcx.
    pub(super) fn target(
        &mut self,
        instruction: &Instruction,
        saved_rcx_counter: Option<u32>,
    ) -> Result<(), Error> {
        let raw = self.raw(instruction);
        self.emitter().store(RCX, thread_state::RCX);
        self.mark(Mark::RcxSaved);
        self.count_through_saved_rcx(saved_rcx_counter);
        if saved_rcx_counter.is_some() {
            // The operand may use rcx.
            self.emitter().load(RCX, thread_state::RCX);
        }
        self.emitter().load_target(instruction, &raw)?;
        self.emitter().store(RCX, thread_state::TARGET);
        // movzx ecx, cx
        self.emitter().bytes(&[0x0F, 0xB7, 0xC9]);
        Ok(())
    }

    /// Emits `jmp [table + rcx * 8]`.
    fn jump_by_table(&mut self) {
        let table = self.context.table();
        self.emitter().bytes(&[0xFF, 0x24, 0xCD]);
        self.emitter().u32(table);
    }

    /// Continues at TARGET after the jump or call at `from`.
    pub(super) fn jump_indirect(&mut self, from: u64) {
        if self.context.records(from, None) {
            let site = self.context.site(from);
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

    /// Emits a return: pushes the landing pad's address on top of the program's return address, and
    /// returns to it.
    pub(super) fn returns(&mut self, pops: u16, saved_rcx_counter: Option<u32>) {
        let table = self.context.table();
        self.emitter().store(RCX, thread_state::RCX);
        self.mark(Mark::RcxSaved);
        self.count_through_saved_rcx(saved_rcx_counter);
        if pops > 0 {
            // A return that pops arguments is rare, and emitted as an indirect jump: mov rcx,
            // [rsp]; …; lea rsp, [rsp + …]; movzx ecx, cx.
            self.emitter().bytes(&[0x48, 0x8B, 0x0C, 0x24]);
            self.emitter().store(RCX, thread_state::TARGET);
            self.emitter().bytes(&[0x48, 0x8D, 0xA4, 0x24]);
            self.emitter().u32(u32::from(pops) + 8);
            self.mark(Mark::JumpPad);
            self.emitter().bytes(&[0x0F, 0xB7, 0xC9]);
            return self.jump_by_table();
        }
        // mov rcx, [rsp] reads all eight bytes, so that it faults as the return would; movzx ecx,
        // cx; push [table + rcx * 8]; ret
        self.emitter().bytes(&[0x48, 0x8B, 0x0C, 0x24]);
        self.emitter().bytes(&[0x0F, 0xB7, 0xC9, 0xFF, 0x34, 0xCD]);
        self.emitter().u32(table + TABLE_BYTES);
        self.mark(Mark::ReturnPushedRcxSaved);
        self.emitter().bytes(&[0xC3]);
    }

    /// Emits a system call. The kernel overwrites rcx, so rcx can carry the address to come back
    /// to.
    pub(super) fn syscall(&mut self, next: u64) -> Result<(), Error> {
        // lea rcx, [rip + 8]; jmp gs:[SYSCALL]
        self.emitter().bytes(&[0x48, 0x8D, 0x0D, 8, 0, 0, 0]);
        self.emitter().jump_vector(thread_state::SYSCALL);
        self.mark(Mark::SyscallDone);
        // rcx as the kernel would have left it: lea rcx, [rip + …]
        self.emitter().bytes(&[0x48, 0x8D, 0x0D]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        self.emitter().aim(at, next)?;
        self.mark(Mark::NotTaken);
        Ok(())
    }
}
