//! Memory of a stopped thread.

use genba_profile::read_memory;

/// Memory that can be read by address.
pub trait Memory {
    /// Fills as much of `buffer` as is readable from the address on; returns how many bytes.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// Fills the whole buffer; `None` if not all of it is readable.
    fn fill(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        (address != 0 && self.read(address, buffer) == buffer.len()).then_some(())
    }

    /// `N` bytes at an address; `None` if not all of them are readable.
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(address, &mut bytes)?;
        Some(bytes)
    }

    /// The 64-bit word at an address.
    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// At most `most` bytes, as many as are readable from the address on.
    fn some(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let n = if address == 0 {
            0
        } else {
            self.read(address, &mut bytes)
        };
        bytes.truncate(n);
        bytes
    }
}

/// Memory of a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory(pub i32);

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read_memory(self.0, address, buffer)
    }
}

/// The 64-bit word at an offset of bytes that were read; 0 beyond their end.
pub fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
pub mod tests {
    use super::Memory;
    use std::collections::BTreeMap;

    /// Memory of separate ranges, by address.
    #[derive(Default)]
    pub struct SyntheticMemory(pub BTreeMap<u64, Vec<u8>>);

    impl SyntheticMemory {
        /// Puts words over what is there, as a process that goes on does.
        pub fn overwrite(&mut self, changes: Vec<(u64, u64)>) {
            for (at, word) in changes {
                if let Some((start, bytes)) = self.0.range_mut(..=at).next_back() {
                    let from = (at - start) as usize & !7;
                    if let Some(place) = bytes.get_mut(from..from + 8) {
                        place.copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
        }

        pub fn put(&mut self, address: u64, bytes: Vec<u8>) {
            self.0.insert(address, bytes);
        }

        /// Puts an object of `size` bytes with words at offsets.
        pub fn object(&mut self, address: u64, size: usize, words: &[(usize, u64)]) {
            let mut bytes = vec![0; size];
            for &(at, word) in words {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            self.put(address, bytes);
        }
    }

    impl Memory for SyntheticMemory {
        fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
            let Some((start, bytes)) = self.0.range(..=address).next_back() else {
                return 0;
            };
            let at = (address - start) as usize;
            let Some(rest) = bytes.get(at..) else {
                return 0;
            };
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            n
        }
    }
}
