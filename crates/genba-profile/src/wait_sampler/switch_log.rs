//! The time on CPUs of threads that end between two looks, from the records of their switches.
//!
//! The kernel's account of a thread (`/proc/TID/schedstat`) is gone with it, and brought up to date with each
//! tick only: of a process that lives for some milliseconds it has a part. Each switch is recorded with its
//! time, from a buffer for each CPU.

use std::collections::HashMap;

/// Most threads that are followed at a time.
const MAX_FOLLOWED: usize = 50_000;

/// What is recorded of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// It begins, and waits for its first CPU.
    Begins,
    /// It gets a CPU.
    In,
    /// It loses its CPU and could go on.
    Preempted,
    /// It gives up its CPU.
    Blocks,
    /// It could go on again; recorded only with the scheduler's tracepoints.
    Wakes,
    /// Its account was read, and it was or was not blocked in a call; no change of its state.
    Looked {
        /// Whether it was not.
        ready: bool,
    },
    /// It ends.
    Ends,
}

/// The time of a thread from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeLife {
    /// On a CPU, ns.
    pub running: u64,
    /// Without one though it could have gone on, ns; from a wake-up to the CPU is in it only where wake-ups are
    /// recorded.
    pub runnable: u64,
    /// The part of `runnable` since its account was last read, ns.
    pub late_runnable: u64,
    /// Since then: from giving up its CPU to the next, ns. Where wake-ups are not recorded it was runnable for a part of it.
    pub late_blocked: u64,
    /// How often it was looked at from giving up its CPU to the next, and how often it was runnable then.
    pub looks: u64,
    /// See `looks`.
    pub ready_looks: u64,
    /// How often it got a CPU.
    pub slices: u64,
}

#[derive(Clone, Copy, Debug)]
struct Followed {
    last: Event,
    since: u64,
    /// When its account was last read.
    looked: u64,
    life: WholeLife,
}

/// The switches of all threads, put into order.
#[derive(Debug, Default)]
pub struct SwitchLog {
    /// Time, thread, what: not yet in order with what other buffers still have.
    pending: Vec<(u64, i32, Event)>,
    /// Start of the last round: what is older is in `pending` by now, whichever buffer it was in.
    round: u64,
    followed: HashMap<i32, Followed>,
    is_over: bool,
    ended: Vec<(i32, u64, WholeLife)>,
}

impl SwitchLog {
    /// Adds a record.
    pub fn add(&mut self, time: u64, tid: i32, event: Event) {
        if !self.is_over {
            self.pending.push((time, tid, event));
        }
    }

    /// All buffers have been read once more, from `now` on.
    pub fn end_of_round(&mut self, now: u64) {
        let known = self.round;
        self.round = now;
        self.follow(known);
    }

    /// Switches are recorded no longer: nothing is known of threads that have not ended.
    pub fn end(&mut self) {
        self.follow(u64::MAX);
        self.followed.clear();
        self.is_over = true;
    }

    /// The threads that have ended since the last call and were recorded from start to end: thread, end, time.
    pub fn ended(&mut self) -> Vec<(i32, u64, WholeLife)> {
        std::mem::take(&mut self.ended)
    }

    /// No more records will come.
    pub fn finish(&mut self) {
        self.follow(u64::MAX);
    }

    fn follow(&mut self, known: u64) {
        self.pending.sort_unstable();
        let complete = self.pending.partition_point(|(time, ..)| *time <= known);
        for (time, tid, event) in self.pending.drain(..complete) {
            if event == Event::Begins {
                if self.followed.len() < MAX_FOLLOWED {
                    let life = WholeLife::default();
                    let new = Followed {
                        last: event,
                        since: time,
                        looked: time,
                        life,
                    };
                    self.followed.insert(tid, new);
                }
                continue;
            }
            let Some(thread) = self.followed.get_mut(&tid) else {
                continue;
            };
            if let Event::Looked { ready } = event {
                if thread.last == Event::Blocks {
                    thread.life.looks += 1;
                    thread.life.ready_looks += u64::from(ready);
                }
                thread.looked = time;
                (thread.life.late_runnable, thread.life.late_blocked) = (0, 0);
                continue;
            }
            // Two records of one wake-up, or one of a thread that has not given up its CPU.
            if event == Event::Wakes && thread.last != Event::Blocks {
                continue;
            }
            let passed = time.saturating_sub(thread.since);
            match thread.last {
                // The kernel accounts for it when it ends: all of it is later than the last account.
                Event::Begins | Event::Preempted | Event::Wakes => {
                    thread.life.runnable += passed;
                    thread.life.late_runnable += passed;
                }
                Event::In => thread.life.running += passed,
                Event::Blocks => {
                    thread.life.late_blocked +=
                        time.saturating_sub(thread.since.max(thread.looked));
                }
                Event::Looked { .. } | Event::Ends => {}
            }
            thread.life.slices += u64::from(event == Event::In);
            (thread.last, thread.since) = (event, time);
            if event == Event::Ends {
                self.ended.push((tid, time, thread.life));
                self.followed.remove(&tid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole_life(records: &[(u64, i32, Event)], rounds: &[usize]) -> Vec<(i32, u64, WholeLife)> {
        let mut log = SwitchLog::default();
        for (at, (time, tid, event)) in records.iter().enumerate() {
            log.add(*time, *tid, *event);
            if rounds.contains(&at) {
                log.end_of_round(*time);
            }
        }
        log.finish();
        log.ended()
    }

    #[test]
    fn a_life_divides_into_its_parts() {
        let records = [
            (10, 7, Event::Begins),
            (14, 7, Event::In),
            (20, 7, Event::Blocks),
            (18, 7, Event::Looked { ready: true }),
            (30, 7, Event::Looked { ready: false }),
            (50, 7, Event::In),
            (57, 7, Event::Preempted),
            (60, 7, Event::In),
            (61, 7, Event::Ends),
            // Of this one the start was not recorded.
            (62, 8, Event::In),
            (63, 8, Event::Ends),
        ];
        let life = WholeLife {
            running: 14,
            runnable: 7,
            late_runnable: 3,
            late_blocked: 20,
            looks: 1,
            ready_looks: 0,
            slices: 3,
        };
        assert_eq!(whole_life(&records, &[]), [(7, 61, life)]);
    }

    #[test]
    fn time_from_a_wake_up_to_the_cpu_is_runnable() {
        let records = [
            (10, 7, Event::Begins),
            (10, 7, Event::In),
            (20, 7, Event::Blocks),
            (50, 7, Event::Wakes),
            (55, 7, Event::Wakes),
            (57, 7, Event::In),
            // It is woken before it has given up its CPU.
            (60, 7, Event::Wakes),
            (61, 7, Event::Ends),
        ];
        let life = WholeLife {
            running: 14,
            runnable: 7,
            late_runnable: 7,
            late_blocked: 30,
            slices: 2,
            ..WholeLife::default()
        };
        assert_eq!(whole_life(&records, &[]), [(7, 61, life)]);
    }

    #[test]
    fn lives_without_records_of_switches_are_not_known() {
        let mut log = SwitchLog::default();
        log.add(1, 7, Event::Begins);
        log.add(2, 7, Event::In);
        log.end();
        for (time, event) in [(9, Event::Ends), (10, Event::Begins), (11, Event::Ends)] {
            log.add(time, 7, event);
        }
        log.finish();
        assert!(log.ended().is_empty());
    }

    proptest! {
        // Two buffers, each in order, that are read in turns; a thread moves from one to the other.
        #[test]
        fn the_order_of_buffers_does_not_matter(gaps in prop::collection::vec((1u64..50, any::<bool>()), 4..60)) {
            let mut time = 0;
            let mut buffers = [Vec::new(), Vec::new()];
            let mut all = Vec::new();
            for (at, (gap, second)) in gaps.iter().enumerate() {
                time += gap;
                let event = match at {
                    0 => Event::Begins,
                    _ if at == gaps.len() - 1 => Event::Ends,
                    _ if at % 2 == 1 => Event::In,
                    _ if gap % 2 == 0 => Event::Preempted,
                    _ => Event::Blocks,
                };
                all.push((time, 1, event));
                buffers[usize::from(*second)].push((time, 1, event));
            }
            let mut log = SwitchLog::default();
            let mut read = [0, 0];
            for round in 1..=4 {
                let now = time * round / 4;
                for (buffer, read) in buffers.iter().zip(&mut read) {
                    for record in buffer[*read..].iter().take_while(|(at, ..)| *at <= now) {
                        log.add(record.0, record.1, record.2);
                        *read += 1;
                    }
                }
                log.end_of_round(now);
            }
            log.finish();
            prop_assert_eq!(log.ended(), whole_life(&all, &[]));
        }
    }
}
