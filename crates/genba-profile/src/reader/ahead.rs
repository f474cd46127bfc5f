//! Bringing a mapped file near before it is read: a thread goes a little ahead of the reader, so
//! that the reader waits neither for the page table nor for memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use memmap2::{Advice, Mmap};

/// Smaller files are read before a thread is of use.
const LEAST: usize = 4 << 20;
/// How much is brought near at a time.
const STEP: usize = 512 << 10;
/// How far ahead: less than the caches hold, lest it be gone again.
const AHEAD: usize = 6 << 20;
/// A line of the cache.
const LINE: usize = 64;
/// How long to wait where the reader is not yet far enough.
const PAUSE: Duration = Duration::from_micros(50);

/// Does `work` with a thread ahead of it; `work` says how far it is in the file.
pub fn with_thread_ahead<T>(map: &Mmap, work: impl FnOnce(&AtomicUsize) -> T) -> T {
    let progress = AtomicUsize::new(0);
    let several = || std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if map.len() < LEAST || !several() {
        return work(&progress);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ahead = || go_ahead(map, &progress, &done);
        // Without a thread it goes as well.
        let _ = std::thread::Builder::new().spawn_scoped(scope, ahead);
        let _end = End(&done);
        work(&progress)
    })
}

/// Ends the thread, also when the work panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn go_ahead(map: &Mmap, progress: &AtomicUsize, done: &AtomicBool) {
    let mut at = 0;
    while at < map.len() && !done.load(Ordering::Relaxed) {
        let reader = progress.load(Ordering::Relaxed);
        if at > reader.saturating_add(AHEAD) {
            std::thread::sleep(PAUSE);
            continue;
        }
        // What the reader has overtaken needs no help.
        at = at.max(reader / STEP * STEP);
        let end = at.saturating_add(STEP).min(map.len());
        if at >= end {
            return;
        }
        let _ = map.advise_range(Advice::PopulateRead, at, end - at);
        let touched = map[at..end].iter().step_by(LINE);
        std::hint::black_box(touched.fold(0u8, |sum, byte| sum ^ byte));
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn mapped(len: usize) -> Mmap {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; len]).unwrap();
        // SAFETY: nobody else has the file.
        unsafe { Mmap::map(&file) }.unwrap()
    }

    #[test]
    fn the_work_is_done_whatever_its_progress() {
        for len in [1, LEAST, LEAST + 3 * STEP / 2] {
            let map = mapped(len);
            for last in [0, len, usize::MAX] {
                let sum = with_thread_ahead(&map, |progress| {
                    progress.store(last, Ordering::Relaxed);
                    map.iter().map(|&b| b as usize).sum::<usize>()
                });
                assert_eq!(sum, 7 * len);
            }
        }
    }

    #[test]
    fn all_is_gone_over_as_far_as_the_reader_is() {
        let map = mapped(LEAST);
        let (progress, done) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
        go_ahead(&map, &progress, &done);
        progress.store(LEAST, Ordering::Relaxed);
        go_ahead(&map, &progress, &done);
    }
}
