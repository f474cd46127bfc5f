//! Counts for each place, kept apart by burst, and the shares that follow from them.

use std::hash::Hash;

use genba_model::{CodePoint, Estimate};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;

/// Level of all intervals of observed figures.
const LEVEL: f64 = 0.95;

/// A share of what was seen, with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The share, 0…1, with its 95 % interval over bursts
    /// ([`genba_stats::cluster_share`]).
    pub share: Estimate,
    /// Executions (or bytes, where the result says so) that could be judged.
    pub executions: u64,
    /// Bursts in which there were any.
    pub bursts: u32,
}

/// Successes and trials of one place in one burst, with what they stand for in the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster {
    pub(crate) successes: f64,
    pub(crate) trials: f64,
    /// [`genba_model::Burst::weight`].
    pub(crate) weight: f64,
}

/// The share of successes among trials with its interval, each burst with its weight.
pub(crate) fn weighted_share(clusters: &[Cluster]) -> Option<Estimate> {
    let weighted: Vec<(f64, f64)> = (clusters.iter())
        .map(|one| (one.successes * one.weight, one.trials * one.weight))
        .collect();
    genba_stats::cluster_share(&weighted, LEVEL).ok()
}

impl Seen {
    /// Of what documents made before did not look at.
    pub(crate) fn nothing() -> Self {
        Self {
            share: Estimate::exact(0.0),
            executions: 0,
            bursts: 0,
        }
    }

    /// The share of successes among trials, by burst; `None` without a trial.
    pub(crate) fn of(clusters: &[Cluster]) -> Option<Self> {
        Some(Self {
            share: weighted_share(clusters)?,
            executions: clusters.iter().map(|one| one.trials).sum::<f64>() as u64,
            bursts: clusters.iter().filter(|one| one.trials > 0.0).count() as u32,
        })
    }
}

/// Successes and trials of each place, by burst.
pub(crate) struct Tally<K> {
    current: FastMap<K, (f64, f64)>,
    bursts: FastMap<K, Vec<Cluster>>,
}

impl<K: Copy + Eq + Hash + Ord> Tally<K> {
    pub(crate) fn new() -> Self {
        Self {
            current: FastMap::default(),
            bursts: FastMap::default(),
        }
    }

    pub(crate) fn add(&mut self, key: K, successes: f64, trials: f64) {
        let one = self.current.entry(key).or_default();
        one.0 += successes;
        one.1 += trials;
    }

    pub(crate) fn count(&mut self, key: K, success: bool) {
        self.add(key, f64::from(u8::from(success)), 1.0);
    }

    /// Ends a burst with this [`genba_model::Burst::weight`].
    pub(crate) fn end_of_burst(&mut self, weight: f64) {
        for (key, (successes, trials)) in self.current.drain() {
            self.bursts.entry(key).or_default().push(Cluster {
                successes,
                trials,
                weight,
            });
        }
    }

    /// All places with a trial, those with most trials first.
    pub(crate) fn shares(&self) -> Vec<(K, Seen)> {
        let mut list: Vec<(K, Seen)> = (self.bursts.iter())
            .filter_map(|(&key, bursts)| Some((key, Seen::of(bursts)?)))
            .collect();
        list.sort_by_key(|&(key, seen)| (std::cmp::Reverse(seen.executions), key));
        list
    }

    pub(crate) fn seen(&self, key: K) -> Option<Seen> {
        Seen::of(self.bursts.get(&key)?)
    }
}

/// What became of the stores of each place, by burst: lost, used, or unknown because the burst ended
/// (or a system call was made) before it was seen.
pub(crate) struct Fates<K> {
    current: FastMap<K, Fate>,
    bursts: FastMap<K, Vec<(Fate, f64)>>,
}

/// Stores (or bytes) of a place by what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    lost: f64,
    used: f64,
    unknown: f64,
}

impl<K: Copy + Eq + Hash + Ord> Fates<K> {
    pub(crate) fn new() -> Self {
        Self {
            current: FastMap::default(),
            bursts: FastMap::default(),
        }
    }

    /// Counts one that was overwritten unread, or one that was not.
    pub(crate) fn known(&mut self, key: K, lost: bool) {
        let fate = self.current.entry(key).or_default();
        match lost {
            true => fate.lost += 1.0,
            false => fate.used += 1.0,
        }
    }

    /// Counts one of which it was not seen.
    pub(crate) fn unknown(&mut self, key: K) {
        self.current.entry(key).or_default().unknown += 1.0;
    }

    /// Ends a burst with this [`genba_model::Burst::weight`].
    pub(crate) fn end_of_burst(&mut self, weight: f64) {
        for (key, one) in self.current.drain() {
            self.bursts.entry(key).or_default().push((one, weight));
        }
    }

    /// All places with one that is known, those with most of these first: the share that was lost
    /// of those that are known, and the share of unknown ones. What takes longer to be read than to
    /// be overwritten is unknown more often, so the interval goes from the share if all unknown ones
    /// were used to the share if all were lost.
    pub(crate) fn shares(&self) -> Vec<(K, Seen, f64)> {
        let mut list: Vec<(K, Seen, f64)> = (self.bursts.iter())
            .filter_map(|(&key, bursts)| {
                let of = |share: fn(&Fate) -> (f64, f64)| {
                    let cluster = |(one, weight): &(Fate, f64)| {
                        let (successes, trials) = share(one);
                        Cluster {
                            successes,
                            trials,
                            weight: *weight,
                        }
                    };
                    Seen::of(&bursts.iter().map(cluster).collect::<Vec<_>>())
                };
                let all = |one: &Fate| one.lost + one.used + one.unknown;
                let mut seen = of(|one| (one.lost, one.lost + one.used))?;
                let least = of(|one| (one.lost, one.lost + one.used + one.unknown))?;
                let most = of(|one| (one.lost + one.unknown, one.lost + one.used + one.unknown))?;
                seen.share.low = seen.share.low.min(least.share.low);
                seen.share.high = seen.share.high.max(most.share.high);
                let unknown: f64 = bursts.iter().map(|(one, _)| one.unknown).sum();
                let all = bursts.iter().map(|(one, _)| all(one)).sum::<f64>();
                Some((key, seen, unknown / all))
            })
            .collect();
        list.sort_by_key(|&(key, seen, _)| (std::cmp::Reverse(seen.executions), key));
        list
    }
}

/// A quantity of each place in each burst, as a share of a total of the whole burst.
pub(crate) struct BurstShare<K> {
    current: FastMap<K, f64>,
    bursts: FastMap<K, Vec<(u32, f64)>>,
    /// With the weight of the burst.
    totals: Vec<(f64, f64)>,
}

impl<K: Copy + Eq + Hash> BurstShare<K> {
    pub(crate) fn new() -> Self {
        Self {
            current: FastMap::default(),
            bursts: FastMap::default(),
            totals: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, key: K, quantity: f64) {
        *self.current.entry(key).or_default() += quantity;
    }

    /// Ends a burst of which all was `total`, with this [`genba_model::Burst::weight`]; the quantities are
    /// cut to the total.
    pub(crate) fn end_of_burst(&mut self, total: f64, weight: f64) {
        let burst = self.totals.len() as u32;
        for (key, quantity) in self.current.drain() {
            let list = self.bursts.entry(key).or_default();
            list.push((burst, quantity.min(total)));
        }
        self.totals.push((total, weight));
    }

    /// The share over all bursts, those without the place among them.
    pub(crate) fn share(&self, key: K) -> Estimate {
        let mut clusters: Vec<Cluster> = (self.totals.iter())
            .map(|&(trials, weight)| Cluster {
                successes: 0.0,
                trials,
                weight,
            })
            .collect();
        for &(burst, quantity) in self.bursts.get(&key).into_iter().flatten() {
            clusters[burst as usize].successes = quantity;
        }
        weighted_share(&clusters).unwrap_or(Estimate::exact(0.0))
    }
}

/// How often which of several partners was met; few partners are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partners {
    list: Vec<(CodePoint, u64)>,
}

const MAX_PARTNERS: usize = 16;

impl Partners {
    pub(crate) fn add(&mut self, partner: CodePoint, times: u64) {
        match self.list.iter().position(|one| one.0 == partner) {
            Some(index) => self.list[index].1 += times,
            None if self.list.len() < MAX_PARTNERS => self.list.push((partner, times)),
            None => {}
        }
    }

    /// All that are kept.
    pub(crate) fn all(&self) -> Vec<CodePoint> {
        self.list.iter().map(|one| one.0).collect()
    }

    /// The most frequent one.
    pub(crate) fn first(&self) -> Option<CodePoint> {
        let most = |one: &&(CodePoint, u64)| (one.1, std::cmp::Reverse(one.0));
        self.list.iter().max_by_key(most).map(|one| one.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_without_the_place_count_in_shares_of_the_whole() {
        let mut shares = BurstShare::new();
        shares.add(1u64, 50.0);
        shares.end_of_burst(100.0, 1.0);
        shares.end_of_burst(100.0, 1.0);
        let found = shares.share(1);
        assert!((found.value - 0.25).abs() < 1e-12);
        assert!(shares.share(2).value == 0.0);
    }

    #[test]
    fn interval_of_fates_spans_what_the_unknown_ones_may_be() {
        let mut fates = Fates::new();
        for _ in 0..20 {
            for one in 0..100 {
                match one {
                    0..30 => fates.known(7u64, true),
                    30..50 => fates.known(7, false),
                    _ => fates.unknown(7),
                }
            }
            fates.end_of_burst(1.0);
        }
        let (_, seen, unknown) = fates.shares()[0];
        assert!((seen.share.value - 0.6).abs() < 1e-12);
        assert!((unknown - 0.5).abs() < 1e-12);
        assert!((0.2..=0.3).contains(&seen.share.low), "{seen:?}");
        assert!((0.8..0.9).contains(&seen.share.high), "{seen:?}");
        assert_eq!(seen.executions, 1000);
    }

    #[test]
    fn trials_of_several_bursts_are_added() {
        let mut tally = Tally::new();
        for burst in 0..3 {
            for one in 0..10 {
                tally.count(7u64, one < burst);
            }
            tally.end_of_burst(1.0);
        }
        let (key, seen) = tally.shares()[0];
        assert_eq!((key, seen.executions, seen.bursts), (7, 30, 3));
        assert!((seen.share.value - 0.1).abs() < 1e-12);
        assert!(seen.share.low < 0.1 && seen.share.high > 0.1);
    }
}
