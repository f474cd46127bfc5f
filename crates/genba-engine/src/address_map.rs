//! A map with code addresses as keys: open addressing, linear probing, at most 2/3 full.

use alloc::vec;
use alloc::vec::Vec;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Bytes of code whose addresses are together in the table.
const GROUP_BYTES: u64 = 256;
/// Bytes of code for each of their places: fewer than most blocks have.
const SLOT_BYTES: u64 = 8;

/// A map from addresses other than 0 to small values.
pub struct AddressMap<V> {
    keys: Vec<u64>,
    values: Vec<V>,
    used: usize,
}

impl<V: Copy + Default> Default for AddressMap<V> {
    fn default() -> Self {
        Self {
            keys: vec![0; 64],
            values: vec![V::default(); 64],
            used: 0,
        }
    }
}

impl<V: Copy + Default> AddressMap<V> {
    /// Index at which an address is looked for first. Addresses near each other are near each other
    /// in the table: what is asked for one after another lies in a few cache lines.
    fn home(&self, key: u64) -> usize {
        let group = (key / GROUP_BYTES).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let within = key % GROUP_BYTES / SLOT_BYTES;
        group.wrapping_add(within) as usize & (self.keys.len() - 1)
    }

    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut at = self.home(key);
        loop {
            match self.keys[at] {
                0 => return Err(at),
                found if found == key => return Ok(at),
                _ => at = (at + 1) & (self.keys.len() - 1),
            }
        }
    }

    /// Has the memory of an address fetched, which is to be looked up a little later: in a large map
    /// the look-up would wait for it.
    pub fn prefetch(&self, key: u64) {
        let at = self.home(key);
        // SAFETY: a prefetch accesses nothing; both pointers are within their vectors.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(self.keys.as_ptr().add(at).cast());
            _mm_prefetch::<_MM_HINT_T0>(self.values.as_ptr().add(at).cast());
        }
    }

    /// Returns the value for an address.
    #[must_use]
    pub fn get(&self, key: u64) -> Option<V> {
        self.find(key).ok().map(|at| self.values[at])
    }

    /// Sets the value for an address. An address of 0 is ignored: no code can be there.
    pub fn insert(&mut self, key: u64, value: V) {
        let _ = self.replace(key, value);
    }

    /// Sets the value for an address, like [`Self::insert`]; returns the one that it had.
    pub fn replace(&mut self, key: u64, value: V) -> Option<V> {
        if key == 0 {
            return None;
        }
        match self.find(key) {
            Ok(at) => Some(core::mem::replace(&mut self.values[at], value)),
            Err(at) => {
                self.add(key, value, at);
                None
            }
        }
    }

    /// Sets the value for an address to what `new` makes of the one that it has; leaves it if that is
    /// `None`. An address of 0 is ignored.
    pub fn update(&mut self, key: u64, new: impl FnOnce(Option<V>) -> Option<V>) {
        match self.find(key) {
            _ if key == 0 => {}
            Ok(at) => {
                if let Some(value) = new(Some(self.values[at])) {
                    self.values[at] = value;
                }
            }
            Err(at) => {
                if let Some(value) = new(None) {
                    self.add(key, value, at);
                }
            }
        }
    }

    /// Adds an address that is not there, whose search ended at this index.
    fn add(&mut self, key: u64, value: V, mut at: usize) {
        if (self.used + 1) * 3 > self.keys.len() * 2 {
            self.grow();
            at = self.find(key).unwrap_or_else(|at| at);
        }
        self.keys[at] = key;
        self.values[at] = value;
        self.used += 1;
    }

    /// Removes an address, and moves up entries that it had displaced.
    pub fn remove(&mut self, key: u64) -> Option<V> {
        let mut hole = self.find(key).ok()?;
        let removed = self.values[hole];
        let mask = self.keys.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.keys[at] == 0 {
                break;
            }
            let home = self.home(self.keys[at]);
            // An entry may move to the hole unless its home is between the two.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.keys[hole] = self.keys[at];
                self.values[hole] = self.values[at];
                hole = at;
            }
        }
        self.keys[hole] = 0;
        self.used -= 1;
        Some(removed)
    }

    fn grow(&mut self) {
        let size = self.keys.len() * 2;
        let keys = core::mem::replace(&mut self.keys, vec![0; size]);
        let values = core::mem::replace(&mut self.values, vec![V::default(); size]);
        for (key, value) in keys.into_iter().zip(values) {
            if key != 0
                && let Err(at) = self.find(key)
            {
                self.keys[at] = key;
                self.values[at] = value;
            }
        }
    }

    /// Number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_as_a_standard_map(steps in prop::collection::vec((1u64..300, any::<u32>(), any::<bool>()), 0..2000)) {
            let mut map = AddressMap::default();
            let mut model = HashMap::new();
            for (key, value, insert) in steps {
                map.prefetch(key);
                if value % 3 == 0 {
                    let new = |old: Option<u32>| (old.unwrap_or(1) % 2 == 1).then_some(value);
                    map.update(key, new);
                    if let Some(value) = new(model.get(&key).copied()) {
                        model.insert(key, value);
                    }
                } else if insert {
                    prop_assert_eq!(map.replace(key, value), model.insert(key, value));
                } else {
                    prop_assert_eq!(map.remove(key), model.remove(&key));
                }
                prop_assert_eq!(map.len(), model.len());
            }
            for key in 0..300 {
                prop_assert_eq!(map.get(key), model.get(&key).copied());
            }
        }
    }
}
