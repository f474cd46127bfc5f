//! What a call changed in memory from its begin to its end: places that it put back as they were are not
//! changed.
//!
//! Bytes are compared one by one where values are recorded as they are (up to eight bytes), wider stores by
//! their hashes.

use crate::fast_hash::{FastMap, mix};

/// Places that are remembered of one call.
const MAX_PLACES: usize = 1 << 14;

/// The widest store whose value is recorded as it is.
const MAX_BYTES_OF_VALUE: u16 = 8;

/// Bytes of an aligned word before the first store to them, and after the last.
#[derive(Clone, Copy, Default)]
struct Word {
    before: u64,
    after: u64,
    /// All bits of the bytes that were stored to.
    stored: u64,
}

impl Word {
    /// What `later` made of the word thereafter.
    fn followed_by(self, later: Word) -> Word {
        let new = later.stored & !self.stored;
        Word {
            before: self.before & !new | later.before & new,
            after: self.after & !later.stored | later.after & later.stored,
            stored: self.stored | later.stored,
        }
    }
}

/// The stores of one call, with those of what it calls.
#[derive(Default)]
pub(crate) struct NetStores {
    words: FastMap<u64, Word>,
    /// By address and size: the hash before the first store, and after the last.
    wide: FastMap<(u64, u16), (u64, u64)>,
    /// Whether there were more than are remembered.
    overflown: bool,
}

impl NetStores {
    pub(crate) fn store(&mut self, address: u64, size: u16, before: u64, after: u64) {
        if self.overflown {
            return;
        }
        if size > MAX_BYTES_OF_VALUE {
            self.wide
                .entry((address, size))
                .or_insert((before, after))
                .1 = after;
        } else {
            let bits = u64::MAX >> (64 - 8 * u32::from(size.max(1)));
            let shift = 8 * (address % 8) as u32;
            let low = Word {
                before: (before & bits) << shift,
                after: (after & bits) << shift,
                stored: bits << shift,
            };
            self.add(address & !7, low);
            if shift > 0 && bits >> (64 - shift) != 0 {
                let high = Word {
                    before: (before & bits) >> (64 - shift),
                    after: (after & bits) >> (64 - shift),
                    stored: bits >> (64 - shift),
                };
                self.add((address & !7).wrapping_add(8), high);
            }
        }
        self.limit();
    }

    fn add(&mut self, address: u64, later: Word) {
        let word = self.words.entry(address).or_default();
        *word = word.followed_by(later);
    }

    fn limit(&mut self) {
        if self.words.len() + self.wide.len() > MAX_PLACES {
            *self = Self {
                overflown: true,
                ..Self::default()
            };
        }
    }

    /// Adds what a call made by this one left, but for addresses that are not `kept`.
    pub(crate) fn inherit(&mut self, mut child: NetStores, kept: impl Fn(u64) -> bool) {
        self.overflown |= child.overflown;
        if self.overflown {
            return;
        }
        // The smaller map is added to the larger one.
        if self.words.len() >= child.words.len() {
            for (address, word) in child.words {
                if kept(address) {
                    self.add(address, word);
                }
            }
        } else {
            child.words.retain(|&address, _| kept(address));
            for (address, earlier) in self.words.drain() {
                let word = child.words.entry(address).or_default();
                *word = earlier.followed_by(*word);
            }
            self.words = child.words;
        }
        for (place, (before, after)) in child.wide {
            if kept(place.0) {
                self.wide.entry(place).or_insert((before, after)).1 = after;
            }
        }
        self.limit();
    }

    /// What was left at up to so many places for which `is_result` holds, as one number; `None` if there are
    /// more, or if memory elsewhere is not what it was, but for what is `nobodys`.
    pub(crate) fn results(
        &self,
        most: usize,
        is_result: impl Fn(u64) -> bool,
        nobodys: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let words = (self.words.iter()).map(|(&address, word)| {
            let (before, after) = (word.before & word.stored, word.after & word.stored);
            (address, 8, before, after)
        });
        let wide = (self.wide.iter())
            .map(|(&(address, size), &(before, after))| (address, u64::from(size), before, after));
        let (mut results, mut places) = (0u64, 0);
        for (address, size, before, after) in words.chain(wide) {
            if is_result(address) {
                places += 1;
                // In whatever order the maps have them.
                results = results.wrapping_add(mix(mix(mix(0, address), size), after));
            } else if before != after && !nobodys(address) {
                return None;
            }
        }
        (!self.overflown && places <= most).then_some(results)
    }

    /// Places that were stored to and for which this holds: words, and wider stores by their words.
    pub(crate) fn words(&self, holds: impl Fn(u64) -> bool) -> u64 {
        let words = self.words.keys().filter(|&&address| holds(address));
        let wide = self.wide.keys().filter(|place| holds(place.0));
        words.count() as u64 + wide.map(|place| u64::from(place.1) / 8).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_changed(all: &NetStores) -> bool {
        all.results(0, |_| false, |_| false).is_none()
    }

    #[test]
    fn bytes_put_back_by_stores_of_other_sizes_are_not_changed() {
        let mut all = NetStores::default();
        all.store(0x1000, 8, 0x0000_0007_0000_0005, u64::MAX);
        all.store(0x1000, 4, 0xffff_ffff, 5);
        assert!(is_changed(&all));
        all.store(0x1004, 4, 0xffff_ffff, 7);
        assert!(!is_changed(&all));
    }

    #[test]
    fn store_across_two_words_changes_both() {
        let mut all = NetStores::default();
        all.store(0x1006, 4, 0x4433_2211, 0x4433_2210);
        all.store(0x1006, 1, 0x10, 0x11);
        assert!(!is_changed(&all));
        all.store(0x1009, 1, 0x44, 0x45);
        assert!(is_changed(&all));
    }

    #[test]
    fn child_that_puts_back_what_its_caller_changed_leaves_nothing() {
        for extra in [0, 100] {
            let (mut all, mut child) = (NetStores::default(), NetStores::default());
            all.store(0x1000, 8, 1, 2);
            child.store(0x1000, 8, 2, 1);
            for other in 0..extra {
                child.store(0x2000 + 8 * other, 8, 3, 3);
            }
            child.store(0x7000, 8, 0, 1);
            all.inherit(child, |address| address < 0x7000);
            assert!(!is_changed(&all));
        }
    }

    #[test]
    fn results_are_the_values_left_whatever_stood_there() {
        let left = |before, after, most| {
            let mut all = NetStores::default();
            all.store(0x1000, 8, before, after);
            all.results(most, |address| address == 0x1000, |_| false)
        };
        assert!(left(1, 7, 1).is_some() && left(1, 7, 1) == left(2, 7, 1));
        assert!(left(1, 7, 1) != left(1, 8, 1));
        assert_eq!(left(1, 7, 0), None);
    }

    #[test]
    fn more_places_than_are_remembered_are_a_change() {
        let mut all = NetStores::default();
        for one in 0..=MAX_PLACES as u64 {
            all.store(0x1000 + 8 * one, 8, 1, 1);
        }
        assert!(is_changed(&all));
    }
}
