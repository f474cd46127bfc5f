//! Reads the bursts of a count file: records, words, and the descriptors of blocks. Nothing in it is
//! trusted.

use std::collections::HashMap;
use std::io;
use std::mem::offset_of;

use genba_engine::burst_layout::{
    BLOCK_WORDS, BURST_CAPACITY, BURST_COMPLETE, BURST_WORDS, BURSTS, BurstRecord, DATA,
    DATA_BYTES, DESCRIPTOR_CAPACITY, DESCRIPTOR_HEAD, DESCRIPTORS, End, MAPS, MAPS_CAPACITY,
    Operation,
};
use genba_engine::count_file_layout::{
    COUNTER_CAPACITY, Control, LENGTHS, LENGTHS_CAPACITY, RECORDS, Record,
};

use super::count_file::{Source, table, u16_at, u32_at, u64_at};

/// A burst as it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawBurst {
    /// Number of its thread.
    pub thread: u32,
    /// Number of the burst, counting those that are not kept.
    pub number: u64,
    /// CPU time of the thread at its beginning, nanoseconds.
    pub cpu_nanoseconds: u64,
    /// Time since the start of the process, nanoseconds.
    pub wall_nanoseconds: u64,
    /// Address of the instruction after its last.
    pub end_pc: u64,
    /// Instructions that its thread, and those before it in the same slot, had executed at its
    /// beginning.
    pub instructions_before: u64,
    /// Its words.
    pub words: Vec<u64>,
}

/// An operation of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockOperation {
    /// What is recorded.
    pub operation: Operation,
    /// Index of the instruction.
    pub instruction: u8,
    /// Number of bytes.
    pub size: u16,
}

/// A block that bursts have executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedBlock {
    /// Address in memory.
    pub pc: u64,
    /// Index of its module.
    pub module: usize,
    /// Offset of each instruction.
    pub offsets: Vec<u32>,
    /// How it ends.
    pub end: End,
    /// Target of the branch or call that ends it, if it is fixed; else 0.
    pub target: u64,
    /// What is recorded, in the order of its words.
    pub operations: Vec<BlockOperation>,
}

impl ObservedBlock {
    /// Returns the number of its words.
    pub fn words(&self) -> usize {
        let operations = self.operations.iter();
        let words: u32 = operations.map(|found| found.operation.words()).sum();
        words as usize + 1
    }
}

/// The bursts of a process.
#[derive(Debug, Default)]
pub struct BurstFile {
    /// In the order of their beginning.
    pub bursts: Vec<RawBurst>,
    /// `/proc/PID/maps` at the end of the last.
    pub maps: String,
    /// The `NOTE_` constants.
    pub notes: u32,
    descriptors: Vec<u8>,
    records: Vec<u8>,
    lengths: Vec<u8>,
}

impl BurstFile {
    /// Reads the bursts of a process that has ended.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid count file.
    pub fn read(source: &impl Source) -> io::Result<Self> {
        let control = table(source, 0, size_of::<Control>(), 1, 1)?;
        let field = |offset| u32_at(&control, offset);
        let maps = field(offset_of!(Control, maps));
        let maps = table(source, MAPS, 1, maps, MAPS_CAPACITY)?;
        let descriptors = field(offset_of!(Control, descriptors));
        let records = field(offset_of!(Control, records));
        let lengths = field(offset_of!(Control, lengths));
        let mut file = Self {
            maps: String::from_utf8_lossy(&maps).into_owned(),
            notes: field(offset_of!(Control, burst_notes)),
            descriptors: table(source, DESCRIPTORS, 4, descriptors, DESCRIPTOR_CAPACITY)?,
            records: table(
                source,
                RECORDS,
                size_of::<Record>(),
                records,
                COUNTER_CAPACITY,
            )?,
            lengths: table(source, LENGTHS, 1, lengths, LENGTHS_CAPACITY)?,
            bursts: Vec::new(),
        };
        const SIZE: usize = size_of::<BurstRecord>();
        let count = field(offset_of!(Control, bursts));
        let bytes = table(source, BURSTS, SIZE, count, BURST_CAPACITY)?;
        for (index, record) in bytes.chunks_exact(SIZE).enumerate() {
            let words = u32_at(record, offset_of!(BurstRecord, words));
            if u32_at(record, offset_of!(BurstRecord, state)) != BURST_COMPLETE {
                continue;
            }
            let at = DATA + index as u64 * DATA_BYTES;
            let data = table(source, at, 8, words, BURST_WORDS + BLOCK_WORDS)?;
            file.bursts.push(RawBurst {
                thread: u32_at(record, offset_of!(BurstRecord, thread)),
                number: u64_at(record, offset_of!(BurstRecord, number)),
                cpu_nanoseconds: u64_at(record, offset_of!(BurstRecord, cpu_nanoseconds)),
                wall_nanoseconds: u64_at(record, offset_of!(BurstRecord, wall_nanoseconds)),
                end_pc: u64_at(record, offset_of!(BurstRecord, end_pc)),
                instructions_before: u64_at(record, offset_of!(BurstRecord, instructions_before)),
                words: data.chunks_exact(8).map(|word| u64_at(word, 0)).collect(),
            });
        }
        let order = |burst: &RawBurst| (burst.wall_nanoseconds, burst.number);
        file.bursts.sort_by_key(order);
        Ok(file)
    }

    /// Returns the block of a descriptor, if it is a valid one.
    fn block(&self, descriptor: u64) -> Option<ObservedBlock> {
        let at = usize::try_from(descriptor).ok()?.checked_mul(4)?;
        let head = self.descriptors.get(at..at + DESCRIPTOR_HEAD * 4)?;
        let counter = u32_at(head, 0) as usize;
        let packed = u32_at(head, 4);
        let count = (packed >> 8 & 0xFF) as usize;
        let from = at + DESCRIPTOR_HEAD * 4;
        let operations: Option<Vec<BlockOperation>> = self
            .descriptors
            .get(from..from + count * 4)?
            .chunks_exact(4)
            .map(|word| {
                let word = u32_at(word, 0);
                Some(BlockOperation {
                    operation: *Operation::ALL.get((word & 0xFF) as usize)?,
                    instruction: (word >> 8) as u8,
                    size: (word >> 16) as u16,
                })
            })
            .collect();
        let record = self
            .records
            .get(counter.checked_mul(size_of::<Record>())?..)?
            .get(..size_of::<Record>())?;
        let lengths = u32_at(record, offset_of!(Record, lengths)) as usize;
        let instructions = usize::from(u16_at(record, offset_of!(Record, instructions)));
        let mut offset = 0;
        let mut offsets = Vec::with_capacity(instructions);
        for length in self.lengths.get(lengths..lengths + instructions)? {
            offsets.push(offset);
            offset += u32::from(*length);
        }
        if offsets.is_empty() {
            return None;
        }
        Some(ObservedBlock {
            pc: u64_at(record, offset_of!(Record, pc)),
            module: u32_at(record, offset_of!(Record, module)) as usize,
            offsets,
            end: *End::ALL.get((packed & 0xFF) as usize)?,
            target: u64_at(head, 8),
            operations: operations?,
        })
    }

    /// Returns the blocks of a burst in the order of execution, each with the index of its words. A
    /// burst with invalid words ends before them.
    pub fn blocks<'a>(
        &self,
        burst: &RawBurst,
        known: &'a mut HashMap<u64, ObservedBlock>,
    ) -> Vec<(&'a ObservedBlock, usize)> {
        for descriptor in self.walk(burst, known) {
            if !known.contains_key(&descriptor)
                && let Some(block) = self.block(descriptor)
            {
                known.insert(descriptor, block);
            }
        }
        let known: &'a HashMap<u64, ObservedBlock> = known;
        let mut blocks = Vec::new();
        let mut at = 0;
        while let Some(block) = burst.words.get(at).and_then(|word| known.get(word)) {
            if at + block.words() > burst.words.len() {
                break;
            }
            blocks.push((block, at));
            at += block.words();
        }
        blocks
    }

    /// Returns the descriptors of a burst that are not known.
    fn walk(&self, burst: &RawBurst, known: &HashMap<u64, ObservedBlock>) -> Vec<u64> {
        let mut new: HashMap<u64, usize> = HashMap::new();
        let mut at = 0;
        while let Some(&descriptor) = burst.words.get(at) {
            let words = match (known.get(&descriptor), new.get(&descriptor)) {
                (Some(block), _) => block.words(),
                (None, Some(words)) => *words,
                (None, None) => match self.block(descriptor) {
                    Some(block) => {
                        new.insert(descriptor, block.words());
                        block.words()
                    }
                    None => break,
                },
            };
            at += words;
        }
        new.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::bursts_to_observation::convert;
    use crate::native::count_file::tests::{Sparse, field, good};
    use genba_engine::count_file_layout::KIND_BLOCK;
    use genba_model::Observed;
    use proptest::prelude::*;

    fn words(file: &mut Sparse, offset: u64, words: &[u64]) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.0.push((offset, bytes));
    }

    /// A file with one block of two instructions, a store and a conditional branch, executed twice.
    fn file() -> Sparse {
        let mut file = good();
        field(&mut file, offset_of!(Control, records), 1);
        field(&mut file, offset_of!(Control, lengths), 2);
        file.0.push((LENGTHS, vec![4, 2]));
        let mut record = vec![0; size_of::<Record>()];
        record[offset_of!(Record, pc)..][..8].copy_from_slice(&0x1000u64.to_le_bytes());
        record[offset_of!(Record, module)..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
        record[offset_of!(Record, instructions)] = 2;
        record[offset_of!(Record, kind)] = KIND_BLOCK as u8;
        file.0.push((RECORDS, record));
        field(&mut file, offset_of!(Control, descriptors), 5);
        let descriptor = [
            0,
            End::Branch as u32 | 1 << 8 | 4 << 16,
            0x1000,
            0,
            Operation::Store as u32 | 8 << 16,
        ];
        let descriptor = descriptor.iter().flat_map(|word| word.to_le_bytes());
        file.0.push((DESCRIPTORS, descriptor.collect()));
        field(&mut file, offset_of!(Control, bursts), 1);
        let mut burst = vec![0; size_of::<BurstRecord>()];
        burst[0] = BURST_COMPLETE as u8;
        burst[offset_of!(BurstRecord, words)] = 8;
        burst[offset_of!(BurstRecord, end_pc)..][..8].copy_from_slice(&0x1006u64.to_le_bytes());
        file.0.push((BURSTS, burst));
        words(&mut file, DATA, &[0, 0x8000, 1, 2, 0, 0x8008, 3, 3]);
        file
    }

    fn seen(file: &Sparse) -> Vec<Observed> {
        let found = BurstFile::read(file).expect("a good file");
        let seen = convert(&found, &[], 1);
        let events = seen.bursts.iter().flat_map(|burst| &burst.events);
        events.map(|event| event.what).collect()
    }

    #[test]
    fn words_become_events_in_the_order_of_execution() {
        let store = |address, before, value| Observed::Store {
            address,
            size: 8,
            before,
            value,
            reads: false,
        };
        let block = Observed::Block { instructions: 2 };
        assert_eq!(
            seen(&file()),
            [
                block,
                store(0x8000, 1, 2),
                Observed::Branch { taken: true },
                block,
                store(0x8008, 3, 3),
                Observed::Branch { taken: false },
            ]
        );
    }

    #[test]
    fn a_burst_that_is_not_complete_is_not_read() {
        let mut file = file();
        file.0.push((BURSTS, vec![0]));
        assert_eq!(seen(&file), []);
    }

    #[test]
    fn a_burst_ends_before_invalid_words() {
        let mut file = file();
        words(&mut file, DATA + 32, &[77]);
        assert_eq!(seen(&file).len(), 2 + 1);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(
            fields in prop::collection::vec(0u32..40, 5),
            lengths in prop::collection::vec(any::<u8>(), 0..40),
            records in prop::collection::vec(any::<u8>(), 0..128),
            descriptors in prop::collection::vec(0u32..9, 0..40),
            bursts in prop::collection::vec(any::<u8>(), 0..128),
            data in prop::collection::vec(prop_oneof![0u64..12, any::<u64>()], 0..40),
            maps in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut file = file();
            let offsets = [
                offset_of!(Control, records), offset_of!(Control, lengths),
                offset_of!(Control, descriptors), offset_of!(Control, bursts),
                offset_of!(Control, maps),
            ];
            for (offset, value) in offsets.into_iter().zip(fields) {
                field(&mut file, offset, value);
            }
            file.0.push((LENGTHS, lengths));
            file.0.push((RECORDS, records));
            let descriptors = descriptors.iter().flat_map(|word| word.to_le_bytes());
            file.0.push((DESCRIPTORS, descriptors.collect()));
            file.0.push((BURSTS, bursts));
            file.0.push((MAPS, maps));
            words(&mut file, DATA, &data);
            if let Ok(found) = BurstFile::read(&file) {
                let _ = convert(&found, &[], 1);
            }
        }
    }
}
