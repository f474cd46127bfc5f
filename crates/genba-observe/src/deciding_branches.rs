//! Branches that decide whether what was stored before them is ever read.
//!
//! Of some executions of a store with a known fate in each burst, the next outcome of every branch that is met
//! soon after it. A branch whose one way is nearly always followed by an overwritten result, and whose other way
//! mostly by a read, decides; that both come as often is not enough, since in a function of many branches one
//! comes as often by chance.

use genba_model::CodePoint;

use crate::fast_hash::{FastMap, FastSet, mix};

/// Executions of a store with a known fate that are kept of one burst, and that are looked at: a random one of each
/// stretch, since a program that repeats itself would be met in the same phase each time.
const MAX_KEPT: usize = 4096;
const MAX_SAMPLES: usize = 64;

/// Outcomes behind a store that are looked at, of one execution and of all stores of a burst.
const MAX_OUTCOMES: usize = 2048;
const MAX_OUTCOMES_OF_BURST: usize = 2_000_000;

/// Stores with one of the branches behind them that are kept apart, of all bursts: some 50 MB.
const MAX_PAIRS: usize = 1 << 20;

/// Executions on either way from which on a branch is judged.
const MIN_SAMPLES: u32 = 8;

/// Least share of overwritten results on the way that discards, and of results that are read on the other one:
/// not every field of a record is wanted each time.
const MIN_DISCARDED: f64 = 0.9;
const MIN_READ: f64 = 0.5;

/// Fates of a store by the outcome of one branch: not taken, taken; of each how many, and how many overwritten.
type Ways = [(u32, u32); 2];

/// Joins the fates of stores with the outcomes behind them, burst by burst.
#[derive(Default)]
pub(crate) struct DecidingBranches {
    /// Outcomes of the burst.
    outcomes: Vec<(CodePoint, bool)>,
    /// Stores of the burst: outcomes before each, and whether it was overwritten unread.
    samples: FastMap<CodePoint, Vec<(u32, bool)>>,
    ways: FastMap<CodePoint, FastMap<CodePoint, Ways>>,
    /// Entries of `ways`.
    pairs: usize,
    /// Bursts so far: others are drawn in each.
    bursts: u64,
}

impl DecidingBranches {
    pub(crate) fn branch(&mut self, at: CodePoint, taken: bool) {
        self.outcomes.push((at, taken));
    }

    /// Outcomes of the burst so far: what a store has to remember.
    pub(crate) fn now(&self) -> u32 {
        self.outcomes.len() as u32
    }

    /// What became of a store that was made at `made`.
    pub(crate) fn fate(&mut self, store: CodePoint, made: u32, overwritten: bool) {
        let samples = self.samples.entry(store).or_default();
        if samples.len() < MAX_KEPT {
            samples.push((made, overwritten));
        }
    }

    pub(crate) fn end_of_burst(&mut self) {
        let mut stores: Vec<_> = (self.samples.drain())
            .filter(|(_, samples)| samples.iter().any(|one| one.1 != samples[0].1))
            .collect();
        // Where not all can be looked at, those with most executions are.
        stores.sort_by_key(|(store, samples)| (std::cmp::Reverse(samples.len()), *store));
        let mut left = MAX_OUTCOMES_OF_BURST;
        self.bursts += 1;
        let mut met: FastSet<CodePoint> = FastSet::default();
        for (store, samples) in stores {
            let ways = self.ways.entry(store).or_default();
            let stretch = samples.len().div_ceil(MAX_SAMPLES);
            for (number, stretch) in (0..).zip(samples.chunks(stretch)) {
                let drawn = mix(self.bursts, number) % stretch.len() as u64;
                let (made, overwritten) = stretch[drawn as usize];
                met.clear();
                let behind = self.outcomes.iter().skip(made as usize);
                for &(at, taken) in behind.take(MAX_OUTCOMES.min(left)) {
                    left -= 1;
                    if !met.insert(at) || self.pairs >= MAX_PAIRS && !ways.contains_key(&at) {
                        continue;
                    }
                    let way = &mut ways.entry(at).or_insert_with(|| {
                        self.pairs += 1;
                        Ways::default()
                    })[usize::from(taken)];
                    way.0 += 1;
                    way.1 += u32::from(overwritten);
                }
            }
        }
        self.outcomes.clear();
    }

    /// The branches that decide the fate of a store, in order of their addresses.
    pub(crate) fn of(&self, store: CodePoint) -> Vec<CodePoint> {
        let ways = self.ways.get(&store).into_iter().flatten();
        let mut found: Vec<CodePoint> = ways
            .filter(|(_, ways)| decides(ways))
            .map(|(at, _)| *at)
            .collect();
        found.sort_unstable();
        found
    }
}

fn decides(ways: &Ways) -> bool {
    let overwritten = |way: (u32, u32)| f64::from(way.1) / f64::from(way.0.max(1));
    let (low, high) = match overwritten(ways[0]) <= overwritten(ways[1]) {
        true => (ways[0], ways[1]),
        false => (ways[1], ways[0]),
    };
    low.0.min(high.0) >= MIN_SAMPLES
        && overwritten(high) >= MIN_DISCARDED
        && 1.0 - overwritten(low) >= MIN_READ
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::at;

    /// Four bursts of 200 stores, each with the test at 0x20 behind it, whose way is `taken`, and one at 0x30 that is
    /// as frequent.
    fn decided(overwritten: fn(u32) -> bool, taken: fn(u32) -> bool) -> Vec<CodePoint> {
        let mut all = DecidingBranches::default();
        for _ in 0..4 {
            for round in 0..200 {
                let made = all.now();
                for inner in 0..20 {
                    all.branch(at(0x10), inner < 19);
                }
                all.branch(at(0x20), taken(round));
                all.branch(at(0x30), round % 7 < 6);
                all.fate(at(0x8), made, overwritten(round));
            }
            all.end_of_burst();
        }
        all.of(at(0x8))
    }

    #[test]
    fn the_branch_with_which_the_fate_changes_decides() {
        let rare = |round: u32| !round.is_multiple_of(8);
        assert_eq!(decided(rare, rare), [at(0x20)]);
        let opposite = |round: u32| round.is_multiple_of(8);
        assert_eq!(decided(rare, opposite), [at(0x20)]);
    }

    #[test]
    fn fates_that_repeat_with_the_stretches_are_all_looked_at() {
        let stretch = (MAX_KEPT / MAX_SAMPLES) as u32;
        let mut all = DecidingBranches::default();
        for round in 0..MAX_KEPT as u32 {
            all.fate(at(0x8), all.now(), !round.is_multiple_of(stretch));
            all.branch(at(0x20), round.is_multiple_of(3));
        }
        all.end_of_burst();
        let ways = &all.ways[&at(0x8)][&at(0x20)];
        let executions: u32 = ways.iter().map(|way| way.0).sum();
        let overwritten: u32 = ways.iter().map(|way| way.1).sum();
        // One of each stretch is read, the first: those alone would all be.
        assert_eq!(executions, MAX_SAMPLES as u32);
        assert!(overwritten > executions - 8, "{overwritten}");
    }

    #[test]
    fn one_that_goes_as_often_by_chance_does_not() {
        let rare = |round: u32| !round.is_multiple_of(8);
        let as_often = |round: u32| !(round + 3).is_multiple_of(8);
        assert!(decided(rare, as_often).is_empty());
        assert!(decided(|_| true, as_often).is_empty());
    }
}
