//! System calls by which a program limits its own resources.

use core::sync::atomic::Ordering;

use crate::raw_syscall::{self, nr};
use crate::resource_limits::{Verdict, judge};
use crate::thread_state::{self, State};

use super::engine::Engine;
use super::signal_delivery;
use super::syscall_interception::Call;

/// Refuses a limit against which the engine's memory would count, before it is set.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn check(engine: &Engine, state: State, call: &Call) {
    let [first, second, third, ..] = call.arguments;
    let (process, resource, new) = match call.number {
        nr::SETRLIMIT => (0, first, second),
        _ => (first, second, third),
    };
    // SAFETY: no memory is touched.
    let own = unsafe { raw_syscall::call(nr::GETPID, [0; 6]) } as usize;
    // A child of vfork limits the program that it is about to execute, not its parent.
    // SAFETY: the caller's own state.
    let vfork = unsafe { state.get(thread_state::PROCESS) } != 0;
    if vfork || (process != 0 && process as u32 != own as u32) {
        return;
    }
    if new == 0 || !signal_delivery::readable(new) {
        return;
    }
    // SAFETY: just found to be readable.
    let soft = unsafe { (new as *const u64).read_unaligned() };
    match judge(u64::from(resource as u32), soft) {
        Verdict::NoEffect => {}
        Verdict::Near => {
            let control = engine.code_map.shared.control();
            control.limited.store(1, Ordering::Relaxed);
        }
        Verdict::Refused(reason) => super::refuse(reason),
    }
}
