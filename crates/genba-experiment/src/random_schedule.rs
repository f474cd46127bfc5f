//! Random order of runs and padding of their environment, from a seed. Pure.
//!
//! Each block runs every variant once, in an order drawn uniformly from all permutations. With two
//! variants the runs of a pair are neighbours in coin-flip order, as the confidence sequence of
//! genba-stats requires; with more, baseline and variant of a block are in either order with
//! probability ½. Source: Abedi and Brecht, "Conducting repeatable
//! experiments in highly variable cloud computing environments", ICPE 2017 (randomised multiple
//! interleaved trials).

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt as _, SeedableRng};

/// Length of the padding at most, bytes: one page covers every offset within a page.
pub const MAX_PADDING: usize = 4096;

/// Environment variable that holds the padding.
pub const PADDING_VARIABLE: &str = "GENBA_PADDING";

/// Source of random orders and paddings.
#[derive(Debug)]
pub struct Schedule {
    random: StdRng,
}

impl Schedule {
    /// A schedule that depends only on the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// The order of the next block.
    pub fn block(&mut self, variants: &[usize]) -> Vec<usize> {
        let mut order = variants.to_vec();
        order.shuffle(&mut self.random);
        order
    }

    /// Length of the padding of the next run, bytes.
    pub fn padding(&mut self) -> usize {
        self.random.random_range(0..MAX_PADDING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_is_a_permutation(seed: u64, count in 1usize..20) {
            let mut schedule = Schedule::new(seed);
            let variants: Vec<usize> = (0..count).collect();
            for _ in 0..5 {
                let mut block = schedule.block(&variants);
                block.sort_unstable();
                prop_assert_eq!(&block, &variants);
                prop_assert!(schedule.padding() < MAX_PADDING);
            }
        }

        #[test]
        fn equal_seeds_give_equal_orders(seed: u64) {
            let (mut one, mut two) = (Schedule::new(seed), Schedule::new(seed));
            for _ in 0..10 {
                prop_assert_eq!(one.block(&[0, 1, 2]), two.block(&[0, 1, 2]));
                prop_assert_eq!(one.padding(), two.padding());
            }
        }
    }

    #[test]
    fn all_orders_have_equal_probability() {
        let mut schedule = Schedule::new(1);
        let first = (0..10_000)
            .filter(|_| schedule.block(&[0, 1])[0] == 0)
            .count();
        // Five standard deviations of a fair coin.
        assert!((4_750..=5_250).contains(&first), "{first}");
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..12_000 {
            *seen.entry(schedule.block(&[0, 1, 2])).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(
            seen.values().all(|count| (1_790..=2_210).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn orders_of_consecutive_blocks_are_independent() {
        let mut schedule = Schedule::new(2);
        let flips: Vec<bool> = (0..10_000)
            .map(|_| schedule.block(&[0, 1])[0] == 0)
            .collect();
        let same = flips.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((4_750..=5_250).contains(&same), "{same}");
    }
}
