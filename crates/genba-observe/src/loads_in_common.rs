//! What runs of a loop load, apart from what they store themselves, and how much of it two runs have in common.

use crate::fast_hash::mix;

/// Loads of a run that are kept; a run with more is not compared.
const MAX_LOADS: usize = 1 << 15;

/// Loads from which a run is compared: fewer are as quickly made anew.
const MIN_LOADS: usize = 64;

/// Memory is followed in pieces of so many bytes, as a power of two.
const PIECE: u32 = 3;

/// What a run has loaded and stored so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadsOfRun {
    /// Pieces of memory, with what was loaded there.
    loads: Vec<(u64, u64)>,
    stored: Vec<u64>,
    too_many: bool,
}

impl LoadsOfRun {
    pub(crate) fn load(&mut self, address: u64, value: u64) {
        self.loads
            .push((address >> PIECE, mix(mix(0, address), value)));
        self.bound();
    }

    pub(crate) fn store(&mut self, address: u64, size: u16) {
        let last = address.saturating_add(u64::from(size.max(1)) - 1);
        self.stored.extend((address >> PIECE)..=(last >> PIECE));
        self.bound();
    }

    /// What a loop inside did is done in this one.
    pub(crate) fn inner(&mut self, inner: &Self) {
        self.too_many |= inner.too_many;
        self.loads.extend(&inner.loads);
        self.stored.extend(&inner.stored);
        self.bound();
    }

    fn bound(&mut self) {
        if self.loads.len().max(self.stored.len()) > MAX_LOADS {
            self.too_many = true;
        }
        if self.too_many {
            self.loads.clear();
            self.stored.clear();
        }
    }

    /// What was loaded, each address with each value once, in order; `None` for a run that is not compared. What the
    /// run stores (sums that it keeps in memory) is left out.
    pub(crate) fn distinct(mut self) -> Option<Vec<u64>> {
        self.stored.sort_unstable();
        self.stored.dedup();
        let own = |piece: u64| self.stored.binary_search(&piece).is_ok();
        let others = self.loads.iter().filter(|one| !own(one.0));
        let mut list: Vec<u64> = others.map(|one| one.1).collect();
        list.sort_unstable();
        list.dedup();
        (list.len() >= MIN_LOADS && !self.too_many).then_some(list)
    }
}

/// How many numbers two lists have in common, each in order and without duplicates.
pub(crate) fn in_common(one: &[u64], other: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        common += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(values: impl Iterator<Item = u64>) -> LoadsOfRun {
        let mut run = LoadsOfRun::default();
        values.for_each(|one| run.load(0x1000 + 8 * one, one));
        run
    }

    #[test]
    fn runs_have_in_common_what_both_load_and_do_not_store() {
        let first = loads(0..100).distinct().expect("many");
        let mut second = loads(10..110);
        assert_eq!(
            in_common(&first, &second.clone().distinct().expect("many")),
            90
        );
        let mut inner = LoadsOfRun::default();
        inner.store(0x1000 + 8 * 20, 16);
        second.inner(&inner);
        assert_eq!(in_common(&first, &second.distinct().expect("many")), 88);
    }

    #[test]
    fn runs_of_few_loads_and_of_too_many_are_not_compared() {
        assert!(loads(0..10).distinct().is_none());
        assert!(loads(0..MAX_LOADS as u64 + 1).distinct().is_none());
        let mut around = loads(0..100);
        around.inner(&loads(0..MAX_LOADS as u64 + 1));
        assert!(around.distinct().is_none());
    }
}
