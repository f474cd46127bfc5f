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
    /// The call instructions, first that of the function which returns neither the memory to its caller nor an object on
    /// the heap that has its address; those whose callers are not known end it.
    pub calls: Vec<CodePoint>,
    /// Calls from there to the allocator, the allocator's own first: of functions that return the memory.
    #[serde(default)]
    pub through: Vec<CodePoint>,
    /// Allocations that bursts saw.
    pub allocations: u64,
}

/// The calls of a path, and those through which it leads.
type Path = (Vec<CodePoint>, Vec<CodePoint>);

/// Calls that are remembered of a path.
const MAX_CALLS: usize = 8;

/// Paths that are kept: the others are rare.
const MAX_PATHS: usize = 256;

/// Bytes of an object in which an address is looked for.
const MAX_OBJECT_BYTES: u64 = 64;

/// How far from a return address the variables of a function are.
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
    /// Where its address was stored last, but for variables of functions.
    stored: Option<u64>,
    /// The user's calls from there down.
    calls: Vec<CodePoint>,
    /// The user's calls when the allocator returned.
    all: Vec<CodePoint>,
}

impl Handed {
    fn take_path(&mut self) -> Path {
        let through = self
            .all
            .iter()
            .take_while(|one| Some(*one) != self.calls.first());
        let through = through.copied().collect();
        (std::mem::take(&mut self.calls), through)
    }

    /// Whether a function that returns this value returns the memory, a place in it, or an object that has its address. What
    /// is stored elsewhere stays there, whatever a function without result leaves in the register.
    fn is_returned(&mut self, value: u64) -> bool {
        let begin = *self.begin.get_or_insert(value);
        let is_memory = value.wrapping_sub(begin) < self.bytes.max(1);
        let holds = |place: u64| place.wrapping_sub(value) < MAX_OBJECT_BYTES;
        begin != 0 && self.stored.map_or(is_memory, holds)
    }
}

/// Paths to allocations, those with most first.
pub(crate) fn allocation_paths(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<AllocationPath> {
    let mut counted: FastMap<Path, u64> = FastMap::default();
    for burst in bursts {
        of_burst(burst, code, &mut |path| {
            if !path.0.is_empty() {
                *counted.entry(path).or_default() += 1;
            }
        });
    }
    let mut paths: Vec<AllocationPath> = (counted.into_iter())
        .map(|((calls, through), allocations)| AllocationPath {
            calls,
            through,
            allocations,
        })
        .collect();
    let order = |one: &AllocationPath| (one.calls.clone(), one.through.clone());
    paths.sort_by(|a, b| (b.allocations.cmp(&a.allocations)).then_with(|| order(a).cmp(&order(b))));
    paths.truncate(MAX_PATHS);
    paths
}

fn of_burst(burst: &Burst, code: &dyn CodeKnowledge, kept: &mut dyn FnMut(Path)) {
    let mut stack = CallStack::default();
    // The calls of the stack's frames before the last event.
    let mut open: Vec<CodePoint> = Vec::new();
    let mut handed: Vec<Handed> = Vec::new();
    let mut result = 0;
    for event in &burst.events {
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
                        kept(handed.remove(0).take_path());
                    }
                    handed.push(Handed {
                        depth: open.len(),
                        bytes,
                        begin: None,
                        stored: None,
                        calls: Vec::new(),
                        all: Vec::new(),
                    });
                }
            }
            Change::Left(_) => {
                let depth = stack.frames().len();
                // What is allocated where another block was: that one was freed.
                let new = |one: &Handed| one.begin.is_none() && one.depth > depth;
                if handed.iter().any(new) {
                    handed.retain_mut(|one| {
                        let freed = one.begin == Some(result);
                        if freed {
                            kept(one.take_path());
                        }
                        !freed
                    });
                }
                handed.retain_mut(|one| {
                    if one.depth <= depth {
                        return true;
                    }
                    if !one.is_returned(result) {
                        kept(one.take_path());
                        return false;
                    }
                    one.depth = depth;
                    one.calls = own_calls(&open[..=depth], code);
                    if one.all.is_empty() {
                        one.all.clone_from(&one.calls);
                    }
                    true
                });
                open.truncate(depth);
            }
            Change::Lost => {
                // Where it was returned to is not known.
                let stay = handed.drain(..).filter_map(|mut one| {
                    let returned = one.is_returned(result);
                    (!returned).then(|| one.take_path())
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
                if let Some(one) = of.find(|one| one.begin == Some(value))
                    && !is_variable(&stack, address)
                {
                    one.stored = Some(address);
                }
            }
            _ => {}
        }
    }
    handed.into_iter().for_each(|mut one| kept(one.take_path()));
}

/// Whether an address is in the frame of a function that was called in the burst, or near: it keeps nothing.
fn is_variable(stack: &CallStack, address: u64) -> bool {
    let near = |stack: u64| stack.abs_diff(address) <= MAX_FRAME_BYTES;
    let mut frames = stack.frames().iter().rev();
    frames.any(|frame| frame.stack.is_some_and(near))
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
            through: Vec::new(),
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
        let through = &allocation_paths(&[burst(made(0x9010))], &AllOwn)[0].through;
        assert_eq!(through, &[at(0x104)]);
        assert_eq!(first(0), at(0x104), "it is kept there");
        assert_eq!(first(0x9040), at(0x104), "something else");
    }

    /// Where return addresses are.
    const STACK: u64 = 0x7fff_7000;

    #[test]
    fn memory_of_an_object_that_is_returned_is_its_callers() {
        // The address is stored in an object, which is returned, or in a table.
        let made = |place: u64, returned: u64| {
            let mut events = vec![
                call(0x10, at(0x100), [0; 6]),
                block(0x100, 2),
                store(0x10, STACK, 8, 0, 0x15),
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
        assert_eq!(
            made(0x5000, 0x9000),
            at(0x104),
            "a table; the register has it still"
        );
        assert_eq!(
            made(STACK + 0x110, STACK + 0x100),
            at(0x104),
            "a value in the frame"
        );
    }
}
