//! Copies of memory, recognised by what they do: values that are loaded and stored again, at the same
//! distance, many in a row.

use std::collections::VecDeque;

use genba_model::{Burst, CodePoint, Observed};

use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;

/// A stretch of memory that was copied, not necessarily all of it by one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyRun {
    /// The user's own instruction: the copy's first store, or the call that led to it.
    pub(crate) at: CodePoint,
    /// The function of a library that copied, if one did.
    pub(crate) target: Option<CodePoint>,
    /// Pieces in the order of their stores: from, to, bytes.
    pub(crate) pieces: Vec<(u64, u64, u16)>,
    /// Index of the event of the last store.
    pub(crate) end: usize,
}

impl CopyRun {
    /// Bytes from the source to the target, the same for all pieces.
    pub(crate) fn distance(&self) -> u64 {
        (self.pieces.first()).map_or(0, |piece| piece.1.wrapping_sub(piece.0))
    }

    /// Bytes copied.
    pub(crate) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.2)).sum()
    }
}

/// Loads that a store may be the copy of.
const LOADS_IN_FLIGHT: usize = 8;

/// Pieces that one repeated instruction loads before it stores.
const MAX_PIECES_IN_FLIGHT: usize = 1 << 12;

/// Bytes from which on a run is a copy of a block of memory.
const MIN_RUN_BYTES: u64 = 32;

/// Events between two pieces of one run.
const MAX_GAP_EVENTS: usize = 64;

/// Pieces of one run.
const MAX_PIECES: usize = 1 << 16;

struct Open {
    run: CopyRun,
    distance: u64,
    activation: u32,
}

/// The copies of a burst, in the order of their ends.
pub(crate) fn copy_runs(burst: &Burst, code: &dyn CodeKnowledge) -> Vec<CopyRun> {
    let mut stack = CallStack::default();
    let mut loads: [(u64, u16, u64); LOADS_IN_FLIGHT] = Default::default();
    let mut next = 0;
    // The loads just before of one instruction, by instruction, address and bytes: a repeated one loads in large
    // pieces, all of them before its first store.
    let mut moving: VecDeque<(CodePoint, u64, u16)> = VecDeque::new();
    let mut open: Option<Open> = None;
    let mut done = Vec::new();
    let mut finish = |open: &mut Option<Open>| {
        if let Some(one) = open.take()
            && one.run.bytes() >= MIN_RUN_BYTES
        {
            done.push(one.run);
        }
    };
    for (index, event) in burst.events.iter().enumerate() {
        stack.event(event);
        if open
            .as_ref()
            .is_some_and(|open| index - open.run.end > MAX_GAP_EVENTS)
        {
            finish(&mut open);
        }
        match event.what {
            Observed::Load {
                address,
                size,
                value,
            } => {
                loads[next % LOADS_IN_FLIGHT] = (address, size, value);
                let other = moving.back().is_some_and(|one| one.0 != event.at);
                if other || moving.len() >= MAX_PIECES_IN_FLIGHT {
                    moving.clear();
                }
                moving.push_back((event.at, address, size));
                next += 1;
            }
            Observed::Store {
                address,
                size,
                value,
                reads: false,
                ..
            } => {
                let activation = stack.activation();
                let same = |load: &(u64, u16, u64)| load.1 == size && load.2 == value && size > 0;
                let expected = open.as_ref().map(|open| open.distance);
                let mut candidates = loads.iter().filter(|load| same(load));
                let loaded = (candidates.clone())
                    .find(|load| Some(address.wrapping_sub(load.0)) == expected)
                    .or_else(|| candidates.find(|load| load.0 != address))
                    .map(|load| load.0);
                // Of repeated string instructions the values are not recorded: they copy what they
                // load.
                let moved = moving.pop_front();
                let moved = moved.filter(|one| one.0 == event.at && one.2 == size);
                if moved.is_none() {
                    moving.clear();
                }
                let Some(from) = moved.map(|one| one.1).or(loaded) else {
                    continue;
                };
                let distance = address.wrapping_sub(from);
                if distance == 0 {
                    continue;
                }
                match &mut open {
                    Some(one)
                        if one.distance == distance
                            && one.activation == activation
                            // There it begins again.
                            && one.run.pieces[0].1 != address
                            && one.run.pieces.len() < MAX_PIECES =>
                    {
                        one.run.pieces.push((from, address, size));
                        one.run.end = index;
                    }
                    _ => {
                        finish(&mut open);
                        open = stack.user_site(event.at, code).map(|(at, target)| Open {
                            run: CopyRun {
                                at,
                                target,
                                pieces: vec![(from, address, size)],
                                end: index,
                            },
                            distance,
                            activation,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    finish(&mut open);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, burst, load, store};

    #[test]
    fn values_moved_by_one_distance_are_a_copy() {
        let events = (0..8u64).flat_map(|one| {
            [
                load(0x10, 0x1000 + 8 * one, 8, 100 + one),
                store(0x14, 0x5000 + 8 * one, 8, 0, 100 + one),
            ]
        });
        let found = copy_runs(&burst(events.collect()), &AllOwn);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].bytes(), found[0].at), (64, at(0x14)));
    }

    #[test]
    fn repeated_string_instruction_is_a_copy_without_its_values() {
        let events = (0..8u64).flat_map(|one| {
            [
                load(0x10, 0x1000 + 8 * one, 8, 2 * one),
                store(0x10, 0x5000 + 8 * one, 8, 0, 2 * one + 1),
            ]
        });
        let found = copy_runs(&burst(events.collect()), &AllOwn);
        assert_eq!((found.len(), found[0].bytes()), (1, 64));
    }

    #[test]
    fn large_repeated_string_instruction_loads_all_its_pieces_first() {
        let piece = |one: u64| 0x4000 * one;
        let loads = (0..3u64).map(|one| load(0x10, 0x10_0000 + piece(one), 0x4000, 2 * one));
        let stores =
            (0..3u64).map(|one| store(0x10, 0x20_0000 + piece(one), 0x4000, 0, 2 * one + 1));
        let found = copy_runs(&burst(loads.chain(stores).collect()), &AllOwn);
        assert_eq!((found.len(), found[0].bytes()), (1, 0xc000));
        assert_eq!(found[0].distance(), 0x10_0000);
    }

    #[test]
    fn spills_and_computed_values_are_not() {
        let events = (0..20u64).flat_map(|one| {
            [
                load(0x10, 0x1000 + 8 * one, 8, 100 + one),
                store(0x14, 0x7000, 8, 0, 100 + one),
                store(0x18, 0x5000 + 8 * one, 8, 0, 7 * one),
            ]
        });
        assert!(copy_runs(&burst(events.collect()), &AllOwn).is_empty());
    }
}
