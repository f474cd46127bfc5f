//! Loads of bytes of which a store shortly before wrote only a part: the processor cannot hand on what was stored, and
//! the load waits until the store is in the cache.
//!
//! Store and load may be in different functions, and through any registers. How long a store waits on its way to the
//! cache is not recorded: the last stores within some instructions count.
//!
//! Source: Intel, "64 and IA-32 Architectures Optimization Reference Manual", store forwarding.

use std::collections::VecDeque;

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Partners, Seen, Tally};

/// A load instruction that met such stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartlyStoredLoad {
    /// The load.
    pub at: CodePoint,
    /// The store that it met most often.
    pub store: CodePoint,
    /// Executions that met one, of all.
    pub seen: Seen,
}

/// Stores that are on their way to the cache, at most. Chosen: half of a store buffer of today.
const MAX_STORES: usize = 32;

/// Instructions from a store to a load that may still meet it. Chosen: a store that much older is in the cache, unless
/// the cache misses.
const MAX_INSTRUCTIONS: u64 = 64;

struct Pending {
    at: CodePoint,
    address: u64,
    end: u64,
    time: u64,
}

/// Finds such loads, those with most executions first.
pub(crate) fn partly_stored_loads(bursts: &[Burst]) -> Vec<PartlyStoredLoad> {
    let mut tally = Tally::new();
    let mut met: FastMap<CodePoint, Partners> = FastMap::default();
    for burst in bursts {
        let mut pending: VecDeque<Pending> = VecDeque::with_capacity(MAX_STORES);
        let mut time = 0;
        for event in &burst.events {
            match event.what {
                Observed::Block { instructions } => time += u64::from(instructions),
                Observed::Store { address, size, .. } => {
                    if pending.len() == MAX_STORES {
                        pending.pop_front();
                    }
                    pending.push_back(Pending {
                        at: event.at,
                        address,
                        end: address.saturating_add(u64::from(size)),
                        time,
                    });
                }
                Observed::Load { address, size, .. } => {
                    let end = address.saturating_add(u64::from(size));
                    let mut recent = (pending.iter().rev())
                        .take_while(|one| one.time + MAX_INSTRUCTIONS >= time);
                    let last = recent.find(|one| one.address < end && address < one.end);
                    let part = last.filter(|one| address < one.address || one.end < end);
                    tally.count(event.at, part.is_some());
                    if let Some(store) = part {
                        met.entry(event.at).or_default().add(store.at, 1);
                    }
                }
                Observed::SystemCall { .. } => pending.clear(),
                _ => {}
            }
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter_map(|(at, seen)| {
            let store = met.get(&at)?.first()?;
            Some(PartlyStoredLoad { at, store, seen })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, block, burst, load, store};

    /// Twenty rounds of a store of four bytes at an offset, so many instructions, and a load of eight.
    fn found(offset: u64, size: u16, between: u32) -> Vec<PartlyStoredLoad> {
        let round = |one: u64| {
            [
                block(0x10, 2),
                store(0x10, 0x1000 + offset, size, 0, one),
                block(0x18, between),
                load(0x20, 0x1000, 8, one),
            ]
        };
        partly_stored_loads(&[burst((0..20).flat_map(round).collect())])
    }

    #[test]
    fn loads_that_span_more_than_the_last_store_are_found() {
        let one = found(0, 4, 3);
        assert_eq!((one[0].at, one[0].store), (at(0x20), at(0x10)));
        assert!((one[0].seen.share.value - 1.0).abs() < 1e-12);
        assert_eq!(found(6, 4, 3).len(), 1);
    }

    #[test]
    fn stores_that_cover_do_not_overlap_or_are_long_past_are_none() {
        assert!(found(0, 8, 3).is_empty());
        assert!(found(8, 4, 3).is_empty());
        assert!(found(0, 4, 100).is_empty());
    }

    #[test]
    fn only_the_last_store_to_the_bytes_counts() {
        let round = |one: u64| {
            [
                store(0x10, 0x1000, 4, 0, one),
                store(0x14, 0x1000, 8, 0, one),
                load(0x20, 0x1000, 8, one),
            ]
        };
        let events = (0..20).flat_map(round).collect();
        assert!(partly_stored_loads(&[burst(events)]).is_empty());
    }
}
