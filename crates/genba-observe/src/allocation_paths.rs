//! Who asks for memory, through which calls: wrappers of the allocator that also resize and free have
//! callers that never ask, which counts of calls cannot tell.

use genba_model::{Burst, CodePoint};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;

/// Calls in the user's own code that led to an allocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllocationPath {
    /// The call instructions, that of the allocator's function first; those whose callers are not known end
    /// it.
    pub calls: Vec<CodePoint>,
    /// Allocations that bursts saw.
    pub allocations: u64,
}

/// Calls that are remembered of a path.
const MAX_CALLS: usize = 8;

/// Paths that are kept: the others are rare.
const MAX_PATHS: usize = 256;

/// Paths to allocations, those with most first.
pub(crate) fn allocation_paths(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<AllocationPath> {
    let mut counted: FastMap<Vec<CodePoint>, u64> = FastMap::default();
    for burst in bursts {
        let mut stack = CallStack::default();
        for event in &burst.events {
            let change = stack.event(event);
            let (Change::Entered | Change::Retargeted, Some(top)) = (change, stack.frames().last())
            else {
                continue;
            };
            let frames = stack.frames();
            let inner = frames
                .len()
                .checked_sub(2)
                .map(|index| frames[index].target);
            let within = inner.is_some_and(|target| code.allocation(target).is_some());
            if code.allocation(top.target).is_none() || within {
                continue;
            }
            let own = (frames.iter().rev()).skip_while(|frame| !code.is_own(frame.call.module));
            let calls: Vec<CodePoint> = own
                .take_while(|frame| code.is_own(frame.call.module))
                .map(|frame| frame.call)
                .take(MAX_CALLS)
                .collect();
            if !calls.is_empty() {
                *counted.entry(calls).or_default() += 1;
            }
        }
    }
    let mut paths: Vec<AllocationPath> = (counted.into_iter())
        .map(|(calls, allocations)| AllocationPath { calls, allocations })
        .collect();
    paths.sort_by(|a, b| (b.allocations.cmp(&a.allocations)).then(a.calls.cmp(&b.calls)));
    paths.truncate(MAX_PATHS);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, ret};
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
}
