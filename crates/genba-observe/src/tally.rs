//! Counts for each place, kept apart by burst, and the shares that follow from them.

use std::hash::Hash;

use genba_model::{CodePoint, Estimate};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;

/// Level of all intervals of observed figures.
pub(crate) const LEVEL: f64 = 0.95;

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

impl Seen {
    /// The share of successes among trials, by burst; `None` without a trial.
    pub(crate) fn of(clusters: &[(f64, f64)]) -> Option<Self> {
        let share = genba_stats::cluster_share(clusters, LEVEL).ok()?;
        Some(Self {
            share,
            executions: clusters.iter().map(|one| one.1).sum::<f64>() as u64,
            bursts: clusters.iter().filter(|one| one.1 > 0.0).count() as u32,
        })
    }
}

/// Successes and trials of each place, by burst.
pub(crate) struct Tally<K> {
    current: FastMap<K, (f64, f64)>,
    bursts: FastMap<K, Vec<(f64, f64)>>,
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

    pub(crate) fn end_of_burst(&mut self) {
        for (key, one) in self.current.drain() {
            self.bursts.entry(key).or_default().push(one);
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

/// A quantity of each place in each burst, as a share of a total of the whole burst.
pub(crate) struct BurstShare<K> {
    current: FastMap<K, f64>,
    bursts: FastMap<K, Vec<(u32, f64)>>,
    totals: Vec<f64>,
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

    /// Ends a burst of which all was `total`; the quantities are cut to it.
    pub(crate) fn end_of_burst(&mut self, total: f64) {
        let burst = self.totals.len() as u32;
        for (key, quantity) in self.current.drain() {
            let list = self.bursts.entry(key).or_default();
            list.push((burst, quantity.min(total)));
        }
        self.totals.push(total);
    }

    /// The share over all bursts, those without the place among them.
    pub(crate) fn share(&self, key: K) -> Estimate {
        let mut clusters: Vec<(f64, f64)> = self.totals.iter().map(|&all| (0.0, all)).collect();
        for &(burst, quantity) in self.bursts.get(&key).into_iter().flatten() {
            clusters[burst as usize].0 = quantity;
        }
        genba_stats::cluster_share(&clusters, LEVEL).unwrap_or(Estimate::exact(0.0))
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
        shares.end_of_burst(100.0);
        shares.end_of_burst(100.0);
        let found = shares.share(1);
        assert!((found.value - 0.25).abs() < 1e-12);
        assert!(shares.share(2).value == 0.0);
    }

    #[test]
    fn trials_of_several_bursts_are_added() {
        let mut tally = Tally::new();
        for burst in 0..3 {
            for one in 0..10 {
                tally.count(7u64, one < burst);
            }
            tally.end_of_burst();
        }
        let (key, seen) = tally.shares()[0];
        assert_eq!((key, seen.executions, seen.bursts), (7, 30, 3));
        assert!((seen.share.value - 0.1).abs() < 1e-12);
        assert!(seen.share.low < 0.1 && seen.share.high > 0.1);
    }
}
