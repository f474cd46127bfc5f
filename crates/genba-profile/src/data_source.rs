//! Where the data of a sampled load or store came from: `union perf_mem_data_src` of the kernel's
//! `include/uapi/linux/perf_event.h`, decoded.

/// Data that a sampled instruction accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataAccess {
    /// Virtual address; 0 where the processor did not say.
    pub address: u64,
    /// The kernel's `data_src`, for [`DataSource::decode`].
    pub source: u64,
    /// Latency in core cycles as the processor reports it (Intel: of loads; AMD: of loads that miss L1d); 0 where it does
    /// not.
    pub latency: u32,
}

/// What was done with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A load.
    Load,
    /// A store.
    Store,
    /// Another access: a prefetch, code, or not known.
    Other,
}

/// Where data was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataLevel {
    /// First-level cache.
    L1d,
    /// Not the first-level cache, and no more is known (stores of older processors).
    BeyondL1d,
    /// A line that was on its way into the first-level cache.
    FillBuffer,
    /// Second-level cache.
    L2,
    /// Third-level cache.
    L3,
    /// A fourth level, or a cache in front of the memory.
    L4,
    /// A cache of another socket or of another core's cluster.
    RemoteCache,
    /// Some cache: which is not known.
    AnyCache,
    /// This socket's memory.
    Memory,
    /// Memory of another socket.
    RemoteMemory,
    /// Persistent memory or memory behind CXL.
    ExtendedMemory,
    /// Devices and memory that is not cached.
    Uncached,
    /// The processor did not say.
    Unknown,
}

impl DataLevel {
    /// Name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L1d => "L1d",
            Self::BeyondL1d => "not L1d",
            Self::FillBuffer => "fill buffer",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::RemoteCache => "remote cache",
            Self::AnyCache => "a cache",
            Self::Memory => "memory",
            Self::RemoteMemory => "remote memory",
            Self::ExtendedMemory => "extended memory",
            Self::Uncached => "uncached",
            Self::Unknown => "unknown",
        }
    }
}

/// A decoded `perf_mem_data_src`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSource {
    /// Load or store.
    pub operation: Operation,
    /// Where the data was.
    pub level: DataLevel,
    /// Whether another core had modified the line (HITM).
    pub modified_elsewhere: bool,
    /// Whether the address was in no TLB, so that page tables were walked.
    pub page_walk: bool,
    /// Whether the instruction was locked.
    pub locked: bool,
}

/// The bits of a field.
fn field(value: u64, shift: u32, bits: u32) -> u64 {
    value >> shift & ((1 << bits) - 1)
}

impl DataSource {
    /// Decodes the kernel's `data_src`.
    #[must_use]
    pub fn decode(value: u64) -> Self {
        const LOAD: u64 = 0x02;
        const STORE: u64 = 0x04;
        const SNOOP_HITM: u64 = 0x10;
        const LOCKED: u64 = 0x02;
        const TLB_MISS: u64 = 0x04;
        let operation = field(value, 0, 5);
        Self {
            operation: match operation {
                op if op & LOAD != 0 => Operation::Load,
                op if op & STORE != 0 => Operation::Store,
                _ => Operation::Other,
            },
            level: level(value),
            modified_elsewhere: field(value, 19, 5) & SNOOP_HITM != 0,
            page_walk: field(value, 26, 7) & TLB_MISS != 0,
            locked: field(value, 24, 2) & LOCKED != 0,
        }
    }
}

/// The level: by `mem_lvl_num`, which newer kernels fill in, else by the bits of `mem_lvl`.
fn level(value: u64) -> DataLevel {
    let remote = field(value, 37, 1) != 0;
    let cache = |near| if remote { DataLevel::RemoteCache } else { near };
    match field(value, 33, 4) {
        0x1 => cache(DataLevel::L1d),
        0x2 | 0x5 => cache(DataLevel::L2),
        0x3 => cache(DataLevel::L3),
        0x4 | 0x6 => cache(DataLevel::L4),
        0x8 | 0xa => DataLevel::Uncached,
        0x9 | 0xe => DataLevel::ExtendedMemory,
        0xb => cache(DataLevel::AnyCache),
        0xc => DataLevel::FillBuffer,
        0xd if remote => DataLevel::RemoteMemory,
        0xd => DataLevel::Memory,
        _ => level_of_bits(field(value, 5, 14)),
    }
}

fn level_of_bits(bits: u64) -> DataLevel {
    const HIT: u64 = 0x02;
    const MISS: u64 = 0x04;
    let levels = [
        (0x08, DataLevel::L1d),
        (0x10, DataLevel::FillBuffer),
        (0x20, DataLevel::L2),
        (0x40, DataLevel::L3),
        (0x80, DataLevel::Memory),
        (0x100 | 0x200, DataLevel::RemoteMemory),
        (0x400 | 0x800, DataLevel::RemoteCache),
        (0x1000 | 0x2000, DataLevel::Uncached),
    ];
    let found = levels.iter().find(|(mask, _)| bits & mask != 0);
    match found {
        // A miss names the level that did not have the data.
        Some((_, DataLevel::L1d)) if bits & MISS != 0 && bits & HIT == 0 => DataLevel::BeyondL1d,
        Some((_, DataLevel::L3)) if bits & MISS != 0 && bits & HIT == 0 => DataLevel::Memory,
        Some((_, level)) => *level,
        None => DataLevel::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a value of the kernel's fields.
    fn value(op: u64, lvl: u64, snoop: u64, lock: u64, tlb: u64, number: u64, remote: u64) -> u64 {
        op | lvl << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37
    }

    #[test]
    fn levels_by_number_are_decoded() {
        for (number, remote, level) in [
            (0x1, 0, DataLevel::L1d),
            (0x2, 0, DataLevel::L2),
            (0x3, 0, DataLevel::L3),
            (0x3, 1, DataLevel::RemoteCache),
            (0xb, 1, DataLevel::RemoteCache),
            (0xc, 0, DataLevel::FillBuffer),
            (0xd, 0, DataLevel::Memory),
            (0xd, 1, DataLevel::RemoteMemory),
            (0xe, 0, DataLevel::ExtendedMemory),
            (0xa, 0, DataLevel::Uncached),
        ] {
            let source = DataSource::decode(value(2, 0, 0, 0, 0, number, remote));
            assert_eq!(
                (source.level, source.operation),
                (level, Operation::Load),
                "{number:#x}"
            );
        }
    }

    #[test]
    fn older_kernels_say_the_level_in_bits() {
        for (bits, level) in [
            (0x02 | 0x08, DataLevel::L1d),
            (0x04 | 0x08, DataLevel::BeyondL1d),
            (0x02 | 0x40, DataLevel::L3),
            (0x04 | 0x40, DataLevel::Memory),
            (0x02 | 0x100, DataLevel::RemoteMemory),
            (0x02 | 0x800, DataLevel::RemoteCache),
            (0x01, DataLevel::Unknown),
            (0, DataLevel::Unknown),
        ] {
            // 0xf: the number is not available.
            for number in [0, 0xf] {
                let source = DataSource::decode(value(4, bits, 0, 0, 0, number, 0));
                assert_eq!(
                    (source.level, source.operation),
                    (level, Operation::Store),
                    "{bits:#x}"
                );
            }
        }
    }

    #[test]
    fn snoop_lock_and_tlb_are_decoded() {
        // As Linux has it for a locked load from a modified line of another core, with a page walk:
        // OP_LOAD | LVL_HIT L3 | SNOOP_HITM | LOCK_LOCKED | TLB_MISS L2 | LVLNUM_L3.
        let source = DataSource::decode(value(2, 0x42, 0x10, 2, 0x14, 3, 0));
        assert!(source.modified_elsewhere && source.locked && source.page_walk);
        assert_eq!(source.level, DataLevel::L3);
        let plain = DataSource::decode(value(2, 0x0a, 2, 0, 0x1a, 1, 0));
        assert!(!plain.modified_elsewhere && !plain.locked && !plain.page_walk);
        // What the kernel writes where the event has no data (PERF_MEM_NA).
        let none = DataSource::decode(value(1, 1, 1, 1, 1, 0xf, 0));
        assert_eq!(
            (none.level, none.operation),
            (DataLevel::Unknown, Operation::Other)
        );
    }
}
