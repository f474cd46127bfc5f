//! What the engine knows of the program's code: executable memory, translated blocks, landing pads,
//! counters.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use crate::address_map::AddressMap;
use crate::address_ranges::AddressRanges;
use crate::count_file_layout::{CodeRange, ModuleRecord, Record, path_hash};
use crate::fragment::Error;
use crate::liveness::ProgramCode as _;
use crate::proc_maps;
use crate::raw_syscall;

use super::block_index::BlockIndex;
use super::count_file::CountFile;
use super::duet::Duet;
use super::writable_code::WritableCode;

/// Maximum number of pages without code that are remembered.
const MAX_ABSENT_PAGES: usize = 32;

/// Stands for no exit and no block.
pub const NONE: u32 = u32::MAX;

/// Executable memory from which code was translated.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Index of its module.
    pub module: u32,
    /// Whether the program can write to it.
    pub writable: bool,
}

/// A translated block.
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo {
    /// Address in the program.
    pub pc: u64,
    /// Address in the code cache.
    pub code: u64,
    /// Target of the direct branch that ends it; 0 for none.
    pub target: u64,
    /// Number of its counter.
    pub counter: u32,
    /// The first of the linked exits that lead to it.
    pub incoming: u32,
}

// Large programs have a million.
const _: () = assert!(size_of::<BlockInfo>() == 32);

/// The range of program code that a fragment was translated from.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Lowest address.
    pub start: u64,
    /// Address after the highest.
    pub end: u64,
    /// Number of the fragment.
    pub fragment: u32,
}

/// What the engine knows of the program's code.
pub struct CodeMap {
    /// The count file.
    pub shared: CountFile,
    /// Executable memory that has been looked up.
    pub regions: Vec<Region>,
    /// Index of the region that was found last; there may be another now.
    last_region: Cell<usize>,
    /// Pages that were found not to be executable since the memory map last changed.
    absent: Vec<u64>,
    /// Whether another process changes this memory unseen, so that absent pages may appear.
    pub changes_unseen: bool,
    /// Memory that code was translated from, even if its region was forgotten since.
    pub translated: AddressRanges,
    /// All blocks ever translated, by number.
    pub blocks: Vec<BlockInfo>,
    /// Fragments in use, among the first [`Self::spanned`]. Programs that generate code change
    /// their memory again and again, and most fragments have nothing to do with that.
    pub spans: Vec<Span>,
    /// Number of fragments that have been considered for [`Self::spans`].
    pub spanned: usize,
    /// Numbers of the valid blocks, by program address, and the exits that wait for others.
    pub by_pc: BlockIndex,
    /// Numbers of the valid blocks that record bursts, by program address.
    pub observing: AddressMap<u32>,
    /// Calls in the code cache, by the program address that they return to.
    pub calls: AddressMap<u64>,
    /// Landing pads for jumps and calls, by program address.
    pub landing_pads: AddressMap<u64>,
    /// Landing pads for returns, by program address.
    pub returns: AddressMap<u64>,
    /// Counters whose block is not adopted yet.
    pub new_counters: Vec<u32>,
    /// Address of the table of indirect branches.
    pub table: u32,
    /// Which jumps are recorded: one of the `TRANSFERS_` constants.
    pub transfers: u64,
    /// For `TRANSFERS_WITHIN`: the ranges of files in which jumps are recorded.
    file_ranges: Vec<CodeRange>,
    /// The parts of these ranges that are mapped, in order.
    code_ranges: Vec<(u64, u64)>,
    /// Addresses at which functions begin, as far as calls and jumps show.
    pub(super) entries: AddressMap<u8>,
    /// Numbers of indirect jumps whose targets are recorded.
    pub sites: AddressMap<u32>,
    /// Addresses of these jumps, by number.
    pub site_pcs: Vec<u64>,
    /// Code that the program can write to.
    pub writable_code: WritableCode,
    /// Edits, and blocks that are laid down twice.
    pub duet: Duet,
}

/// What is at an address.
pub enum CodeLookup {
    /// Code.
    Code(Region),
    /// Nothing executable.
    Nothing,
    /// The vsyscall page, which the kernel emulates.
    Vsyscall,
    /// Code that others may change without the engine seeing it.
    CountFile,
}

impl CodeMap {
    /// Returns a map of nothing.
    #[must_use]
    pub fn new(shared: CountFile, table: u32, transfers: u64, duet: Duet) -> Self {
        Self {
            shared,
            regions: Vec::new(),
            last_region: Cell::new(0),
            absent: Vec::new(),
            changes_unseen: false,
            translated: AddressRanges::default(),
            blocks: Vec::new(),
            spans: Vec::new(),
            spanned: 0,
            by_pc: BlockIndex::default(),
            observing: AddressMap::default(),
            calls: AddressMap::default(),
            landing_pads: AddressMap::default(),
            returns: AddressMap::default(),
            new_counters: Vec::new(),
            table,
            transfers,
            file_ranges: shared.code_ranges(),
            code_ranges: Vec::new(),
            entries: AddressMap::default(),
            sites: AddressMap::default(),
            site_pcs: Vec::new(),
            writable_code: WritableCode::default(),
            duet,
        }
    }

    /// Returns the known region that contains an address.
    #[must_use]
    pub fn region(&self, pc: u64) -> Option<&Region> {
        let holds = |region: &&Region| region.start <= pc && pc < region.end;
        let last = self.regions.get(self.last_region.get()).filter(holds);
        last.or_else(|| {
            let index = self.regions.iter().position(|region| holds(&region))?;
            self.last_region.set(index);
            self.regions.get(index)
        })
    }

    /// Looks an address up, in `/proc/self/maps` if it is in no known region.
    pub fn find(&mut self, pc: u64) -> CodeLookup {
        if let Some(region) = self.region(pc) {
            return CodeLookup::Code(*region);
        }
        // A thread that is interrupted where there is no code comes here again after every handler.
        // If that took longer than a timer's interval, the thread would never reach its fault.
        if self.absent.contains(&(pc & !4095)) {
            return CodeLookup::Nothing;
        }
        let maps = read_maps();
        let protected = self.writable_code.pages.borrow().protected_ranges();
        let mapping = proc_maps::find_unprotected(&maps, pc, &protected);
        let Some(mapping) = mapping.filter(|mapping| mapping.executable) else {
            self.note_absent(pc);
            return CodeLookup::Nothing;
        };
        if mapping.path == b"[vsyscall]" {
            return CodeLookup::Vsyscall;
        }
        // A memfd can be written to through its descriptor.
        let in_memory = mapping.path.starts_with(b"/memfd:");
        if in_memory || (mapping.shared && mapping.inode != 0) {
            return CodeLookup::CountFile;
        }
        let record = ModuleRecord {
            start: mapping.start,
            end: mapping.end,
            offset: mapping.offset,
            inode: mapping.inode,
            ..ModuleRecord::default()
        };
        let Some(module) = self.shared.module(record, mapping.path) else {
            super::fatal("there are more executable mappings than the count file has room for");
        };
        let region = Region {
            start: mapping.start,
            end: mapping.end,
            module,
            writable: mapping.writable,
        };
        let path = path_hash(mapping.path);
        self.place_code_ranges(region, mapping.offset, path);
        self.duet
            .place_edits(region.start, region.end, mapping.offset, path);
        self.regions.push(region);
        self.translated.add(region.start, region.end);
        CodeLookup::Code(region)
    }

    fn note_absent(&mut self, pc: u64) {
        if self.changes_unseen {
            return;
        }
        if self.absent.len() == MAX_ABSENT_PAGES {
            self.absent.clear();
        }
        self.absent.push(pc & !4095);
    }

    /// Forgets what is known of memory in a range.
    pub fn forget_region(&mut self, start: u64, end: u64) {
        let touches = |region: &Region| region.start < end && start < region.end;
        self.regions.retain(|region| !touches(region));
        self.absent.clear();
    }

    /// Places the ranges in which jumps are recorded in a new region, which begins at `offset` of
    /// its file.
    fn place_code_ranges(&mut self, region: Region, offset: u64, path: u64) {
        if self.file_ranges.is_empty() {
            return;
        }
        // Ranges of an earlier mapping at these addresses are gone.
        let gone = |&(begin, end): &(u64, u64)| begin < region.end && region.start < end;
        self.code_ranges.retain(|range| !gone(range));
        let size = region.end - region.start;
        for range in self.file_ranges.iter().filter(|range| range.path == path) {
            let begin = range.begin.saturating_sub(offset).min(size);
            let end = range.end.saturating_sub(offset).min(size);
            if begin < end {
                let place = (region.start + begin, region.start + end);
                self.code_ranges.push(place);
            }
        }
        self.code_ranges.sort_unstable();
        // Overlapping ranges are merged.
        self.code_ranges.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
    }

    /// Whether a jump is recorded because of its place. Calls between modules are recorded
    /// everywhere: without them call chains would have gaps.
    pub(super) fn within(&self, from: u64, to: Option<u64>) -> bool {
        self.in_code_range(from) || (to.is_none() && between_modules(self.bytes(from)))
    }

    fn in_code_range(&self, pc: u64) -> bool {
        let after = self.code_ranges.partition_point(|range| range.0 <= pc);
        let before = after.checked_sub(1).and_then(|at| self.code_ranges.get(at));
        before.is_some_and(|range| pc < range.1)
    }

    /// Allocates a counter for a transfer from one address to another.
    ///
    /// # Errors
    /// If there are no counters left.
    pub fn recorded(&mut self, kind: u16, from: u64, to: u64) -> Result<u32, Error> {
        let module = |code_map: &Self, pc| code_map.region(pc).map_or(NONE, |region| region.module);
        let record = Record {
            pc: from,
            to,
            lengths: 0,
            module: module(self, from),
            to_module: module(self, to),
            instructions: 0,
            kind,
        };
        let full = Error::Full("it has more code than the count file has room for");
        self.shared.record(record).ok_or(full)
    }

    /// Returns the path of the mapping that contains an address.
    #[must_use]
    pub fn path(&self, pc: u64) -> Vec<u8> {
        let maps = read_maps();
        proc_maps::find(&maps, pc).map_or(Vec::new(), |mapping| mapping.path.to_vec())
    }

    /// Returns the lengths of a block's instructions.
    #[must_use]
    pub fn lengths(&self, block: &BlockInfo) -> &'static [u8] {
        self.shared
            .read_record(block.counter)
            .map_or(&[], |record| {
                let count = usize::from(record.instructions);
                self.shared.read_lengths(record.lengths, count)
            })
    }

    /// Returns the number of the valid block at an address.
    #[must_use]
    pub fn block(&self, pc: u64) -> Option<u32> {
        self.by_pc.block(pc)
    }
}

/// Whether an indirect branch is one between modules: through a slot relative to rip, as in a PLT
/// stub or a call without one, or through r11, by which ld.so enters a function that it has bound.
fn between_modules(code: &[u8]) -> bool {
    let bare = code.strip_prefix(&[0xF2]).unwrap_or(code);
    let forms: [&[u8]; 3] = [&[0xFF, 0x25], &[0xFF, 0x15], &[0x41, 0xFF, 0xE3]];
    forms.iter().any(|form| bare.starts_with(form))
}

/// Reads all of `/proc/self/maps`.
#[must_use]
pub fn read_maps() -> Vec<u8> {
    let mut text = vec![0u8; 64 << 10];
    let mut used = 0;
    // SAFETY: reads into the vector's memory, within its length.
    unsafe {
        let path = c"/proc/self/maps".as_ptr() as usize;
        // O_RDONLY | O_CLOEXEC
        let fd = raw_syscall::call(raw_syscall::nr::OPEN, [path, 0o2_000_000, 0, 0, 0, 0]);
        if fd < 0 {
            super::refuse("it cannot read /proc/self/maps");
        }
        loop {
            if used == text.len() {
                text.resize(used * 2, 0);
            }
            let to = text.as_mut_ptr() as usize + used;
            let read = raw_syscall::call(
                raw_syscall::nr::READ,
                [fd as usize, to, text.len() - used, 0, 0, 0],
            );
            if read <= 0 {
                break;
            }
            used += read as usize;
        }
        raw_syscall::call(raw_syscall::nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
    }
    text.truncate(used);
    text
}
