//! Counters of code that is translated again, because the program wrote to its page: unchanged code
//! gets back those that it had, so that a program that writes to its code again and again does not
//! use them up.

use core::cell::Cell;

use crate::address_map::AddressMap;
use crate::basic_block::Block;
use crate::fragment::{BuildContext, Error};

use super::burst_recording;
use super::code_map::{BlockInfo, CodeMap, NONE};

/// Stands for the number of copies where a single instruction is executed.
const STEP: usize = 0xFFFF;
/// Stands for the number of copies of a block that records bursts.
const OBSERVED: usize = 0xFFFE;

/// The counters.
#[derive(Default)]
pub struct FormerCounters {
    /// Of blocks that were invalidated, by their address and how many of the fragment's blocks before
    /// had the same.
    blocks: AddressMap<u32>,
    /// Of transfers from writable code, by a hash of both addresses.
    transfers: AddressMap<u32>,
    /// Descriptors of blocks that record bursts, by the number of their counter and 1 more.
    descriptors: AddressMap<u32>,
    /// Whether the block that is being built records bursts.
    observing: Cell<bool>,
}

fn key_of_copy(pc: u64, copies: usize) -> u64 {
    pc | (copies as u64) << 48
}

/// The key of a block that records bursts: its counter is its descriptor's first word.
fn key_of_counter(descriptor: &[u32]) -> u64 {
    descriptor
        .first()
        .map_or(0, |&counter| u64::from(counter) + 1)
}

fn key_of_transfer(from: u64, to: u64) -> u64 {
    from.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) ^ to | 1
}

impl CodeMap {
    fn former(&self) -> &FormerCounters {
        &self.writable_code.former
    }

    /// Keeps the counters of a fragment's blocks, which is invalidated.
    pub(super) fn keep_counters(&mut self, blocks: core::ops::Range<u32>) {
        let (first, end) = (blocks.start as usize, blocks.end as usize);
        for index in first..end {
            let BlockInfo { pc, counter, .. } = self.blocks[index];
            if counter != NONE {
                let copies = match self.observing.get(pc) == Some(index as u32) {
                    true => OBSERVED,
                    false => {
                        let before = self.blocks[first..index].iter();
                        before.filter(|other| other.pc == pc).count()
                    }
                };
                let key = key_of_copy(pc, copies);
                self.writable_code.former.blocks.insert(key, counter);
            }
        }
    }

    /// Returns the counter that a block of the fragment that is being built had before.
    pub(super) fn former_counter(
        &self,
        pc: u64,
        to: u64,
        module: u32,
        lengths: &[u8],
    ) -> Option<u32> {
        if self.former().blocks.is_empty() {
            return None;
        }
        let record = |counter| self.shared.read_record(counter);
        let copies = match self.former().observing.get() {
            _ if self.writable_code.is_single_instruction() => STEP,
            true => OBSERVED,
            false => (self.new_counters.iter())
                .filter(|&&counter| record(counter).is_some_and(|record| record.pc == pc))
                .count(),
        };
        let counter = (self.former().blocks).get(key_of_copy(pc, copies))?;
        let found = record(counter)?;
        let same = (found.pc, found.to, found.module) == (pc, to, module)
            && self
                .shared
                .read_lengths(found.lengths, usize::from(found.instructions))
                == lengths;
        same.then_some(counter)
    }

    /// Keeps the counter of an instruction that was translated alone.
    pub(super) fn keep_step_counter(&mut self, pc: u64, counter: u32) {
        let key = key_of_copy(pc, STEP);
        self.writable_code.former.blocks.insert(key, counter);
    }

    /// Returns the counter of a block that records bursts.
    ///
    /// # Errors
    /// If there are no counters left.
    pub(super) fn observed_counter(&mut self, block: &Block, copy: bool) -> Result<u32, Error> {
        self.former().observing.set(true);
        let counter = self.counter(block, copy);
        self.former().observing.set(false);
        counter
    }

    /// Returns the same descriptor of the same counter, if the block had it before.
    pub(super) fn former_descriptor(&self, descriptor: &[u32]) -> Option<u32> {
        let at = self.former().descriptors.get(key_of_counter(descriptor))?;
        burst_recording::is_descriptor(self.shared, at, descriptor).then_some(at)
    }

    /// Keeps a descriptor for when its block is translated again, if there is code that is.
    pub(super) fn keep_descriptor(&mut self, descriptor: &[u32], at: u32) {
        if self.writable_code.was_protected() {
            let key = key_of_counter(descriptor);
            self.writable_code.former.descriptors.insert(key, at);
        }
    }

    /// Returns the counter that a transfer from writable code had before.
    pub(super) fn former_transfer(&self, from: u64, to: u64) -> Option<u32> {
        let counter = self.former().transfers.get(key_of_transfer(from, to))?;
        let found = self.shared.read_record(counter)?;
        (found.pc == from && found.to == to).then_some(counter)
    }

    /// Keeps the counter of a transfer if its code is writable.
    pub(super) fn keep_transfer(&mut self, from: u64, to: u64, counter: u32) {
        if self.region(from).is_some_and(|region| region.writable) {
            let key = key_of_transfer(from, to);
            self.writable_code.former.transfers.insert(key, counter);
        }
    }
}
