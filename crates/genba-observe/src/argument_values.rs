//! Which integer arguments calls have, and how often each value.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::operand_values::ValueShare;
use crate::tally::Tally;

/// An argument that is one value in most calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentValue {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Which argument: 0 for rdi, 1 for rsi, 2 for rdx, 3 for rcx, 4 for r8, 5 for r9. Whether the
    /// callee takes it is not known here.
    pub argument: u8,
    /// The value, with its share of the calls.
    pub value: ValueShare,
    /// Calls seen.
    pub calls: u64,
    /// Bursts that saw them.
    pub bursts: u32,
}

/// Share of the calls from which a value is most of them.
const MIN_SHARE_OF_CALLS: f64 = 0.5;

type Key = (CodePoint, CodePoint, u8);

/// A majority vote: the only value that may have more than half of all executions.
///
/// Source: R. Boyer and J. Moore, "MJRTY: a fast majority vote algorithm", 1991.
#[derive(Default)]
struct Vote {
    value: u64,
    lead: u64,
}

impl Vote {
    fn add(&mut self, value: u64) {
        match (self.lead, self.value == value) {
            (0, _) => *self = Self { value, lead: 1 },
            (_, true) => self.lead += 1,
            (_, false) => self.lead -= 1,
        }
    }
}

/// Finds arguments that are one value in most calls, those with most calls first.
pub(crate) fn argument_values(bursts: &[Burst]) -> Vec<ArgumentValue> {
    let mut votes: FastMap<Key, Vote> = FastMap::default();
    let calls = |burst: &Burst, visit: &mut dyn FnMut(Key, u64)| {
        for event in &burst.events {
            if let Observed::Call { target, arguments } = event.what {
                for (argument, &value) in (0u8..).zip(&arguments) {
                    visit((event.at, target, argument), value);
                }
            }
        }
    };
    for burst in bursts {
        calls(burst, &mut |key, value| {
            votes.entry(key).or_default().add(value);
        });
    }
    let mut tally = Tally::new();
    for burst in bursts {
        calls(burst, &mut |key, value| {
            tally.count(key, votes[&key].value == value);
        });
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value >= MIN_SHARE_OF_CALLS)
        .map(|(key, seen)| ArgumentValue {
            at: key.0,
            target: key.1,
            argument: key.2,
            value: ValueShare {
                value: votes[&key].value,
                share: seen.share,
            },
            calls: seen.executions,
            bursts: seen.bursts,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call};

    #[test]
    fn argument_of_most_calls_is_found_with_its_share() {
        let events = (0..100u64).map(|one| {
            let divisor = if one % 10 == 9 { one } else { 1 };
            call(0x10, at(0x100), [one, one, divisor, 0, one, one])
        });
        let found = argument_values(&[burst(events.collect())]);
        assert_eq!(found.len(), 2);
        let third = found.iter().find(|one| one.argument == 2).expect("rdx");
        assert_eq!((third.value.value, third.calls), (1, 100));
        assert!((third.value.share.value - 0.9).abs() < 1e-12);
    }
}
