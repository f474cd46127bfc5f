//! Translates a signal's place back to the program's: the state that the program had when a signal
//! interrupted its translated code, or a context switch between that and the engine.

use crate::state_recovery::{Correction, SavedRegisters};
use crate::thread_state::{self, State, register};

use super::context_switch::label;
use super::engine::Engine;

/// The program's state when the signal came.
pub struct InterruptedState {
    /// Address of the next instruction.
    pub pc: u64,
    /// General registers.
    pub registers: [u64; 16],
    /// Flags.
    pub flags: u64,
    /// The block that was left in the middle, and the correction of its count.
    pub correction: Option<(u32, Correction)>,
    /// A jump from the first address to the second which was executed and not recorded.
    pub unrecorded: Option<(u64, u64)>,
}

fn within(address: u64, from: unsafe extern "C" fn(), to: unsafe extern "C" fn()) -> bool {
    (from as *const () as u64..to as *const () as u64).contains(&address)
}

/// Restores flags from the form of `lahf` and `seto`.
fn with_saved_flags(flags: u64, saved: u64) -> u64 {
    const LOW: u64 = 0xD5;
    const OVERFLOW: u64 = 0x800;
    let low = saved >> 8 & LOW;
    let overflow = (saved & 1) * OVERFLOW;
    flags & !(LOW | OVERFLOW) | low | overflow
}

impl InterruptedState {
    /// Recovers the state from the interrupted thread's place and registers.
    ///
    /// # Safety
    /// The state must be the caller's own.
    pub unsafe fn find(
        engine: &Engine,
        state: State,
        rip: u64,
        registers: [u64; 16],
        flags: u64,
    ) -> Self {
        // SAFETY: the caller's own state.
        unsafe {
            let mut at = Self {
                pc: rip,
                registers,
                flags,
                correction: None,
                unrecorded: None,
            };
            if engine.in_cache(rip) {
                let registers = engine.code_map.duet.restored(state, rip, registers);
                let saved = SavedRegisters {
                    rax: state.get(thread_state::RAX),
                    rcx: state.get(thread_state::RCX),
                    rdx: state.get(thread_state::RDX),
                    target: state.get(thread_state::TARGET),
                };
                let Some((found, block)) = engine.recover(rip, &registers, saved) else {
                    super::fatal("a signal came where the code cache has no code");
                };
                at.pc = match found.next_at {
                    // After a return, which has read this word.
                    Some(address) => (address as *const u64).read_unaligned(),
                    None => found.pc,
                };
                at.registers = found.registers;
                at.unrecorded = found.unrecorded;
                at.correction = found.correction.map(|correction| (block, correction));
            } else if within(rip, label::genba_dispatch, label::genba_dispatch_saved) {
                at.leave_translated_code(engine, state);
            } else if within(
                rip,
                label::genba_dispatch_saved,
                label::genba_dispatch_blocked,
            ) {
                at.take_context(state);
                at.leave_translated_code(engine, state);
            } else if within(rip, label::genba_resume_unblocked, label::genba_resume_end) {
                at.take_context(state);
                at.pc = state.get(thread_state::RESUME_PC);
                if state.get(thread_state::AT_SYSCALL) != 0 {
                    at.before_syscall(engine, state.get(thread_state::SYSCALL_NEXT));
                }
            } else if within(rip, label::genba_jump_lookup, label::genba_jump_lookup_end) {
                let rax_saved = within(
                    rip,
                    label::genba_jump_lookup_rax_saved,
                    label::genba_jump_lookup_end,
                );
                let all_saved = within(
                    rip,
                    label::genba_jump_lookup_all_saved,
                    label::genba_jump_lookup_end,
                );
                at.look_up_target(state, rax_saved, all_saved);
            } else if within(
                rip,
                label::genba_return_lookup,
                label::genba_return_lookup_end,
            ) {
                let rax_saved = within(
                    rip,
                    label::genba_return_lookup_rax_saved,
                    label::genba_return_lookup_end,
                );
                let all_saved = within(
                    rip,
                    label::genba_return_lookup_all_saved,
                    label::genba_return_lookup_end,
                );
                at.look_up_target(state, rax_saved, all_saved);
                if !within(
                    rip,
                    label::genba_return_lookup_popped,
                    label::genba_return_lookup_end,
                ) {
                    let rsp = &mut at.registers[register::RSP as usize];
                    at.pc = (*rsp as *const u64).read_unaligned();
                    *rsp = rsp.wrapping_add(8);
                }
            } else if within(
                rip,
                label::genba_record_transfer,
                label::genba_record_transfer_end,
            ) {
                let rax_saved = within(
                    rip,
                    label::genba_record_transfer_rax_saved,
                    label::genba_record_transfer_end,
                );
                let all_saved = within(
                    rip,
                    label::genba_record_transfer_all_saved,
                    label::genba_record_transfer_end,
                );
                at.look_up_target(state, rax_saved, all_saved);
                let counted = within(
                    rip,
                    label::genba_record_transfer_counted,
                    label::genba_record_transfer_unknown,
                );
                at.unrecorded = (!counted).then(|| (engine.site(state), at.pc));
            } else if within(rip, label::genba_syscall, label::genba_syscall_end) {
                at.make_syscall(engine, state, rip);
            }
            at
        }
    }

    unsafe fn take_context(&mut self, state: State) {
        for number in 0..16 {
            // SAFETY: the caller's own state.
            self.registers[number as usize] = unsafe { state.register(number) };
        }
    }

    /// The state while translated code is being left; EXIT is the reason.
    unsafe fn leave_translated_code(&mut self, engine: &Engine, state: State) {
        // SAFETY: the caller's own state.
        unsafe {
            match state.get(thread_state::EXIT) as u32 {
                thread_state::EXIT_SYSCALL => {
                    self.before_syscall(engine, state.get(thread_state::SYSCALL_NEXT));
                }
                thread_state::EXIT_INDIRECT | thread_state::EXIT_RETURN => {
                    self.pc = state.get(thread_state::TARGET)
                }
                thread_state::EXIT_TRANSFER => {
                    self.pc = state.get(thread_state::TARGET);
                    self.unrecorded = Some((engine.site(state), self.pc));
                }
                thread_state::EXIT_THREAD_BEGINS => self.pc = state.get(thread_state::RESUME_PC),
                number => self.pc = engine.exit_target(number),
            }
        }
    }

    /// The state during the lookup of an indirect branch's target.
    unsafe fn look_up_target(&mut self, state: State, rax_saved: bool, all_saved: bool) {
        // SAFETY: the caller's own state.
        unsafe {
            self.pc = state.get(thread_state::TARGET);
            self.registers[register::RCX as usize] = state.get(thread_state::RCX);
            if rax_saved {
                self.registers[register::RAX as usize] = state.get(thread_state::RAX);
            }
            if all_saved {
                self.registers[register::RDX as usize] = state.get(thread_state::RDX);
                self.flags = with_saved_flags(self.flags, state.get(thread_state::FLAGS));
            }
        }
    }

    /// The state around a system call that the program makes itself.
    unsafe fn make_syscall(&mut self, engine: &Engine, state: State, rip: u64) {
        let at = |label: unsafe extern "C" fn()| rip == label as *const () as u64;
        let rcx = self.registers[register::RCX as usize];
        // SAFETY: the caller's own state.
        unsafe {
            let back = if at(label::genba_syscall) {
                rcx
            } else {
                state.get(thread_state::SYSCALL_NEXT)
            };
            let done = label::genba_syscall_done as *const () as u64;
            if rip == done {
                let next = engine.syscall_before(back).map_or(0, |(next, _)| next);
                self.pc = next;
                self.registers[register::RCX as usize] = next;
                return;
            }
            let whole = at(label::genba_syscall_now)
                || within(rip, label::genba_syscall_special, label::genba_syscall_end)
                || within(rip, label::genba_syscall, label::genba_syscall_number);
            if !whole {
                self.registers[register::RAX as usize] = self.registers[register::R11 as usize];
                if !within(rip, label::genba_syscall_number, label::genba_syscall_flags) {
                    self.flags = with_saved_flags(self.flags, state.get(thread_state::FLAGS));
                }
            }
            self.before_syscall(engine, back);
            if at(label::genba_syscall_now) && rcx == done {
                // The kernel restarts the call, so it was executed and counted already.
                self.correction = None;
                self.registers[register::RCX as usize] = self.pc + 2;
            }
        }
    }

    /// The state just before the system call that returns to `back`.
    fn before_syscall(&mut self, engine: &Engine, back: u64) {
        let Some((next, block)) = engine.syscall_before(back) else {
            super::fatal("a system call has no block");
        };
        self.pc = next - 2;
        let last = engine
            .code_map
            .lengths(&engine.code_map.blocks[block as usize])
            .len()
            - 1;
        self.correction = Some((
            block,
            Correction {
                block: 0,
                from: last,
                counted: true,
            },
        ));
    }
}
