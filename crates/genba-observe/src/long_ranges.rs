//! Long stretches of memory that calls get by address and length, and how much of the rest of the program's loads is there.
//!
//! A buffer that is cleared for each piece of work may live longer than a burst: no burst sees what becomes of its bytes. But where
//! each call gets the same stretch, all bursts together tell how many bytes the program loads there in all, which is at
//! least as much as it reads of what was cleared. Which calls clear, who knows the callee asks.

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{BurstShare, Seen, Tally};

/// A call whose first argument is where a long stretch of memory begins, its third how long that is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongRange {
    /// The call instruction.
    pub at: CodePoint,
    /// Bytes of one call, on average.
    pub bytes_per_call: f64,
    /// Calls that get what the call before got, of those that have one before.
    pub same_place: Seen,
    /// Bytes that the program loads there for each instruction that it executes.
    pub loaded_per_instruction: Estimate,
}

/// Shorter ones live within a burst.
const MIN_BYTES: u64 = 16 * 1024;

/// Arguments from here on are not sizes: 16 TB.
const MAX_BYTES: u64 = 1 << 44;

/// The stretches that are followed, those with most bytes.
const MAX_RANGES: usize = 16;

/// Bytes that an instruction loads at most: so a quotient is a share.
const MAX_LOADED: f64 = 64.0;

#[derive(Clone, Copy, Default)]
struct Place {
    calls: u64,
    bytes: f64,
    begin: u64,
    end: u64,
}

/// Finds calls with long stretches, those with most bytes first.
pub(crate) fn long_ranges(bursts: &[Burst]) -> Vec<LongRange> {
    let mut places: FastMap<CodePoint, Place> = FastMap::default();
    let mut same: Tally<CodePoint> = Tally::new();
    for burst in bursts {
        for event in &burst.events {
            let Observed::Call { arguments, .. } = event.what else {
                continue;
            };
            let [begin, _, bytes, ..] = arguments;
            if !(MIN_BYTES..MAX_BYTES).contains(&bytes) {
                continue;
            }
            let place = places.entry(event.at).or_default();
            let end = begin.saturating_add(bytes);
            if place.calls > 0 {
                same.count(event.at, (begin, end) == (place.begin, place.end));
            }
            *place = Place {
                calls: place.calls + 1,
                bytes: place.bytes + bytes as f64,
                begin,
                end,
            };
        }
        same.end_of_burst(burst.weight);
    }
    let mut all: Vec<(CodePoint, Place)> = places.into_iter().collect();
    all.sort_by(|a, b| b.1.bytes.total_cmp(&a.1.bytes).then(a.0.cmp(&b.0)));
    all.truncate(MAX_RANGES);
    let mut loaded: BurstShare<CodePoint> = BurstShare::new();
    for burst in bursts {
        for event in &burst.events {
            let Observed::Load { address, size, .. } = event.what else {
                continue;
            };
            for (at, place) in &all {
                if (place.begin..place.end).contains(&address) {
                    loaded.add(*at, f64::from(size));
                }
            }
        }
        loaded.end_of_burst(MAX_LOADED * burst.instructions as f64, burst.weight);
    }
    let range = |(at, place): (CodePoint, Place)| {
        let share = loaded.share(at);
        Some(LongRange {
            at,
            bytes_per_call: place.bytes / place.calls as f64,
            same_place: same.seen(at)?,
            loaded_per_instruction: Estimate {
                value: MAX_LOADED * share.value,
                low: MAX_LOADED * share.low,
                high: MAX_LOADED * share.high,
            },
        })
    };
    all.into_iter().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call, load};

    const TABLE: u64 = 0x70_0000;

    /// Bursts that each see one clear of 64 KiB, and a load there and one elsewhere.
    fn found(moves: bool) -> Vec<LongRange> {
        let burst = |number: u64| {
            let begin = TABLE + if moves { number << 20 } else { 0 };
            burst(vec![
                call(0x10, at(0x100), [begin, 0, 65_536, 0, 0, 0]),
                load(0x20, begin + 100, 8, 1),
                load(0x30, 0x10, 8, 1),
                call(0x40, at(0x200), [begin, 0, 100, 0, 0, 0]),
            ])
        };
        let bursts: Vec<Burst> = (0..12).map(burst).collect();
        long_ranges(&bursts)
    }

    #[test]
    fn loads_of_what_a_call_gets_each_time_are_counted_over_all_bursts() {
        let found = found(false);
        assert_eq!(found.len(), 1, "the other is short");
        assert_eq!(found[0].at, at(0x10));
        assert!((found[0].bytes_per_call - 65_536.0).abs() < 1e-9);
        assert!((found[0].same_place.share.value - 1.0).abs() < 1e-9);
        let loaded = found[0].loaded_per_instruction;
        assert!(
            loaded.low <= loaded.value && loaded.value > 0.0,
            "{loaded:?}"
        );
    }

    #[test]
    fn stretches_that_move_are_told() {
        assert!(found(true)[0].same_place.share.value < 0.01);
    }
}
