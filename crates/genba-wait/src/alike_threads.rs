//! Threads that were seen too seldom to judge each by itself, together with those of the same name.
//!
//! A thread or process that lives for some milliseconds is seen once or not at all. Snapshots are at random times,
//! so what they see of all that are alike tells how the time of all of them divides.

use std::collections::HashMap;

use genba_profile::wait_sampler::WaitRecording;

/// Snapshots of a thread from which on it stands for itself.
const MIN_SNAPSHOTS: u64 = 20;

/// Which threads are judged together.
#[derive(Debug)]
pub struct Pools {
    of_thread: Vec<usize>,
    count: usize,
}

impl Pools {
    /// The pools of a recording.
    pub fn of(recording: &WaitRecording) -> Self {
        let mut snapshots = vec![0; recording.threads.len()];
        for state in &recording.states {
            snapshots[state.thread as usize] += state.snapshots;
        }
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut count = 0;
        let mut next = || {
            count += 1;
            count - 1
        };
        let of_thread = recording
            .threads
            .iter()
            .zip(&snapshots)
            .map(|(thread, snapshots)| match *snapshots >= MIN_SNAPSHOTS {
                true => next(),
                false => *by_name.entry(&thread.name).or_insert_with(&mut next),
            })
            .collect();
        Self { of_thread, count }
    }

    /// The pool of a thread.
    pub fn pool(&self, thread: usize) -> usize {
        self.of_thread[thread]
    }

    /// A value for each pool, at first the default.
    pub fn each<T: Default + Clone>(&self) -> Vec<T> {
        vec![T::default(); self.count]
    }
}

/// What snapshots saw of a pool's threads between giving up a CPU and the next.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    all: u64,
    ready: u64,
}

impl Looks {
    fn add(&mut self, all: u64, ready: u64) {
        self.all += all;
        self.ready += ready;
    }

    /// Share of that time in which threads were runnable; `None` after too few looks.
    fn runnable_share(&self) -> Option<f64> {
        (self.all >= MIN_SNAPSHOTS).then(|| self.ready as f64 / self.all as f64)
    }
}

/// Divides the time of threads for which their account does not say whether they were blocked or already runnable:
/// as threads of the same name were seen in such time, else as any were.
pub fn divide(recording: &mut WaitRecording, pools: &Pools) {
    let mut looks: Vec<Looks> = pools.each();
    let mut of_all = Looks::default();
    for (at, thread) in recording.threads.iter().enumerate() {
        looks[pools.pool(at)].add(thread.looks, thread.ready_looks);
        of_all.add(thread.looks, thread.ready_looks);
    }
    for (at, thread) in recording.threads.iter_mut().enumerate() {
        let share = looks[pools.pool(at)].runnable_share();
        let share = share.or_else(|| of_all.runnable_share()).unwrap_or(0.0);
        thread.runnable += (thread.undivided as f64 * share) as u64;
        thread.undivided = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::WaitReason;
    use genba_profile::wait_sampler::{SeenState, SeenWait, WaitObject, WatchedThread};

    fn state(thread: u32, wait: bool, ns: f64, snapshots: u64) -> SeenState {
        SeenState {
            thread,
            wait: wait.then_some(SeenWait {
                reason: WaitReason::Sleep,
                call: 0,
                object: WaitObject::Nothing,
                limited: false,
                stack: (1, 1),
            }),
            ns,
            snapshots,
            entries: snapshots,
            ..SeenState::default()
        }
    }

    fn short(name: &str) -> WatchedThread {
        WatchedThread {
            name: name.to_owned(),
            ended: 1000,
            running: 100,
            runnable: 100,
            undivided: 800,
            looks: 10,
            ready_looks: 5,
            ..WatchedThread::default()
        }
    }

    fn divided(threads: Vec<WatchedThread>) -> Vec<u64> {
        let mut recording = WaitRecording {
            threads,
            ..WaitRecording::default()
        };
        let pools = Pools::of(&recording);
        divide(&mut recording, &pools);
        assert!(recording.threads.iter().all(|one| one.undivided == 0));
        recording.threads.iter().map(|one| one.runnable).collect()
    }

    #[test]
    fn undivided_time_divides_as_threads_of_the_name_were_seen() {
        let blocked = WatchedThread {
            ready_looks: 0,
            ..short("other")
        };
        // Half of 20 looks found workers runnable; of the others there are too few, and a third of all 30 were.
        let threads = vec![short("worker"), short("worker"), blocked];
        assert_eq!(divided(threads), [500, 500, 100 + 800 / 3]);
    }

    #[test]
    fn few_looks_divide_nothing() {
        assert_eq!(divided(vec![short("worker")]), [100]);
    }

    #[test]
    fn thread_that_was_seen_often_stands_for_itself() {
        let recording = WaitRecording {
            threads: vec![short("a"), short("a"), short("a"), short("b")],
            states: vec![state(1, true, 1.0, 20)],
            ..WaitRecording::default()
        };
        let pools = Pools::of(&recording);
        assert_eq!(pools.pool(0), pools.pool(2));
        assert_ne!(pools.pool(0), pools.pool(1));
        assert_ne!(pools.pool(0), pools.pool(3));
    }
}
