//! Searches for a nonce; a helper thread notes the progress four times a second until the search ends.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

struct Progress {
    tried: AtomicU64,
    ended: Mutex<bool>,
    end: Condvar,
}

/// Notes the progress until the search ends; returns the last note.
fn note_progress(progress: &Progress) -> u64 {
    let mut ended = progress.ended.lock().unwrap();
    while !*ended {
        ended = progress.end.wait_timeout(ended, Duration::from_millis(250)).unwrap().0;
    }
    progress.tried.load(Ordering::Relaxed)
}

fn mixed(nonce: u64) -> u64 {
    let mut state = nonce + 1;
    for _ in 0..64 {
        state = (state ^ state >> 31).wrapping_mul(0x94d049bb133111eb).rotate_left(9);
    }
    state
}

fn search(progress: &Progress, tries: u64) -> u64 {
    let mut best = u64::MAX;
    let mut found = 0;
    for nonce in 0..tries {
        let value = mixed(nonce);
        if value < best {
            best = value;
            found = nonce;
        }
        if nonce % 4096 == 0 {
            progress.tried.store(nonce, Ordering::Relaxed);
        }
    }
    progress.tried.store(tries, Ordering::Relaxed);
    found
}

fn main() {
    let tries = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let progress = Progress { tried: AtomicU64::new(0), ended: Mutex::new(false), end: Condvar::new() };
    let found = thread::scope(|scope| {
        let meter = scope.spawn(|| note_progress(&progress));
        let found = search(&progress, tries);
        *progress.ended.lock().unwrap() = true;
        progress.end.notify_one();
        (found, meter.join().unwrap())
    });
    println!("{} of {}", found.0, found.1);
}
