//! Which values an instruction loads or stores, and how often each.

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Cluster, weighted_share};

/// The most frequent values of an instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandValues {
    /// The instruction.
    pub at: CodePoint,
    /// Whether they are stored; else they are loaded.
    pub stored: bool,
    /// Bytes of the operand; above eight the values are hashes.
    pub size: u16,
    /// The most frequent values, the first most.
    pub values: Vec<ValueShare>,
    /// Executions seen.
    pub executions: u64,
    /// Bursts that saw them.
    pub bursts: u32,
}

/// A value with its share of the executions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueShare {
    /// The value, or its hash.
    pub value: u64,
    /// Share of the executions.
    pub share: Estimate,
}

/// Values that are counted for one instruction in one burst; those that come later are only
/// counted as others.
const MAX_COUNTED_VALUES: usize = 64;

/// Values that are kept of each burst, and of all.
const MAX_RETAINED_VALUES: usize = 6;

#[derive(Default)]
struct InBurst {
    values: Vec<(u64, u32)>,
    all: u32,
}

struct OfBurst {
    values: Vec<(u64, u32)>,
    all: u32,
    weight: f64,
}

type Key = (CodePoint, bool, u16);

/// Tallies the values of all loads and stores, those with most executions first.
pub(crate) fn operand_values(bursts: &[Burst]) -> Vec<OperandValues> {
    let mut current: FastMap<Key, InBurst> = FastMap::default();
    let mut all: FastMap<Key, Vec<OfBurst>> = FastMap::default();
    for burst in bursts {
        for event in &burst.events {
            let (key, value) = match event.what {
                Observed::Load { size, value, .. } => ((event.at, false, size), value),
                Observed::Store { size, value, .. } => ((event.at, true, size), value),
                _ => continue,
            };
            let one = current.entry(key).or_default();
            one.all += 1;
            match one.values.iter().position(|seen| seen.0 == value) {
                Some(index) => {
                    one.values[index].1 += 1;
                    // Frequent values come to the front, where they are found at once.
                    if index > 0 && one.values[index].1 > one.values[index - 1].1 {
                        one.values.swap(index, index - 1);
                    }
                }
                None if one.values.len() < MAX_COUNTED_VALUES => one.values.push((value, 1)),
                None => {}
            }
        }
        for (key, mut one) in current.drain() {
            one.values.sort_by_key(|seen| std::cmp::Reverse(seen.1));
            one.values.truncate(MAX_RETAINED_VALUES);
            one.values.shrink_to_fit();
            all.entry(key).or_default().push(OfBurst {
                values: one.values,
                all: one.all,
                weight: burst.weight,
            });
        }
    }
    let mut list: Vec<OperandValues> = (all.into_iter())
        .map(|((at, stored, size), bursts)| {
            let executions = bursts.iter().map(|one| u64::from(one.all)).sum();
            OperandValues {
                at,
                stored,
                size,
                values: most_frequent(&bursts),
                executions,
                bursts: bursts.len() as u32,
            }
        })
        .collect();
    list.sort_by_key(|one| {
        (
            std::cmp::Reverse(one.executions),
            one.at,
            one.stored,
            one.size,
        )
    });
    list
}

fn most_frequent(bursts: &[OfBurst]) -> Vec<ValueShare> {
    let mut sums: FastMap<u64, u64> = FastMap::default();
    for &(value, count) in bursts.iter().flat_map(|one| &one.values) {
        *sums.entry(value).or_default() += u64::from(count);
    }
    let mut sums: Vec<(u64, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    sums.truncate(MAX_RETAINED_VALUES);
    let share = |value: u64| {
        let clusters: Vec<Cluster> = (bursts.iter())
            .map(|burst| {
                let found = burst.values.iter().find(|one| one.0 == value);
                Cluster {
                    successes: found.map_or(0.0, |one| f64::from(one.1)),
                    trials: f64::from(burst.all),
                    weight: burst.weight,
                }
            })
            .collect();
        weighted_share(&clusters)
    };
    (sums.into_iter())
        .filter_map(|(value, _)| {
            Some(ValueShare {
                value,
                share: share(value)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load};

    #[test]
    fn frequent_values_come_first_with_their_shares() {
        let of = |burst_number: u64| {
            burst(
                (0..1000)
                    .map(|one| {
                        let value = if one % 10 < 9 {
                            0
                        } else {
                            burst_number * 1000 + one
                        };
                        load(0x10, 0x1000, 8, value)
                    })
                    .collect(),
            )
        };
        let found = operand_values(&[of(1), of(2), of(3)]);
        assert_eq!(found.len(), 1);
        let first = found[0].values[0];
        assert_eq!(
            (first.value, found[0].executions, found[0].bursts),
            (0, 3000, 3)
        );
        assert!((first.share.value - 0.9).abs() < 1e-12);
        assert!(found[0].values.len() <= MAX_RETAINED_VALUES);
    }
}
