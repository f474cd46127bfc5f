//! Results that nobody reads: a call leaves text or other data in memory that it allocates, changes nothing else, and
//! this memory is given back before anybody has read it.
//!
//! What is handed on by calls of the caller is told apart: a log that is off takes its text and does not look at it,
//! where what a benchmark makes goes to nobody. A pointer that leads from one of the blocks to another is not read
//! by whoever only gives both back. Results without memory of their own (short texts within their object) are not
//! followed, nor those that are kept beyond their burst.
//!
//! Source: J. A. Butts and G. Sohi, "Dynamic dead-instruction detection and elimination", ASPLOS 2002, for
//! instructions; here for calls.

use std::collections::BTreeMap;

use genba_model::{CodePoint, Estimate};
use serde::{Deserialize, Serialize};

use crate::call_stack::Frame;
use crate::fast_hash::FastMap;
use crate::open_calls::{FIRST_ADDRESS, Open, made};
use crate::tally::{BurstShare, Seen, Tally};

/// A call instruction of whose results some are given back unread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnreadResult {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Results that were given back unread, of all that were given back.
    pub seen: Seen,
    /// Share of the results that their burst did not see given back.
    pub kept: f64,
    /// Share of the unread results that were handed to another function before.
    pub handed_on: f64,
    /// Share of all instructions that were executed to make unread results.
    pub share_of_instructions: Estimate,
    /// Instructions of one call on average, with its callees.
    pub instructions_per_call: f64,
}

/// Results that are followed at a time, and addresses among arguments.
const MAX_RESULTS: usize = 1 << 16;

type Key = (CodePoint, CodePoint);

struct Block {
    end: u64,
    /// The calls that left it, each inside of the next one.
    results: Vec<u32>,
}

struct Result {
    key: Key,
    instructions: u64,
    /// The first argument of the call: where an object is to be put.
    object: u64,
    returned: u64,
    read: bool,
    given_back: bool,
}

/// When an address was handed to a function, and in which activation.
type Handed = (u64, u32);

#[derive(Default)]
struct Totals {
    calls: u64,
    instructions: u64,
    given_back: u64,
    unread: u64,
    handed_on: u64,
}

pub(crate) struct UnreadResults {
    /// By begin.
    blocks: BTreeMap<u64, Block>,
    results: Vec<Result>,
    /// By address: the last two times.
    handed: FastMap<u64, [Handed; 2]>,
    /// Calls so far.
    now: u64,
    tally: Tally<Key>,
    shares: BurstShare<Key>,
    totals: FastMap<Key, Totals>,
}

impl UnreadResults {
    pub(crate) fn new() -> Self {
        Self {
            blocks: BTreeMap::new(),
            results: Vec::new(),
            handed: FastMap::default(),
            now: 0,
            tally: Tally::new(),
            shares: BurstShare::new(),
            totals: FastMap::default(),
        }
    }

    /// A function was called that does not give memory back.
    pub(crate) fn called(&mut self, frame: &Frame) {
        self.now += 1;
        if self.blocks.is_empty() {
            return;
        }
        if self.handed.len() > MAX_RESULTS {
            self.handed.clear();
        }
        let addresses = frame.arguments.iter().filter(|one| **one >= FIRST_ADDRESS);
        for &address in addresses {
            let times = self.handed.entry(address).or_default();
            *times = [(self.now, frame.activation), times[0]];
        }
    }

    pub(crate) fn read(&mut self, address: u64, value: u64) {
        if self.blocks.is_empty() {
            return;
        }
        let before = self.blocks.range(..=address).next_back();
        let Some((_, block)) = before.filter(|(_, block)| address < block.end) else {
            return;
        };
        if !self.blocks.contains_key(&value) {
            for &one in &block.results {
                self.results[one as usize].read = true;
            }
        }
    }

    /// A call has returned.
    pub(crate) fn returned(&mut self, frame: &Frame, one: &Open) {
        let is_made = || made(one, frame).is_some_and(|made| made.words > 0);
        if !one.watched || self.results.len() >= MAX_RESULTS || !is_made() {
            return;
        }
        let number = self.results.len() as u32;
        for (begin, end) in one.live_blocks() {
            let block = self.blocks.entry(begin).or_insert_with(|| Block {
                end,
                results: Vec::new(),
            });
            block.results.push(number);
        }
        let key = (frame.call, frame.target);
        let totals = self.totals.entry(key).or_default();
        totals.calls += 1;
        totals.instructions += one.instructions;
        self.results.push(Result {
            key,
            instructions: one.instructions,
            object: frame.arguments[0],
            returned: self.now,
            read: false,
            given_back: false,
        });
    }

    /// A block was given back, within these calls.
    pub(crate) fn given_back(&mut self, begin: u64, open: &[Frame]) {
        let Some(block) = self.blocks.remove(&begin) else {
            return;
        };
        for number in block.results {
            let result = &mut self.results[number as usize];
            if std::mem::replace(&mut result.given_back, true) {
                continue;
            }
            let totals = self.totals.entry(result.key).or_default();
            totals.given_back += 1;
            self.tally.count(result.key, !result.read);
            if result.read {
                continue;
            }
            totals.unread += 1;
            self.shares.add(result.key, result.instructions as f64);
            // Who gives it back was handed it, too.
            let is_open = |activation| open.iter().any(|frame| frame.activation == activation);
            let is_handed = |address| {
                let times = self.handed.get(&address).into_iter().flatten();
                let mut others = times.filter(|one| one.0 > result.returned && !is_open(one.1));
                others.next().is_some()
            };
            totals.handed_on += u64::from(is_handed(begin) || is_handed(result.object));
        }
    }

    pub(crate) fn end_of_burst(&mut self, instructions: u64, weight: f64) {
        self.blocks.clear();
        self.results.clear();
        self.handed.clear();
        self.tally.end_of_burst(weight);
        self.shares.end_of_burst(instructions as f64, weight);
    }

    /// Those with most results first.
    pub(crate) fn list(&self) -> Vec<UnreadResult> {
        let all = self.tally.shares().into_iter();
        all.filter(|(_, seen)| seen.share.value > 0.0)
            .filter_map(|(key, seen)| {
                let totals = self.totals.get(&key)?;
                let part = |some: u64, all: u64| some as f64 / all.max(1) as f64;
                Some(UnreadResult {
                    at: key.0,
                    target: key.1,
                    seen,
                    kept: 1.0 - part(totals.given_back, totals.calls),
                    handed_on: part(totals.handed_on, totals.unread),
                    share_of_instructions: self.shares.share(key),
                    instructions_per_call: part(totals.instructions, totals.calls),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use genba_model::BurstEvent;

    use super::*;
    use crate::redundant_calls::redundant_calls;
    use crate::synthetic::{AllOwn, at, block, burst, call, load, ret, store};

    const HEAP: u64 = 1 << 40;
    const OBJECT: u64 = 0x7f00_0000_0000;

    /// A call at 0x10 of 0x100 that makes a text for an object, which is handed on and given back.
    fn text(n: u64, handed_on: bool, read: bool) -> Vec<BurstEvent> {
        let begin = HEAP + 0x1000 * n;
        let mut events = vec![
            store(0x10, 0x7ff8, 8, 0, 0x15),
            call(0x10, at(0x100), [OBJECT, 0, 0, 0, 0, 0]),
            block(0x100, 50),
            call(0x104, at(0xa110c), [64, 0, 0, 0, 0, 0]),
            block(0xa110c, 20),
            ret(0xa1110, begin),
            block(0x109, 10),
            store(0x10c, begin, 8, 0, 0x6161),
            ret(0x110, OBJECT),
            block(0x15, 2),
        ];
        if handed_on {
            events.extend([
                call(0x18, at(0x300), [1, OBJECT, 0, 0, 0, 0]),
                block(0x300, 3),
            ]);
            if read {
                events.push(load(0x304, begin, 8, 0x6161));
            }
            events.extend([ret(0x308, 0), block(0x1d, 1)]);
        }
        events.extend([
            call(0x20, at(0xf4ee), [begin, 0, 0, 0, 0, 0]),
            block(0xf4ee, 10),
            ret(0xf4f0, 0),
            block(0x25, 1),
        ]);
        events
    }

    fn found(events: Vec<BurstEvent>) -> Option<UnreadResult> {
        let bursts = vec![burst(events.clone()), burst(events)];
        let mut all = UnreadResults::new();
        redundant_calls(&bursts, &AllOwn, &|_| false, &mut all);
        all.list().into_iter().find(|one| one.at == at(0x10))
    }

    #[test]
    fn text_that_is_handed_on_and_given_back_unread_is_found() {
        let all = (0..40).flat_map(|n| text(n, true, n % 4 == 0));
        let one = found(all.collect()).expect("some are unread");
        assert!((one.seen.share.value - 0.75).abs() < 1e-9, "{one:?}");
        assert_eq!(
            (one.handed_on, one.kept, one.instructions_per_call),
            (1.0, 0.0, 80.0)
        );
    }

    #[test]
    fn text_that_goes_to_nobody_is_told_apart_and_one_that_is_read_is_not_found() {
        let all = (0..40).flat_map(|n| text(n, false, false));
        assert_eq!(found(all.collect()).map(|one| one.handed_on), Some(0.0));
        let all = (0..40).flat_map(|n| text(n, true, true));
        assert!(found(all.collect()).is_none());
    }

    #[test]
    fn text_that_outlives_its_burst_is_kept() {
        let kept = |n: u64| {
            let mut events = text(n, true, false);
            if n.is_multiple_of(2) {
                events.truncate(events.len() - 4);
            }
            events
        };
        let one = found((0..40).flat_map(kept).collect()).expect("the others are not");
        assert!((one.kept - 0.5).abs() < 1e-9, "{one:?}");
    }
}
