//! Loops that go over what another loop has just gone over: the same loads, from the same addresses with the
//! same values in the same order.
//!
//! Two loops that read the same may compute different things from it. But where both are copies of
//! one loop of the source, inlined at two places, the second computes again what the first did.
//! What a loop loads from its own stack frame is not compared: each copy keeps other values there.
//!
//! Source: as [`crate::repeated_loops`].

use std::collections::VecDeque;

use genba_model::{Burst, BurstEvent, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::{FastMap, mix};
use crate::loop_runs::{LoopRuns, Run};
use crate::tally::{Partners, Seen, Tally};

/// A loop of whose runs some load what a run of another loop had just loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopAgain {
    /// The first instruction of the loop's head.
    pub head: CodePoint,
    /// Runs that do so, of all with enough loads.
    pub seen: Seen,
    /// The other loop, of several the most frequent one.
    pub other: CodePoint,
}

/// Loads from which on a run is compared: fewer are the same by chance.
const MIN_LOADS: u32 = 4;

/// Last runs, of all loops, among which the same loads are looked for.
const LAST_RUNS: usize = 32;

/// What a run loads.
#[derive(Default)]
struct Loaded {
    trace: u64,
    loads: u32,
}

impl Run for Loaded {
    fn event(&mut self, event: &BurstEvent, own: bool, _: bool, stack: &CallStack) {
        if let (Observed::Load { address, value, .. }, true) = (event.what, own)
            && !stack.is_in_frame(address)
        {
            self.trace = mix(mix(self.trace, address), value);
            self.loads += 1;
        }
    }

    fn end(&mut self) {}

    fn inner(&mut self, inner: &Self, own: bool) {
        if own {
            self.trace = mix(self.trace, inner.trace);
            self.loads += inner.loads;
        }
    }
}

/// Finds such loops, in the order of their heads.
pub(crate) fn loops_again(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<LoopAgain> {
    let mut tally = Tally::new();
    let mut partners: FastMap<CodePoint, Partners> = FastMap::default();
    for burst in bursts {
        let mut runs = LoopRuns::<Loaded>::new();
        let mut last: VecDeque<(u64, CodePoint)> = VecDeque::with_capacity(LAST_RUNS);
        for event in &burst.events {
            runs.event(event, code, &mut |head, run| {
                if run.loads < MIN_LOADS {
                    return;
                }
                let same = |one: &&(u64, CodePoint)| one.0 == run.trace && one.1 != head;
                let other = last.iter().rev().find(same).map(|one| one.1);
                tally.count(head, other.is_some());
                if let Some(other) = other {
                    partners.entry(head).or_default().add(other, 1);
                }
                if last.len() == LAST_RUNS {
                    last.pop_front();
                }
                last.push_back((run.trace, head));
            });
        }
        tally.end_of_burst(burst.weight);
    }
    let mut found: Vec<LoopAgain> = (tally.shares().into_iter())
        .filter_map(|(head, seen)| {
            let other = partners.get(&head)?.first()?;
            Some(LoopAgain { head, seen, other })
        })
        .collect();
    found.sort_by_key(|one| one.head);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, load};

    /// A loop with its head there goes over these bytes.
    fn scan(head: u64, text: u64, length: u64) -> Vec<BurstEvent> {
        let mut events = vec![block(0x80, 1)];
        for index in 0..length {
            events.extend([
                block(head, 2),
                load(head + 4, text + index, 1, 7 * text + index),
            ]);
        }
        events.push(block(0x90, 1));
        events
    }

    fn found(events: Vec<BurstEvent>) -> Vec<LoopAgain> {
        loops_again(&[burst(events.clone()), burst(events)], &AllOwn)
    }

    #[test]
    fn second_loop_over_the_same_bytes_is_found_with_the_first() {
        let pair = |one: u64| [scan(0x100, 64 * one, 6), scan(0x300, 64 * one, 6)].concat();
        let all = found((1..20).flat_map(pair).collect());
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].head, all[0].other), (at(0x300), at(0x100)));
        assert!((all[0].seen.share.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn other_bytes_another_length_or_few_of_them_are_not_the_same() {
        let other = |one: u64| [scan(0x100, 64 * one, 6), scan(0x300, 64 * one + 1, 6)].concat();
        assert!(found((1..20).flat_map(other).collect()).is_empty());
        let longer = |one: u64| [scan(0x100, 64 * one, 6), scan(0x300, 64 * one, 7)].concat();
        assert!(found((1..20).flat_map(longer).collect()).is_empty());
        let few = |one: u64| [scan(0x100, 64 * one, 3), scan(0x300, 64 * one, 3)].concat();
        assert!(found((1..20).flat_map(few).collect()).is_empty());
    }

    #[test]
    fn loop_that_was_there_long_ago_is_forgotten() {
        let mut events = scan(0x100, 64, 6);
        events.extend((2..100).flat_map(|one| scan(0x100, 64 * one, 6)));
        events.extend(scan(0x300, 64, 6));
        assert!(found(events).is_empty());
    }
}
