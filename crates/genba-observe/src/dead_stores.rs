//! Stores whose bytes are all overwritten before any of them is read.
//!
//! Source: M. Chabbi and J. Mellor-Crummey, "DeadSpy: a tool to pinpoint program inefficiencies",
//! CGO 2012. What a burst leaves unread at its end, or a system call may have read, is unknown: it
//! widens the interval. Read-modify-write instructions read first. Another thread's read is not seen: of
//! programs with several threads the share is an upper bound.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;
use crate::tally::{Fates, Partners, Seen};

/// A store instruction of whose executions some were dead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadStore {
    /// The instruction.
    pub at: CodePoint,
    /// Executions that were overwritten unread, of those whose fate was seen; the interval includes
    /// what the others may be.
    pub seen: Seen,
    /// Share of the executions whose fate was not seen, 0…1.
    pub unknown: f64,
    /// What overwrote it most often: the store, or the user's own call that led to it in a library.
    pub overwritten_by: CodePoint,
    /// Bytes that one execution writes.
    pub size: u16,
}

struct Pending {
    at: CodePoint,
    size: u16,
    /// Bytes that are neither overwritten nor read.
    left: u16,
    live: bool,
}

/// Finds stores that are overwritten unread, those with most executions first.
pub(crate) fn dead_stores(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<DeadStore> {
    let mut found = Found {
        bytes: ByteMap::new(),
        pending: Vec::new(),
        fates: Fates::new(),
        killers: FastMap::default(),
    };
    for burst in bursts {
        let mut stack = CallStack::default();
        for event in &burst.events {
            stack.event(event);
            match event.what {
                Observed::Load { address, size, .. } => found.read(address, size),
                Observed::Store {
                    address,
                    size,
                    reads,
                    ..
                } => {
                    if reads {
                        found.read(address, size);
                    }
                    let by = stack.user_site(event.at, code);
                    found.write((event.at, by.map_or(event.at, |by| by.0)), address, size);
                }
                // The kernel may read anything.
                Observed::SystemCall { .. } => found.forget(),
                _ => {}
            }
        }
        found.forget();
        found.fates.end_of_burst(burst.weight);
    }
    let killers = &found.killers;
    (found.fates.shares().into_iter())
        .filter_map(|(at, seen, unknown)| {
            let (killer, size) = killers.get(&at)?;
            Some(DeadStore {
                at,
                seen,
                unknown,
                overwritten_by: killer.first()?,
                size: *size,
            })
        })
        .collect()
}

struct Found {
    /// Number of the pending store + 1.
    bytes: ByteMap<u32>,
    pending: Vec<Pending>,
    fates: Fates<CodePoint>,
    killers: FastMap<CodePoint, (Partners, u16)>,
}

impl Found {
    fn forget(&mut self) {
        self.bytes.clear();
        for one in self.pending.drain(..).filter(|one| !one.live) {
            self.fates.unknown(one.at);
        }
    }

    fn read(&mut self, address: u64, size: u16) {
        let Self {
            bytes,
            pending,
            fates,
            ..
        } = self;
        bytes.update(address, size, |byte| {
            if *byte == 0 {
                return;
            }
            let one = &mut pending[*byte as usize - 1];
            if !one.live {
                one.live = true;
                fates.known(one.at, false);
            }
            *byte = 0;
        });
    }

    /// A store, and the user's own instruction that is responsible for it.
    fn write(&mut self, (at, by): (CodePoint, CodePoint), address: u64, size: u16) {
        let Self {
            bytes,
            pending,
            fates,
            killers,
        } = self;
        pending.push(Pending {
            at,
            size,
            left: size,
            live: false,
        });
        let own = pending.len() as u32;
        bytes.update(address, size, |byte| {
            if *byte != 0 && *byte != own {
                let one = &mut pending[*byte as usize - 1];
                one.left = one.left.saturating_sub(1);
                if one.left == 0 && !one.live {
                    one.live = true;
                    fates.known(one.at, true);
                    let killer = killers.entry(one.at).or_default();
                    killer.0.add(by, 1);
                    killer.1 = killer.1.max(one.size);
                }
            }
            *byte = own;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, in_library, load, ret, store};
    use genba_model::BurstEvent;

    #[test]
    fn store_that_is_overwritten_unread_is_dead() {
        let events = (0..50).flat_map(|_| {
            [
                store(0x10, 0x1000, 8, 0, 1),
                store(0x20, 0x1000, 8, 1, 2),
                load(0x30, 0x1000, 8, 2),
            ]
        });
        let found = dead_stores(&[burst(events.collect())], &AllOwn);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].overwritten_by), (at(0x10), at(0x20)));
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-12);
        assert_eq!(found[0].seen.executions, 50);
    }

    #[test]
    fn partly_read_store_and_read_modify_write_are_live() {
        let add = BurstEvent {
            at: at(0x40),
            what: Observed::Store {
                address: 0x2000,
                size: 4,
                before: 0,
                value: 1,
                reads: true,
            },
        };
        let mut events = vec![
            store(0x10, 0x1000, 8, 0, 1),
            load(0x30, 0x1007, 1, 0),
            store(0x20, 0x1000, 8, 1, 2),
        ];
        events.extend([add; 10]);
        assert!(dead_stores(&[burst(events)], &AllOwn).is_empty());
    }

    #[test]
    fn unread_at_the_end_or_before_a_system_call_is_unknown() {
        let call = BurstEvent {
            at: at(0x50),
            what: Observed::SystemCall { number: 1 },
        };
        let events = vec![
            store(0x10, 0x1000, 8, 0, 1),
            call,
            store(0x20, 0x1000, 8, 1, 2),
        ];
        let found = dead_stores(&[burst(events.clone()), burst(events)], &AllOwn);
        assert!(found.is_empty());
    }

    #[test]
    fn unknown_fates_are_told_and_widen_the_interval() {
        let pair = |address| {
            [
                store(0x10, address, 8, 0, 1),
                store(0x20, address, 8, 1, 2),
                load(0x30, address, 8, 2),
            ]
        };
        let bursts: Vec<_> = (0..20)
            .map(|_| {
                let mut events: Vec<_> = (0..50).flat_map(|_| pair(0x1000)).collect();
                events.extend((0..150).map(|one| store(0x10, 0x8000 + 8 * one, 8, 0, 1)));
                burst(events)
            })
            .collect();
        let found = dead_stores(&bursts, &AllOwn);
        assert!((found[0].unknown - 0.75).abs() < 1e-12);
        let share = found[0].seen.share;
        assert!(share.low < 0.26 && share.high > 0.99, "{share:?}");
    }

    #[test]
    fn store_is_dead_only_when_its_last_byte_is_overwritten() {
        let half = vec![
            store(0x10, 0x1000, 8, 0, 1),
            store(0x20, 0x1000, 4, 1, 2),
            load(0x30, 0x1004, 4, 0),
        ];
        assert!(dead_stores(&[burst(half)], &AllOwn).is_empty());
        let both = vec![
            store(0x10, 0x1000, 8, 0, 1),
            store(0x20, 0x1000, 4, 1, 2),
            store(0x24, 0x1004, 4, 1, 2),
        ];
        assert_eq!(
            dead_stores(&[burst(both)], &AllOwn)[0].overwritten_by,
            at(0x24)
        );
    }

    #[test]
    fn store_that_a_library_overwrites_is_overwritten_by_the_call_of_it() {
        let copy = CodePoint {
            module: 1,
            address: 0x500,
        };
        let events = (0..50).flat_map(|_| {
            [
                store(0x10, 0x1000, 8, 0, 1),
                call(0x20, copy, [0x1000, 0x2000, 8, 0, 0, 0]),
                in_library(store(0x510, 0x1000, 8, 1, 2)),
                in_library(ret(0x514, 0x1000)),
                block(0x25, 1),
                load(0x30, 0x1000, 8, 2),
            ]
        });
        let found = dead_stores(&[burst(events.collect())], &AllOwn);
        assert_eq!((found[0].at, found[0].overwritten_by), (at(0x10), at(0x20)));
    }
}
