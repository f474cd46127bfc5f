//! Calls that go through memory: an argument points a little further than in the call before, and the
//! call reads there. Who looks for a byte again and again behind the last one found calls like that.
//!
//! Only calls between which the burst has none from the same place are compared. Two numbers that
//! count alike are none: memory at the argument must have been read by the call. Nor does a call go through memory that
//! looks at some fields of one large object after the other: of the way to the next a part must have been read.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::last_calls::LastCalls;
use crate::tally::{Seen, Tally};

/// A call instruction of which an argument mostly advances through the memory that the call reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdvancingCall {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Which argument: 0 for rdi to 5 for r9.
    pub argument: u8,
    /// Calls that go on a little behind the one before, of those that have one before in their burst.
    pub seen: Seen,
    /// Bytes by which they go on, on average.
    pub bytes_per_call: f64,
}

/// The longest way from call to call: longer ones are not a step through memory.
const MAX_STEP_BYTES: u64 = 1 << 16;

/// How far behind the argument the first read may be: one vector that begins before it is aligned.
const MAX_BYTES_TO_READ: u64 = 64;

/// Part of the way to the next call that a call reads at least: searches that skip by the length of what they look for
/// read one byte in many.
const MIN_PART_READ: f64 = 1.0 / 16.0;

/// Arguments that are looked at.
const ARGUMENTS: usize = 3;

/// Share of the calls that must go on behind the one before.
const MIN_SHARE: f64 = 0.5;

/// The last calls, to which a read may belong: callees hand the search on.
const MAX_CALLS_FOLLOWED: usize = 6;

struct LastCall {
    arguments: [u64; 6],
    read: [bool; ARGUMENTS],
    /// Bytes that were read behind each argument, no farther away than the longest step.
    behind: [u64; ARGUMENTS],
}

/// Finds calls whose arguments advance, those with most calls first; of each the argument that does
/// so most often.
pub(crate) fn advancing_calls(bursts: &[Burst]) -> Vec<AdvancingCall> {
    let mut tally: Tally<(CodePoint, CodePoint, usize)> = Tally::new();
    let mut passed: FastMap<(CodePoint, CodePoint, usize), (u64, u64)> = FastMap::default();
    let mut last: LastCalls<LastCall> = LastCalls::following(MAX_CALLS_FOLLOWED);
    for burst in bursts {
        last.clear();
        for event in &burst.events {
            let (target, arguments) = match event.what {
                Observed::Call { target, arguments } => (target, arguments),
                Observed::Load { address, size, .. } => {
                    last.each_recent(|call| call.reads(address, size));
                    continue;
                }
                _ => continue,
            };
            let place = (event.at, target);
            if let Some(before) = last.before(&place) {
                for (argument, now) in arguments.iter().take(ARGUMENTS).enumerate() {
                    let step = now.wrapping_sub(before.arguments[argument]);
                    let is_step = (1..=MAX_STEP_BYTES).contains(&step);
                    let part_read = before.behind[argument] as f64 / step as f64;
                    let advances = is_step && before.read[argument] && part_read >= MIN_PART_READ;
                    let key = (event.at, target, argument);
                    tally.count(key, advances);
                    if advances {
                        let sum = passed.entry(key).or_default();
                        *sum = (sum.0 + step, sum.1 + 1);
                    }
                }
            }
            let call = LastCall {
                arguments,
                read: [false; ARGUMENTS],
                behind: [0; ARGUMENTS],
            };
            last.insert(place, call);
        }
        tally.end_of_burst(burst.weight);
    }
    let mut found: Vec<AdvancingCall> = Vec::new();
    for ((at, target, argument), seen) in tally.shares() {
        let share = seen.share.value;
        let Some(&(bytes, calls)) = passed.get(&(at, target, argument)) else {
            continue;
        };
        let one = AdvancingCall {
            at,
            target,
            argument: argument as u8,
            seen,
            bytes_per_call: bytes as f64 / calls.max(1) as f64,
        };
        let same = |known: &&mut AdvancingCall| (known.at, known.target) == (at, target);
        match found.iter_mut().find(same) {
            Some(known) if known.seen.share.value < share => *known = one,
            None if share >= MIN_SHARE => found.push(one),
            _ => {}
        }
    }
    found
}

impl LastCall {
    fn reads(&mut self, address: u64, size: u16) {
        for (argument, &begin) in self.arguments.iter().take(ARGUMENTS).enumerate() {
            let is_before = |bytes| address < begin.saturating_add(bytes);
            if begin < address.saturating_add(u64::from(size)) {
                self.read[argument] |= is_before(MAX_BYTES_TO_READ);
                self.behind[argument] += u64::from(size) * u64::from(is_before(MAX_STEP_BYTES));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call, load};

    /// `memchr(letter, begin, end)` that reads where it begins, or elsewhere.
    fn searches(
        begins: impl Iterator<Item = u64>,
        reads: impl Fn(u64) -> u64,
    ) -> Vec<AdvancingCall> {
        let one = |begin: u64| {
            [
                call(0x10, at(0x100), [0x3f, begin, 0x9000, 0, 0, 0]),
                load(0x104, reads(begin), 32, 0),
            ]
        };
        advancing_calls(&[burst(begins.flat_map(one).collect())])
    }

    #[test]
    fn searches_that_go_on_behind_the_last_find_advance() {
        let found = searches((0..100).map(|one| 0x1000 + 5 * one), |begin| begin & !31);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].argument), (at(0x10), 1));
        assert!((found[0].bytes_per_call - 5.0).abs() < 1e-12);
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn counters_and_random_places_do_not_advance() {
        let steps = || (0..100).map(|one| 0x1000 + 5 * one);
        assert!(searches(steps(), |_| 0x5_0000).is_empty(), "read elsewhere");
        let random = (0..100u64).map(|one| 0x1000 + (one * 7919) % 5003);
        assert!(searches(random.map(|one| one << 12), |begin| begin).is_empty());
        assert!(
            searches((0..100).map(|_| 0x1000), |begin| begin).is_empty(),
            "the same"
        );
        let objects = (0..100).map(|one| 0x1000 + 2048 * one);
        assert!(
            searches(objects, |begin| begin).is_empty(),
            "one field of each"
        );
    }
}
