//! The program's signal mask, which differs from the kernel's once the engine needs signals itself:
//! those are not blocked while translated code runs. The program sees them blocked as it asked for.
//!
//! What must hold: a thread's program mask is [`thread_state::MASK`] together with
//! [`thread_state::HIDDEN_MASK`], and MASK has none of [`needed`] when the thread resumes.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

use super::burst_timer;
use super::signal_delivery::{readable, writable};
use super::syscall_interception::Call;

/// Signals that the engine needs, as a mask.
static NEEDED: AtomicU64 = AtomicU64::new(0);
/// SIGKILL and SIGSTOP, which cannot be blocked.
const CANNOT_BLOCK: u64 = bit(9) | bit(19);
const EINVAL: isize = -22;
const EFAULT: isize = -14;

/// Returns the bit of a signal in a mask.
#[must_use]
pub const fn bit(signal: usize) -> u64 {
    1 << (signal - 1)
}

/// Returns the signals that the engine needs, as a mask.
#[must_use]
pub fn needed() -> u64 {
    NEEDED.load(Ordering::Relaxed)
}

/// Makes the engine need a signal from now on; whether it did not before. Threads that block it
/// have it delivered after they have entered the engine once.
pub fn need(signal: usize) -> bool {
    NEEDED.fetch_or(bit(signal), Ordering::Relaxed) & bit(signal) == 0
}

/// Returns the mask after `rt_sigprocmask` with `how` and `set`; `None` if `how` is invalid.
fn changed(mask: u64, how: usize, set: u64) -> Option<u64> {
    let mask = match how {
        0 => mask | set,
        1 => mask & !set,
        2 => set,
        _ => return None,
    };
    Some(mask & !CANNOT_BLOCK)
}

/// Divides a program's mask into the kernel's part and the hidden part.
fn divided(mask: u64, needed: u64) -> (u64, u64) {
    (mask & !needed, mask & needed)
}

/// Returns the program's mask of a thread.
///
/// # Safety
/// The state must be the caller's own.
#[must_use]
pub unsafe fn program_mask(state: State) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { state.get(thread_state::MASK) | state.get(thread_state::HIDDEN_MASK) }
}

/// Sets the program's mask of a thread, for when it resumes; sends itself a signal that was held
/// back while it was blocked.
///
/// # Safety
/// The state must be the caller's own, and all signals blocked.
pub unsafe fn set_program_mask(state: State, mask: u64) {
    let (kernel, hidden) = divided(mask, needed());
    // SAFETY: the caller's promise.
    unsafe {
        state.set(thread_state::MASK, kernel);
        state.set(thread_state::HIDDEN_MASK, hidden);
        burst_timer::follow_mask(state, mask);
        let held = state.get(thread_state::HELD_SIGNAL);
        let number = held as u32 as usize;
        if number != 0 && hidden & bit(number) == 0 {
            // The first three words of a `siginfo_t`, the rest being zero.
            let mut info = [0u64; 16];
            for (index, word) in info.iter_mut().take(4).enumerate() {
                *word = state.get(thread_state::HELD_SIGNAL + index as u32 * 8);
            }
            state.set(thread_state::HELD_SIGNAL, 0);
            let pid = raw_syscall::call(nr::GETPID, [0; 6]) as usize;
            let thread = raw_syscall::call(nr::GETTID, [0; 6]) as usize;
            let arguments = [pid, thread, number, info.as_ptr() as usize, 0, 0];
            raw_syscall::call(nr::RT_TGSIGQUEUEINFO, arguments);
        }
    }
}

/// Hides what the kernel's mask has of [`needed`] when a thread enters the engine.
///
/// # Safety
/// As [`set_program_mask`].
pub unsafe fn hide(state: State) {
    // SAFETY: the caller's promise.
    unsafe {
        if state.get(thread_state::MASK) & needed() != 0 {
            set_program_mask(state, program_mask(state));
        }
    }
}

/// Hides what a mask has of [`needed`]; the kernel's part of it.
///
/// # Safety
/// As [`set_program_mask`].
#[must_use]
pub unsafe fn hide_needed(state: State, mask: u64) -> u64 {
    let (kernel, hidden) = divided(mask, needed());
    // SAFETY: the caller's promise.
    unsafe {
        let before = state.get(thread_state::HIDDEN_MASK);
        state.set(thread_state::HIDDEN_MASK, before | hidden);
    }
    kernel
}

/// Lets the thread resume with the program's whole mask: for when it leaves the engine, or executes
/// another program, which inherits it.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn expose(state: State) {
    // SAFETY: the caller's promise.
    unsafe { state.set(thread_state::MASK, program_mask(state)) };
}

/// Whether the program blocks a signal that the kernel does not.
///
/// # Safety
/// The state must be the caller's own.
#[must_use]
pub unsafe fn hides(state: State, signal: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { state.get(thread_state::HIDDEN_MASK) & bit(signal) != 0 }
}

/// Holds a signal back that the program blocks, with the head of its `siginfo_t`.
///
/// # Safety
/// The state must be the caller's own; `info` must be the address of a `siginfo_t`.
pub unsafe fn hold(state: State, info: usize) {
    for index in 0..4u32 {
        // SAFETY: the caller's promise.
        unsafe {
            let word = ((info + index as usize * 8) as *const u64).read_unaligned();
            state.set(thread_state::HELD_SIGNAL + index * 8, word);
        }
    }
}

/// Makes `rt_sigprocmask` for the program; its result.
///
/// # Safety
/// The state must be the caller's own, and all signals blocked.
pub unsafe fn sigprocmask(state: State, call: &Call) -> isize {
    let [how, new, old, size, ..] = call.arguments;
    if size != 8 {
        return EINVAL;
    }
    // SAFETY: the caller's promise; the program's memory is asked for before it is used.
    unsafe {
        let before = program_mask(state);
        if new != 0 {
            if !readable(new) {
                return EFAULT;
            }
            let set = (new as *const u64).read_unaligned();
            let Some(mask) = changed(before, how, set) else {
                return EINVAL;
            };
            set_program_mask(state, mask);
        }
        if old != 0 {
            if !writable(old) {
                return EFAULT;
            }
            (old as *mut u64).write_unaligned(before);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_change_as_the_kernel_changes_them() {
        let segv = bit(11);
        assert_eq!(changed(0b101, 0, 0b010), Some(0b111));
        assert_eq!(changed(0b111, 1, 0b010), Some(0b101));
        assert_eq!(changed(0b111, 2, segv), Some(segv));
        assert_eq!(changed(0, 2, u64::MAX), Some(!(bit(9) | bit(19))));
        assert_eq!(changed(0, 3, 1), None);
    }

    #[test]
    fn the_kernel_never_blocks_what_the_engine_needs() {
        for mask in [0, bit(11), u64::MAX, bit(1)] {
            let (kernel, hidden) = divided(mask, bit(11) | bit(63));
            assert_eq!(kernel & (bit(11) | bit(63)), 0);
            assert_eq!(kernel | hidden, mask);
        }
    }
}
