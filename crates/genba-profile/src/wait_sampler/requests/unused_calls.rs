//! Which recorded calls a target does not make, so that their events need not be switched with its threads. Pure.
//!
//! Each event of a thread costs some 60 ns whenever the thread gets a CPU or loses it. Two for each of twenty calls are
//! 6 µs a switch; most servers make five of these calls.

/// How long the calls are watched before the rest is switched off, ns.
const WINDOW_NS: u64 = 500_000_000;
/// How long they stay off, ns.
const OFF_NS: u64 = 5_000_000_000;
/// Switches in a window below which all stay on: 2,000 a second cost 1 % of a CPU.
const MIN_SWITCHES: u64 = 1_000;

/// What to change.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// Switch off the events of these calls.
    Disable(Vec<usize>),
    /// Switch on all events.
    EnableAll,
}

/// The calls that were made since all were switched on.
#[derive(Debug)]
pub struct UnusedCalls {
    used: Vec<bool>,
    switches: u64,
    /// Start of the window, or of the time without some; 0 until the first record.
    since: u64,
    some_off: bool,
}

impl UnusedCalls {
    /// For so many calls, all of which are on.
    pub fn new(calls: usize) -> Self {
        Self {
            used: vec![false; calls],
            switches: 0,
            since: 0,
            some_off: false,
        }
    }

    /// A call was made.
    pub fn used(&mut self, call: usize) {
        if let Some(used) = self.used.get_mut(call) {
            *used = true;
        }
    }

    /// A thread has got a CPU.
    pub fn switched(&mut self) {
        self.switches += 1;
    }

    /// What to change at a time, CLOCK_MONOTONIC ns.
    pub fn step(&mut self, now: u64) -> Option<Change> {
        if self.since == 0 && self.switches > 0 {
            self.since = now;
        }
        let passed = now.saturating_sub(self.since);
        let limit = if self.some_off { OFF_NS } else { WINDOW_NS };
        if self.since == 0 || passed < limit {
            return None;
        }
        self.since = now;
        let many = std::mem::take(&mut self.switches) >= MIN_SWITCHES;
        let used = self.used.clone();
        self.used.fill(false);
        if self.some_off {
            self.some_off = false;
            return Some(Change::EnableAll);
        }
        let unused: Vec<usize> = (0..used.len()).filter(|call| !used[*call]).collect();
        self.some_off = many && !unused.is_empty();
        self.some_off.then_some(Change::Disable(unused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 7;

    fn busy(calls: &[usize]) -> UnusedCalls {
        let mut unused = UnusedCalls::new(4);
        unused.switched();
        assert_eq!(unused.step(START), None);
        again(&mut unused, calls);
        unused
    }

    fn again(unused: &mut UnusedCalls, calls: &[usize]) {
        (0..MIN_SWITCHES).for_each(|_| unused.switched());
        calls.iter().for_each(|call| unused.used(*call));
    }

    #[test]
    fn calls_that_a_busy_target_does_not_make_are_off_for_some_time() {
        let mut unused = busy(&[0, 2]);
        assert_eq!(unused.step(START + WINDOW_NS - 1), None);
        let first = START + WINDOW_NS;
        assert_eq!(unused.step(first), Some(Change::Disable(vec![1, 3])));
        assert_eq!(unused.step(first + OFF_NS - 1), None);
        assert_eq!(unused.step(first + OFF_NS), Some(Change::EnableAll));
        // It makes other calls by now.
        again(&mut unused, &[3]);
        let second = first + OFF_NS + WINDOW_NS;
        assert_eq!(unused.step(second), Some(Change::Disable(vec![0, 1, 2])));
    }

    #[test]
    fn all_calls_of_an_idle_target_stay_on() {
        let mut idle = UnusedCalls::new(4);
        assert_eq!(idle.step(START), None);
        assert_eq!(idle.step(START + 10 * WINDOW_NS), None);
        idle.switched();
        idle.used(0);
        assert_eq!(idle.step(START + 11 * WINDOW_NS), None);
        assert_eq!(idle.step(START + 12 * WINDOW_NS), None);
        // Then it is busy, and all that it calls was on.
        again(&mut idle, &[0, 1, 2, 3]);
        assert_eq!(idle.step(START + 13 * WINDOW_NS), None);
    }
}
