//! Cache lines that several threads touch and at least one writes.
//!
//! Threads are watched at different moments, so that a line was handed from one thread to another
//! for good (a queue, memory that was freed and given out again) looks alike at first: a line counts
//! only if a thread comes back to it after another had it.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::{FastMap, FastSet};

/// A cache line that several threads use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedLine {
    /// Process.
    pub pid: i32,
    /// Its first byte's address.
    pub address: u64,
    /// Whether no byte that one thread writes is touched by another: false sharing. Else the
    /// threads share data.
    pub false_sharing: bool,
    /// Threads that touched it.
    pub threads: u32,
    /// Threads that wrote to it.
    pub writers: u32,
    /// Bytes between the nearest bytes of two threads, of which one writes; 0 for true sharing.
    pub distance_bytes: u32,
    /// Bursts that touched it.
    pub bursts: u32,
    /// Accesses to it.
    pub accesses: u64,
    /// By instruction and thread, most accesses first.
    pub by: Vec<SharingAccess>,
}

/// What one instruction did to a shared line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharingAccess {
    /// The instruction.
    pub at: CodePoint,
    /// The thread.
    pub thread: u32,
    /// Whether it writes.
    pub writes: bool,
    /// First byte in the line.
    pub offset: u8,
    /// Size of the access, bytes.
    pub size: u8,
    /// Accesses seen.
    pub accesses: u64,
    /// Accesses of this instruction by this thread anywhere, in bursts that touched the line.
    pub of: u64,
}

/// Bytes of a line: a coherence unit on x86-64 and most others.
const LINE_BYTES: u64 = 64;

/// Lines that are reported.
const MAX_LINES: usize = 64;

/// Accesses of one instruction that are told apart by where in the line they are.
const MAX_ACCESSES_OF_LINE: usize = 64;

/// Turns that threads must have had at a line: one, another, and the first again.
const MIN_TURNS: usize = 3;

type Line = (i32, u64);

/// Finds lines that are shared, those with most accesses first.
pub(crate) fn shared_lines(bursts: &[Burst]) -> Vec<SharedLine> {
    let candidates = candidates(bursts);
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut lines: FastMap<Line, LineUse> = FastMap::default();
    let mut executions: FastMap<(CodePoint, u32), u64> = FastMap::default();
    for (number, burst) in bursts.iter().enumerate() {
        executions.clear();
        let mut met: FastSet<Line> = FastSet::default();
        for event in &burst.events {
            let Some((address, size, writes)) = access(&event.what) else {
                continue;
            };
            *executions.entry((event.at, burst.thread)).or_default() += 1;
            for (line, offset, bytes) in parts(address, size) {
                let key = (burst.pid, line);
                if candidates.contains(&key) {
                    met.insert(key);
                    let used = lines.entry(key).or_default();
                    used.add(number, burst.thread, event.at, (offset, bytes), writes);
                }
            }
        }
        for key in met {
            let by = lines
                .get_mut(&key)
                .into_iter()
                .flat_map(|used| &mut used.by);
            for one in by.filter(|one| one.thread == burst.thread) {
                one.of += executions.get(&(one.at, one.thread)).copied().unwrap_or(0);
            }
        }
    }
    let mut found: Vec<SharedLine> = (lines.into_iter())
        .filter_map(|(key, used)| used.shared(key))
        .collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.accesses), one.pid, one.address));
    found.truncate(MAX_LINES);
    found
}

fn access(what: &Observed) -> Option<(u64, u16, bool)> {
    match *what {
        Observed::Load { address, size, .. } => Some((address, size, false)),
        Observed::Store { address, size, .. } => Some((address, size, true)),
        _ => None,
    }
}

/// The lines that an access touches: number, offset and bytes in it.
fn parts(address: u64, size: u16) -> impl Iterator<Item = (u64, u8, u8)> {
    let end = address.saturating_add(u64::from(size));
    let (first, last) = (address / LINE_BYTES, end.saturating_sub(1) / LINE_BYTES);
    (first..=last).map(move |line| {
        let begin = address.max(line * LINE_BYTES);
        let stop = end.min((line * LINE_BYTES).saturating_add(LINE_BYTES));
        let bytes = stop.saturating_sub(begin) as u8;
        (line, (begin - line * LINE_BYTES) as u8, bytes)
    })
}

/// Lines to which threads take turns and one of them writes.
fn candidates(bursts: &[Burst]) -> FastSet<Line> {
    struct Turns {
        last: u32,
        turns: usize,
        written: bool,
    }
    let mut threads: Vec<(i32, u32)> = bursts.iter().map(|one| (one.pid, one.thread)).collect();
    threads.sort_unstable();
    threads.dedup();
    if threads.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return FastSet::default();
    }
    let mut order: Vec<&Burst> = bursts.iter().collect();
    order.sort_by(|a, b| a.began_wall_seconds.total_cmp(&b.began_wall_seconds));
    let mut turns: FastMap<Line, Turns> = FastMap::default();
    for burst in order {
        for event in &burst.events {
            let Some((address, size, writes)) = access(&event.what) else {
                continue;
            };
            for (line, ..) in parts(address, size) {
                let one = turns.entry((burst.pid, line)).or_insert(Turns {
                    last: burst.thread,
                    turns: 1,
                    written: false,
                });
                one.written |= writes;
                if one.last != burst.thread {
                    one.last = burst.thread;
                    one.turns += 1;
                }
            }
        }
    }
    (turns.into_iter())
        .filter(|(_, one)| one.written && one.turns >= MIN_TURNS)
        .map(|(line, _)| line)
        .collect()
}

#[derive(Default)]
struct LineUse {
    /// Bytes touched and bytes written, by thread.
    threads: FastMap<u32, (u64, u64)>,
    bursts: FastSet<usize>,
    by: Vec<SharingAccess>,
    accesses: u64,
}

fn mask((offset, bytes): (u8, u8)) -> u64 {
    let ones = if bytes >= 64 {
        u64::MAX
    } else {
        (1 << bytes) - 1
    };
    ones << offset
}

impl LineUse {
    fn add(&mut self, burst: usize, thread: u32, at: CodePoint, bytes: (u8, u8), writes: bool) {
        self.bursts.insert(burst);
        self.accesses += 1;
        let masks = self.threads.entry(thread).or_default();
        masks.0 |= mask(bytes);
        if writes {
            masks.1 |= mask(bytes);
        }
        let same = |one: &SharingAccess| {
            (one.at, one.thread, one.offset, one.writes) == (at, thread, bytes.0, writes)
        };
        match self.by.iter().position(same) {
            Some(index) => self.by[index].accesses += 1,
            None if self.by.len() < MAX_ACCESSES_OF_LINE => self.by.push(SharingAccess {
                at,
                thread,
                writes,
                offset: bytes.0,
                size: bytes.1,
                accesses: 1,
                of: 0,
            }),
            None => {}
        }
    }

    fn shared(mut self, (pid, line): Line) -> Option<SharedLine> {
        let mut threads: Vec<(u32, (u64, u64))> = self.threads.into_iter().collect();
        threads.sort_unstable();
        let writers = threads.iter().filter(|one| one.1.1 != 0).count() as u32;
        let pairs = || {
            threads.iter().flat_map(|one| {
                let others = threads.iter().filter(move |other| other.0 != one.0);
                others.map(move |other| (one.1.1, other.1.0))
            })
        };
        let false_sharing = pairs().all(|(written, touched)| written & touched == 0);
        let distance = pairs().filter_map(|(written, touched)| distance(written, touched));
        self.by
            .sort_by_key(|one| (std::cmp::Reverse(one.accesses), one.at, one.thread));
        (threads.len() >= 2 && writers >= 1).then(|| SharedLine {
            pid,
            address: line * LINE_BYTES,
            false_sharing,
            threads: threads.len() as u32,
            writers,
            distance_bytes: distance.min().unwrap_or(0),
            bursts: self.bursts.len() as u32,
            accesses: self.accesses,
            by: self.by,
        })
    }
}

/// The least distance between a byte of one mask and one of the other.
fn distance(one: u64, other: u64) -> Option<u32> {
    let bits = |mask: u64| (0..64u32).filter(move |bit| mask >> bit & 1 == 1);
    bits(one)
        .flat_map(|a| bits(other).map(move |b| a.abs_diff(b)))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load, store};

    fn turns(of: impl Fn(u32) -> Vec<genba_model::BurstEvent>) -> Vec<Burst> {
        (0..8)
            .map(|number| {
                let mut one = burst(of(number % 2));
                one.thread = number % 2;
                one.began_wall_seconds = f64::from(number);
                one
            })
            .collect()
    }

    #[test]
    fn counters_side_by_side_are_shared_falsely() {
        let bursts = turns(|thread| {
            let address = 0x1000 + 8 * u64::from(thread);
            (0..10).map(|_| store(0x10, address, 8, 0, 1)).collect()
        });
        let found = shared_lines(&bursts);
        assert_eq!(found.len(), 1);
        let line = &found[0];
        assert!(line.false_sharing && line.threads == 2 && line.writers == 2);
        assert_eq!(
            (line.distance_bytes, line.accesses, line.bursts),
            (1, 80, 8)
        );
        assert_eq!((line.by[0].accesses, line.by[0].of), (40, 40));
    }

    #[test]
    fn one_counter_of_two_threads_is_shared_truly() {
        let bursts = turns(|_| vec![store(0x10, 0x1000, 8, 0, 1)]);
        assert!(!shared_lines(&bursts)[0].false_sharing);
    }

    #[test]
    fn data_that_is_only_read_or_of_one_thread_is_not_shared() {
        assert!(shared_lines(&turns(|_| vec![load(0x10, 0x1000, 8, 0)])).is_empty());
        let apart = turns(|thread| vec![store(0x10, 0x1000 + 64 * u64::from(thread), 8, 0, 1)]);
        assert!(shared_lines(&apart).is_empty());
    }

    #[test]
    fn memory_that_is_handed_over_once_is_not_shared() {
        let mut bursts = turns(|_| vec![store(0x10, 0x1000, 8, 0, 1)]);
        for (number, one) in bursts.iter_mut().enumerate() {
            one.thread = u32::from(number >= 4);
        }
        assert!(shared_lines(&bursts).is_empty());
    }
}
