//! The request channel: by it the engine asks genba to count a program that is about to be
//! executed, or to take the count file of a forked process.
//!
//! What must hold: if genba does not answer, the program continues uncounted. A process may be
//! killed at any moment, also while it owns the channel; the channel is then taken over.

use core::sync::atomic::Ordering;

use crate::count_file_layout::{REQUEST_DONE, REQUEST_EXEC, REQUEST_FORK, REQUEST_NONE};
use crate::raw_syscall::{self, nr};

use super::count_file::CountFile;

/// Nanoseconds between polls.
const POLL_NANOSECONDS: u64 = 200_000;
/// Polls before genba is taken to be dead: ten seconds.
const MAX_POLLS: u32 = 50_000;
const NANOSLEEP: usize = 35;

fn pause() {
    let time = [0u64, POLL_NANOSECONDS];
    // SAFETY: reads the time.
    unsafe { raw_syscall::call(NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Polls between checks whether the channel's owner has ended.
const POLLS_PER_OWNER_CHECK: u32 = 50;

/// Returns the inode of this process's PID namespace; 0 if it is not known.
fn namespace() -> u32 {
    let mut text = [0u8; 32];
    let path = c"/proc/self/ns/pid".as_ptr() as usize;
    let to = text.as_mut_ptr() as usize;
    // SAFETY: writes into the array, within its length.
    let length = unsafe { raw_syscall::call(nr::READLINK, [path, to, text.len(), 0, 0, 0]) };
    let text = &text[..usize::try_from(length).unwrap_or(0)];
    let digits = text.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0u32, |number, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(u32::from(digit - b'0'))
    })
}

/// Whether a thread of this PID namespace has ended, reaped or not; `false` if that is not known.
fn has_ended(thread: u32) -> bool {
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    let mut rest = thread;
    while rest != 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    match (state_of(&digits[first..]), state_of(b"self")) {
        (_, Err(_)) => false,
        (Err(error), _) => error == ENOENT || error == ESRCH,
        (Ok(state), _) => state == b'Z' || state == b'X',
    }
}

const ENOENT: isize = -2;
const ESRCH: isize = -3;

/// Returns the letter for a process's or thread's state in `/proc`, or −errno.
fn state_of(name: &[u8]) -> Result<u8, isize> {
    let mut path = [0u8; 32];
    let parts = [&b"/proc/"[..], name, &b"/stat"[..]];
    for (to, from) in path.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    // The file has the number, the name in parentheses of at most 64 bytes, and the state.
    let mut text = [0u8; 128];
    // SAFETY: the path ends with a zero; reads into the array, within its length.
    let read = unsafe {
        // O_RDONLY | O_CLOEXEC
        let fd = raw_syscall::call(nr::OPEN, [path.as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
        if fd < 0 {
            return Err(fd);
        }
        let to = text.as_mut_ptr() as usize;
        let read = raw_syscall::call(nr::READ, [fd as usize, to, text.len(), 0, 0, 0]);
        raw_syscall::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
        read
    };
    if read < 0 {
        return Err(read);
    }
    let end = text.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    Ok(text.get(end + 2).copied().unwrap_or(0))
}

/// Takes the channel, if need be from a thread that ended while it owned it; whether that
/// succeeded.
fn take(shared: CountFile, mine: u32) -> bool {
    const THREAD: u32 = (1 << 22) - 1;
    let control = shared.control();
    let swap = |from: u32| {
        (control.request_lock)
            .compare_exchange(from, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    };
    for poll in 1..=MAX_POLLS {
        if swap(0) {
            return true;
        }
        let owner = control.request_lock.load(Ordering::Relaxed);
        let ours = owner & !THREAD == mine & !THREAD;
        if poll % POLLS_PER_OWNER_CHECK == 0
            && ours
            && owner != 0
            && has_ended(owner & THREAD)
            && swap(owner)
        {
            // The former owner's request is answered all the same, and that answer must not be
            // taken for ours.
            return wait(shared).is_some();
        }
        pause();
    }
    false
}

/// Waits until no request is pending; the answer.
fn wait(shared: CountFile) -> Option<u32> {
    for _ in 0..MAX_POLLS {
        let answer = shared.control().request.load(Ordering::Acquire);
        if !matches!(answer, REQUEST_EXEC | REQUEST_FORK) {
            return Some(answer);
        }
        pause();
    }
    None
}

/// Sends a request and waits for the answer; whether it was served. All signals must be blocked.
pub fn send_request(shared: CountFile, what: u32, fd: u32, path: &[u8]) -> bool {
    let control = shared.control();
    // SAFETY: no memory is touched.
    let (process, thread) = unsafe {
        (
            raw_syscall::call(nr::GETPID, [0; 6]),
            raw_syscall::call(nr::GETTID, [0; 6]),
        )
    };
    let namespace = namespace();
    if !take(shared, thread as u32 | namespace << 22) {
        control.uncounted.fetch_add(1, Ordering::Relaxed);
        return false;
    }
    control.request_pid.store(process as u32, Ordering::Relaxed);
    control
        .request_thread
        .store(thread as u32, Ordering::Relaxed);
    control
        .request_namespace
        .store(namespace, Ordering::Relaxed);
    control.request_fd.store(fd, Ordering::Relaxed);
    shared.request_path(path);
    control.request.store(what, Ordering::Release);
    let answer = wait(shared);
    if answer.is_none() {
        control.uncounted.fetch_add(1, Ordering::Relaxed);
    }
    control.request.store(REQUEST_NONE, Ordering::Release);
    control.request_lock.store(0, Ordering::Release);
    answer == Some(REQUEST_DONE)
}
