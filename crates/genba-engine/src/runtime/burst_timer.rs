//! The timers that begin bursts: one for each thread, on its CPU time in user mode. They use the
//! signal 63, and are told from the program's own use of it by what the kernel reports with them.
//!
//! What must hold: no signal of a timer is pending while the program could find it, so a thread's
//! timer is stopped while the program blocks the signal in it.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

use super::program_mask;

/// The signal: the highest but one, which the C library leaves to programs.
pub const SIGNAL: usize = 63;
/// `SI_TIMER`.
const CODE_TIMER: i32 = -2;
/// The calling thread's CPU time in user mode: `MAKE_THREAD_CPUCLOCK(0, CPUCLOCK_VIRT)` of the
/// kernel. Time in the kernel does not count, so that the signal does not interrupt system calls.
const CLOCK: usize = -3isize as usize;
const CLOCK_MONOTONIC: usize = 1;
const CLOCK_THREAD_CPUTIME: usize = 3;
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

/// Returns the thread's CPU time, nanoseconds.
#[must_use]
pub fn thread_cpu_nanoseconds() -> u64 {
    time(CLOCK_THREAD_CPUTIME)
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
        let blocked = program_mask::program_mask(state) & program_mask::bit(SIGNAL) != 0;
        state.set(thread_state::BURST_PAUSED, u64::from(blocked));
    }
    true
}

/// Sets the timer of a thread to fire once after some CPU time; does nothing if it has none. While
/// the program blocks the signal, the timer waits until it does not.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn set(state: State, nanoseconds: u64) {
    let nanoseconds = nanoseconds.max(1);
    // SAFETY: the caller's promise.
    unsafe {
        if state.get(thread_state::BURST_PAUSED) != 0 {
            state.set(thread_state::BURST_PAUSED, nanoseconds);
        } else if let Some(timer) = timer(state) {
            settime(timer, nanoseconds);
        }
    }
}

/// Stops the timer while the program blocks its signal, and sets it again afterwards. Otherwise the
/// signal would be pending, and the program would find it (`sigpending`, `sigwait`, `signalfd`).
///
/// # Safety
/// The state must be the caller's own, all signals blocked, and no burst under way.
pub unsafe fn follow_mask(state: State, mask: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(timer) = timer(state) else { return };
        let paused = state.get(thread_state::BURST_PAUSED);
        match (mask & program_mask::bit(SIGNAL) != 0, paused) {
            (true, 0) => {
                // One that has fired is not stopped before its signal is taken: the kernel would
                // drop the signal then, but only when it is taken.
                let left = match remaining(timer) {
                    0 => 0,
                    _ => settime(timer, 0),
                };
                if left == 0 {
                    take_pending(state);
                }
                state.set(thread_state::BURST_PAUSED, left.max(1));
            }
            (false, left) if left != 0 => {
                state.set(thread_state::BURST_PAUSED, 0);
                settime(timer, left);
            }
            _ => {}
        }
    }
}

/// Whether the timer of a thread has fired and was not set since.
///
/// # Safety
/// The state must be the caller's own.
#[must_use]
pub unsafe fn has_fired(state: State) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let running = state.get(thread_state::BURST_PAUSED) == 0;
        running && timer(state).is_some_and(|timer| remaining(timer) == 0)
    }
}

unsafe fn timer(state: State) -> Option<usize> {
    // SAFETY: the caller's promise.
    let timer = unsafe { state.get(thread_state::BURST_TIMER) };
    timer.checked_sub(1).map(|timer| timer as usize)
}

/// Returns the time after which a timer fires, nanoseconds; 0 if it has fired.
fn remaining(timer: usize) -> u64 {
    let mut value = [0u64; 4];
    let to = value.as_mut_ptr() as usize;
    // SAFETY: writes four words.
    unsafe { raw_syscall::call(nr::TIMER_GETTIME, [timer, to, 0, 0, 0, 0]) };
    value[2] * 1_000_000_000 + value[3]
}

/// Sets a timer, or stops it for 0; what [`remaining`] was.
fn settime(timer: usize, nanoseconds: u64) -> u64 {
    let new = [
        0,
        0,
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000,
    ];
    let mut old = [0u64; 4];
    let (from, to) = (new.as_ptr() as usize, old.as_mut_ptr() as usize);
    // SAFETY: reads four words, and writes four.
    unsafe { raw_syscall::call(nr::TIMER_SETTIME, [timer, 0, from, to, 0, 0]) };
    old[2] * 1_000_000_000 + old[3]
}

/// Takes the pending signal of the thread's timer. Signals of the program's that were sent to the
/// thread before it are taken too, and sent again in their order.
///
/// # Safety
/// The state must be the caller's own, and all signals blocked.
unsafe fn take_pending(state: State) {
    /// Maximum number of signals of the program's that are looked through.
    const MAX_SIGNALS: usize = 16;
    let set = program_mask::bit(SIGNAL);
    let timeout = [0u64; 2];
    let mut others = [[0u64; 16]; MAX_SIGNALS];
    let mut count = 0;
    // SAFETY: the caller's promise; the kernel writes a `siginfo_t` of 128 bytes, and reads others.
    unsafe {
        for info in &mut others {
            let to = info.as_mut_ptr() as usize;
            let (set, timeout) = (&raw const set as usize, timeout.as_ptr() as usize);
            let taken = raw_syscall::call(nr::RT_SIGTIMEDWAIT, [set, to, timeout, 8, 0, 0]);
            if taken < 0 || is_own(state, SIGNAL, to) {
                break;
            }
            count += 1;
        }
        for info in &others[..count] {
            let pid = raw_syscall::call(nr::GETPID, [0; 6]) as usize;
            let thread = raw_syscall::call(nr::GETTID, [0; 6]) as usize;
            let arguments = [pid, thread, SIGNAL, info.as_ptr() as usize, 0, 0];
            raw_syscall::call(nr::RT_TGSIGQUEUEINFO, arguments);
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
        if let Some(timer) = timer(state) {
            raw_syscall::call(nr::TIMER_DELETE, [timer, 0, 0, 0, 0, 0]);
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
