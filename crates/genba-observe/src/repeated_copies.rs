//! Bytes that were copied before, unchanged, when they are copied again.
//!
//! A copy's bytes carry the number of copies that brought them where they are; any other store
//! resets it. Bytes that go back to where they came from do not count: they were kept on purpose. Unless that
//! place was given back and allocated again in between: there a structure is copied to a new block for each change.

use genba_model::{Burst, BurstEvent, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::allocated_blocks::AllocatedBlocks;
use crate::byte_map::ByteMap;
use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::copy_runs::copy_runs;
use crate::fast_hash::FastMap;
use crate::tally::{BurstShare, Partners, Seen, Tally};

/// A place that copies bytes of which some had been copied before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedCopy {
    /// The user's own instruction: a store of the copy, or the call that led to it.
    pub at: CodePoint,
    /// The function of a library that copied, if one did.
    pub target: Option<CodePoint>,
    /// Bytes that had been copied to where they are copied from, of all bytes copied here. What
    /// was copied before the burst is not known, so that the share is a lower bound.
    pub seen: Seen,
    /// Bytes of one copy, on average.
    pub bytes_per_copy: f64,
    /// The place that copied most of them before.
    pub previous: CodePoint,
    /// Those of them that were copied to blocks which were allocated since.
    #[serde(default)]
    pub to_new_blocks: f64,
    /// Bytes copied here again for each instruction executed: how much of the work it may be.
    pub bytes_per_instruction: Estimate,
}

type Key = (CodePoint, Option<CodePoint>);

#[derive(Default)]
struct Totals {
    bytes: u64,
    copies: u64,
    again: u64,
    to_new_blocks: u64,
}

/// Finds copies of copies, those with most bytes first.
pub(crate) fn repeated_copies(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<RepeatedCopy> {
    let mut tally: Tally<Key> = Tally::new();
    let mut again = BurstShare::new();
    let mut previous: FastMap<Key, Partners> = FastMap::default();
    let mut totals: FastMap<Key, Totals> = FastMap::default();
    // The copy that wrote a byte, + 1.
    let mut bytes = ByteMap::<u32>::new();
    for burst in bursts {
        let runs = copy_runs(burst, code);
        bytes.clear();
        let mut begin = 0;
        let mut stack = CallStack::default();
        // Marked with the number of copies that had been made.
        let mut blocks = AllocatedBlocks::<u32>::default();
        for (number, run) in runs.iter().enumerate() {
            let events = burst.events.get(begin..run.end + 1).unwrap_or_default();
            overwrite(&mut bytes, events);
            for event in events {
                blocks.event(&mut stack, event, code, |_, _| Some(number as u32));
            }
            begin = run.end + 1;
            let key = (run.at, run.target);
            let mut copied_before = 0u64;
            let block = (run.pieces.first()).and_then(|&(_, to, _)| blocks.mark(to));
            let mut to_new_block = 0u64;
            for &(from, to, size) in &run.pieces {
                bytes.update(from, size, |byte| {
                    if *byte != 0 {
                        let before = &runs[*byte as usize - 1];
                        // What goes back to where it came from was kept there: a copy for later.
                        let is_new = block.is_some_and(|block| block >= *byte);
                        let back = before.distance().wrapping_add(to.wrapping_sub(from)) == 0;
                        if is_new || !back {
                            copied_before += 1;
                            to_new_block += u64::from(is_new);
                            previous.entry(key).or_default().add(before.at, 1);
                        }
                    }
                });
            }
            for &(_, to, size) in &run.pieces {
                bytes.update(to, size, |byte| *byte = number as u32 + 1);
            }
            let all = run.bytes();
            let total = totals.entry(key).or_default();
            total.bytes += all;
            total.copies += 1;
            total.again += copied_before;
            total.to_new_blocks += to_new_block;
            tally.add(key, copied_before.min(all) as f64, all as f64);
            again.add(key, copied_before as f64);
        }
        tally.end_of_burst(burst.weight);
        again.end_of_burst(burst.instructions as f64, burst.weight);
    }
    (tally.shares().into_iter())
        .filter_map(|(key, seen)| {
            let total = totals.get(&key)?;
            Some(RepeatedCopy {
                at: key.0,
                target: key.1,
                seen,
                bytes_per_copy: total.bytes as f64 / total.copies.max(1) as f64,
                previous: previous.get(&key)?.first()?,
                to_new_blocks: total.to_new_blocks as f64 / total.again.max(1) as f64,
                bytes_per_instruction: again.share(key),
            })
        })
        .collect()
}

/// What is stored is not a copy any more; the stores of the run that ends the range become one after
/// it.
fn overwrite(bytes: &mut ByteMap<u32>, events: &[BurstEvent]) {
    for event in events {
        if let Observed::Store { address, size, .. } = event.what {
            bytes.update(address, size, |byte| *byte = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, load, ret, store};

    fn copy(code: u64, from: u64, to: u64) -> impl Iterator<Item = BurstEvent> {
        (0..16u64).flat_map(move |one| {
            [
                load(code, from + 8 * one, 8, 1000 + one),
                store(code + 4, to + 8 * one, 8, 0, 1000 + one),
            ]
        })
    }

    #[test]
    fn copy_of_a_copy_is_found_with_where_it_came_from() {
        let events = copy(0x10, 0x1000, 0x5000).chain(copy(0x20, 0x5000, 0xa000));
        let found = repeated_copies(&[burst(events.collect())], &AllOwn);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].previous), (at(0x24), at(0x14)));
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-12);
        assert!((found[0].bytes_per_copy - 128.0).abs() < 1e-12);
    }

    #[test]
    fn copy_that_is_restored_is_not_a_repeated_one() {
        let events = copy(0x10, 0x1000, 0x5000).chain(copy(0x20, 0x5000, 0x1000));
        assert!(repeated_copies(&[burst(events.collect())], &AllOwn).is_empty());
    }

    #[test]
    fn copy_to_a_block_that_is_allocated_anew_is_a_repeated_one() {
        let allocated = [
            call(0x40, at(0xa110c), [128, 0, 0, 0, 0, 0]),
            block(0xa110c, 4),
            ret(0xa1110, 0x1000),
            block(0x45, 2),
        ];
        let there = || copy(0x10, 0x1000, 0x5000);
        let back = || copy(0x20, 0x5000, 0x1000);
        let events = there().chain(allocated).chain(back()).collect();
        let found = repeated_copies(&[burst(events)], &AllOwn);
        assert_eq!(found.len(), 1);
        assert!((found[0].to_new_blocks - 1.0).abs() < 1e-12);
        // The block is as old as the first copy.
        let events = allocated.into_iter().chain(there()).chain(back()).collect();
        assert!(repeated_copies(&[burst(events)], &AllOwn).is_empty());
    }

    #[test]
    fn changed_bytes_are_not_a_copy_any_more() {
        let change = (0..16u64).map(|one| store(0x30, 0x5000 + 8 * one, 8, 0, 7));
        let events = copy(0x10, 0x1000, 0x5000)
            .chain(change)
            .chain(copy(0x20, 0x5000, 0xa000));
        assert!(repeated_copies(&[burst(events.collect())], &AllOwn).is_empty());
    }
}
