//! What the first access of bursts to a region's bytes does: whether what was there when the burst began is read, or
//! overwritten unread.
//!
//! A burst that ends too early to see what becomes of a store says nothing of it; one that begins after the store sees
//! it from the other end. Bursts begin at random moments, so that they meet what lies there for long more often, and
//! what waits to be read is mostly what was stored last: both make more reads.

use genba_model::{Burst, Observed};

use crate::byte_map::ByteMap;
use crate::tally::{Seen, Tally};

/// A stretch of a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Region {
    pub(crate) pid: i32,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// Regions that overlap as one, in their order.
pub(crate) fn joined(mut regions: Vec<Region>) -> Vec<Region> {
    regions.sort_unstable();
    let mut found: Vec<Region> = Vec::new();
    for one in regions {
        match found.last_mut() {
            Some(last) if last.pid == one.pid && one.begin < last.end => {
                last.end = last.end.max(one.end);
            }
            _ => found.push(one),
        }
    }
    found
}

/// The region of [`joined`] ones that an address is in.
pub(crate) fn region_of(regions: &[Region], pid: i32, address: u64) -> Option<usize> {
    let next = regions.partition_point(|one| (one.pid, one.begin) <= (pid, address));
    let index = next.checked_sub(1)?;
    (regions[index].pid == pid && address < regions[index].end).then_some(index)
}

/// For each region the share of first accesses that read, of all in bursts.
pub(crate) fn read_first(bursts: &[Burst], regions: &[Region]) -> Vec<Option<Seen>> {
    let mut tally: Tally<usize> = Tally::new();
    for burst in bursts {
        let mut met = ByteMap::<bool>::new();
        for event in &burst.events {
            let (address, size, reads) = match event.what {
                Observed::Load { address, size, .. } => (address, size, true),
                Observed::Store {
                    address,
                    size,
                    reads,
                    ..
                } => (address, size, reads),
                _ => continue,
            };
            let Some(index) = region_of(regions, burst.pid, address) else {
                continue;
            };
            let mut first = 0u32;
            met.update(address, size, |byte| {
                first += u32::from(!std::mem::replace(byte, true));
            });
            if first > 0 {
                let first = f64::from(first);
                tally.add(index, if reads { first } else { 0.0 }, first);
            }
        }
        tally.end_of_burst(burst.weight);
    }
    (0..regions.len()).map(|index| tally.seen(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load, store};

    fn region(begin: u64, end: u64) -> Region {
        Region { pid: 1, begin, end }
    }

    #[test]
    fn only_the_first_access_of_a_burst_to_a_byte_counts() {
        let events = vec![
            store(0x10, 0x1000, 8, 0, 1),
            load(0x20, 0x1000, 8, 1),
            load(0x24, 0x1008, 8, 1),
            store(0x10, 0x1008, 8, 1, 2),
            // Elsewhere.
            load(0x28, 0x3000, 8, 1),
        ];
        let regions = joined(vec![region(0x1000, 0x1010), region(0x1008, 0x1020)]);
        assert_eq!(regions, [region(0x1000, 0x1020)]);
        let found = read_first(&[burst(events)], &regions);
        let seen = found[0].expect("16 bytes");
        assert!((seen.share.value - 0.5).abs() < 1e-12);
        assert_eq!(seen.executions, 16);
    }

    #[test]
    fn regions_are_told_apart_by_process() {
        let regions = joined(vec![
            region(0x1000, 0x1010),
            Region {
                pid: 2,
                begin: 0x1008,
                end: 0x1020,
            },
        ]);
        assert_eq!(regions.len(), 2);
        assert_eq!(region_of(&regions, 1, 0x100f), Some(0));
        assert_eq!(region_of(&regions, 1, 0x1010), None);
        assert_eq!(region_of(&regions, 2, 0x100f), Some(1));
    }
}
