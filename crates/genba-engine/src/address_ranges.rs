//! A set of addresses as disjoint ranges.

use alloc::vec::Vec;

/// Disjoint ranges, each from its first address to the address after its last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRanges(Vec<(u64, u64)>);

impl AddressRanges {
    /// Adds addresses.
    pub fn add(&mut self, start: u64, end: u64) {
        self.remove(start, end);
        self.0.push((start, end));
    }

    /// Removes addresses; whether any of them was there.
    pub fn remove(&mut self, start: u64, end: u64) -> bool {
        let mut found = false;
        let mut index = 0;
        while index < self.0.len() {
            let (from, to) = self.0[index];
            if to <= start || end <= from {
                index += 1;
                continue;
            }
            found = true;
            self.0.swap_remove(index);
            // The remaining parts do not overlap what is removed, so looking at them again has no
            // effect.
            if from < start {
                self.0.push((from, start));
            }
            if end < to {
                self.0.push((end, to));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_set_of_addresses(steps in proptest::collection::vec((any::<bool>(), 0u64..40, 1u64..20), 0..40)) {
            let mut ranges = AddressRanges::default();
            let mut set = BTreeSet::new();
            for (add, start, length) in steps {
                let end = start + length;
                if add {
                    ranges.add(start, end);
                    set.extend(start..end);
                } else {
                    let there = (start..end).any(|address| set.contains(&address));
                    prop_assert_eq!(ranges.remove(start, end), there);
                    set.retain(|address| !(start..end).contains(address));
                }
                let mut all: Vec<u64> = ranges.0.iter().flat_map(|&(from, to)| from..to).collect();
                all.sort_unstable();
                prop_assert_eq!(all, set.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
