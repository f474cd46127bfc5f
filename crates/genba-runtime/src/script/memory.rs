//! Memory of a thread that stands still.

use genba_profile::read_memory;

/// Something that can be read by address.
pub trait Memory {
    /// Fills as much of `buffer` as there is; says how much that is.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// Fills the whole buffer, or nothing can be said.
    fn fill(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        (address != 0 && self.read(address, buffer) == buffer.len()).then_some(())
    }

    /// So many bytes.
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(address, &mut bytes)?;
        Some(bytes)
    }

    /// A word.
    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// At most so many bytes, as many as can be read from the first.
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

/// A word in bytes that were read; zero beyond their end.
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

    /// Memory made up of pieces.
    #[derive(Default)]
    pub struct Fake(pub BTreeMap<u64, Vec<u8>>);

    impl Fake {
        pub fn put(&mut self, address: u64, bytes: Vec<u8>) {
            self.0.insert(address, bytes);
        }

        /// Words at offsets of an object of so many bytes.
        pub fn object(&mut self, address: u64, size: usize, words: &[(usize, u64)]) {
            let mut bytes = vec![0; size];
            for &(at, word) in words {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            self.put(address, bytes);
        }
    }

    impl Memory for Fake {
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
