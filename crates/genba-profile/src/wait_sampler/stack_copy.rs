//! The stack of a blocked thread: what is copied, and what two copies have in common.

use std::hash::{DefaultHasher, Hash, Hasher};

use genba_symbols::{Mapping, mappings_of_process};

use super::variable_place::place;

use crate::process_memory::read_memory;

/// Bytes of stack that are stored with a sample.
pub const COPY_BYTES: usize = 16 << 10;
/// Bytes of stack that tell stacks apart.
const KEY_BYTES: usize = 4 << 10;

/// What of a process's memory comes from files.
#[derive(Clone, Debug, Default)]
pub struct CodeRanges {
    /// The executable address ranges, in ascending order.
    ranges: Vec<(u64, u64)>,
    /// Files, and the anonymous memory that directly follows them: their data without contents.
    mappings: Vec<Mapping>,
}

impl CodeRanges {
    /// Those of a process now.
    pub fn of(pid: i32) -> Self {
        let mut mappings = mappings_of_process(pid).unwrap_or_default();
        let mut ranges: Vec<(u64, u64)> = mappings
            .iter()
            .filter(|mapping| mapping.is_executable())
            .map(|mapping| (mapping.start, mapping.end))
            .collect();
        ranges.sort_unstable();
        let mut before = None;
        mappings.retain(|mapping| {
            let of_file = !mapping.path.is_empty();
            let follows = before == Some(mapping.start);
            before = of_file.then_some(mapping.end);
            of_file || follows
        });
        Self { ranges, mappings }
    }

    /// The file whose static data an address belongs to; see [`place`].
    pub fn variable_place(&self, address: u64) -> Option<(String, u64)> {
        place(&self.mappings, address)
    }

    fn contain(&self, address: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        after > 0 && address < self.ranges[after - 1].1
    }
}

fn words(stack: &[u8]) -> impl Iterator<Item = u64> + '_ {
    stack
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}

/// A number that is the same for stacks with the same return addresses: of all words near the top
/// those that point to code.
pub fn key(pid: i32, stack_pointer: u64, instruction: u64, code: &CodeRanges) -> u64 {
    let mut stack = [0; KEY_BYTES];
    let read = read_memory(pid, stack_pointer, &mut stack);
    let mut hasher = DefaultHasher::new();
    instruction.hash(&mut hasher);
    for word in words(&stack[..read]).filter(|word| code.contain(*word)) {
        word.hash(&mut hasher);
    }
    hasher.finish()
}

/// Copies a stack, at most [`COPY_BYTES`].
pub fn copy(pid: i32, stack_pointer: u64) -> Vec<u8> {
    let mut stack = vec![0; COPY_BYTES];
    let read = read_memory(pid, stack_pointer, &mut stack);
    stack.truncate(read & !7);
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_before_their_ends() {
        let code = CodeRanges {
            ranges: vec![(0x1000, 0x2000), (0x5000, 0x6000)],
            mappings: Vec::new(),
        };
        assert!(code.contain(0x1fff) && !code.contain(0x2000) && !code.contain(0xfff));
    }

    #[test]
    fn own_stack_is_copied() {
        let local = [1u64; 64];
        let pid = std::process::id() as i32;
        let copied = copy(pid, local.as_ptr() as u64);
        assert!(copied.len() >= 512 && copied[..8] == 1u64.to_le_bytes());
    }
}
