//! The third integer argument of calls, which is the number of bytes for functions that copy, compare
//! or search memory, and whether the first two point to places less than that apart: who knows that of the
//! callee asks for it.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// A call instruction with the mean of its third argument.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLength {
    /// The call instruction.
    pub at: CodePoint,
    /// Calls that bursts saw.
    pub calls: u64,
    /// Mean of the third argument: bytes, where it is a size.
    pub bytes_per_call: f64,
    /// Calls with at most [`SHORT_BYTES`].
    #[serde(default)]
    pub short: Option<Seen>,
    /// Mean of the third argument of those.
    #[serde(default)]
    pub bytes_of_short: f64,
    /// Bytes, of all, of calls whose first two arguments are apart, but by less than the third: a move of memory onto
    /// itself.
    #[serde(default)]
    pub onto_itself: Option<Seen>,
    /// First minus second argument of those, mean by bytes.
    #[serde(default)]
    pub moved_by: f64,
}

/// What two registers hold: one vector load and store copy it.
pub const SHORT_BYTES: u64 = 16;

/// Arguments from here on are not sizes: 16 TB, where addresses begin.
const MAX_BYTES: u64 = 1 << 44;

#[derive(Clone, Copy, Default)]
struct Sums {
    calls: u64,
    bytes: f64,
    short_calls: u64,
    short_bytes: f64,
    overlapping_bytes: f64,
    moved: f64,
}

/// By how many bytes a move of memory onto itself shifts it.
fn shift_of([to, from, bytes, ..]: &[u64; 6]) -> Option<i64> {
    let shift = to.wrapping_sub(*from) as i64;
    (shift != 0 && shift.unsigned_abs() < *bytes).then_some(shift)
}

impl Sums {
    fn with(mut self, arguments: &[u64; 6]) -> Self {
        let bytes = arguments[2];
        self.calls += 1;
        self.bytes += bytes as f64;
        if let Some(shift) = shift_of(arguments) {
            self.overlapping_bytes += bytes as f64;
            self.moved += shift as f64 * bytes as f64;
        }
        if bytes <= SHORT_BYTES {
            self.short_calls += 1;
            self.short_bytes += bytes as f64;
        }
        self
    }
}

/// Means for all calls whose third argument may be a size, in order of their place.
pub(crate) fn call_lengths(bursts: &[Burst]) -> Vec<CallLength> {
    let mut sums: FastMap<CodePoint, Option<Sums>> = FastMap::default();
    let mut short: Tally<CodePoint> = Tally::new();
    let mut overlapping: Tally<CodePoint> = Tally::new();
    for burst in bursts {
        for event in &burst.events {
            let Observed::Call { arguments, .. } = event.what else {
                continue;
            };
            let bytes = arguments[2];
            let sum = sums.entry(event.at).or_insert(Some(Sums::default()));
            *sum = sum
                .filter(|_| bytes < MAX_BYTES)
                .map(|sum| sum.with(&arguments));
            short.count(event.at, bytes <= SHORT_BYTES);
            if bytes < MAX_BYTES {
                let shifted = shift_of(&arguments).map_or(0.0, |_| bytes as f64);
                overlapping.add(event.at, shifted, bytes as f64);
            }
        }
        short.end_of_burst(burst.weight);
        overlapping.end_of_burst(burst.weight);
    }
    let mut found: Vec<CallLength> = (sums.into_iter())
        .filter_map(|(at, sum)| {
            let sum = sum?;
            Some(CallLength {
                at,
                calls: sum.calls,
                bytes_per_call: sum.bytes / sum.calls.max(1) as f64,
                short: short.seen(at),
                bytes_of_short: sum.short_bytes / sum.short_calls.max(1) as f64,
                onto_itself: overlapping.seen(at).filter(|_| sum.overlapping_bytes > 0.0),
                moved_by: sum.moved / sum.overlapping_bytes.max(1.0),
            })
        })
        .collect();
    found.sort_by_key(|one| one.at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call};

    #[test]
    fn mean_of_the_third_argument_is_kept_for_each_call() {
        let copy = |code, bytes| call(code, at(0x100), [1, 2, bytes, 0, 0, 0]);
        let found = call_lengths(&[burst(vec![
            copy(0x10, 100),
            copy(0x20, 8),
            copy(0x10, 300),
            copy(0x30, 0x7fff_0000_0000),
        ])]);
        let means: Vec<(u64, u64, f64)> = (found.iter())
            .map(|one| (one.at.address, one.calls, one.bytes_per_call))
            .collect();
        assert_eq!(means, [(0x10, 2, 200.0), (0x20, 1, 8.0)]);
        let short = |one: &CallLength| one.short.map(|seen| seen.share.value);
        assert_eq!(
            found.iter().map(short).collect::<Vec<_>>(),
            [Some(0.0), Some(1.0)]
        );
        assert!((found[1].bytes_of_short - 8.0).abs() < 1e-12);
    }

    #[test]
    fn moves_onto_themselves_are_told_from_copies() {
        let call_with = |code, to, from, bytes| call(code, at(0x100), [to, from, bytes, 0, 0, 0]);
        let found = call_lengths(&[burst(vec![
            call_with(0x10, 0x1010, 0x1000, 300),
            call_with(0x10, 0x2010, 0x2000, 100),
            call_with(0x20, 0x2000, 0x1000, 0x1000),
            call_with(0x30, 0x1000, 0x1000, 100),
        ])]);
        let share = |one: &CallLength| one.onto_itself.map(|seen| seen.share.value);
        assert_eq!(share(&found[0]), Some(1.0));
        assert!((found[0].moved_by - 16.0).abs() < 1e-12);
        assert_eq!((share(&found[1]), share(&found[2])), (None, None));
    }
}
