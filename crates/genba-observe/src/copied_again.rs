//! Copies of what has not changed since it was copied last, to memory that holds one copy after the
//! other: arguments by value, work areas that are filled anew for each use.
//!
//! A byte is copied again if its source was copied before and has not been stored to since, and
//! the copy that was made then is gone: another copy took its place, or this one does. What is still
//! there (a picture that is drawn in many places) was wanted twice. A copy that is written to is one that
//! its user needs. What is stored on the stack after the frame of the copy was left does not
//! write to it.
//!
//! Source: as [`crate::repeated_copies`]; N. Mitchell and G. Sevitsky, "The causes of bloat, the limits of health",
//! OOPSLA 2007 (copies for their own sake).

use genba_model::{Burst, BurstEvent, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::copy_runs::{CopyRun, copy_runs};
use crate::fast_hash::FastMap;
use crate::tally::{Partners, Seen, Tally};

/// A place that copies the same again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopiedAgain {
    /// The user's own instruction: a store of the copy, or the call that led to it.
    pub at: CodePoint,
    /// The function of a library that copied, if one did.
    pub target: Option<CodePoint>,
    /// The instructions that store.
    pub stores: Vec<CodePoint>,
    /// The instructions that load most of what was copied.
    pub readers: Vec<CodePoint>,
    /// Bytes that are copied again, of all bytes copied here. What was copied before the burst is not
    /// known, so that the share is a lower bound.
    pub seen: Seen,
    /// Copies whose bytes are written to while they are in use.
    pub modified: Seen,
    /// Bytes of one copy, on average.
    pub bytes_per_copy: f64,
    /// Loads of each copied byte, on average.
    pub reads_per_byte: f64,
}

type Key = (CodePoint, Option<CodePoint>);

/// Share of the bytes of a place that must be copied again for it to be kept.
const MIN_SHARE: f64 = 0.2;

/// Store instructions that are kept of one place.
const MAX_STORES: usize = 64;

/// The largest stack frame, with those below it.
const MAX_FRAME_BYTES: u64 = 1 << 20;

/// A run with what became of it.
struct Fate<'a> {
    run: &'a CopyRun,
    /// Whose stack frame it is in.
    owner: Option<u32>,
    reads: u64,
    modified: bool,
}

#[derive(Default)]
struct Totals {
    bytes: u64,
    copies: u64,
    reads: u64,
    stores: Vec<CodePoint>,
    readers: Partners,
}

/// Finds places that copy the same again, those with most bytes first.
pub(crate) fn copied_again(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<CopiedAgain> {
    let mut tally: Tally<Key> = Tally::new();
    let mut modified: Tally<Key> = Tally::new();
    let mut totals: FastMap<Key, Totals> = FastMap::default();
    let mut memory = Memory::default();
    for burst in bursts {
        let runs = copy_runs(burst, code);
        if runs.is_empty() {
            tally.end_of_burst(burst.weight);
            modified.end_of_burst(burst.weight);
            continue;
        }
        memory.clear();
        let mut stack = CallStack::default();
        let mut fates: Vec<Fate<'_>> = Vec::new();
        let mut begin = 0;
        for run in &runs {
            let key = (run.at, run.target);
            let total = totals.entry(key).or_default();
            let mut pieces = run.pieces.iter().peekable();
            for event in burst.events.get(begin..=run.end).into_iter().flatten() {
                stack.event(event);
                let copies = |address, size| {
                    pieces
                        .next_if(|piece| (piece.1, piece.2) == (address, size))
                        .is_some()
                };
                if is_store_of(event, copies) {
                    if !total.stores.contains(&event.at) && total.stores.len() < MAX_STORES {
                        total.stores.push(event.at);
                    }
                } else {
                    memory.event(event, &stack, &mut fates);
                }
            }
            begin = run.end + 1;
            let again = memory.copy(run, &fates);
            tally.add(key, again as f64, run.bytes() as f64);
            fates.push(Fate {
                run,
                owner: owner(&stack, run.pieces[0].1),
                reads: 0,
                modified: false,
            });
        }
        for event in burst.events.get(begin..).into_iter().flatten() {
            stack.event(event);
            memory.event(event, &stack, &mut fates);
        }
        for fate in &fates {
            let key = (fate.run.at, fate.run.target);
            modified.count(key, fate.modified);
            let total = totals.entry(key).or_default();
            total.bytes += fate.run.bytes();
            total.copies += 1;
            total.reads += fate.reads;
        }
        for (run, reader, bytes) in memory.readers.drain(..) {
            let key = (runs[run].at, runs[run].target);
            totals.entry(key).or_default().readers.add(reader, bytes);
        }
        tally.end_of_burst(burst.weight);
        modified.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value >= MIN_SHARE)
        .filter_map(|(key, seen)| {
            let total = totals.remove(&key)?;
            Some(CopiedAgain {
                at: key.0,
                target: key.1,
                stores: total.stores,
                readers: total.readers.all(),
                seen,
                modified: modified.seen(key)?,
                bytes_per_copy: total.bytes as f64 / total.copies.max(1) as f64,
                reads_per_byte: total.reads as f64 / total.bytes.max(1) as f64,
            })
        })
        .collect()
}

/// Whether an event is a store of the copy.
fn is_store_of(event: &BurstEvent, mut copies: impl FnMut(u64, u16) -> bool) -> bool {
    match event.what {
        Observed::Store { address, size, .. } => copies(address, size),
        _ => false,
    }
}

/// The activation in whose stack frame an address is; `None` if it is not on the stack.
fn owner(stack: &CallStack, address: u64) -> Option<u32> {
    let above = |slot: &u64| *slot > address;
    let mut frames = stack.frames().iter().rev();
    let frame = frames.find_map(|frame| Some((frame.stack.filter(above)?, frame.activation)))?;
    (frame.0 - address <= MAX_FRAME_BYTES).then_some(frame.1)
}

/// What each byte of memory has to do with copies.
struct Memory {
    /// The copy that wrote it, + 1.
    written: ByteMap<u32>,
    /// The last copy that it was the source of and that it has not changed since, + 1.
    source: ByteMap<u32>,
    /// Which copy's bytes were loaded by what: number, instruction, bytes.
    readers: Vec<(usize, CodePoint, u64)>,
    before: Vec<u32>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            written: ByteMap::new(),
            source: ByteMap::new(),
            readers: Vec::new(),
            before: Vec::new(),
        }
    }
}

impl Memory {
    fn clear(&mut self) {
        self.written.clear();
        self.source.clear();
        self.readers.clear();
    }

    /// A load, or a store that is not a copy.
    fn event(&mut self, event: &BurstEvent, stack: &CallStack, fates: &mut [Fate<'_>]) {
        match event.what {
            Observed::Load { address, size, .. } => {
                let (mut last, mut bytes) = (0, 0);
                self.written.update(address, size, |byte| {
                    if *byte != 0 {
                        fates[*byte as usize - 1].reads += 1;
                        last = *byte as usize;
                        bytes += 1;
                    }
                });
                if last != 0 {
                    self.readers.push((last - 1, event.at, bytes));
                }
            }
            Observed::Store { address, size, .. } => {
                let mut changed = 0;
                self.written.update(address, size, |byte| {
                    changed = changed.max(std::mem::take(byte));
                });
                if changed != 0 {
                    let fate = &mut fates[changed as usize - 1];
                    fate.modified |= fate.owner == owner(stack, address);
                }
                self.source.update(address, size, |byte| *byte = 0);
            }
            _ => {}
        }
    }

    /// Bytes of a copy that are copied again; then it is made.
    fn copy(&mut self, run: &CopyRun, fates: &[Fate<'_>]) -> u64 {
        let number = fates.len() as u32 + 1;
        let mut again = 0;
        for &(from, to, size) in &run.pieces {
            self.before.clear();
            let before = &mut self.before;
            self.source.update(from, size, |byte| before.push(*byte));
            for (offset, &byte) in (0u64..).zip(&self.before) {
                let Some(copy) = byte.checked_sub(1) else {
                    continue;
                };
                let there = from
                    .wrapping_add(offset)
                    .wrapping_add(fates[copy as usize].run.distance());
                let mut is_there = false;
                self.written
                    .update(there, 1, |holds| is_there = *holds == byte);
                again += u64::from(!is_there || there == to.wrapping_add(offset));
            }
        }
        for &(from, to, size) in &run.pieces {
            self.written.update(to, size, |byte| *byte = number);
            self.source.update(to, size, |byte| *byte = 0);
            self.source.update(from, size, |byte| *byte = number);
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, burst, load, store};

    fn copy(code: u64, from: u64, to: u64) -> Vec<BurstEvent> {
        (0..16u64)
            .flat_map(|one| {
                let value = from + one;
                [
                    load(code, from + 8 * one, 8, value),
                    store(code + 4, to + 8 * one, 8, 0, value),
                ]
            })
            .collect()
    }

    fn found(copies: impl IntoIterator<Item = Vec<BurstEvent>>) -> Vec<CopiedAgain> {
        copied_again(&[burst(copies.into_iter().flatten().collect())], &AllOwn)
    }

    #[test]
    fn objects_handed_over_by_value_in_turn_are_copied_again() {
        let one = |number: u64| copy(0x10, 0x1000 + 0x100 * (number % 3), 0x9000);
        let uses = |number| {
            let mut all = one(number);
            all.push(load(0x20, 0x9000, 8, 0x1000));
            all
        };
        let found = found((0..30).map(uses));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].at, found[0].stores.as_slice()),
            (at(0x14), &[at(0x14)][..])
        );
        assert!((found[0].seen.share.value - 0.9).abs() < 1e-9, "{found:?}");
        assert!((found[0].reads_per_byte - 1.0 / 16.0).abs() < 1e-9);
        assert_eq!(found[0].readers, [at(0x20)]);
        assert!(found[0].modified.share.value < 1e-9);
    }

    #[test]
    fn copies_that_stay_side_by_side_are_wanted() {
        assert!(found((0..30).map(|one| copy(0x10, 0x1000, 0x9000 + 0x100 * one))).is_empty());
    }

    #[test]
    fn sources_that_change_are_other_bytes() {
        let changed = |number: u64| {
            let mut all = copy(0x10, 0x1000, 0x9000);
            all.extend((0..16).map(|one| store(0x30, 0x1000 + 8 * one, 8, 0, number)));
            all
        };
        assert!(found((0..30).map(changed)).is_empty());
    }

    #[test]
    fn copy_that_is_written_to_says_so() {
        let changed = |_| {
            let mut all = copy(0x10, 0x1000, 0x9000);
            all.push(store(0x30, 0x9008, 8, 0, 7));
            all
        };
        let found = found((0..30).map(changed));
        assert!((found[0].modified.share.value - 1.0).abs() < 1e-9);
    }
}
