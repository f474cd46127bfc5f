//! Hash maps for keys that no attacker chooses more than once: addresses within one burst. Their
//! order, and so all that is derived from it, is the same in each run.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

pub(crate) type FastMap<K, V> = HashMap<K, V, FixedState>;
pub(crate) type FastSet<K> = HashSet<K, FixedState>;

/// A running hash with one word more: xor, multiply and fold, as in Firefox and rustc.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let hash = (hash ^ 0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ value;
    let product = hash.wrapping_mul(0xf135_7aea_2e62_a9c5);
    product ^ product >> 32
}
