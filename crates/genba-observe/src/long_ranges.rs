//! Long ranges of memory that calls fill, by address and length, and how many bytes the program loads from there.
//!
//! A buffer that is cleared for each piece of work may live longer than a burst: no burst sees what becomes of its bytes. But where
//! each call fills the same range, all bursts together show how many bytes the program loads from there in all, which is at
//! least as much as it reads of what was filled. Which of the calls clear is decided by whoever knows the callee.
//!
//! A register may hold any number: a call counts only if it stores where its first argument points before it calls anything else.

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{BurstShare, Seen, Tally};

/// A call that fills a long range of memory: its first argument is the range's begin, its third the length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongRange {
    /// The call instruction.
    pub at: CodePoint,
    /// Bytes of one call, on average.
    pub bytes_per_call: f64,
    /// Calls that fill the range that the call before filled, of those that have one before.
    pub same_place: Seen,
    /// Bytes that the program loads there for each instruction that it executes.
    pub loaded_per_instruction: Estimate,
}

/// Shorter ranges live within a burst.
const MIN_BYTES: u64 = 16 * 1024;

/// Arguments from here on are not sizes: 16 TB.
const MAX_BYTES: u64 = 1 << 44;

/// Number of ranges that are followed, those with most bytes.
const MAX_RANGES: usize = 16;

/// Bytes that one instruction loads at least where programs load most: vectors may stream through memory in a burst that no one
/// saw.
const MIN_OF_MOST_LOADED: f64 = 8.0;

#[derive(Clone, Copy, Default)]
struct Place {
    calls: u64,
    bytes: f64,
    begin: u64,
    end: u64,
}

/// How far behind the begin the first store of a fill may be: a vector.
const MAX_BYTES_TO_STORE: u64 = 64;

/// Bytes that a burst loads, from wherever, for each of its instructions: none that was not seen is taken to load more from one
/// range, so that the bytes per instruction divided by the most of them are a share, 0…1.
fn loaded_per_instruction(burst: &Burst) -> f64 {
    let loads = burst.events.iter().map(|event| match event.what {
        Observed::Load { size, .. } => f64::from(size),
        _ => 0.0,
    });
    loads.sum::<f64>() / burst.instructions.max(1) as f64
}

/// Finds calls that fill long ranges, those with most bytes first.
pub(crate) fn long_ranges(bursts: &[Burst]) -> Vec<LongRange> {
    let mut places: FastMap<CodePoint, Place> = FastMap::default();
    let mut same: Tally<CodePoint> = Tally::new();
    for burst in bursts {
        // The last call, until it stores.
        let mut called: Option<(CodePoint, u64, u64)> = None;
        for event in &burst.events {
            match event.what {
                Observed::Call { arguments, .. } => {
                    let [begin, _, bytes, ..] = arguments;
                    let is_long = (MIN_BYTES..MAX_BYTES).contains(&bytes);
                    called = is_long.then_some((event.at, begin, bytes));
                }
                Observed::Store { address, .. } => {
                    let fills = |one: &(CodePoint, u64, u64)| {
                        address.wrapping_sub(one.1) < MAX_BYTES_TO_STORE
                    };
                    let Some((at, begin, bytes)) = called.take_if(|one| fills(one)) else {
                        continue;
                    };
                    let place = places.entry(at).or_default();
                    let end = begin.saturating_add(bytes);
                    if place.calls > 0 {
                        same.count(at, (begin, end) == (place.begin, place.end));
                    }
                    *place = Place {
                        calls: place.calls + 1,
                        bytes: place.bytes + bytes as f64,
                        begin,
                        end,
                    };
                }
                _ => {}
            }
        }
        same.end_of_burst(burst.weight);
    }
    let mut all: Vec<(CodePoint, Place)> = places.into_iter().collect();
    all.sort_by(|a, b| b.1.bytes.total_cmp(&a.1.bytes).then(a.0.cmp(&b.0)));
    all.truncate(MAX_RANGES);
    let most_loaded = bursts.iter().map(loaded_per_instruction);
    let most_loaded = most_loaded.fold(MIN_OF_MOST_LOADED, f64::max);
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
        loaded.end_of_burst(most_loaded * burst.instructions as f64, burst.weight);
    }
    let range = |(at, place): (CodePoint, Place)| {
        let share = loaded.share(at);
        Some(LongRange {
            at,
            bytes_per_call: place.bytes / place.calls as f64,
            same_place: same.seen(at)?,
            loaded_per_instruction: Estimate {
                value: most_loaded * share.value,
                low: most_loaded * share.low,
                high: most_loaded * share.high,
            },
        })
    };
    all.into_iter().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call, load, store};

    const TABLE: u64 = 0x70_0000;

    /// Bursts of 1,000 instructions that each see a clear of 64 KiB, a load of it and one from elsewhere.
    fn found(moves: bool, fills: bool) -> Vec<LongRange> {
        let of_number = |number: u64| {
            let begin = TABLE + if moves { number << 20 } else { 0 };
            let stored = if fills { begin } else { 0x20 };
            let mut one = burst(vec![
                call(0x10, at(0x100), [begin, 0, 65_536, 0, 0, 0]),
                store(0x100, stored, 32, 1, 0),
                load(0x20, begin + 100, 8, 1),
                load(0x30, 0x10, 8, 1),
                call(0x40, at(0x200), [begin, 0, 100, 0, 0, 0]),
                store(0x200, begin, 32, 1, 0),
            ]);
            one.instructions = 1000;
            one
        };
        let bursts: Vec<Burst> = (0..12).map(of_number).collect();
        long_ranges(&bursts)
    }

    #[test]
    fn loads_from_a_range_that_is_filled_each_time_are_counted_over_all_bursts() {
        let found = found(false, true);
        assert_eq!(found.len(), 1, "the other is short");
        assert_eq!(found[0].at, at(0x10));
        assert!((found[0].bytes_per_call - 65_536.0).abs() < 1e-9);
        assert!((found[0].same_place.share.value - 1.0).abs() < 1e-9);
        assert!((found[0].loaded_per_instruction.value - 0.008).abs() < 1e-9);
    }

    #[test]
    fn what_no_burst_loads_is_bounded_by_what_bursts_load_at_all() {
        let of_number = |_| {
            let mut one = burst(vec![
                call(0x10, at(0x100), [TABLE, 0, 65_536, 0, 0, 0]),
                store(0x100, TABLE, 32, 1, 0),
                load(0x30, 0x10, 8, 1),
            ]);
            one.instructions = 1000;
            one
        };
        let bursts: Vec<Burst> = (0..30).map(of_number).collect();
        let loaded = &long_ranges(&bursts)[0].loaded_per_instruction;
        assert!(loaded.value < 1e-9);
        assert!((0.1..1.2).contains(&loaded.high), "{loaded:?}");
    }

    #[test]
    fn ranges_that_move_have_no_share_of_the_same_place() {
        assert!(found(true, true)[0].same_place.share.value < 0.01);
    }

    #[test]
    fn calls_that_store_elsewhere_fill_no_range() {
        assert!(found(false, false).is_empty());
    }
}
