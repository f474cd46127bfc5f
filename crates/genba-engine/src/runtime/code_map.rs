//! What is known of the program's code: executable memory, translated blocks, their counters.

use alloc::vec;
use alloc::vec::Vec;

use crate::address_map::AddressMap;
use crate::address_ranges::AddressRanges;
use crate::basic_block::Block;
use crate::count_file_layout::{
    CodeRange, KIND_BLOCK, KIND_TRANSFER, ModuleRecord, Record, TRANSFERS_ALL, TRANSFERS_NONE,
    TRANSFERS_WITHIN, path_hash,
};
use crate::fragment::{BuildContext, Error};
use crate::liveness::ProgramCode;
use crate::proc_maps;
use crate::raw_syscall;

use super::count_file::CountFile;

/// Pages without code that are remembered.
const MAX_ABSENT_PAGES: usize = 32;

/// No exit, no block.
pub const NONE: u32 = u32::MAX;

/// Executable memory from which code was translated.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// After the last.
    pub end: u64,
    /// Index of its module.
    pub module: u32,
    /// The program can write to it.
    pub writable: bool,
}

/// A translated block.
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo {
    /// Address in the program.
    pub pc: u64,
    /// Address in the cache.
    pub code: u64,
    /// Its counter.
    pub counter: u32,
    /// Index of the lengths of its instructions.
    pub lengths: u32,
    /// The first of the linked exits that lead here.
    pub incoming: u32,
    /// Number of instructions.
    pub instructions: u16,
}

/// From where to where a fragment's code is in the program.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its lowest address.
    pub start: u64,
    /// After its highest.
    pub end: u64,
    /// Number of the fragment.
    pub fragment: u32,
}

/// What is known.
pub struct CodeMap {
    /// The file of counts.
    pub shared: CountFile,
    /// Executable memory.
    pub regions: Vec<Region>,
    /// Pages that were found not to be executable since memory last changed.
    absent: Vec<u64>,
    /// Another process changes this memory unseen: what is absent may appear.
    pub changes_unseen: bool,
    /// Memory that code was translated from, whatever has become of its region.
    pub translated: AddressRanges,
    /// All blocks ever translated.
    pub blocks: Vec<BlockInfo>,
    /// Fragments in use, as far as [`Self::spanned`]: programs that make code change their memory
    /// again and again, and most of what was ever translated has nothing to do with that.
    pub spans: Vec<Span>,
    /// How many of the fragments have been looked at for that.
    pub spanned: usize,
    /// Those that are valid, by address.
    pub by_pc: AddressMap<u32>,
    /// Calls by the address that they return to.
    pub calls: AddressMap<u64>,
    /// Landing pads by address.
    pub landing_pads: AddressMap<u64>,
    /// Landing pads for returns by address.
    pub returns: AddressMap<u64>,
    /// Lengths of a counter's instructions, between `counter` and `adopt`.
    pub lengths_of: Vec<(u32, u32)>,
    /// Address of the table of indirect branches.
    pub table: u32,
    /// Which jumps are recorded: one of the `TRANSFERS_` constants.
    pub transfers: u64,
    /// Where, for `TRANSFERS_WITHIN`: code ranges of files.
    wanted: Vec<CodeRange>,
    /// The same in memory, as far as it is known.
    code_ranges: Vec<(u64, u64)>,
    /// Where functions begin, as far as calls and jumps have said.
    entries: AddressMap<u8>,
    /// Numbers of indirect jumps whose targets are recorded.
    pub sites: AddressMap<u32>,
    /// Their addresses.
    pub site_pcs: Vec<u64>,
}

/// What a region turned out to be.
pub enum CodeLookup {
    /// Code.
    Code(Region),
    /// Nothing that can be executed.
    Nothing,
    /// The page of old system calls, which the kernel emulates.
    Vsyscall,
    /// Code that others may change without our notice.
    CountFile,
}

impl CodeMap {
    /// Nothing known yet.
    #[must_use]
    pub fn new(shared: CountFile, table: u32, transfers: u64) -> Self {
        Self {
            shared,
            regions: Vec::new(),
            absent: Vec::new(),
            changes_unseen: false,
            translated: AddressRanges::default(),
            blocks: Vec::new(),
            spans: Vec::new(),
            spanned: 0,
            by_pc: AddressMap::default(),
            calls: AddressMap::default(),
            landing_pads: AddressMap::default(),
            returns: AddressMap::default(),
            lengths_of: Vec::new(),
            table,
            transfers,
            wanted: shared.code_ranges(),
            code_ranges: Vec::new(),
            entries: AddressMap::default(),
            sites: AddressMap::default(),
            site_pcs: Vec::new(),
        }
    }

    /// The known region that an address is in.
    #[must_use]
    pub fn region(&self, pc: u64) -> Option<&Region> {
        let mut regions = self.regions.iter();
        regions.find(|region| region.start <= pc && pc < region.end)
    }

    /// Finds out about an address, from the kernel if need be.
    pub fn find(&mut self, pc: u64) -> CodeLookup {
        if let Some(region) = self.region(pc) {
            return CodeLookup::Code(*region);
        }
        // A thread that is interrupted where there is no code comes here again after every handler:
        // if that took longer than a timer's interval, it would never get to its fault.
        if self.absent.contains(&(pc & !4095)) {
            return CodeLookup::Nothing;
        }
        let maps = read_maps();
        let Some(mapping) = proc_maps::find(&maps, pc).filter(|mapping| mapping.executable) else {
            self.note_absent(pc);
            return CodeLookup::Nothing;
        };
        if mapping.path == b"[vsyscall]" {
            return CodeLookup::Vsyscall;
        }
        // A file in memory is written to through its descriptor.
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
            super::fatal("there are more pieces of executable memory than the engine has room for");
        };
        let region = Region {
            start: mapping.start,
            end: mapping.end,
            module,
            writable: mapping.writable,
        };
        self.place_code_ranges(region, mapping.offset, path_hash(mapping.path));
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

    /// What is known of memory in a range is no longer true.
    pub fn forget_region(&mut self, start: u64, end: u64) {
        let touches = |region: &Region| region.start < end && start < region.end;
        self.regions.retain(|region| !touches(region));
        self.absent.clear();
    }

    /// Where the code ranges of a file are in a new region that begins at this offset of it.
    fn place_code_ranges(&mut self, region: Region, offset: u64, path: u64) {
        if self.wanted.is_empty() {
            return;
        }
        // What was there before is gone.
        let gone = |&(begin, end): &(u64, u64)| begin < region.end && region.start < end;
        self.code_ranges.retain(|range| !gone(range));
        let size = region.end - region.start;
        for range in self.wanted.iter().filter(|range| range.path == path) {
            let begin = range.begin.saturating_sub(offset).min(size);
            let end = range.end.saturating_sub(offset).min(size);
            if begin < end {
                let place = (region.start + begin, region.start + end);
                self.code_ranges.push(place);
            }
        }
        self.code_ranges.sort_unstable();
        // Those that overlap become one.
        self.code_ranges.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
    }

    /// Whether a jump is recorded because of where it is. Calls of other modules are everywhere:
    /// without them no chain of callers would be whole.
    fn within(&self, from: u64, to: Option<u64>) -> bool {
        self.in_code_range(from) || (to.is_none() && between_modules(self.bytes(from)))
    }

    fn in_code_range(&self, pc: u64) -> bool {
        let after = self.code_ranges.partition_point(|range| range.0 <= pc);
        let before = after.checked_sub(1).and_then(|at| self.code_ranges.get(at));
        before.is_some_and(|range| pc < range.1)
    }

    /// A new counter for something that goes from one place to another.
    ///
    /// # Errors
    /// When there are no more.
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
        let full = Error::Full("it has more code than the engine has room for");
        self.shared.record(record).ok_or(full)
    }

    /// Path of the module of an address.
    #[must_use]
    pub fn path(&self, pc: u64) -> Vec<u8> {
        let maps = read_maps();
        proc_maps::find(&maps, pc).map_or(Vec::new(), |mapping| mapping.path.to_vec())
    }

    /// The block at an address.
    #[must_use]
    pub fn block(&self, pc: u64) -> Option<u32> {
        self.by_pc.get(pc)
    }
}

impl ProgramCode for CodeMap {
    fn bytes(&self, pc: u64) -> &[u8] {
        match self.region(pc) {
            // SAFETY: executable, so readable, until the program unmaps it, which we see.
            Some(region) => unsafe {
                core::slice::from_raw_parts(pc as *const u8, (region.end - pc) as usize)
            },
            None => &[],
        }
    }
}

impl BuildContext for CodeMap {
    fn known(&self, pc: u64) -> Option<u64> {
        let index = self.by_pc.get(pc)?;
        self.blocks.get(index as usize).map(|block| block.code)
    }

    fn call_site(&self, returns_to: u64) -> Option<u64> {
        self.calls.get(returns_to)
    }

    fn counter(&mut self, block: &Block, copy: bool) -> Result<u32, Error> {
        let full = Error::Full("it has more code than the engine has room for");
        let lengths: Vec<u8> = block
            .instructions
            .iter()
            .map(|instruction| instruction.len() as u8)
            .collect();
        let at = self.shared.lengths(&lengths).ok_or(full)?;
        let module = self.region(block.pc).map_or(NONE, |region| region.module);
        let number = self
            .shared
            .record(Record {
                pc: block.pc,
                to: if copy { block.pc } else { 0 },
                lengths: at,
                module,
                to_module: NONE,
                instructions: lengths.len() as u16,
                kind: KIND_BLOCK,
            })
            .ok_or(full)?;
        self.lengths_of.push((number, at));
        Ok(number)
    }

    fn records(&self, from: u64, to: Option<u64>) -> bool {
        match self.transfers {
            TRANSFERS_NONE => false,
            TRANSFERS_ALL => true,
            within => {
                let back = |to: u64| to <= from && self.entries.get(to).is_some();
                (within == TRANSFERS_WITHIN && self.within(from, to)) || to.is_some_and(back)
            }
        }
    }

    fn enters(&mut self, pc: u64) {
        if self.transfers != TRANSFERS_NONE && self.transfers != TRANSFERS_ALL {
            self.entries.insert(pc, 1);
        }
    }

    fn transfer(&mut self, from: u64, to: u64) -> Result<u32, Error> {
        self.recorded(KIND_TRANSFER, from, to)
    }

    fn site(&mut self, from: u64) -> u32 {
        if let Some(site) = self.sites.get(from) {
            return site;
        }
        let site = self.site_pcs.len() as u32;
        self.site_pcs.push(from);
        self.sites.insert(from, site);
        site
    }

    fn table(&self) -> u32 {
        self.table
    }
}

/// Whether an indirect jump or call goes through a slot relative to itself, as a PLT stub's does
/// or a call without one; or through r11, as ld.so's to what it has bound.
fn between_modules(code: &[u8]) -> bool {
    let bare = code.strip_prefix(&[0xF2]).unwrap_or(code);
    let forms: [&[u8]; 3] = [&[0xFF, 0x25], &[0xFF, 0x15], &[0x41, 0xFF, 0xE3]];
    forms.iter().any(|form| bare.starts_with(form))
}

/// All of `/proc/self/maps`.
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
