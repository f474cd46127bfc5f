//! A fast hash for small keys that are numbers.
//!
//! Keys come from files, so collisions can be crafted; they cost only time in reading that file.
//! Multiplying and folding all bits prevents accidental ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash map whose keys are numbers.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<MultiplyFoldHasher>>;

/// Multiplies, and folds the upper half onto the lower.
#[derive(Clone, Copy, Default)]
pub struct MultiplyFoldHasher(u64);

impl Hasher for MultiplyFoldHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        let product =
            u128::from(self.0 ^ n ^ 0x9E37_79B9_7F4A_7C15) * u128::from(0xF39C_C060_5CED_C835u64);
        self.0 = (product >> 64) as u64 ^ product as u64 ^ self.0.rotate_left(23);
    }
    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }
    #[inline]
    fn write_i32(&mut self, n: i32) {
        self.write_u64(u64::from(n.cast_unsigned()));
    }
}
