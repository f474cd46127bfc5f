//! Which of very many requests are kept, so that an hour takes no more room than a minute.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::split_mix::SplitMix;
use crate::wait_sampler::StateIndex;

/// Requests whose time is kept, drawn at random beyond that.
const MAX_TIMES: usize = 100_000;
/// Slowest requests that are kept with their parts.
const MAX_SLOWEST: usize = 1_000;
/// Requests that are kept with their parts, drawn at random.
const MAX_DRAWN: usize = 2_000;

/// What the serving thread did in a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// It was on a CPU: in the system call, or in its own code.
    Running,
    /// It was runnable, and another thread had its CPU.
    Preempted,
    /// It was blocked, or runnable after that until it got a CPU.
    Blocked,
    /// It served other connections.
    OtherRequests,
    /// Its records do not reach back so far.
    Unknown,
}

/// A part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPart {
    /// What the thread did.
    pub kind: PartKind,
    /// Number of the system call; -1 in code of its own.
    pub call: i64,
    /// Nanoseconds.
    pub ns: u64,
    /// The state in which a snapshot saw it, where one did.
    pub state: Option<StateIndex>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    /// When it was read, CLOCK_MONOTONIC ns.
    pub began: u64,
    /// When the answer was written, ns later.
    pub ns: u64,
    /// The thread that answered.
    pub tid: i32,
    /// Whether another thread read it.
    pub handed_over: bool,
    /// What that thread did meanwhile; adds up to `ns`.
    pub parts: Vec<SeenPart>,
}

/// What was seen of all requests.
#[derive(Clone, Debug, Default)]
pub struct SeenRequests {
    /// Requests that were answered.
    pub count: u64,
    /// Connections that had one.
    pub connections: u64,
    /// Records of system calls that the kernel had no room for, or of more threads than are followed: requests of that
    /// time are wrong or missing.
    pub lost: u64,
    /// Whether all system calls were recorded; else those that requests are made of, and some that wait.
    pub of_all_calls: bool,
    /// The time of each, or of some drawn at random, ns.
    pub times: Vec<u64>,
    /// The slowest, slowest first.
    pub slowest: Vec<SeenRequest>,
    /// Some drawn at random.
    pub drawn: Vec<SeenRequest>,
}

/// Keeps requests as they end.
#[derive(Debug, Default)]
pub struct KeptRequests {
    count: u64,
    times: Vec<u64>,
    /// Time and number, the fastest on top.
    slowest: BinaryHeap<Reverse<(u64, u64)>>,
    slow: HashMap<u64, SeenRequest>,
    drawn: Vec<SeenRequest>,
    random: SplitMix,
}

impl KeptRequests {
    /// Adds a request.
    pub fn add(&mut self, request: SeenRequest) {
        let number = self.count;
        self.count += 1;
        // Reservoir sampling, algorithm R (Vitter, TOMS 1985).
        let at = self.random.below(self.count);
        put(&mut self.times, MAX_TIMES, at, || request.ns);
        let at = self.random.below(self.count);
        put(&mut self.drawn, MAX_DRAWN, at, || request.clone());
        let fastest = self.slowest.peek().map_or(0, |one| one.0.0);
        if self.slowest.len() < MAX_SLOWEST || request.ns > fastest {
            self.slowest.push(Reverse((request.ns, number)));
            self.slow.insert(number, request);
            if self.slowest.len() > MAX_SLOWEST
                && let Some(Reverse((_, number))) = self.slowest.pop()
            {
                self.slow.remove(&number);
            }
        }
    }

    /// All that was kept.
    pub fn finish(mut self, connections: u64, lost: u64, of_all_calls: bool) -> SeenRequests {
        let mut slowest: Vec<SeenRequest> = self.slow.drain().map(|(_, one)| one).collect();
        slowest.sort_by_key(|one| (Reverse(one.ns), one.began));
        SeenRequests {
            count: self.count,
            connections,
            lost,
            of_all_calls,
            times: self.times,
            slowest,
            drawn: self.drawn,
        }
    }
}

fn put<T>(list: &mut Vec<T>, limit: usize, at: u64, one: impl FnOnce() -> T) {
    if list.len() < limit {
        list.push(one());
    } else if let Some(place) = list.get_mut(at as usize) {
        *place = one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_are_kept_and_the_drawn_are_of_all() {
        let mut kept = KeptRequests::default();
        const COUNT: u64 = 300_000;
        for number in 0..COUNT {
            // Each time once, in an order that is not sorted.
            let ns = number * 7919 % COUNT;
            kept.add(SeenRequest {
                began: number,
                ns,
                tid: 1,
                handed_over: false,
                parts: Vec::new(),
            });
        }
        let all = kept.finish(3, 0, true);
        assert_eq!((all.count, all.connections), (COUNT, 3));
        let slowest: Vec<u64> = all.slowest.iter().map(|one| one.ns).collect();
        let expected: Vec<u64> = (0..MAX_SLOWEST as u64).map(|at| COUNT - 1 - at).collect();
        assert_eq!(slowest, expected);
        assert_eq!((all.times.len(), all.drawn.len()), (MAX_TIMES, MAX_DRAWN));
        let late = all.drawn.iter().filter(|one| one.began >= COUNT / 2);
        let late = late.count();
        assert!(
            (MAX_DRAWN * 4 / 10..MAX_DRAWN * 6 / 10).contains(&late),
            "{late}"
        );
    }
}
