//! What is done when the cache is left.

use crate::fragment::Landing;
use crate::state::{
    self, EXIT_INDIRECT, EXIT_RETURN, EXIT_SYSCALL, EXIT_TRANSFER, State, register,
};

use super::clone::{self, Clone};
use super::engine::Place;
use super::entry::label;
use super::slots::Slots;
use super::{Locked, leave, syscall};

/// How the thread goes on after the engine has done its part, without the lock.
pub enum After {
    /// In the cache, as the state says.
    Resume,
    /// Makes a thread first.
    Clone(Clone),
    /// Ends, with this status; frees its slot unless it has somebody else's.
    Exit {
        /// Status.
        status: usize,
        /// Slot to free.
        slot: Option<u32>,
    },
    /// In the program's own code: a process that is not counted.
    Leave,
    /// As a signal frame says, which is at this stack pointer.
    Sigreturn(usize),
}

/// Sets where a thread goes on.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn go_on(state: State, pc: u64, place: Place) {
    // SAFETY: the caller's promise.
    unsafe {
        state.set(state::AT_SYSCALL, 0);
        state.set(state::RESUME_PC, pc);
        state.set(state::RESUME_CODE, place.address());
    }
}

/// Called by `genba_dispatch` with the thread's state, on the engine's stack, signals blocked.
pub extern "C" fn dispatch(state: usize) {
    let state = State(state);
    // SAFETY: it is this thread's own state.
    let after = unsafe {
        let mut locked = Locked::take();
        match state.get(state::EXIT) as u32 {
            EXIT_SYSCALL => syscall::special(&mut locked, state),
            EXIT_INDIRECT => {
                let pc = state.get(state::TARGET);
                let place = locked.engine().follow_indirect(pc, Landing::Jump);
                go_on(state, pc, place);
                After::Resume
            }
            EXIT_RETURN => {
                let pc = state.get(state::TARGET);
                let place = locked.engine().follow_indirect(pc, Landing::Return);
                go_on(state, pc, place);
                After::Resume
            }
            EXIT_TRANSFER => {
                let pc = state.get(state::TARGET);
                let engine = locked.engine();
                let from = engine.site(state);
                engine.record_transfer(state, from, pc);
                let place = engine.follow_indirect(pc, Landing::Jump);
                go_on(state, pc, place);
                After::Resume
            }
            number => {
                let (pc, place) = locked.engine().follow(number);
                go_on(state, pc, place);
                After::Resume
            }
        }
    };
    // SAFETY: as above; the lock is free.
    unsafe { finish(state, after) };
}

/// # Safety
/// The state must be the caller's own, and the lock free.
unsafe fn finish(state: State, after: After) {
    // SAFETY: the caller's promise.
    unsafe {
        match after {
            After::Resume => {}
            After::Clone(clone) => {
                let result = clone::run(&clone);
                state.set_register(register::RAX, result as u64);
            }
            After::Exit { status, slot } => {
                let unused = 0u32;
                let flag = slot.map_or(&raw const unused, Slots::flag);
                label::genba_exit(flag, status)
            }
            After::Leave => leave::forked(state),
            After::Sigreturn(rsp) => label::genba_sigreturn(rsp),
        }
    }
}
