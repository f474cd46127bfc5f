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
use crate::perfdata::record::{self, Brief, Layout, QuickLayout, Raw, misc};

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
}

/// Samples of the same weight one after the other: clocks give all of them.
#[derive(Clone, Copy, Default)]
struct Run {
    samples: u64,
    weight: u64,
}

/// Addresses are told apart to so many bytes, as a power of two.
const GRAIN_BITS: u32 = 6;
/// Bits of the filter, as a power of two: 32 KiB, which stays in the fastest cache.
const FILTER_BITS: u32 = 18;
/// A range of more grains than this is not worth a filter.
const MAX_GRAINS: u64 = 1 << 16;

/// Bytes of samples gone over at a stretch.
const STRETCH: usize = 1 << 18;

/// A set of addresses that never denies one that was put in, and seldom claims another.
struct Filter {
    words: Vec<u64>,
    all: bool,
    /// Whether something was put in since that was last asked.
    changed: bool,
}

impl Filter {
    fn new() -> Self {
        Self {
            words: vec![0; 1 << (FILTER_BITS - 6)],
            all: false,
            changed: false,
        }
    }

    fn slot(grain: u64) -> (usize, u64) {
        let hash = grain.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS);
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn insert(&mut self, addresses: Range<u64>) {
        if addresses.is_empty() {
            return;
        }
        self.changed = true;
        let grains = addresses.start >> GRAIN_BITS..=(addresses.end - 1) >> GRAIN_BITS;
        if grains.end() - grains.start() > MAX_GRAINS {
            self.all = true;
            return;
        }
        for grain in grains {
            let (word, bit) = Self::slot(grain);
            self.words[word] |= bit;
        }
    }

    #[inline]
    fn may_hold(&self, address: u64) -> bool {
        let (word, bit) = Self::slot(address >> GRAIN_BITS);
        self.words[word] & bit != 0 || self.all
    }
}

/// A sample that no map known so far speaks for; one with an earlier time may yet be read.
struct Held {
    address: u64,
    time: u64,
    at: usize,
}

/// The samples held of a round.
#[derive(Default)]
struct HeldRound {
    held: Vec<Held>,
    /// What is not later than this has been decided upon.
    decided: Option<u64>,
}

impl HeldRound {
    /// Puts what the filter claims now into the queue.
    fn decide(&mut self, up_to: u64, filter: &Filter, queue: &mut Vec<(u64, usize)>) {
        let decided = self.decided;
        self.held.retain(|held| {
            if decided.is_some_and(|decided| held.time <= decided) {
                return false;
            }
            if filter.may_hold(held.address) {
                queue.push((held.time, held.at));
                return false;
            }
            held.time > up_to
        });
    }
}

/// See the module's text.
pub(super) struct Sieve<'w, 'd> {
    wanted: &'w mut Wanted<'d>,
    event: usize,
    build_ids: FastMap<u64, Vec<u8>>,
    filter: Filter,
    /// Of the last round and of this.
    held: [HeldRound; 2],
    /// The thread of the last sample.
    recent: Option<u64>,
    tally: Tally,
    run: Run,
    /// Samples whose fields end beyond them.
    pub(super) damaged: u64,
}

impl<'w, 'd> Sieve<'w, 'd> {
    pub(super) fn new(
        wanted: &'w mut Wanted<'d>,
        event: usize,
        build_ids: FastMap<u64, Vec<u8>>,
    ) -> Self {
        Self {
            wanted,
            event,
            build_ids,
            filter: Filter::new(),
            held: Default::default(),
            recent: None,
            tally: Tally::default(),
            run: Run::default(),
            damaged: 0,
        }
    }

    /// Counts a sample; whether it is let through at once.
    #[inline]
    pub(super) fn sample(
        &mut self,
        event: usize,
        layout: &Layout,
        body: &[u8],
        time: u64,
        at: usize,
    ) -> bool {
        if event != self.event {
            return false;
        }
        let Some(brief) = layout.brief(body) else {
            self.damaged += 1;
            return false;
        };
        self.take(&brief, time, at)
    }

    #[inline(always)]
    fn take(&mut self, brief: &Brief, time: u64, at: usize) -> bool {
        if brief.period == self.run.weight {
            self.run.samples += 1;
        } else {
            self.end_run(brief.period);
        }
        // A thread that no record announced becomes known by a sample.
        if self.recent != Some(brief.task) {
            self.recent = Some(brief.task);
            return true;
        }
        if self.filter.may_hold(brief.ip) {
            return true;
        }
        self.held[1].held.push(Held {
            address: brief.ip,
            time,
            at,
        });
        false
    }

    /// Goes over samples of the one event there is, up to a record that is none or that wants a
    /// closer look: gives its place and the newest time before it.
    pub(super) fn samples(
        &mut self,
        data: &[u8],
        mut at: usize,
        layout: &QuickLayout,
        queue: &mut Vec<(u64, usize)>,
    ) -> (usize, u64) {
        let mut newest = 0;
        // Now and then the caller tells how far it is.
        let limit = at.saturating_add(STRETCH);
        while at < limit
            && let Some(rest) = data.get(at..)
            && let Some((brief, time, size)) = layout.sample(rest)
        {
            newest = newest.max(time);
            if self.take(&brief, time, at) {
                queue.push((time, at));
            }
            at += size;
        }
        (at, newest)
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
            if !crate::perf_map::path_for(mmap.pid).exists() {
                return;
            }
            kind = ModuleKind::Jit;
        }
        let build_ids = &self.build_ids;
        let build_id = mmap
            .build_id
            .or_else(|| build_ids.get(&path_key(&mmap.path)).cloned());
        let module = Module {
            path: mmap.path,
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

    /// Begins another run with one sample.
    fn end_run(&mut self, weight: u64) {
        let begun = Run { samples: 1, weight };
        let run = std::mem::replace(&mut self.run, begun);
        self.tally.add(run.samples, run.weight);
    }

    /// All samples so far.
    pub(super) fn tally(&self) -> Tally {
        let mut tally = self.tally;
        tally.add(self.run.samples, self.run.weight);
        tally
    }

    /// Ends a round: what is later than `up_to` stays held, the rest is decided upon. Nothing of
    /// the round before this one is later.
    pub(super) fn end_round(&mut self, up_to: u64, queue: &mut Vec<(u64, usize)>) {
        // Seldom: most rounds have no new map, and what was denied would be denied again.
        if std::mem::take(&mut self.filter.changed) {
            for round in &mut self.held {
                round.decide(up_to, &self.filter, queue);
            }
        }
        self.held.swap(0, 1);
        self.held[0].decided = Some(up_to);
        self.held[1].held.clear();
        self.held[1].decided = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_filter_never_denies(
            ranges in prop::collection::vec((any::<u64>(), 0u64..10_000), 1..8),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0u64..10_000), 1..50),
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
    }
}
