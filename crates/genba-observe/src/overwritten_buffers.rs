//! Buffers that a library function fills for its caller and that are overwritten unread: zeroed
//! before they are filled, copied before they are replaced.
//!
//! Only bytes count that the function was given by address and length (`memset`, `memcpy`,
//! `strncpy`): what it writes for itself is its own business. Attributed to the call in the user's
//! own code. A fill or copy that the compiler made of one string instruction (`rep stos`) counts as such a call of itself.
//! What is neither read nor overwritten in the burst is unknown: it widens the interval.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::{CallStack, Frame};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;
use crate::tally::{Fates, Partners, Seen};

/// A call that fills memory of which some is overwritten unread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverwrittenBuffer {
    /// The call in the user's own code.
    pub at: CodePoint,
    /// The function that it calls; itself for a string instruction.
    pub target: CodePoint,
    /// Bytes that were overwritten unread, of those whose fate was seen; the interval includes what
    /// the others may be.
    pub seen: Seen,
    /// Share of the bytes whose fate was not seen, 0…1.
    pub unknown: f64,
    /// Bytes that one call fills, on average.
    pub bytes_per_call: f64,
    /// The user's own instruction that overwrote most of them.
    pub overwritten_by: CodePoint,
}

/// Bytes from which on a filled stretch is a buffer.
const MIN_BUFFER_BYTES: f64 = 64.0;

/// Longest store of an instruction that is no string instruction.
const MAX_VECTOR_BYTES: u16 = 64;

/// Largest length that an argument is taken for.
const MAX_LENGTH: u64 = 1 << 40;

type Key = (CodePoint, CodePoint);

/// Finds calls whose bytes are overwritten unread, those with most bytes first.
pub(crate) fn overwritten_buffers(
    bursts: &[Burst],
    code: &dyn CodeKnowledge,
) -> Vec<OverwrittenBuffer> {
    let mut bytes = ByteMap::<u32>::new();
    let mut fates: Fates<Key> = Fates::new();
    let mut killers: FastMap<Key, Partners> = FastMap::default();
    let mut filled: FastMap<Key, (u64, u64)> = FastMap::default();
    for burst in bursts {
        let mut stack = CallStack::default();
        // The call that each number in the map stands for.
        let mut calls: Vec<(Key, u32)> = Vec::new();
        // String instructions so far.
        let mut executed = 0;
        for event in &burst.events {
            stack.event(event);
            match event.what {
                Observed::Load { address, size, .. } => {
                    bytes.update(address, size, |byte| {
                        if *byte != 0 {
                            fates.known(calls[*byte as usize - 1].0, false);
                            *byte = 0;
                        }
                    });
                }
                Observed::Store {
                    address,
                    size,
                    reads,
                    ..
                } => {
                    let site = stack.user_site(event.at, code);
                    let bulk = size > MAX_VECTOR_BYTES && code.is_own(event.at.module);
                    executed += u32::from(bulk);
                    let own = match bulk {
                        true => Some(((event.at, event.at), executed)),
                        false => filling(&stack, event.at, address, code),
                    };
                    let own = own.map(|(key, activation)| {
                        if calls.last().is_none_or(|last| *last != (key, activation)) {
                            calls.push((key, activation));
                            filled.entry(key).or_default().1 += 1;
                        }
                        filled.entry(key).or_default().0 += u64::from(size);
                        calls.len() as u32
                    });
                    let mut lost: Option<(Key, u64)> = None;
                    bytes.update(address, size, |byte| {
                        if *byte != 0 && Some(*byte) != own {
                            let key = calls[*byte as usize - 1].0;
                            fates.known(key, !reads);
                            if !reads {
                                let times = lost.map_or(0, |one| one.1);
                                lost = Some((key, times + 1));
                            }
                        }
                        *byte = own.unwrap_or(0);
                    });
                    if let (Some((key, times)), Some((at, _))) = (lost, site) {
                        killers.entry(key).or_default().add(at, times);
                    }
                }
                Observed::SystemCall { .. } => forget(&mut bytes, &calls, &mut fates),
                _ => {}
            }
        }
        forget(&mut bytes, &calls, &mut fates);
        fates.end_of_burst(burst.weight);
    }
    (fates.shares().into_iter())
        .filter_map(|(key, seen, unknown)| {
            let &(bytes, calls) = filled.get(&key)?;
            let bytes_per_call = bytes as f64 / calls.max(1) as f64;
            let wanted = seen.share.value > 0.0 && bytes_per_call >= MIN_BUFFER_BYTES;
            Some(OverwrittenBuffer {
                at: key.0,
                target: key.1,
                seen,
                unknown,
                bytes_per_call,
                overwritten_by: killers.get(&key)?.first()?,
            })
            .filter(|_| wanted)
        })
        .collect()
}

/// Forgets all bytes, whose fate is unknown.
fn forget(bytes: &mut ByteMap<u32>, calls: &[(Key, u32)], fates: &mut Fates<Key>) {
    bytes.each(|byte| {
        if byte != 0 {
            fates.unknown(calls[byte as usize - 1].0);
        }
    });
    bytes.clear();
}

/// The call from the user's own code that fills the byte at `address` by what stores at `at`.
fn filling(
    stack: &CallStack,
    at: CodePoint,
    address: u64,
    code: &dyn CodeKnowledge,
) -> Option<(Key, u32)> {
    if code.is_own(at.module) {
        return None;
    }
    // The function that stores, and those of libraries that called it.
    let frames = stack.frames();
    let first = frames
        .iter()
        .rposition(|frame| code.is_own(frame.call.module))?;
    let user = &frames[first];
    // What is in frames below the user's own is the library's business.
    if user.holds(address) {
        return None;
    }
    let given = |frame: &Frame| {
        let [to, second, third, ..] = frame.arguments;
        let length = [second, third]
            .into_iter()
            .filter(|&length| length < MAX_LENGTH)
            .max();
        length.is_some_and(|length| address.wrapping_sub(to) < length)
    };
    frames[first..]
        .iter()
        .any(given)
        .then_some(((user.call, user.target), user.activation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, in_library, load, ret, store};
    use genba_model::BurstEvent;

    fn zeroed(bytes: u64) -> Vec<BurstEvent> {
        let target = CodePoint {
            module: 1,
            address: 0x500,
        };
        let mut events = vec![call(0x10, target, [0x1000, 0, bytes, 0, 0, 0])];
        let stores = (0..bytes / 8).map(|one| in_library(store(0x510, 0x1000 + 8 * one, 8, 1, 0)));
        events.extend(stores);
        // The function's own scratch memory.
        events.push(in_library(store(0x520, 0x9000, 8, 1, 2)));
        events.push(in_library(ret(0x530, 0x1000)));
        events.push(block(0x15, 1));
        events
    }

    #[test]
    fn zeroed_buffer_that_is_filled_at_once_is_found() {
        let mut events = Vec::new();
        for _ in 0..5 {
            events.extend(zeroed(128));
            events.extend((0..16).map(|one| store(0x20, 0x1000 + 8 * one, 8, 0, 3)));
        }
        let found = overwritten_buffers(&[burst(events)], &AllOwn);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].overwritten_by), (at(0x10), at(0x20)));
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-12);
        assert_eq!(
            (found[0].seen.executions, found[0].bytes_per_call),
            (640, 128.0)
        );
    }

    #[test]
    fn string_instruction_that_clears_what_was_hardly_used_is_found() {
        let mut events = Vec::new();
        for _ in 0..5 {
            events.push(store(0x10, 0x1000, 1024, 1, 0));
            events.push(store(0x20, 0x1000, 8, 0, 3));
            events.push(load(0x24, 0x1000, 8, 3));
            events.push(load(0x28, 0x1008, 8, 0));
        }
        let found = overwritten_buffers(&[burst(events)], &AllOwn);
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        assert_eq!((one.at, one.target), (at(0x10), at(0x10)));
        assert_eq!((one.overwritten_by, one.bytes_per_call), (at(0x10), 1024.0));
        assert!(one.seen.share.value > 0.98, "{one:?}");
    }

    #[test]
    fn bytes_of_unknown_fate_are_told() {
        let mut events = zeroed(128);
        events.extend((0..4).map(|one| store(0x20, 0x1000 + 8 * one, 8, 0, 3)));
        let found = overwritten_buffers(&[burst(events)], &AllOwn);
        assert!((found[0].unknown - 0.75).abs() < 1e-12);
        assert!(found[0].seen.share.low < 0.25, "{found:?}");
    }

    #[test]
    fn zeroed_counters_that_are_read_first_are_not() {
        let mut events = Vec::new();
        for _ in 0..5 {
            events.extend(zeroed(128));
            events.extend((0..16).flat_map(|one| {
                let address = 0x1000 + 8 * one;
                [load(0x1c, address, 8, 0), store(0x20, address, 8, 0, 3)]
            }));
        }
        assert!(overwritten_buffers(&[burst(events)], &AllOwn).is_empty());
    }

    #[test]
    fn scratch_memory_in_the_frame_of_a_library_is_its_own_business() {
        let of = |buffer: u64| {
            let (print, copy) = (0x500, 0x600);
            let library = |address| CodePoint { module: 1, address };
            let mut events = Vec::new();
            for _ in 0..5 {
                events.push(store(0x10, 0x7f_0000, 8, 0, 0x15));
                events.push(call(0x10, library(print), [0x9000, 0, 0, 0, 0, 0]));
                events.push(in_library(call(
                    0x510,
                    library(copy),
                    [buffer, 0, 128, 0, 0, 0],
                )));
                events
                    .extend((0..16).map(|one| in_library(store(0x610, buffer + 8 * one, 8, 1, 0))));
                events.push(in_library(ret(0x620, 0)));
                events.push(in_library(block(0x515, 1)));
                events.push(in_library(ret(0x530, 0)));
                events.push(block(0x15, 1));
            }
            overwritten_buffers(&[burst(events)], &AllOwn)
        };
        // Above the user's frame, and below it.
        assert_eq!(of(0x7f_1000).len(), 1);
        assert!(of(0x7e_f000).is_empty());
    }
}
