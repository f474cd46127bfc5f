//! Reads the count file. The target's process has written it, so it is not trusted: all of it is
//! checked against the fixed sizes of its tables, and invalid contents are an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use genba_engine::count_file_layout::{
    self, COUNTER_CAPACITY, COUNTERS, Control, LENGTHS, LENGTHS_CAPACITY, MAGIC, MODULE_CAPACITY,
    MODULES, NAMES, NAMES_CAPACITY, RECORDS, SLOT_CAPACITY, SLOT_SIZE, SLOT_THREAD, SLOT_VFORK,
    SLOTS, VERSION,
};

/// A mapping with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Path as mapped.
    pub path: Vec<u8>,
}

/// What a counter counted, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// One of the `KIND_` constants.
    pub kind: u16,
    /// Address of the first instruction in memory.
    pub pc: u64,
    /// Index of its module.
    pub module: Option<u32>,
    /// Target of the branch.
    pub to: u64,
    /// Index of the target's module.
    pub to_module: Option<u32>,
    /// Index of the first instruction's length in [`Counts::lengths`].
    lengths: u32,
    /// Number of instructions.
    instructions: u16,
    /// Value of the counter.
    pub count: u64,
}

/// All counts of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// One of the `STATUS_` constants.
    pub status: u32,
    /// Why the engine ended the process.
    pub detail: String,
    /// The mappings from which code was executed.
    pub modules: Vec<Module>,
    /// Lengths of the instructions of all blocks.
    lengths: Vec<u8>,
    /// Number of children and executed programs that could not be counted.
    pub uncounted: u32,
    /// Whether its memory is limited, but generously.
    pub limited: bool,
    /// Whether this is the file of a forked child that never counted into it.
    pub abandoned: bool,
    /// Counters that are not 0.
    pub counted: Vec<Counted>,
    /// If children are counted: children of `vfork` until they executed a program, by process id (0
    /// for several together).
    pub vfork_children: Vec<(i32, Vec<Counted>)>,
}

/// Most counters of children of `vfork` that are read.
const MAX_VFORK_COUNTERS: usize = 16 << 20;

/// Bytes of counters that are read at a time.
const READ_BYTES: usize = 64 << 10;

/// A source of bytes at offsets.
pub trait Source {
    /// Fills the buffer from an offset.
    ///
    /// # Errors
    /// If there are fewer bytes.
    fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Source for File {
    fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the count file is damaged: {what}"),
    )
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let part = bytes.get(at..at + 2).and_then(|part| part.try_into().ok());
    part.map_or(0, u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

/// Reads a table of `count` entries of `size` bytes each, if that is within its capacity.
pub(super) fn table(
    source: &impl Source,
    offset: u64,
    size: usize,
    count: u32,
    capacity: u32,
) -> io::Result<Vec<u8>> {
    if count > capacity {
        return Err(wrong("a table exceeds its capacity"));
    }
    let mut bytes = vec![0; size * count as usize];
    source.fill(&mut bytes, offset)?;
    Ok(bytes)
}

impl Counts {
    /// Reads the count file of a process that has ended.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid count file.
    pub fn read(source: &impl Source, children: bool) -> io::Result<Self> {
        let control = table(source, 0, size_of::<Control>(), 1, 1)?;
        let field = |offset| u32_at(&control, offset);
        if u64_at(&control, std::mem::offset_of!(Control, magic)) != MAGIC
            || field(std::mem::offset_of!(Control, version)) != VERSION
        {
            return Err(wrong("wrong version"));
        }
        let detail = std::mem::offset_of!(Control, detail);
        let length = field(std::mem::offset_of!(Control, detail_length)).min(512) as usize;
        let mut counts = Self {
            status: field(std::mem::offset_of!(Control, status)),
            detail: String::from_utf8_lossy(&control[detail..detail + length]).into_owned(),
            uncounted: field(std::mem::offset_of!(Control, uncounted)),
            limited: field(std::mem::offset_of!(Control, limited)) != 0,
            abandoned: field(std::mem::offset_of!(Control, pid)) == 0
                && field(std::mem::offset_of!(Control, records)) == 0,
            ..Self::default()
        };
        let names = field(std::mem::offset_of!(Control, names));
        let names = table(source, NAMES, 1, names, NAMES_CAPACITY)?;
        let lengths = field(std::mem::offset_of!(Control, lengths));
        counts.lengths = table(source, LENGTHS, 1, lengths, LENGTHS_CAPACITY)?;
        let modules = field(std::mem::offset_of!(Control, modules));
        counts.read_modules(source, modules, &names)?;
        let records = field(std::mem::offset_of!(Control, records));
        let slots = field(std::mem::offset_of!(Control, slots));
        let classes = &control[std::mem::offset_of!(Control, slot_class)..];
        let slots = ThreadSlots::new(records, slots, classes)?;
        let sums = slots.sums(source)?;
        const SIZE: usize = size_of::<count_file_layout::Record>();
        let bytes = table(source, RECORDS, SIZE, records, COUNTER_CAPACITY)?;
        counts.counted = counts.records(&bytes, &sums)?;
        let mut left = MAX_VFORK_COUNTERS;
        for slot in slots.of(SLOT_VFORK).take_while(|_| children) {
            let counted = counts.records(&bytes, &slots.read(source, slot)?)?;
            left = left.saturating_sub(counted.len());
            if counted.is_empty() {
                continue;
            }
            if left == 0 {
                return Err(wrong("too many counters"));
            }
            let pids = std::mem::offset_of!(Control, slot_pid) + slot as usize * 4;
            counts.vfork_children.push((field(pids) as i32, counted));
        }
        Ok(counts)
    }

    fn read_modules(&mut self, source: &impl Source, count: u32, names: &[u8]) -> io::Result<()> {
        const SIZE: usize = size_of::<count_file_layout::ModuleRecord>();
        use count_file_layout::ModuleRecord as Record;
        let bytes = table(source, MODULES, SIZE, count, MODULE_CAPACITY)?;
        for record in bytes.chunks_exact(SIZE) {
            let name = u32_at(record, std::mem::offset_of!(Record, name)) as usize;
            let length = u32_at(record, std::mem::offset_of!(Record, name_length)) as usize;
            let path = names.get(name..name.saturating_add(length));
            self.modules.push(Module {
                start: u64_at(record, std::mem::offset_of!(Record, start)),
                end: u64_at(record, std::mem::offset_of!(Record, end)),
                offset: u64_at(record, std::mem::offset_of!(Record, offset)),
                path: path.ok_or_else(|| wrong("a path is missing"))?.to_vec(),
            });
        }
        Ok(())
    }

    /// Returns the lengths of the instructions that a counter counted.
    #[must_use]
    pub fn lengths_of(&self, counted: &Counted) -> &[u8] {
        let from = counted.lengths as usize;
        let part = self
            .lengths
            .get(from..from + usize::from(counted.instructions));
        part.unwrap_or_default()
    }

    /// Returns the counters that are not 0.
    fn records(&self, bytes: &[u8], sums: &[u64]) -> io::Result<Vec<Counted>> {
        use count_file_layout::Record;
        let mut counted = Vec::with_capacity(sums.iter().filter(|&&sum| sum != 0).count());
        for (record, &count) in bytes.chunks_exact(size_of::<Record>()).zip(sums) {
            if count == 0 {
                continue;
            }
            let lengths = u32_at(record, std::mem::offset_of!(Record, lengths));
            let instructions = u16_at(record, std::mem::offset_of!(Record, instructions));
            if lengths as usize + usize::from(instructions) > self.lengths.len() {
                return Err(wrong("a length is missing"));
            }
            let module = |offset| {
                let index = u32_at(record, offset);
                ((index as usize) < self.modules.len()).then_some(index)
            };
            counted.push(Counted {
                kind: u16_at(record, std::mem::offset_of!(Record, kind)),
                pc: u64_at(record, std::mem::offset_of!(Record, pc)),
                module: module(std::mem::offset_of!(Record, module)),
                to: u64_at(record, std::mem::offset_of!(Record, to)),
                to_module: module(std::mem::offset_of!(Record, to_module)),
                lengths,
                instructions,
                count,
            });
        }
        Ok(counted)
    }
}

/// The thread slots.
struct ThreadSlots<'a> {
    records: u32,
    used: u32,
    classes: &'a [u8],
}

impl<'a> ThreadSlots<'a> {
    fn new(records: u32, used: u32, classes: &'a [u8]) -> io::Result<Self> {
        if records > COUNTER_CAPACITY || used > SLOT_CAPACITY {
            return Err(wrong("a table exceeds its capacity"));
        }
        Ok(Self {
            records,
            used,
            classes,
        })
    }

    /// Returns the slots of a class.
    fn of(&self, class: u8) -> impl Iterator<Item = u32> {
        (0..self.used).filter(move |slot| self.classes.get(*slot as usize) == Some(&class))
    }

    /// Reads the counters of a slot.
    fn read(&self, source: &impl Source, slot: u32) -> io::Result<Vec<u64>> {
        let mut counters = vec![0; self.records as usize];
        self.add(source, slot, &mut counters)?;
        Ok(counters)
    }

    /// Adds the counters of a slot to sums.
    fn add(&self, source: &impl Source, slot: u32, sums: &mut [u64]) -> io::Result<()> {
        let mut bytes = vec![0; READ_BYTES];
        let mut offset = SLOTS + u64::from(slot) * SLOT_SIZE + COUNTERS;
        for sums in sums.chunks_mut(READ_BYTES / 8) {
            let bytes = &mut bytes[..sums.len() * 8];
            source.fill(bytes, offset)?;
            for (sum, word) in sums.iter_mut().zip(bytes.chunks_exact(8)) {
                *sum = sum.wrapping_add(u64_at(word, 0));
            }
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Sums all counters over all threads of the process.
    fn sums(&self, source: &impl Source) -> io::Result<Vec<u64>> {
        let mut sums = vec![0u64; self.records as usize];
        for slot in self.of(SLOT_THREAD) {
            self.add(source, slot, &mut sums)?;
        }
        Ok(sums)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use genba_engine::count_file_layout::{KIND_BLOCK, STATUS_REFUSED};
    use proptest::prelude::*;
    use std::mem::offset_of;

    /// A sparse file: bytes at offsets, zero elsewhere, up to its size.
    #[derive(Default)]
    pub struct Sparse(pub Vec<(u64, Vec<u8>)>);

    impl Source for Sparse {
        fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            bytes.fill(0);
            for (at, part) in &self.0 {
                for (index, byte) in part.iter().enumerate() {
                    let place = (at + index as u64).checked_sub(offset);
                    let place = place.and_then(|place| usize::try_from(place).ok());
                    if let Some(to) = place.and_then(|place| bytes.get_mut(place)) {
                        *to = *byte;
                    }
                }
            }
            Ok(())
        }
    }

    pub fn field(file: &mut Sparse, offset: usize, value: u32) {
        file.0.push((offset as u64, value.to_le_bytes().to_vec()));
    }

    pub fn good() -> Sparse {
        let mut file = Sparse::default();
        file.0.push((0, MAGIC.to_le_bytes().to_vec()));
        field(&mut file, offset_of!(Control, version), VERSION);
        file
    }

    #[test]
    fn counters_of_threads_are_summed_and_vfork_children_are_separate() {
        let mut file = good();
        field(&mut file, offset_of!(Control, records), 1);
        field(&mut file, offset_of!(Control, lengths), 2);
        field(&mut file, offset_of!(Control, slots), 3);
        file.0
            .push((offset_of!(Control, slot_class) as u64, vec![1, 2, 1]));
        file.0.push((LENGTHS, vec![3, 1]));
        let mut record = vec![0; 32];
        record[..8].copy_from_slice(&0x1234u64.to_le_bytes());
        let at = offset_of!(count_file_layout::Record, instructions);
        record[at] = 2;
        record[offset_of!(count_file_layout::Record, kind)] = KIND_BLOCK as u8;
        file.0.push((RECORDS, record));
        for (slot, count) in [(0u64, 5u64), (1, 100), (2, 7)] {
            file.0.push((
                SLOTS + slot * SLOT_SIZE + COUNTERS,
                count.to_le_bytes().to_vec(),
            ));
        }
        field(&mut file, offset_of!(Control, slot_pid) + 4, 77);
        let counts = Counts::read(&file, true).expect("a good file");
        // The second slot is a vfork child's.
        assert_eq!(counts.vfork_children.len(), 1);
        assert_eq!(counts.vfork_children[0].0, 77);
        assert_eq!(counts.vfork_children[0].1[0].count, 100);
        let counts = Counts::read(&file, false).expect("a good file");
        assert!(counts.vfork_children.is_empty());
        assert_eq!(counts.counted.len(), 1);
        assert_eq!(counts.counted[0].count, 12);
        assert_eq!(counts.lengths_of(&counts.counted[0]), [3, 1]);
        assert_eq!(counts.counted[0].pc, 0x1234);
    }

    #[test]
    fn tables_beyond_their_capacity_are_refused() {
        assert!(Counts::read(&Sparse::default(), true).is_err());
        for offset in [
            offset_of!(Control, records),
            offset_of!(Control, modules),
            offset_of!(Control, names),
            offset_of!(Control, lengths),
            offset_of!(Control, slots),
        ] {
            let mut file = good();
            field(&mut file, offset, u32::MAX);
            assert!(Counts::read(&file, true).is_err(), "{offset}");
        }
        let mut file = good();
        field(&mut file, offset_of!(Control, status), STATUS_REFUSED);
        field(&mut file, offset_of!(Control, detail_length), u32::MAX);
        assert_eq!(
            Counts::read(&file, true).expect("cut").status,
            STATUS_REFUSED
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(
            control in prop::collection::vec(any::<u8>(), 0..64),
            counts in prop::collection::vec(0u32..40, 5),
            records in prop::collection::vec(any::<u8>(), 0..1280),
            modules in prop::collection::vec(any::<u8>(), 0..512),
            counters in prop::collection::vec(any::<u8>(), 0..320),
        ) {
            let mut file = Sparse(vec![(16, control)]);
            file.0.extend(good().0);
            let offsets = [
                offset_of!(Control, records), offset_of!(Control, modules),
                offset_of!(Control, names), offset_of!(Control, lengths),
                offset_of!(Control, slots),
            ];
            for (offset, count) in offsets.into_iter().zip(counts) {
                field(&mut file, offset, count);
            }
            file.0.push((offset_of!(Control, slot_class) as u64, [1, 2].repeat(20)));
            file.0.push((RECORDS, records));
            file.0.push((MODULES, modules));
            file.0.push((SLOTS + COUNTERS, counters));
            if let Ok(counts) = Counts::read(&file, true) {
                let _ = crate::native::counters_to_executions::convert(&counts, &crate::Transfers::Everywhere);
            }
        }
    }
}
