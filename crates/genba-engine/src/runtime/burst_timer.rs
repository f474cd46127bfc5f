//! The timers that begin bursts: one for each thread, on its CPU time in user mode. They use the
//! signal 63, and are told from the program's own use of it by what the kernel reports with them.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

/// The signal: the highest but one, which the C library leaves to programs.
pub const SIGNAL: usize = 63;
/// `SI_TIMER`.
const CODE_TIMER: i32 = -2;
/// The calling thread's CPU time in user mode: `MAKE_THREAD_CPUCLOCK(0, CPUCLOCK_VIRT)` of the
/// kernel. Time in the kernel does not count, so that the signal does not interrupt system calls.
const CLOCK: usize = -3isize as usize;
const CLOCK_MONOTONIC: usize = 1;
/// `SIGEV_SIGNAL | SIGEV_THREAD_ID`.
const NOTIFY_THREAD: u32 = 4;

static IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether the engine handles [`SIGNAL`].
#[must_use]
pub fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// Makes the engine handle [`SIGNAL`], from the next registration of its action on.
pub fn use_signal() {
    IN_USE.store(true, Ordering::Relaxed);
}

fn time(clock: usize) -> u64 {
    let mut time = [0u64; 2];
    let to = time.as_mut_ptr() as usize;
    // SAFETY: writes two words.
    unsafe { raw_syscall::call(nr::CLOCK_GETTIME, [clock, to, 0, 0, 0, 0]) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

/// Returns the thread's CPU time in user mode, nanoseconds.
#[must_use]
pub fn cpu_nanoseconds() -> u64 {
    time(CLOCK)
}

/// Returns the time since a fixed moment, nanoseconds.
#[must_use]
pub fn wall_nanoseconds() -> u64 {
    time(CLOCK_MONOTONIC)
}

/// Creates the timer of the calling thread; whether that succeeded.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn create(state: State) -> bool {
    // `struct sigevent`: value, signal, how to notify, thread.
    let mut event = [0u64; 8];
    let mut timer = 0i32;
    // SAFETY: the kernel reads the event and writes the number.
    unsafe {
        let thread = raw_syscall::call(nr::GETTID, [0; 6]) as u64;
        event[0] = state.0 as u64;
        event[1] = SIGNAL as u64 | u64::from(NOTIFY_THREAD) << 32;
        event[2] = thread;
        let arguments = [
            CLOCK,
            event.as_ptr() as usize,
            &raw mut timer as usize,
            0,
            0,
            0,
        ];
        if raw_syscall::call(nr::TIMER_CREATE, arguments) < 0 {
            return false;
        }
        state.set(thread_state::BURST_TIMER, timer as u64 + 1);
    }
    true
}

/// Sets the timer of a thread to fire once after some CPU time; does nothing if it has none.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn set(state: State, nanoseconds: u64) {
    let nanoseconds = nanoseconds.max(1);
    let value = [
        0,
        0,
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000,
    ];
    // SAFETY: the caller's promise; the kernel reads the value.
    unsafe {
        if let Some(timer) = state.get(thread_state::BURST_TIMER).checked_sub(1) {
            let arguments = [timer as usize, 0, value.as_ptr() as usize, 0, 0, 0];
            raw_syscall::call(nr::TIMER_SETTIME, arguments);
        }
    }
}

/// Deletes the timer of a thread that ends or executes another program.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn delete(state: State) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(timer) = state.get(thread_state::BURST_TIMER).checked_sub(1) {
            raw_syscall::call(nr::TIMER_DELETE, [timer as usize, 0, 0, 0, 0, 0]);
            state.set(thread_state::BURST_TIMER, 0);
        }
    }
}

/// Whether a signal is one of the thread's timer.
///
/// # Safety
/// `info` must be the address of the signal's `siginfo_t`.
#[must_use]
pub unsafe fn is_own(state: State, signal: usize, info: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let code = ((info + 8) as *const i32).read();
        let value = ((info + 24) as *const u64).read();
        signal == SIGNAL && code == CODE_TIMER && value == state.0 as u64
    }
}
