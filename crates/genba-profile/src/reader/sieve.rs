//! Letting through the few samples that may be in some code; the others are only counted.
//!
//! To place a sample takes its process, the process's maps at that time, and a look-up. Who asks
//! about one function needs that for a few samples in a hundred. Which addresses may be in the
//! function is known from the maps alone, in whatever order: the sieve lets samples at these
//! addresses through, and a few too many, and the exact way decides about them.

use std::ops::Range;

use super::hash::FastMap;
use super::scan::{module_kind, path_key};
use super::tables::{Module, ModuleKind};
use crate::keep::Kept;
use crate::perfdata::record::{self, Raw, misc};

/// Answers which offsets of a module are wanted (see [`ModuleKind`] for what they count from).
/// It is asked once for each mapping.
pub type Wanted<'w> = dyn FnMut(&Module) -> Vec<Range<u64>> + 'w;

/// All samples of the event added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of samples.
    pub samples: u64,
    /// Sum of their weights; one that says zero counts as one.
    pub weight: u64,
    /// Sum of the squared weights.
    pub squares: u128,
}

impl Tally {
    /// Adds so many samples of one weight.
    pub fn add(&mut self, samples: u64, weight: u64) {
        let weight = weight.max(1);
        self.samples += samples;
        self.weight = self.weight.saturating_add(weight.saturating_mul(samples));
        let square = u128::from(weight) * u128::from(weight);
        let squares = square.saturating_mul(u128::from(samples));
        self.squares = self.squares.saturating_add(squares);
    }

    /// Adds what another one has.
    pub fn join(&mut self, other: &Self) {
        self.samples += other.samples;
        self.weight = self.weight.saturating_add(other.weight);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// Hashed addresses, told apart to a grain of some bytes.
struct Grid {
    words: Vec<u64>,
    /// Bytes of a grain, as a power of two.
    grain_bits: u32,
    /// Number of bits, as a power of two.
    size_bits: u32,
    used: bool,
}

impl Grid {
    fn new(grain_bits: u32, size_bits: u32) -> Self {
        Self {
            words: vec![0; 1 << (size_bits - 6)],
            grain_bits,
            size_bits,
            used: false,
        }
    }

    #[inline]
    fn slot(&self, grain: u64) -> (usize, u64) {
        let hash = grain.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.size_bits);
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn insert(&mut self, first: u64, last: u64) {
        self.used = true;
        for grain in first >> self.grain_bits..=last >> self.grain_bits {
            let (word, bit) = self.slot(grain);
            self.words[word] |= bit;
        }
    }

    #[inline]
    fn may_hold(&self, address: u64) -> bool {
        let (word, bit) = self.slot(address >> self.grain_bits);
        self.used && self.words[word] & bit != 0
    }
}

/// Functions up to so many bytes are told apart from their neighbours.
const SMALL: u64 = 8 << 10;
/// A range of more bytes than this is not worth a filter.
const MAX_RANGE: u64 = 1 << 28;

/// A set of addresses that never denies one that was put in, and seldom claims another, though
/// the function be mapped at hundreds of places.
struct Filter {
    /// In grains of 64 bytes; 128 KiB, which stay near.
    small: Grid,
    /// In pages.
    large: Grid,
    all: bool,
    /// Whether something was put in since that was last asked.
    changed: bool,
}

impl Filter {
    fn new() -> Self {
        Self {
            small: Grid::new(6, 20),
            large: Grid::new(12, 17),
            all: false,
            changed: false,
        }
    }

    fn insert(&mut self, addresses: Range<u64>) {
        if addresses.is_empty() {
            return;
        }
        self.changed = true;
        let (first, last) = (addresses.start, addresses.end - 1);
        match last - first {
            0..SMALL => self.small.insert(first, last),
            SMALL..MAX_RANGE => self.large.insert(first, last),
            _ => self.all = true,
        }
    }

    #[inline]
    fn may_hold(&self, address: u64) -> bool {
        self.small.may_hold(address) || self.large.may_hold(address) || self.all
    }
}

/// See the module's text.
pub(super) struct Sieve<'w, 'd> {
    wanted: &'w mut Wanted<'d>,
    build_ids: FastMap<u64, Vec<u8>>,
    kept: &'w Kept,
    /// Processes whose kept code was asked about.
    generated: FastMap<i32, ()>,
    filter: Filter,
    /// The thread of the last sample.
    recent: Option<u64>,
}

impl<'w, 'd> Sieve<'w, 'd> {
    pub(super) fn new(
        wanted: &'w mut Wanted<'d>,
        build_ids: FastMap<u64, Vec<u8>>,
        kept: &'w Kept,
    ) -> Self {
        Self {
            wanted,
            build_ids,
            kept,
            generated: FastMap::default(),
            filter: Filter::new(),
            recent: None,
        }
    }

    /// Whether a sample is let through at once.
    #[inline(always)]
    pub(super) fn lets(&mut self, task: u64, address: u64) -> bool {
        // A thread that no record announced becomes known by a sample.
        if self.recent != Some(task) {
            self.recent = Some(task);
            return true;
        }
        self.filter.may_hold(address)
    }

    /// Whether a sample that was held back is let through after all.
    pub(super) fn lets_now(&self, address: u64) -> bool {
        self.filter.may_hold(address)
    }

    /// Whether the answers may be others than before this was last asked.
    pub(super) fn changed(&mut self) -> bool {
        std::mem::take(&mut self.filter.changed)
    }

    /// Takes note of a record that is no sample.
    pub(super) fn other(&mut self, raw: &Raw<'_>) {
        if matches!(
            raw.kind,
            record::kind::COMM | record::kind::FORK | record::kind::EXIT
        ) {
            self.recent = None;
        }
        if matches!(raw.kind, record::kind::MMAP | record::kind::MMAP2)
            && let Some(mmap) = record::mmap(raw)
        {
            self.map(mmap, raw.misc);
        }
    }

    fn map(&mut self, mmap: record::MmapRecord, flags: u16) {
        let in_kernel = mmap.pid == -1 || flags & misc::CPUMODE == misc::KERNEL;
        if !mmap.executable || in_kernel {
            return;
        }
        let mut kind = module_kind(&mmap.path);
        if kind == ModuleKind::Anonymous {
            self.generated(mmap.pid);
            if !crate::perf_map::path_for(mmap.pid).exists() {
                return;
            }
            kind = ModuleKind::Jit;
        }
        let build_ids = &self.build_ids;
        let build_id = mmap
            .build_id
            .or_else(|| build_ids.get(&path_key(&mmap.path)).cloned());
        let copy = self.kept.copy_of(&mmap.path);
        let copy = copy.and_then(|path| path.to_str()).map(str::to_owned);
        let module = Module {
            path: copy.unwrap_or(mmap.path),
            build_id,
            kind,
            pid: (kind == ModuleKind::Jit).then_some(mmap.pid),
        };
        let end = mmap.start.saturating_add(mmap.len);
        // What is at `from` in the module is at `mmap.start` in memory.
        let from = match kind {
            ModuleKind::File => mmap.pgoff,
            ModuleKind::Vdso => 0,
            _ => mmap.start,
        };
        for range in (self.wanted)(&module) {
            let address = |offset: u64| {
                mmap.start
                    .saturating_add(offset.saturating_sub(from))
                    .min(end)
            };
            self.filter.insert(address(range.start)..address(range.end));
        }
    }

    /// Lets through all that kept code of this process wants, wherever it ever stood.
    fn generated(&mut self, pid: i32) {
        if self.generated.contains_key(&pid) {
            return;
        }
        let generated = self.kept.generated(pid);
        if let Some(generated) = &generated {
            let module = Module {
                path: generated.path.clone(),
                build_id: None,
                kind: ModuleKind::File,
                pid: None,
            };
            for range in (self.wanted)(&module) {
                for entry in &generated.entries {
                    let from = range.start.max(entry.offset);
                    let size = entry.end - entry.start;
                    let to = range.end.min(entry.offset.saturating_add(size));
                    let address = |offset: u64| entry.start.saturating_add(offset - entry.offset);
                    if from < to {
                        self.filter.insert(address(from)..address(to));
                    }
                }
            }
        }
        self.generated.insert(pid, ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_filter_never_denies(
            ranges in prop::collection::vec((any::<u64>(), 0u64..20_000), 1..8),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0u64..20_000), 1..50),
        ) {
            let mut filter = Filter::new();
            for &(start, len) in &ranges {
                filter.insert(start..start.saturating_add(len));
            }
            for (index, within) in picks {
                let (start, len) = ranges[index.index(ranges.len())];
                let end = start.saturating_add(len);
                let address = start.saturating_add(within);
                if address < end {
                    prop_assert!(filter.may_hold(address));
                }
            }
        }
    }

    #[test]
    fn a_filter_denies_most_others() {
        let mut filter = Filter::new();
        filter.insert(0x40_0000..0x40_1000);
        let claimed = (0x50_0000u64..0x60_0000)
            .step_by(64)
            .filter(|&address| filter.may_hold(address))
            .count();
        assert!(claimed < 50, "{claimed} of 16384");
        // The same large function in as many processes.
        for process in 0..600u64 {
            let start = 0x5500_0000_0000 + process * 0x12_3456_7000 + 0x5d0;
            filter.insert(start..start + 47_000);
        }
        let claimed = (0x50_0000u64..0x60_0000)
            .step_by(64)
            .filter(|&address| filter.may_hold(address))
            .count();
        assert!(claimed < 3000, "{claimed} of 16384");
        filter.insert(0..u64::MAX);
        assert!(filter.may_hold(0x50_0000));
    }

    #[test]
    fn a_tally_is_exact() {
        let mut tally = Tally::default();
        for weight in [0, 3, u64::MAX] {
            tally.add(1, weight);
        }
        tally.add(0, 5);
        assert_eq!(tally.samples, 3);
        assert_eq!(tally.weight, u64::MAX);
        let last = u128::from(u64::MAX);
        assert_eq!(tally.squares, 1 + 9 + last * last);
        let mut both = tally;
        both.join(&tally);
        assert_eq!((both.samples, both.weight), (6, u64::MAX));
        assert_eq!(both.squares, tally.squares.saturating_mul(2));
    }
}
