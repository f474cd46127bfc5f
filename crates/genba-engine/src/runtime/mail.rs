//! Asking genba for something: to count a program that is about to be executed, to take the
//! file of a forked process.
//!
//! What must hold: if genba does not answer, the program goes on all the same, uncounted.

use core::sync::atomic::Ordering;

use crate::layout::{MAIL_DONE, MAIL_NONE, MAIL_REFUSED};
use crate::sys::{self, nr};

use super::shared::Shared;

/// Nanoseconds between looks at the answer.
const PAUSE: u64 = 200_000;
/// Looks before genba is taken to be dead: ten seconds.
const PATIENCE: u32 = 50_000;
const NANOSLEEP: usize = 35;

fn pause() {
    let time = [0u64, PAUSE];
    // SAFETY: reads the time.
    unsafe { sys::call(NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Asks, and waits for the answer; whether it was done. All signals must be blocked.
pub fn ask(shared: Shared, what: u32, fd: u32, path: &[u8]) -> bool {
    let control = shared.control();
    let take = || {
        let lock = &control.mail_lock;
        lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
    };
    let mut patience = PATIENCE;
    while take().is_err() {
        patience -= 1;
        if patience == 0 {
            return false;
        }
        pause();
    }
    // SAFETY: no memory is touched.
    let (process, thread) =
        unsafe { (sys::call(nr::GETPID, [0; 6]), sys::call(nr::GETTID, [0; 6])) };
    control.mail_pid.store(process as u32, Ordering::Relaxed);
    control.mail_thread.store(thread as u32, Ordering::Relaxed);
    control.mail_fd.store(fd, Ordering::Relaxed);
    shared.mail_path(path);
    control.mail.store(what, Ordering::Release);
    let mut answer = what;
    for _ in 0..PATIENCE {
        answer = control.mail.load(Ordering::Acquire);
        if answer == MAIL_DONE || answer == MAIL_REFUSED {
            break;
        }
        pause();
    }
    control.mail.store(MAIL_NONE, Ordering::Release);
    control.mail_lock.store(0, Ordering::Release);
    answer == MAIL_DONE
}
