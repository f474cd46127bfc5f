//! The dispatcher: what the engine does when a thread leaves translated code.

use crate::fragment::LandingPad;
use crate::thread_state::{
    self, EXIT_INDIRECT, EXIT_RETURN, EXIT_SYSCALL, EXIT_THREAD_BEGINS, EXIT_TRANSFER, State,
    register,
};

use super::context_switch::label;
use super::engine::ResumePoint;
use super::new_thread::{self, Clone};
use super::thread_slots::ThreadSlots;
use super::{EngineLock, bursts, program_mask, syscall_interception, uncounted_child};

/// How a thread continues when the engine is done, without the engine's lock.
pub enum NextAction {
    /// Resumes as its state says.
    Resume,
    /// Creates a thread first.
    Clone(Clone),
    /// Ends with this status, and frees its slot unless the slot is its parent's.
    Exit {
        /// Exit status.
        status: usize,
        /// The slot to be freed.
        slot: Option<u32>,
    },
    /// Runs the program's own code, in a process that is not counted.
    Leave,
    /// Returns from a signal handler, whose frame is at this stack pointer.
    Sigreturn(usize),
}

/// Sets where a thread resumes.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn set_resume_point(state: State, pc: u64, place: ResumePoint) {
    // SAFETY: the caller's promise.
    unsafe {
        state.set(thread_state::AT_SYSCALL, 0);
        state.set(thread_state::RESUME_PC, pc);
        state.set(thread_state::RESUME_CODE, place.address());
    }
}

/// Called by `genba_dispatch` with the thread's state, on the engine's stack, with all signals
/// blocked.
pub extern "C" fn dispatch(state: usize) {
    let state = State(state);
    // SAFETY: it is this thread's own state.
    let after = unsafe {
        program_mask::hide(state);
        let mut locked = EngineLock::take();
        match state.get(thread_state::EXIT) as u32 {
            EXIT_SYSCALL => syscall_interception::special(&mut locked, state),
            EXIT_INDIRECT => {
                let pc = state.get(thread_state::TARGET);
                let place = locked.engine().follow_indirect(pc, LandingPad::Jump);
                set_resume_point(state, pc, place);
                NextAction::Resume
            }
            EXIT_RETURN => {
                let pc = state.get(thread_state::TARGET);
                let engine = locked.engine();
                let place = match bursts::under_way(state) {
                    true => bursts::follow_indirect(engine, state, pc, LandingPad::Return),
                    false => engine.follow_indirect(pc, LandingPad::Return),
                };
                set_resume_point(state, pc, place);
                NextAction::Resume
            }
            EXIT_TRANSFER => {
                let pc = state.get(thread_state::TARGET);
                let engine = locked.engine();
                let from = engine.site(state);
                engine.record_transfer(state, from, pc);
                let place = match bursts::under_way(state) {
                    true => bursts::follow_indirect(engine, state, pc, LandingPad::Jump),
                    false => engine.follow_indirect(pc, LandingPad::Jump),
                };
                set_resume_point(state, pc, place);
                NextAction::Resume
            }
            EXIT_THREAD_BEGINS => {
                let pc = state.get(thread_state::RESUME_PC);
                let engine = locked.engine();
                bursts::begin_thread(engine, state);
                set_resume_point(state, pc, engine.get(pc));
                NextAction::Resume
            }
            number => {
                let engine = locked.engine();
                let (pc, place) = match bursts::under_way(state) {
                    true => bursts::follow(engine, state, number),
                    false => engine.follow(number),
                };
                set_resume_point(state, pc, place);
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
