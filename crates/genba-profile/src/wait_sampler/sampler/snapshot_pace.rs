//! When the next snapshot is due: at random times, within a share of one CPU. Pure.

use std::time::{Duration, Instant};

/// Average time between snapshots.
pub const INTERVAL: Duration = Duration::from_millis(2);
/// Largest share of a CPU that snapshots at random times may take.
const MAX_COST: f64 = 0.02;
/// CPU time that snapshots may take beyond that, so that a short program of many threads is seen as well.
const EARLY_COST: Duration = Duration::from_millis(40);
/// The same for snapshots of so many threads that the next one would come after [`LONG_INTERVAL`]: what a shell that starts
/// the program took must not be missing when the program starts its threads.
const EARLY_COST_OF_MANY: Duration = Duration::from_millis(40);
/// CPU time of what is read once, such as an interpreter's symbols, that does not postpone the next snapshot: a second
/// later all threads of a short program may have ended. Chosen: some such files, of a debug build.
const ONCE_COST: Duration = Duration::from_millis(400);
/// Threads may begin and end within this time.
const LONG_INTERVAL: Duration = Duration::from_millis(100);
/// While they do: the time between snapshots in times of the last one's CPU time.
const EARLY_SPACING: u32 = 4;
/// Largest share of a CPU for looking at all threads when one was sampled on a CPU.
const MAX_SAMPLED_COST: f64 = 0.02;
/// Longest average time between snapshots, however many threads there are.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// The times of the next snapshots.
pub struct SnapshotPace {
    /// When the next snapshot at a random time is due.
    pub due: Instant,
    /// When threads are looked at again because one was sampled on a CPU.
    pub sampled_due: Instant,
    /// What is left of [`EARLY_COST`].
    early_cost: Duration,
    /// What is left of [`EARLY_COST_OF_MANY`].
    early_cost_of_many: Duration,
    /// What is left of [`ONCE_COST`].
    once_cost: Duration,
    /// CPU time of the last snapshot.
    last_cost: Duration,
    /// CPU time of the last look for a sample.
    last_sampled_cost: Duration,
}

impl SnapshotPace {
    /// The first snapshot is due an interval after `now`.
    pub fn begin(now: Instant) -> Self {
        Self {
            due: now + INTERVAL,
            sampled_due: now,
            early_cost: EARLY_COST,
            early_cost_of_many: EARLY_COST_OF_MANY,
            once_cost: ONCE_COST,
            last_cost: Duration::ZERO,
            last_sampled_cost: Duration::ZERO,
        }
    }

    /// The part of a look's CPU time that the next will take as well, as far as can be told: of one that would
    /// postpone that for long, not what is more than the `last` one took.
    fn lasting(&mut self, cost: Duration, last: Duration) -> Duration {
        let more = cost.saturating_sub(last).min(self.once_cost);
        if cost.div_f64(MAX_COST) <= LONG_INTERVAL {
            return cost;
        }
        self.once_cost -= more;
        cost - more
    }

    /// Takes note of a snapshot that ended `now` and took so much CPU time. `random` is from 0 to below 1: what
    /// repeats in the program must not beat with the snapshots.
    pub fn took(&mut self, now: Instant, cost: Duration, random: f64) {
        let last = std::mem::replace(&mut self.last_cost, cost);
        let cost = self.lasting(cost, last);
        let affordable = INTERVAL.max(cost.div_f64(MAX_COST)).min(MAX_INTERVAL);
        let early_cost = match affordable > LONG_INTERVAL {
            true => &mut self.early_cost_of_many,
            false => &mut self.early_cost,
        };
        let interval = match early_cost.checked_sub(cost) {
            Some(left) if affordable > INTERVAL => {
                *early_cost = left;
                affordable.min(INTERVAL.max(cost * EARLY_SPACING))
            }
            _ => affordable,
        };
        self.due = now + interval.mul_f64(0.5 + random);
    }

    /// Takes note of a look at the threads for samples that began at `began`. Random as well: samples come in a rhythm.
    pub fn looked_at_samples(&mut self, began: Instant, cost: Duration, random: f64) {
        let last = std::mem::replace(&mut self.last_sampled_cost, cost);
        let cost = self.lasting(cost, last);
        self.sampled_due = began + cost.div_f64(MAX_SAMPLED_COST).mul_f64(0.5 + random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time between snapshots of this cost, on average: the first of them, and after many.
    fn intervals(cost: Duration) -> (Duration, Duration) {
        let now = Instant::now();
        let mut pace = SnapshotPace::begin(now);
        pace.last_cost = cost;
        pace.took(now, cost, 0.5);
        let first = pace.due - now;
        for _ in 0..10_000 {
            pace.took(now, cost, 0.5);
        }
        (first, pace.due - now)
    }

    #[test]
    fn cheap_snapshots_come_at_the_usual_interval() {
        let cost = Duration::from_micros(20);
        assert_eq!(intervals(cost), (INTERVAL, INTERVAL));
    }

    #[test]
    fn expensive_snapshots_are_close_at_first_and_then_within_their_share() {
        let cost = Duration::from_millis(4);
        let (first, later) = intervals(cost);
        assert_eq!(first, cost * EARLY_SPACING);
        assert_eq!(later, cost.div_f64(MAX_COST));
    }

    #[test]
    fn threads_of_a_program_that_a_shell_starts_are_looked_at_soon() {
        let now = Instant::now();
        let mut pace = SnapshotPace::begin(now);
        // The shell's processes use up what is allowed early.
        let few = Duration::from_millis(1);
        for _ in 0..100 {
            pace.took(now, few, 0.5);
        }
        assert_eq!(pace.due - now, few.div_f64(MAX_COST));
        let many = Duration::from_millis(10);
        pace.last_cost = many;
        for _ in 0..4 {
            pace.took(now, many, 0.5);
            assert_eq!(pace.due - now, many * EARLY_SPACING);
        }
        pace.took(now, many, 0.5);
        assert_eq!(pace.due - now, many.div_f64(MAX_COST));
    }

    #[test]
    fn what_is_read_once_does_not_postpone_the_next_snapshot() {
        let now = Instant::now();
        let mut pace = SnapshotPace::begin(now);
        let (few, symbols) = (Duration::from_micros(300), Duration::from_millis(65));
        for _ in 0..3 {
            pace.took(now, few, 0.5);
            pace.took(now, symbols, 0.5);
            assert!(pace.due - now <= few.div_f64(MAX_COST));
        }
        // A second snapshot that takes as long tells what the third will take.
        pace.took(now, symbols, 0.5);
        assert_eq!(pace.due - now, MAX_INTERVAL);
        // Not for ever: what takes long again and again is no longer taken for the last time.
        for _ in 0..20 {
            pace.took(now, few, 0.5);
            pace.took(now, symbols, 0.5);
        }
        assert_eq!(pace.due - now, MAX_INTERVAL);
    }

    #[test]
    fn snapshots_of_very_many_threads_come_once_a_second() {
        let (first, later) = intervals(Duration::from_millis(100));
        assert_eq!((first, later), (MAX_INTERVAL, MAX_INTERVAL));
    }

    #[test]
    fn looks_for_samples_take_their_share_as_well() {
        let began = Instant::now();
        let mut pace = SnapshotPace::begin(began);
        pace.looked_at_samples(began, Duration::from_millis(1), 0.0);
        assert_eq!(pace.sampled_due - began, Duration::from_millis(25));
    }

    #[test]
    fn what_a_look_for_samples_reads_once_postpones_nothing() {
        let began = Instant::now();
        let mut pace = SnapshotPace::begin(began);
        let symbols = Duration::from_millis(60);
        pace.looked_at_samples(began, symbols, 0.5);
        assert_eq!(pace.sampled_due, began);
        pace.looked_at_samples(began, symbols, 0.5);
        assert_eq!(pace.sampled_due - began, symbols.div_f64(MAX_SAMPLED_COST));
    }
}
