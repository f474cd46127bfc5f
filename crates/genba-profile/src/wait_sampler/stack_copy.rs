//! The stack of a blocked thread: what is copied, and what two copies have in common.

use std::hash::{DefaultHasher, Hash, Hasher};

use genba_symbols::mappings_of_process;

use crate::process_memory::read_memory;

/// Bytes of stack that are stored with a sample.
pub const COPY_BYTES: usize = 16 << 10;
/// Bytes of stack that tell stacks apart.
const KEY_BYTES: usize = 4 << 10;

/// The executable address ranges of a process, in ascending order.
#[derive(Clone, Debug, Default)]
pub struct CodeRanges(Vec<(u64, u64)>);

impl CodeRanges {
    /// Those of a process now.
    pub fn of(pid: i32) -> Self {
        let mut ranges: Vec<(u64, u64)> = mappings_of_process(pid)
            .unwrap_or_default()
            .iter()
            .filter(|mapping| mapping.is_executable())
            .map(|mapping| (mapping.start, mapping.end))
            .collect();
        ranges.sort_unstable();
        Self(ranges)
    }

    fn contain(&self, address: u64) -> bool {
        let after = self.0.partition_point(|range| range.0 <= address);
        after > 0 && address < self.0[after - 1].1
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

/// The frame pointer that a thread with this stack probably has, which `/proc` does not tell: the
/// first place that holds the address of another above it (or the end of the chain) below a return
/// address. The unwinder uses it only for functions that need it, and the functions of libc that
/// enter the kernel leave it alone.
pub fn probable_frame_pointer(stack_pointer: u64, stack: &[u8], code: &CodeRanges) -> u64 {
    let end = stack_pointer.saturating_add(stack.len() as u64);
    let words: Vec<u64> = words(stack).collect();
    let found = words.windows(2).enumerate().find(|(index, pair)| {
        let here = stack_pointer.wrapping_add(*index as u64 * 8);
        let linked = pair[0] > here && pair[0] < end && pair[0] % 8 == 0;
        (linked || pair[0] <= 1) && code.contain(pair[1])
    });
    found.map_or(0, |(index, _)| stack_pointer.wrapping_add(index as u64 * 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_pointer_is_the_first_link_below_a_return_address() {
        let code = CodeRanges(vec![(0x1000, 0x2000), (0x5000, 0x6000)]);
        let stack: Vec<u8> = [0x1234u64, 7, 0x9028, 0x1800, 5, 0, 0x5100]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert_eq!(probable_frame_pointer(0x9000, &stack, &code), 0x9010);
        assert_eq!(probable_frame_pointer(0x9000, &stack[32..], &code), 0x9008);
        assert_eq!(probable_frame_pointer(0x9000, &[], &code), 0);
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
