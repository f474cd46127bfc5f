//! Stores whose bytes are all overwritten before any of them is read.
//!
//! Source: M. Chabbi and J. Mellor-Crummey, "DeadSpy: a tool to pinpoint program inefficiencies",
//! CGO 2012. What a burst leaves unread at its end, or a system call may have read, is unknown: it
//! widens the interval, as far as bursts that begin later do not show that what lies there is hardly read
//! ([`read_first`]). Read-modify-write instructions read first. Another thread's read is not seen: of
//! programs with several threads the share is an upper bound.

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::deciding_branches::DecidingBranches;
use crate::fast_hash::{FastMap, FastSet};
use crate::first_accesses::{Region, joined, read_first, region_of};
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
    /// Branches behind it that decide whether it is read ([`crate::deciding_branches`]).
    #[serde(default)]
    pub decided_by: Vec<CodePoint>,
}

struct Pending {
    at: CodePoint,
    address: u64,
    size: u16,
    /// Bytes that are neither overwritten nor read.
    left: u16,
    live: bool,
    /// Outcomes of branches before it.
    made: u32,
}

/// Finds stores that are overwritten unread, those with most executions first.
pub(crate) fn dead_stores(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<DeadStore> {
    let mut found = Found {
        bytes: ByteMap::new(),
        pending: Vec::new(),
        fates: Fates::new(),
        killers: FastMap::default(),
        unknown: FastMap::default(),
        for_kernel: FastSet::default(),
        deciding: DecidingBranches::default(),
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
                Observed::Branch { taken } => found.deciding.branch(event.at, taken),
                // The kernel may read anything.
                Observed::SystemCall { .. } => found.forget(burst.pid, true),
                _ => {}
            }
        }
        found.forget(burst.pid, false);
        found.fates.end_of_burst(burst.weight);
        found.deciding.end_of_burst();
    }
    let fates_read = found.read_later(bursts);
    let killers = &found.killers;
    (found.fates.shares().into_iter())
        .filter_map(|(at, seen, unknown)| {
            let (killer, size) = killers.get(&at)?;
            let seen = match fates_read.get(&at) {
                Some(&read) if seen.share.value >= NEARLY_ALL => {
                    with_later_reads(seen, unknown, read)
                }
                _ => seen,
            };
            Some(DeadStore {
                at,
                seen,
                unknown,
                overwritten_by: killer.first()?,
                size: *size,
                decided_by: found.deciding.of(at),
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
    /// Stores whose fate is unknown: how many, and where they went to, by process.
    unknown: FastMap<(CodePoint, i32), (u64, Region)>,
    /// Stores whose fate is unknown since the kernel may have read them.
    for_kernel: FastSet<CodePoint>,
    deciding: DecidingBranches,
}

/// Share of dead stores from which on later bursts are asked: of stores that are read now and then, those that wait
/// longest to be read are the unknown ones.
const NEARLY_ALL: f64 = 0.95;

/// Stores of unknown fate whose memory is followed into other bursts, those with most of them.
const MAX_FOLLOWED: usize = 64;

/// Bytes of first accesses, and bursts with any, from which on they say what becomes of a store.
const MIN_FIRST_BYTES: u64 = 256;
const MIN_FIRST_BURSTS: u32 = 5;

/// The interval of a share of dead stores when those of unknown fate are read as often as bursts that began later
/// read what lay there.
fn with_later_reads(mut seen: Seen, unknown: f64, read: Estimate) -> Seen {
    seen.share.low = (seen.share.low)
        .max((1.0 - unknown) * seen.share.value + unknown * (1.0 - read.high))
        .min(seen.share.value);
    seen
}

impl Found {
    fn forget(&mut self, pid: i32, kernel: bool) {
        self.bytes.clear();
        for one in self.pending.drain(..).filter(|one| !one.live) {
            self.fates.unknown(one.at);
            let end = one.address.saturating_add(u64::from(one.size));
            let new = Region {
                pid,
                begin: one.address,
                end,
            };
            let (times, region) = self.unknown.entry((one.at, pid)).or_insert((0, new));
            // What the kernel may have read, no later burst tells.
            if kernel {
                self.for_kernel.insert(one.at);
            }
            *times += 1;
            region.begin = region.begin.min(one.address);
            region.end = region.end.max(end);
        }
    }

    /// For stores whose fate is often unknown: the share of what lies where they store that bursts read before it is
    /// overwritten.
    fn read_later(&self, bursts: &[Burst]) -> FastMap<CodePoint, Estimate> {
        let mut most: Vec<_> = (self.unknown.iter())
            .filter(|(key, _)| {
                self.killers.contains_key(&key.0) && !self.for_kernel.contains(&key.0)
            })
            .collect();
        most.sort_by_key(|(key, (times, _))| (std::cmp::Reverse(*times), **key));
        most.truncate(MAX_FOLLOWED);
        let regions = joined(most.iter().map(|one| one.1.1).collect());
        let reads = read_first(bursts, &regions);
        let mut found: FastMap<CodePoint, Option<Estimate>> = FastMap::default();
        for ((at, pid), (_, region)) in most {
            let seen = region_of(&regions, *pid, region.begin).and_then(|index| reads[index]);
            let enough =
                |seen: &Seen| seen.executions >= MIN_FIRST_BYTES && seen.bursts >= MIN_FIRST_BURSTS;
            let share = seen.filter(enough).map(|seen| seen.share);
            // Of several processes the one that reads most.
            let known = found.entry(*at).or_insert(share);
            *known = match (*known, share) {
                (Some(one), Some(other)) if one.high >= other.high => Some(one),
                (Some(_), Some(other)) => Some(other),
                _ => None,
            };
        }
        (found.into_iter())
            .filter_map(|(at, share)| Some((at, share?)))
            .collect()
    }

    fn read(&mut self, address: u64, size: u16) {
        let Self {
            bytes,
            pending,
            fates,
            deciding,
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
                deciding.fate(one.at, one.made, false);
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
            deciding,
            ..
        } = self;
        pending.push(Pending {
            at,
            address,
            size,
            left: size,
            live: false,
            made: deciding.now(),
        });
        let own = pending.len() as u32;
        bytes.update(address, size, |byte| {
            if *byte != 0 && *byte != own {
                let one = &mut pending[*byte as usize - 1];
                one.left = one.left.saturating_sub(1);
                if one.left == 0 && !one.live {
                    one.live = true;
                    fates.known(one.at, true);
                    deciding.fate(one.at, one.made, true);
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
                events.push(BurstEvent {
                    at: at(0x50),
                    what: Observed::SystemCall { number: 1 },
                });
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

    /// A fill and what overwrites it, of which bursts see only a part; the next ones begin where a frame is half filled.
    fn frames(first_read: bool) -> Vec<DeadStore> {
        let bursts: Vec<_> = (0..20)
            .map(|_| {
                let line = |code: u64, from: u64, to: u64| {
                    (from..to).map(move |one| store(code, 0x8000 + 8 * one, 8, 0, 1))
                };
                let mut events: Vec<_> = match first_read {
                    true => (0..100)
                        .map(|one| load(0x40, 0x8000 + 8 * one, 8, 1))
                        .collect(),
                    false => Vec::new(),
                };
                events.extend(line(0x20, 50, 100));
                events.extend(line(0x10, 0, 100));
                events.extend(line(0x20, 0, 30));
                burst(events)
            })
            .collect();
        let mut found = dead_stores(&bursts, &AllOwn);
        found.retain(|one| one.at == at(0x10));
        found
    }

    #[test]
    fn fate_behind_the_end_of_a_burst_follows_from_what_others_begin_with() {
        let found = frames(false);
        assert!((found[0].unknown - 0.7).abs() < 1e-9);
        assert!(found[0].seen.share.low > 0.75, "{:?}", found[0].seen);
        // What lies there is read.
        let found = frames(true);
        assert!(found[0].seen.share.low < 0.7, "{:?}", found[0].seen);
    }
}
