//! The valid blocks by program address, and the exits that wait for a block to be translated.

use crate::address_map::AddressMap;

use super::code_map::NONE;

/// Bit of an entry that has the number of an exit, not of a block. Both are far below it.
const WAITING: u32 = 1 << 31;

/// Blocks and waiting exits by program address. An address has either.
#[derive(Default)]
pub struct BlockIndex {
    entries: AddressMap<u32>,
}

impl BlockIndex {
    /// Returns the number of the valid block at an address.
    #[must_use]
    pub fn block(&self, pc: u64) -> Option<u32> {
        self.entries.get(pc).filter(|entry| entry & WAITING == 0)
    }

    /// Has what is known of an address fetched.
    pub fn prefetch(&self, pc: u64) {
        self.entries.prefetch(pc);
    }

    /// Enters a block; returns the first of the exits that have waited for it, or [`NONE`].
    #[must_use]
    pub fn set_block(&mut self, pc: u64, number: u32) -> u32 {
        match self.entries.replace(pc, number) {
            Some(entry) if entry & WAITING != 0 => entry & !WAITING,
            _ => NONE,
        }
    }

    /// Makes an exit the first of those that wait for the block at an address; returns the one that
    /// was, or [`NONE`]. Nothing changes if the block is there: then the exit need not wait.
    pub fn wait(&mut self, pc: u64, exit: u32) -> Option<u32> {
        let mut first = None;
        self.entries.update(pc, |entry| match entry {
            Some(entry) if entry & WAITING == 0 => None,
            former => {
                first = Some(former.map_or(NONE, |entry| entry & !WAITING));
                Some(exit | WAITING)
            }
        });
        first
    }

    /// Removes a block.
    pub fn remove_block(&mut self, pc: u64) {
        if self.block(pc).is_some() {
            self.entries.remove(pc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_wait_until_their_block_is_there() {
        let mut index = BlockIndex::default();
        assert_eq!(index.wait(0x10, 5), Some(NONE));
        assert_eq!(index.wait(0x10, 6), Some(5));
        assert_eq!(index.block(0x10), None);
        // Nothing to remove.
        index.remove_block(0x10);
        assert_eq!(index.set_block(0x10, 9), 6);
        assert_eq!(index.block(0x10), Some(9));
        assert_eq!(index.wait(0x10, 7), None);
        assert_eq!(index.set_block(0x10, 8), NONE);
        index.remove_block(0x10);
        assert_eq!(index.block(0x10), None);
        assert_eq!(index.wait(0x10, 7), Some(NONE));
    }
}
