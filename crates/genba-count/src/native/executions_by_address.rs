//! Adds up executions of blocks, which may overlap, to executions of instructions in the order of
//! their addresses. Pure.

use genba_model::InstructionCount;

/// Most instructions for which room is reserved beforehand: the lengths come from the target's process.
const MAX_RESERVED: usize = 8 << 20;

/// Executions of instructions that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed<'a> {
    /// Index of the module.
    pub module: u32,
    /// Address of the first instruction.
    pub address: u64,
    /// Lengths of the instructions.
    pub lengths: &'a [u8],
    /// Number of executions; below zero for what was counted and not executed.
    pub count: i64,
}

impl Executed<'_> {
    /// Addresses of the instructions.
    fn addresses(&self) -> impl Iterator<Item = u64> {
        self.lengths.iter().scan(self.address, |next, &length| {
            let address = *next;
            *next = address.wrapping_add(u64::from(length));
            Some(address)
        })
    }
}

/// Returns the instructions with at least one execution, by module, in the order of addresses.
///
/// Linear in the number of instructions but for sorting the blocks: the blocks of a large program
/// have millions of instructions, and few of them overlap, by little.
#[must_use]
pub fn added_up(mut blocks: Vec<Executed<'_>>) -> Vec<(u32, Vec<InstructionCount>)> {
    blocks.sort_unstable_by_key(|block| (block.module, block.address));
    blocks
        .chunk_by(|one, other| one.module == other.module)
        .map(|blocks| (blocks[0].module, of_module(blocks)))
        .filter(|(_, counts)| !counts.is_empty())
        .collect()
}

/// The same for the blocks of one module, in the order of their first addresses.
fn of_module(blocks: &[Executed<'_>]) -> Vec<InstructionCount> {
    // While they are added up, counts are signed.
    let instructions: usize = blocks.iter().map(|block| block.lengths.len()).sum();
    let mut sums: Vec<InstructionCount> = Vec::with_capacity(instructions.min(MAX_RESERVED));
    for block in blocks {
        let count = block.count as u64;
        // No instruction before the block's first can be one of the block's.
        let mut at = sums.len();
        while at > 0 && sums[at - 1].address >= block.address {
            at -= 1;
        }
        for address in block.addresses() {
            while sums.get(at).is_some_and(|sum| sum.address < address) {
                at += 1;
            }
            match sums.get_mut(at) {
                Some(sum) if sum.address == address => sum.count = sum.count.wrapping_add(count),
                _ => sums.insert(at, InstructionCount { address, count }),
            }
        }
    }
    sums.retain(|sum| (sum.count as i64) > 0);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn counts(list: &[(u64, u64)]) -> Vec<InstructionCount> {
        list.iter().map(|&one| one.into()).collect()
    }

    #[test]
    fn overlapping_blocks_are_added_up_and_corrections_subtracted() {
        let block = |module, address, lengths, count| Executed {
            module,
            address,
            lengths,
            count,
        };
        let blocks = vec![
            block(1, 0x10, &[1, 2, 3][..], 5),
            // The second and third instruction of the first, and one more.
            block(1, 0x11, &[2, 3, 4], 7),
            block(0, 0x11, &[2], 1),
            // A signal interrupted the first after its first instruction.
            block(1, 0x11, &[2, 3], -2),
            // Decoded from another address in between.
            block(1, 0x12, &[1], 9),
            // Never executed in the end.
            block(1, 0x40, &[1], 3),
            block(1, 0x40, &[1], -3),
        ];
        assert_eq!(
            added_up(blocks),
            [
                (0, counts(&[(0x11, 1)])),
                (
                    1,
                    counts(&[(0x10, 5), (0x11, 10), (0x12, 9), (0x13, 10), (0x16, 7)])
                ),
            ]
        );
    }

    proptest! {
        #[test]
        fn sums_are_those_of_each_instruction(
            blocks in prop::collection::vec(
                (0u32..3, 0u64..60, prop::collection::vec(0u8..16, 0..8), -5i64..50), 0..60)
        ) {
            let mut model: BTreeMap<(u32, u64), i64> = BTreeMap::new();
            let mut executed = Vec::new();
            for (module, address, lengths, count) in &blocks {
                let block = Executed { module: *module, address: *address, lengths, count: *count };
                for at in block.addresses() {
                    *model.entry((*module, at)).or_default() += count;
                }
                executed.push(block);
            }
            let expected: Vec<(u32, u64, u64)> = (model.into_iter())
                .filter(|&(_, count)| count > 0)
                .map(|((module, address), count)| (module, address, count as u64))
                .collect();
            let found: Vec<(u32, u64, u64)> = (added_up(executed).into_iter())
                .flat_map(|(module, counts)| {
                    counts.into_iter().map(move |one| (module, one.address, one.count))
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
