//! Records of threads whose start has not been read: each CPU has a buffer of its own, and that with the start may be
//! read after those with what came next. Pure.

use std::collections::HashMap;

/// Most threads that are remembered until their start is read.
const MAX_THREADS: usize = 1000;

/// The last early record of each thread, with its time, ns.
#[derive(Debug)]
pub struct EarlyRecords<T> {
    of_threads: HashMap<i32, (u64, T)>,
}

impl<T> Default for EarlyRecords<T> {
    fn default() -> Self {
        Self {
            of_threads: HashMap::new(),
        }
    }
}

impl<T> EarlyRecords<T> {
    /// Keeps a record until the thread's start is read.
    pub fn keep(&mut self, tid: i32, time: u64, what: T) {
        if self.of_threads.len() >= MAX_THREADS {
            self.of_threads.clear();
        }
        self.of_threads.insert(tid, (time, what));
    }

    /// The record of a thread that began then; one from before is of another thread that had the same number.
    pub fn take(&mut self, tid: i32, began: u64) -> Option<(u64, T)> {
        let early = self.of_threads.remove(&tid)?;
        (early.0 >= began).then_some(early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_before_the_start_is_of_the_thread_that_begins_before_it() {
        let mut names = EarlyRecords::default();
        names.keep(7, 20, "cat");
        assert_eq!(names.take(7, 10), Some((20, "cat")));
        assert_eq!(names.take(7, 10), None);
        names.keep(7, 20, "cat");
        assert_eq!(names.take(7, 30), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut ends = EarlyRecords::default();
        (0..5000).for_each(|tid| ends.keep(tid, 1, ()));
        assert!(ends.of_threads.len() <= MAX_THREADS);
        assert_eq!(ends.take(4999, 0), Some((1, ())));
    }
}
