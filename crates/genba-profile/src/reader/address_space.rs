//! The mappings of one process.

use std::sync::Arc;

use super::FastMap;
use super::sample_tables::{LocationId, ModuleId};

/// A range of addresses at which (a part of) a module is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// End address (exclusive).
    pub end: u64,
    /// The module.
    pub module: ModuleId,
    /// Added to an address (wrapping) it gives the module's offset.
    pub to_offset: u64,
}

/// An address space: mappings in address order that do not overlap.
///
/// A forked process shares its parent's mappings until one of the two changes.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    maps: Arc<Vec<Mapping>>,
    /// Locations of addresses, valid for the present mappings.
    pub cache: FastMap<u64, LocationId>,
    /// Changes with every change of the mappings.
    pub generation: u64,
}

impl AddressSpace {
    /// All mappings in address order.
    pub fn maps(&self) -> &[Mapping] {
        &self.maps
    }

    /// The mapping that contains an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.maps.partition_point(|m| m.start <= address);
        let map = self.maps.get(after.checked_sub(1)?)?;
        (address < map.end).then_some(map)
    }

    /// The address space of a forked child.
    pub fn fork(&self) -> Self {
        Self {
            maps: Arc::clone(&self.maps),
            cache: FastMap::default(),
            generation: 0,
        }
    }

    /// Removes all mappings, as `execve` does. Returns how many were freed in memory.
    pub fn clear(&mut self) -> usize {
        let freed = if Arc::strong_count(&self.maps) == 1 {
            self.maps.len()
        } else {
            0
        };
        self.maps = Arc::default();
        self.changed();
        freed
    }

    /// Maps a range, replacing what was mapped there; parts of older mappings outside stay.
    /// Returns the number of mappings that this added in memory.
    pub fn insert(&mut self, map: Mapping) -> usize {
        if map.start >= map.end || self.find(map.start) == Some(&map) {
            return 0;
        }
        let shared = Arc::strong_count(&self.maps) > 1;
        let maps = Arc::make_mut(&mut self.maps);
        let before = if shared { 0 } else { maps.len() };
        let first = maps.partition_point(|m| m.end <= map.start);
        let last = maps.partition_point(|m| m.start < map.end);
        let left = maps[first..last]
            .first()
            .filter(|m| m.start < map.start)
            .map(|m| Mapping {
                end: map.start,
                ..*m
            });
        let right = maps[first..last]
            .last()
            .filter(|m| m.end > map.end)
            .map(|m| Mapping {
                start: map.end,
                ..*m
            });
        maps.splice(first..last, left.into_iter().chain([map]).chain(right));
        let after = maps.len();
        self.changed();
        after.saturating_sub(before)
    }

    /// Invalidates cached locations: addresses may have other code although no mapping changed.
    pub fn changed(&mut self) {
        self.cache.clear();
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(start: u64, end: u64, module: u32) -> Mapping {
        Mapping {
            start,
            end,
            module: ModuleId(module),
            to_offset: 0,
        }
    }

    proptest! {
        /// Compared with an array with one cell per address.
        #[test]
        fn later_mappings_replace_earlier_ones(inserts in prop::collection::vec((0u64..60, 0u64..20), 0..40)) {
            let mut space = AddressSpace::default();
            let mut cells = [None; 90];
            for (index, &(start, len)) in inserts.iter().enumerate() {
                space.insert(map(start, start + len, index as u32));
                for cell in &mut cells[start as usize..(start + len) as usize] {
                    *cell = Some(index as u32);
                }
            }
            for (address, cell) in cells.iter().enumerate() {
                prop_assert_eq!(space.find(address as u64).map(|m| m.module.0), *cell);
            }
            prop_assert!(space.maps().windows(2).all(|w| w[0].end <= w[1].start));
        }
    }

    #[test]
    fn forked_child_keeps_its_mappings_when_the_parent_execs() {
        let mut parent = AddressSpace::default();
        parent.insert(map(10, 20, 1));
        let mut child = parent.fork();
        assert_eq!(parent.clear(), 0);
        assert_eq!(child.find(15).unwrap().module, ModuleId(1));
        assert!(parent.find(15).is_none());
        assert_eq!(child.clear(), 1);
    }
}
