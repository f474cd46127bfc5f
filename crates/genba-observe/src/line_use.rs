//! How much of the cache lines that an instruction brings is used.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// Use of the lines that an instruction is the first to touch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineUse {
    /// The instruction that touches them first in a burst.
    pub at: CodePoint,
    /// Bytes that anything used until the burst's end, of the bytes of these lines.
    pub seen: Seen,
    /// Lines.
    pub lines: u64,
}

/// Share of a burst, from its beginning, in which a line must be touched first: of later ones the
/// use may be still to come.
const SHARE_OF_FIRST_TOUCHES: f64 = 0.75;

struct Line {
    first: CodePoint,
    used: u128,
}

/// Finds out how much of the lines touched first by each instruction is used, those with most
/// lines first. `line_bytes` is a power of two.
pub(crate) fn line_use(bursts: &[Burst], line_bytes: u64) -> Vec<LineUse> {
    let mut tally = Tally::new();
    // One bit stands for this many bytes.
    let unit = line_bytes.div_ceil(128).max(1);
    let mut lines: FastMap<u64, Line> = FastMap::default();
    for burst in bursts {
        let last = (burst.events.len() as f64 * SHARE_OF_FIRST_TOUCHES) as usize;
        for (index, event) in burst.events.iter().enumerate() {
            let (Observed::Load { address, size, .. } | Observed::Store { address, size, .. }) =
                event.what
            else {
                continue;
            };
            let end = address.saturating_add(u64::from(size));
            let mut from = address;
            while from < end {
                let number = from / line_bytes;
                let to = end.min((number + 1).saturating_mul(line_bytes));
                if index < last || lines.contains_key(&number) {
                    let line = lines.entry(number).or_insert(Line {
                        first: event.at,
                        used: 0,
                    });
                    let (first, bits) = (
                        (from % line_bytes) / unit,
                        ((to - 1) % line_bytes) / unit - (from % line_bytes) / unit + 1,
                    );
                    line.used |= (u128::MAX >> (128 - bits)) << first;
                }
                if to <= from {
                    break;
                }
                from = to;
            }
        }
        for (_, line) in lines.drain() {
            let used = (u64::from(line.used.count_ones()) * unit).min(line_bytes);
            tally.add(line.first, used as f64, line_bytes as f64);
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .map(|(at, seen)| LineUse {
            at,
            seen,
            lines: seen.executions / line_bytes,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load};

    #[test]
    fn one_field_of_large_objects_uses_little_of_its_lines() {
        let sparse = (0..100u64).map(|one| load(0x10, 0x10_0000 + 64 * one, 8, 0));
        let dense = (0..800u64).map(|one| load(0x20, 0x20_0000 + 8 * one, 8, 0));
        let rest = (0..400).map(|_| load(0x30, 0x1, 1, 0));
        let found = line_use(&[burst(sparse.chain(dense).chain(rest).collect())], 64);
        let of = |address| {
            let one = found.iter().find(|one| one.at.address == address);
            one.map(|one| (one.seen.share.value, one.lines))
        };
        assert_eq!(of(0x10), Some((0.125, 100)));
        assert_eq!(of(0x20), Some((1.0, 100)));
    }

    #[test]
    fn access_across_two_lines_uses_both() {
        let rest = (0..9).map(|_| load(0x30, 0x1, 1, 0));
        let events = std::iter::once(load(0x10, 60, 8, 0)).chain(rest);
        let found = line_use(&[burst(events.collect())], 64);
        assert!((found[0].seen.share.value - 9.0 / 128.0).abs() < 1e-12);
        assert_eq!(found[0].lines, 2);
    }

    #[test]
    fn end_of_the_address_space_is_no_trouble() {
        let rest = (0..9).map(|_| load(0x30, u64::MAX - 2, 8, 0));
        assert!(line_use(&[burst(rest.collect())], 64).len() <= 1);
    }
}
