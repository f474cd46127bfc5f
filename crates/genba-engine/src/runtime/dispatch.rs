//! What is done when the cache is left.

use crate::fragment::LandingPad;
use crate::thread_state::{
    self, EXIT_INDIRECT, EXIT_RETURN, EXIT_SYSCALL, EXIT_TRANSFER, State, register,
};

use super::context_switch::label;
use super::engine::ResumePoint;
use super::new_thread::{self, Clone};
use super::thread_slots::ThreadSlots;
use super::{EngineLock, syscall_interception, uncounted_child};

/// How the thread goes on after the engine has done its part, without the lock.
pub enum NextAction {
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
pub unsafe fn go_on(state: State, pc: u64, place: ResumePoint) {
    // SAFETY: the caller's promise.
    unsafe {
        state.set(thread_state::AT_SYSCALL, 0);
        state.set(thread_state::RESUME_PC, pc);
        state.set(thread_state::RESUME_CODE, place.address());
    }
}

/// Called by `genba_dispatch` with the thread's state, on the engine's stack, signals blocked.
pub extern "C" fn dispatch(state: usize) {
    let state = State(state);
    // SAFETY: it is this thread's own state.
    let after = unsafe {
        let mut locked = EngineLock::take();
        match state.get(thread_state::EXIT) as u32 {
            EXIT_SYSCALL => syscall_interception::special(&mut locked, state),
            EXIT_INDIRECT => {
                let pc = state.get(thread_state::TARGET);
                let place = locked.engine().follow_indirect(pc, LandingPad::Jump);
                go_on(state, pc, place);
                NextAction::Resume
            }
            EXIT_RETURN => {
                let pc = state.get(thread_state::TARGET);
                let place = locked.engine().follow_indirect(pc, LandingPad::Return);
                go_on(state, pc, place);
                NextAction::Resume
            }
            EXIT_TRANSFER => {
                let pc = state.get(thread_state::TARGET);
                let engine = locked.engine();
                let from = engine.site(state);
                engine.record_transfer(state, from, pc);
                let place = engine.follow_indirect(pc, LandingPad::Jump);
                go_on(state, pc, place);
                NextAction::Resume
            }
            number => {
                let (pc, place) = locked.engine().follow(number);
                go_on(state, pc, place);
                NextAction::Resume
            }
        }
    };
    // SAFETY: as above; the lock is free.
    unsafe { finish(state, after) };
}

/// # Safety
/// The state must be the caller's own, and the lock free.
unsafe fn finish(state: State, after: NextAction) {
    // SAFETY: the caller's promise.
    unsafe {
        match after {
            NextAction::Resume => {}
            NextAction::Clone(clone) => {
                let result = new_thread::run(&clone);
                state.set_register(register::RAX, result as u64);
            }
            NextAction::Exit { status, slot } => {
                let unused = 0u32;
                let flag = slot.map_or(&raw const unused, ThreadSlots::flag);
                label::genba_exit(flag, status)
            }
            NextAction::Leave => uncounted_child::forked(state),
            NextAction::Sigreturn(rsp) => label::genba_sigreturn(rsp),
        }
    }
}
