//! What is known of the program's code: executable memory, translated blocks, their counters.

use alloc::vec;
use alloc::vec::Vec;

use crate::block::Block;
use crate::fragment::{Error, World};
use crate::layout::{KIND_BLOCK, KIND_TRANSFER, ModuleRecord, Record};
use crate::liveness::Code;
use crate::maps;
use crate::pcmap::PcMap;
use crate::ranges::Ranges;
use crate::sys;

use super::shared::Shared;

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

/// What is known.
pub struct Book {
    /// The file of counts.
    pub shared: Shared,
    /// Executable memory.
    pub regions: Vec<Region>,
    /// Memory that code was translated from, whatever has become of its region.
    pub translated: Ranges,
    /// All blocks ever translated.
    pub blocks: Vec<BlockInfo>,
    /// Those that are valid, by address.
    pub by_pc: PcMap<u32>,
    /// Calls by the address that they return to.
    pub calls: PcMap<u64>,
    /// Landings by address.
    pub landings: PcMap<u64>,
    /// Lengths of a counter's instructions, between `counter` and `adopt`.
    pub lengths_of: Vec<(u32, u32)>,
    /// Address of the table of indirect branches.
    pub table: u32,
    /// Jumps are recorded.
    pub transfers: bool,
    /// Numbers of indirect jumps whose targets are recorded.
    pub sites: PcMap<u32>,
    /// Their addresses.
    pub site_pcs: Vec<u64>,
}

/// What a region turned out to be.
pub enum Found {
    /// Code.
    Code(Region),
    /// Nothing that can be executed.
    Nothing,
    /// The page of old system calls, which the kernel emulates.
    Vsyscall,
    /// Code that others may change without our notice.
    Shared,
}

impl Book {
    /// Nothing known yet.
    #[must_use]
    pub fn new(shared: Shared, table: u32, transfers: bool) -> Self {
        Self {
            shared,
            regions: Vec::new(),
            translated: Ranges::default(),
            blocks: Vec::new(),
            by_pc: PcMap::default(),
            calls: PcMap::default(),
            landings: PcMap::default(),
            lengths_of: Vec::new(),
            table,
            transfers,
            sites: PcMap::default(),
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
    pub fn find(&mut self, pc: u64) -> Found {
        if let Some(region) = self.region(pc) {
            return Found::Code(*region);
        }
        let maps = read_maps();
        let Some(mapping) = maps::find(&maps, pc).filter(|mapping| mapping.executable) else {
            return Found::Nothing;
        };
        if mapping.path == b"[vsyscall]" {
            return Found::Vsyscall;
        }
        // A file in memory is written to through its descriptor.
        let in_memory = mapping.path.starts_with(b"/memfd:");
        if in_memory || (mapping.shared && mapping.inode != 0) {
            return Found::Shared;
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
        self.regions.push(region);
        self.translated.add(region.start, region.end);
        Found::Code(region)
    }

    /// A new counter for something that goes from one place to another.
    ///
    /// # Errors
    /// When there are no more.
    pub fn recorded(&mut self, kind: u16, from: u64, to: u64) -> Result<u32, Error> {
        let module = |book: &Self, pc| book.region(pc).map_or(NONE, |region| region.module);
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
        maps::find(&maps, pc).map_or(Vec::new(), |mapping| mapping.path.to_vec())
    }

    /// The block at an address.
    #[must_use]
    pub fn block(&self, pc: u64) -> Option<u32> {
        self.by_pc.get(pc)
    }
}

impl Code for Book {
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

impl World for Book {
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
                to: if copy && self.transfers { block.pc } else { 0 },
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

    fn transfers(&self) -> bool {
        self.transfers
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

/// All of `/proc/self/maps`.
#[must_use]
pub fn read_maps() -> Vec<u8> {
    let mut text = vec![0u8; 64 << 10];
    let mut used = 0;
    // SAFETY: reads into the vector's memory, within its length.
    unsafe {
        let path = c"/proc/self/maps".as_ptr() as usize;
        // O_RDONLY | O_CLOEXEC
        let fd = sys::call(sys::nr::OPEN, [path, 0o2_000_000, 0, 0, 0, 0]);
        if fd < 0 {
            super::unable("it cannot read /proc/self/maps");
        }
        loop {
            if used == text.len() {
                text.resize(used * 2, 0);
            }
            let to = text.as_mut_ptr() as usize + used;
            let read = sys::call(sys::nr::READ, [fd as usize, to, text.len() - used, 0, 0, 0]);
            if read <= 0 {
                break;
            }
            used += read as usize;
        }
        sys::call(sys::nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
    }
    text.truncate(used);
    text
}
