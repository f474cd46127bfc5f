//! Who asks for memory, through which calls: functions that return what they allocated hand the request of their
//! callers on, and wrappers of the allocator that also resize and free have callers that never ask. Counts of calls can
//! tell neither.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::allocated_blocks::size_of;
use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;

/// Calls in the user's own code that led to an allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllocationPath {
    /// The call instructions, first that of the function which returns neither the memory to its caller nor an object that
    /// has its address; those whose callers are not known end it.
    pub calls: Vec<CodePoint>,
    /// Allocations that bursts saw.
    pub allocations: u64,
}

/// Calls that are remembered of a path.
const MAX_CALLS: usize = 8;

/// Paths that are kept: the others are rare.
const MAX_PATHS: usize = 256;

/// Bytes of an object in which an address is looked for.
const MAX_OBJECT_BYTES: u64 = 64;

/// How far above a return address a caller's variables are.
const MAX_FRAME_BYTES: u64 = 1 << 16;

/// Blocks that are handed on at a time: the oldest are with those that keep them.
const MAX_HANDED: usize = 64;

/// Memory on its way to who keeps it.
struct Handed {
    /// Calls that are open where it is: the allocator's own, until it returns.
    depth: usize,
    bytes: u64,
    /// Where it begins, when that is known.
    begin: Option<u64>,
    /// Where its address was stored last.
    stored: Option<u64>,
    /// The user's calls from there down.
    calls: Vec<CodePoint>,
}

impl Handed {
    /// Whether a function that returns this value returns the memory, a place in it, or an object that has its address.
    /// What is filled in for the caller is that: of values that are returned in its frame the memory is a part, which is made
    /// here.
    fn is_returned(&mut self, value: u64, frame: Option<u64>) -> bool {
        let begin = *self.begin.get_or_insert(value);
        let in_frame = frame.is_some_and(|stack| value.wrapping_sub(stack) <= MAX_FRAME_BYTES);
        let has_it = |place: u64| place.wrapping_sub(value) < MAX_OBJECT_BYTES && !in_frame;
        begin != 0 && (value.wrapping_sub(begin) <= self.bytes || self.stored.is_some_and(has_it))
    }
}

/// Paths to allocations, those with most first.
pub(crate) fn allocation_paths(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<AllocationPath> {
    let mut counted: FastMap<Vec<CodePoint>, u64> = FastMap::default();
    for burst in bursts {
        of_burst(burst, code, &mut |calls| {
            if !calls.is_empty() {
                *counted.entry(calls).or_default() += 1;
            }
        });
    }
    let mut paths: Vec<AllocationPath> = (counted.into_iter())
        .map(|(calls, allocations)| AllocationPath { calls, allocations })
        .collect();
    paths.sort_by(|a, b| (b.allocations.cmp(&a.allocations)).then(a.calls.cmp(&b.calls)));
    paths.truncate(MAX_PATHS);
    paths
}

fn of_burst(burst: &Burst, code: &dyn CodeKnowledge, kept: &mut dyn FnMut(Vec<CodePoint>)) {
    let mut stack = CallStack::default();
    // The calls of the stack's frames before the last event.
    let mut open: Vec<CodePoint> = Vec::new();
    let mut handed: Vec<Handed> = Vec::new();
    let mut result = 0;
    for event in &burst.events {
        let returned_from = stack.frames().last().and_then(|frame| frame.stack);
        match stack.event(event) {
            Change::Entered | Change::Retargeted => {
                let frames = stack.frames();
                open.truncate(frames.len().saturating_sub(1));
                open.extend(frames.last().map(|frame| frame.call));
                let inner = frames
                    .len()
                    .checked_sub(2)
                    .map(|index| frames[index].target);
                let within = inner.is_some_and(|target| code.allocation(target).is_some());
                let top = frames.last();
                let asked = top.and_then(|top| {
                    let allocation = code.allocation(top.target)?;
                    (!within).then(|| size_of(allocation, &top.arguments))
                });
                if let Some(bytes) = asked {
                    if handed.len() >= MAX_HANDED {
                        kept(handed.remove(0).calls);
                    }
                    handed.push(Handed {
                        depth: open.len(),
                        bytes,
                        begin: None,
                        stored: None,
                        calls: Vec::new(),
                    });
                }
            }
            Change::Left(_) => {
                let depth = stack.frames().len();
                handed.retain_mut(|one| {
                    if one.depth <= depth {
                        return true;
                    }
                    if !one.is_returned(result, returned_from) {
                        kept(std::mem::take(&mut one.calls));
                        return false;
                    }
                    one.depth = depth;
                    one.calls = own_calls(&open[..=depth], code);
                    true
                });
                open.truncate(depth);
            }
            Change::Lost => {
                // Where it was returned to is not known.
                let stay = handed.drain(..).filter_map(|mut one| {
                    let returned = one.is_returned(result, None);
                    (!returned).then_some(one.calls)
                });
                stay.for_each(&mut *kept);
                open.clear();
            }
            Change::None => {}
        }
        match event.what {
            Observed::Return { value } => result = value,
            Observed::Store {
                address,
                size: 8,
                value,
                ..
            } => {
                let mut of = handed.iter_mut().rev();
                if let Some(one) = of.find(|one| one.begin == Some(value)) {
                    one.stored = Some(address);
                }
            }
            _ => {}
        }
    }
    handed.into_iter().for_each(|one| kept(one.calls));
}

/// The innermost calls in a row that the user's own code makes.
fn own_calls(open: &[CodePoint], code: &dyn CodeKnowledge) -> Vec<CodePoint> {
    let inner_first = open.iter().rev().copied();
    (inner_first.skip_while(|call| !code.is_own(call.module)))
        .take_while(|call| code.is_own(call.module))
        .take(MAX_CALLS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, ret, store};
    use genba_model::BurstEvent;

    /// A call at `from` of a wrapper at 0x100, which calls the allocator or does not.
    fn wrapped(from: u64, asks: bool) -> Vec<BurstEvent> {
        let mut events = vec![call(from, at(0x100), [0; 6]), block(0x100, 3)];
        if asks {
            events.extend([
                call(0x104, at(0xa110c), [0; 6]),
                block(0xa110c, 20),
                ret(0xa1120, 0x9000),
                block(0x109, 1),
            ]);
        }
        events.extend([ret(0x110, 0), block(from + 5, 1)]);
        events
    }

    #[test]
    fn callers_of_a_wrapper_that_ask_are_told_from_those_that_free() {
        let events = [
            wrapped(0x10, true),
            wrapped(0x20, false),
            wrapped(0x10, true),
        ]
        .concat();
        let found = allocation_paths(&[burst(events)], &AllOwn);
        let expected = AllocationPath {
            calls: vec![at(0x104), at(0x10)],
            allocations: 2,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn memory_that_is_returned_is_its_callers() {
        // A constructor returns a place in what it allocated; who calls it keeps that.
        let made = |returned: u64| {
            vec![
                call(0x10, at(0x100), [0; 6]),
                block(0x100, 2),
                call(0x104, at(0xa110c), [48, 0, 0, 0, 0, 0]),
                block(0xa110c, 20),
                ret(0xa1120, 0x9000),
                block(0x109, 1),
                ret(0x110, returned),
                block(0x15, 1),
            ]
        };
        let first = |returned| allocation_paths(&[burst(made(returned))], &AllOwn)[0].calls[0];
        assert_eq!(first(0x9010), at(0x10));
        assert_eq!(first(0), at(0x104), "it is kept there");
        assert_eq!(first(0x9040), at(0x104), "something else");
    }

    #[test]
    fn memory_of_an_object_that_is_returned_is_its_callers() {
        // The address is stored in an object, which is returned, or in a table.
        let made = |place: u64, returned: u64| {
            let mut events = vec![
                call(0x10, at(0x100), [0; 6]),
                block(0x100, 2),
                store(0x10, 0x7000, 8, 0, 0x15),
                call(0x104, at(0xa110c), [48, 0, 0, 0, 0, 0]),
                block(0xa110c, 20),
                ret(0xa1120, 0x9000),
                block(0x109, 1),
                store(0x109, place, 8, 0, 0x9000),
            ];
            events.extend([ret(0x110, returned), block(0x15, 1)]);
            allocation_paths(&[burst(events)], &AllOwn)[0].calls[0]
        };
        assert_eq!(made(0x4010, 0x4000), at(0x10));
        assert_eq!(made(0x5000, 0x4000), at(0x104), "a table");
        assert_eq!(made(0x7110, 0x7100), at(0x104), "a value in the frame");
    }
}
