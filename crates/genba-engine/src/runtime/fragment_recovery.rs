//! Recovering the program's state from an address in the code cache, and correcting the counts of
//! blocks that were left in the middle.

use crate::count_file_layout::{KIND_ADD, KIND_SUBTRACT, Record};
use crate::fragment::EXIT_STUB_BYTES;
use crate::state_recovery::{self, BlockView, Correction, FragmentView, SavedRegisters};
use crate::thread_state::{self, State};

use super::code_map::NONE;
use super::engine::Engine;

impl Engine {
    /// Looks up the program's code behind an address in the code cache: what was known of its
    /// memory may have been forgotten.
    pub fn look_up_code_of(&mut self, address: u64) {
        let Some(index) = self.fragment_at(address) else {
            return;
        };
        let first = self.fragments[index].first_block as usize;
        let count = usize::from(self.fragments[index].blocks);
        for block in first..first + count {
            let _ = self.code_map.find(self.code_map.blocks[block].pc);
        }
    }

    /// Recovers the program's state at an address in the code cache; the state, and the number of
    /// the block of its correction.
    #[must_use]
    pub fn recover(
        &self,
        address: u64,
        registers: &[u64; 16],
        saved: SavedRegisters,
    ) -> Option<(state_recovery::RecoveredState, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let first = fragment.first_block as usize;
        let code_map = &self.code_map;
        let marks = self.marks_of(fragment);
        let exits = &self.exits[fragment.first_exit as usize..][..usize::from(fragment.exits)];
        let view = FragmentView {
            marks: &marks,
            block: |index: usize| {
                let index = index.min(usize::from(fragment.blocks).saturating_sub(1));
                let block = &code_map.blocks[first + index];
                BlockView {
                    pc: block.pc,
                    target: block.target,
                    lengths: code_map.lengths(block),
                }
            },
            stub: |offset: u16| {
                let at = fragment.start + u64::from(offset);
                let within =
                    |stub: u64| stub != 0 && at.wrapping_sub(stub) < EXIT_STUB_BYTES as u64;
                exits
                    .iter()
                    .find(|exit| within(exit.stub()))
                    .map(|exit| exit.target)
            },
        };
        let mut found = state_recovery::recover(&view, offset, registers, saved)?;
        // The jump into an unrolled copy of a loop is counted with the copy.
        if let Some(index) = state_recovery::uncounted_block_at(&marks, offset)
            && let Some(block) = code_map.blocks.get(first + index)
            && let Some(record) = code_map.shared.read_record(block.counter)
            && record.to != 0
        {
            let view = (view.block)(index);
            let last = view.lengths.len().saturating_sub(1);
            found.unrecorded = Some((view.address(last), record.to));
        }
        let block = found.correction.map_or(0, |correction| correction.block);
        Some((found, fragment.first_block + block as u32))
    }

    /// Returns the system call that returns to an address in the code cache: the program address
    /// after it, and its block.
    #[must_use]
    pub fn syscall_before(&self, address: u64) -> Option<(u64, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let block = state_recovery::block_at(&self.marks_of(fragment), offset)?;
        let number = fragment.first_block + block as u32;
        let info = self.code_map.blocks.get(number as usize)?;
        let lengths = self.code_map.lengths(info);
        let size: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        Some((info.pc + size, number))
    }

    /// Corrects the count of a block that was left in the middle.
    ///
    /// # Safety
    /// The state must be the caller's own.
    pub unsafe fn correct(&mut self, state: State, block: u32, correction: Correction) {
        let Correction { from, counted, .. } = correction;
        // A block that was translated again may have the counter that it had.
        let info = self.code_map.blocks[block as usize];
        // A block without a counter has no instructions.
        let Some(whole) = self.code_map.shared.read_record(info.counter) else {
            return;
        };
        let counter = u64::from(info.counter);
        let key = counter << 8 | (from as u64) << 1 | u64::from(counted) | 1 << 48;
        let number = match self.corrections.get(key) {
            Some(number) => number,
            None => {
                let total = usize::from(whole.instructions);
                let lengths = self.code_map.lengths(&info).iter().take(from);
                let skipped: u64 = lengths.map(|&length| u64::from(length)).sum();
                let record = Record {
                    pc: info.pc + if counted { skipped } else { 0 },
                    to: 0,
                    lengths: whole.lengths + if counted { from as u32 } else { 0 },
                    module: whole.module,
                    to_module: NONE,
                    instructions: if counted { total - from } else { from } as u16,
                    kind: if counted { KIND_SUBTRACT } else { KIND_ADD },
                };
                let Some(number) = self.code_map.shared.record(record) else {
                    super::refuse("it has more code than the count file has room for");
                };
                self.corrections.insert(key, number);
                number
            }
        };
        let offset = thread_state::counter(number);
        // SAFETY: a counter of the caller's.
        unsafe { state.set(offset, state.get(offset).wrapping_add(1)) };
    }
}
