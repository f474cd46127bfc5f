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

/// Times of a pool, ns, by the accounts and by snapshots.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    wall: f64,
    /// On a CPU or runnable, as far as accounts tell.
    ready: f64,
    undivided: f64,
    seen: f64,
    seen_ready: f64,
    snapshots: u64,
}

impl Times {
    fn add(&mut self, other: &Self) {
        self.wall += other.wall;
        self.ready += other.ready;
        self.undivided += other.undivided;
        self.seen += other.seen;
        self.seen_ready += other.seen_ready;
        self.snapshots += other.snapshots;
    }

    /// Share of the undivided time in which threads were runnable: what accounts lack of the time that snapshots saw.
    fn runnable_share(&self) -> f64 {
        if self.undivided <= 0.0 || self.seen <= 0.0 || self.snapshots < MIN_SNAPSHOTS {
            return 0.0;
        }
        let ready = self.wall * self.seen_ready / self.seen;
        ((ready - self.ready) / self.undivided).clamp(0.0, 1.0)
    }
}

/// Divides the time of threads for which their account does not say whether they were blocked or already runnable.
pub fn divide(recording: &mut WaitRecording, pools: &Pools) {
    let mut times: Vec<Times> = pools.each();
    for (at, thread) in recording.threads.iter().enumerate() {
        let of_pool = &mut times[pools.pool(at)];
        of_pool.wall += thread.ended.saturating_sub(thread.began) as f64;
        of_pool.ready += (thread.running + thread.runnable) as f64;
        of_pool.undivided += thread.undivided as f64;
    }
    for state in &recording.states {
        let of_pool = &mut times[pools.pool(state.thread as usize)];
        of_pool.seen += state.ns;
        of_pool.snapshots += state.snapshots;
        if state.wait.is_none() {
            of_pool.seen_ready += state.ns;
        }
    }
    let mut all = Times::default();
    times.iter().for_each(|one| all.add(one));
    for (at, thread) in recording.threads.iter_mut().enumerate() {
        let of_pool = &times[pools.pool(at)];
        let share = match of_pool.snapshots >= MIN_SNAPSHOTS {
            true => of_pool.runnable_share(),
            false => all.runnable_share(),
        };
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
                stack: (1, 1),
            }),
            ns,
            snapshots,
            entries: snapshots,
            long_entries: 0,
        }
    }

    fn short(name: &str) -> WatchedThread {
        WatchedThread {
            name: name.to_owned(),
            ended: 1000,
            running: 100,
            runnable: 100,
            undivided: 800,
            ..WatchedThread::default()
        }
    }

    #[test]
    fn undivided_time_divides_as_threads_of_the_name_were_seen() {
        let mut recording = WaitRecording {
            threads: vec![short("worker"), short("worker"), short("worker")],
            // Ready in 60 % of what was seen: 20 % are accounted for, so half of the rest.
            states: vec![state(0, false, 600.0, 12), state(1, true, 400.0, 8)],
            ..WaitRecording::default()
        };
        let pools = Pools::of(&recording);
        divide(&mut recording, &pools);
        let runnable: Vec<u64> = recording.threads.iter().map(|one| one.runnable).collect();
        assert_eq!(runnable, [500, 500, 500]);
        assert!(recording.threads.iter().all(|one| one.undivided == 0));
    }

    #[test]
    fn few_snapshots_divide_nothing() {
        let mut recording = WaitRecording {
            threads: vec![short("worker")],
            states: vec![state(0, false, 600.0, 3)],
            ..WaitRecording::default()
        };
        let pools = Pools::of(&recording);
        divide(&mut recording, &pools);
        assert_eq!(recording.threads[0].runnable, 100);
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
