//! Hash maps for keys that no attacker chooses more than once: addresses within one burst.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Multiply and rotate for each word, as in Firefox and rustc; a final mix, since tables take the
/// low bits of addresses.
#[derive(Clone, Copy, Default)]
pub(crate) struct FastHasher(u64);

const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(FACTOR);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<FastHasher>>;

/// One word of a running hash.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let mut hasher = FastHasher(hash ^ 0x9e37_79b9_7f4a_7c15);
    hasher.write_u64(value);
    hasher.finish()
}
