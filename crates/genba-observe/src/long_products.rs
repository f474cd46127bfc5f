//! Numbers of many words that are multiplied by a small factor, word by word.
//!
//! What is stored where a word was loaded is the word times the factor plus the carry, and the carry
//! is what the word before left over: ⌊(word before · factor + carry before) ÷ 2^bits⌋. Two words in a
//! row that satisfy this for one small factor are a long product, however it was computed; arrays
//! whose elements are scaled have no carry, and generators have large factors.
//!
//! **Source.** D. Knuth, *The Art of Computer Programming* 2, section 4.3.1 (exercise 13: short by long).

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::{FastMap, FastSet};
use crate::tally::{Seen, Tally};

/// A store of words of which most are those before, times a small factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongProduct {
    /// The store.
    pub at: CodePoint,
    /// The factor.
    pub factor: u64,
    /// Bytes of a word.
    pub word_bytes: u16,
    /// Stores that fit, of those behind a store to the word before.
    pub seen: Seen,
    /// Share of these to words that the same instruction stored before, in the burst.
    pub again: f64,
}

/// The largest factor that is small: digits of any base.
const MAX_FACTOR: u64 = 1 << 16;

/// Loads before a store that may be those of its word.
const MAX_LOADS_FOLLOWED: usize = 4;

/// Pairs of words for which factors are searched, for each store: each takes some 10⁵ steps.
const MAX_SEARCHES: u32 = 16;

/// Share of the stores that must fit.
const MIN_SHARE: f64 = 0.5;

#[derive(Clone, Copy)]
struct Word {
    address: u64,
    before: u64,
    after: u64,
}

#[derive(Default)]
struct Site {
    factor: Option<u64>,
    searches: u32,
    last: Option<Word>,
    stored: FastSet<u64>,
    again: u64,
    fitting: u64,
}

/// Finds long products, those with most stores first.
pub(crate) fn long_products(bursts: &[Burst]) -> Vec<LongProduct> {
    let mut sites: FastMap<(CodePoint, u16), Site> = FastMap::default();
    let mut tally = Tally::new();
    let mut loads: Vec<(u64, u16, u64)> = Vec::new();
    for burst in bursts {
        loads.clear();
        for site in sites.values_mut() {
            site.last = None;
            site.stored.clear();
        }
        for event in &burst.events {
            match event.what {
                Observed::Load {
                    address,
                    size: size @ (4 | 8),
                    value,
                } => {
                    if loads.len() == MAX_LOADS_FOLLOWED {
                        loads.remove(0);
                    }
                    loads.push((address, size, value));
                }
                Observed::Store {
                    address,
                    size: size @ (4 | 8),
                    value,
                    reads: false,
                    ..
                } => {
                    let same = |load: &&(u64, u16, u64)| (load.0, load.1) == (address, size);
                    let Some(load) = loads.iter().rev().find(same) else {
                        continue;
                    };
                    let word = Word {
                        address,
                        before: load.2,
                        after: value,
                    };
                    let site = sites.entry((event.at, size)).or_default();
                    if let Some(fits) = site.add(word, size) {
                        tally.count((event.at, size), fits);
                    }
                }
                _ => {}
            }
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value >= MIN_SHARE)
        .filter_map(|((at, word_bytes), seen)| {
            let site = &sites[&(at, word_bytes)];
            Some(LongProduct {
                at,
                factor: site.factor?,
                word_bytes,
                seen,
                again: site.again as f64 / site.fitting.max(1) as f64,
            })
        })
        .collect()
}

impl Site {
    /// Whether a word fits the one before; `None` if it is not the next one, or too small to tell.
    fn add(&mut self, word: Word, size: u16) -> Option<bool> {
        let last = self.last.replace(word);
        let again = !self.stored.insert(word.address);
        let last = last?;
        let next = last.address.wrapping_add(u64::from(size)) == word.address
            || word.address.wrapping_add(u64::from(size)) == last.address;
        let bits = 8 * u32::from(size);
        // Of small numbers there is no carry, and any small change is one.
        let tells = |word: &Word| word.before >> (bits / 2) != 0;
        if !next || !tells(&last) || !tells(&word) {
            return None;
        }
        if self.factor.is_none() && self.searches < MAX_SEARCHES {
            self.searches += 1;
            self.factor = (2..=MAX_FACTOR).find(|&factor| fits(last, word, factor, bits));
        }
        let fits = self
            .factor
            .is_some_and(|factor| fits(last, word, factor, bits));
        if fits {
            self.fitting += 1;
            self.again += u64::from(again);
        }
        Some(fits)
    }
}

/// Whether two words in a row are those before times a factor, the carry of one going into the other.
fn fits(first: Word, second: Word, factor: u64, bits: u32) -> bool {
    let mask = u64::MAX >> (u64::BITS - bits);
    let carry = |word: Word| word.after.wrapping_sub(word.before.wrapping_mul(factor)) & mask;
    let (into_first, into_second) = (carry(first), carry(second));
    into_first < factor
        && into_second != 0
        && (u128::from(first.before) * u128::from(factor) + u128::from(into_first)) >> bits
            == u128::from(into_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, load, store};

    /// Passes over a number of words: `words[i] = low(words[i] · factor + carry)`, or without carry.
    fn passes(factors: impl Iterator<Item = u64>, carries: bool) -> Vec<LongProduct> {
        let mut words: Vec<u64> = (1..40u64)
            .map(|one| one.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let mut events = Vec::new();
        for factor in factors {
            let mut carry = 0;
            for (index, word) in (0u64..).zip(&mut words) {
                let product = u128::from(*word) * u128::from(factor) + carry;
                let address = 0x5000 + 8 * index;
                events.push(load(0x10, address, 8, *word));
                events.push(store(0x18, address, 8, *word, product as u64));
                *word = product as u64;
                carry = if carries { product >> 64 } else { 0 };
            }
        }
        long_products(&[burst(events)])
    }

    #[test]
    fn number_multiplied_by_ten_again_and_again_is_found() {
        let found = passes((0..20).map(|_| 10), true);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].factor), (at(0x18), 10));
        assert!(found[0].seen.share.value > 0.8);
        assert!(found[0].again > 0.8);
    }

    #[test]
    fn one_pass_is_not_one_over_what_was_stored() {
        let found = passes([10].into_iter(), true);
        assert!(found[0].again < 0.01);
    }

    #[test]
    fn scaled_arrays_generators_and_other_factors_each_time_are_not_a_product() {
        assert!(passes((0..20).map(|_| 10), false).is_empty(), "no carry");
        let large = (0..20).map(|_| 6_364_136_223_846_793_005);
        assert!(passes(large, true).is_empty(), "a large factor");
        assert!(passes(2..22, true).is_empty(), "a factorial");
    }
}
