//! Translating on demand, linking, and taking translations out of use.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use iced_x86::InstructionInfoFactory;

use crate::emit::Emitter;
use crate::fragment::{self, Error, Fragment, STUB_BYTES};
use crate::layout::{KIND_LESS, KIND_MORE, Record};
use crate::marks::{Mark, Marked};
use crate::pcmap::PcMap;
use crate::recover::{self, Aside, BlockView, Correction, View};
use crate::state::{self, EXIT_INDIRECT, State};
use crate::sys;

use super::book::{BlockInfo, Book, Found, NONE};
use super::cache::Cache;
use super::entry::{LOOKUP, TABLE, label};
use super::signal::Process;
use super::slots::Slots;
use super::transfers::Transfers;

/// An exit that has a displacement to be aimed.
#[derive(Clone, Copy)]
pub struct Exit {
    /// Address in the program; 0 for one that is no longer in use.
    pub target: u64,
    /// Address of the displacement.
    pub site: u64,
    /// Address of the stub; 0 for none.
    pub stub: u64,
    /// The next of those that lead to the same block.
    pub next: u32,
    /// It leads to a block, and is among those of it.
    pub linked: bool,
}

/// What is remembered of a fragment.
pub struct Placed {
    start: u64,
    size: u32,
    first_block: u32,
    blocks: u16,
    first_exit: u32,
    exits: u16,
    valid: bool,
    marks: Box<[Marked]>,
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the cache.
    Cache(u64),
    /// At the program's own place: it faults there.
    Native(u64),
}

impl Place {
    /// The address to jump to.
    #[must_use]
    pub fn address(self) -> u64 {
        match self {
            Self::Cache(address) | Self::Native(address) => address,
        }
    }
}

/// The engine of a process.
pub struct Engine {
    /// What is known of the program's code.
    pub book: Book,
    /// Threads.
    pub slots: Slots,
    /// Signal handlers, by the threads' index of their process.
    pub processes: Vec<Process>,
    /// Children are counted.
    pub children: bool,
    /// This process is counted, and what it executes will be.
    pub followed: bool,
    /// Counters of indirect jumps.
    pub transfers: Transfers,
    /// Jumps by which ld.so enters functions that it has bound.
    pub resolvers: PcMap<u8>,
    cache: Cache,
    factory: InstructionInfoFactory,
    fragments: Vec<Placed>,
    /// Numbers of fragments by zone.
    in_zone: Vec<Vec<u32>>,
    /// Numbers of the counters that correct others, by block, instruction and direction.
    corrections: PcMap<u32>,
    exits: Vec<Exit>,
    lookup_used: u64,
}

impl Engine {
    /// An engine with nothing translated.
    #[must_use]
    pub fn new(book: Book, slots: Slots, children: bool) -> Self {
        let none = Exit {
            target: 0,
            site: 0,
            stub: 0,
            next: NONE,
            linked: false,
        };
        let mut engine = Self {
            book,
            slots,
            processes: Vec::new(),
            children,
            followed: true,
            transfers: Transfers::default(),
            resolvers: PcMap::default(),
            cache: Cache::default(),
            factory: InstructionInfoFactory::new(),
            fragments: Vec::new(),
            in_zone: Vec::new(),
            corrections: PcMap::default(),
            // Number 0 means an indirect branch.
            exits: alloc::vec![none; EXIT_INDIRECT as usize + 1],
            lookup_used: 0,
        };
        engine.new_lookup(13);
        if engine.book.transfers {
            engine.transfers.grow();
        }
        engine
    }

    /// Where the program's `pc` is to be executed; translates it if need be.
    pub fn get(&mut self, pc: u64) -> Place {
        match self.book.block(pc) {
            Some(index) => Place::Cache(self.book.blocks[index as usize].code),
            None => self.translate(pc, false),
        }
    }

    fn translate(&mut self, pc: u64, landing: bool) -> Place {
        match self.book.find(pc) {
            Found::Code(region) if region.writable => {
                let path = self.book.path(pc);
                super::unable_at("it runs code that it makes at run time", pc, &path)
            }
            Found::Code(_) => {}
            Found::Nothing => return Place::Native(pc),
            Found::Vsyscall => super::unable("it uses the old vsyscall page"),
            Found::Shared => super::unable_at(
                "it runs code from memory that others can write to",
                pc,
                &self.book.path(pc),
            ),
        }
        let base = self.room(pc);
        let first_exit = self.exits.len() as u32;
        let (book, factory) = (&mut self.book, &mut self.factory);
        match fragment::build(book, factory, pc, landing, base, first_exit) {
            Ok(fragment) => self.adopt(fragment),
            Err(error) => self.refuse(error, pc),
        }
        match self.book.block(pc) {
            Some(index) => Place::Cache(self.book.blocks[index as usize].code),
            None => super::fatal("a translated block is not there"),
        }
    }

    fn room(&mut self, pc: u64) -> u64 {
        match self.cache.place(pc) {
            Some(base) => base,
            None => super::unable("there is no room for translations near its code"),
        }
    }

    fn refuse(&self, error: Error, pc: u64) -> ! {
        let (Error::Unable(reason) | Error::Full(reason)) = error;
        super::unable_at(reason, pc, &self.book.path(pc))
    }

    /// Puts a fragment into the cache and the books.
    fn adopt(&mut self, fragment: Fragment) {
        let base = fragment.emitter.base;
        let zone = self.cache.put(base, &fragment.emitter.code);
        let first_block = self.book.blocks.len() as u32;
        for new in &fragment.blocks {
            let lengths = self.book.lengths_of.iter();
            let lengths = lengths
                .rev()
                .find(|(counter, _)| *counter == new.counter)
                .map_or(0, |&(_, at)| at);
            let index = self.book.blocks.len() as u32;
            self.book.blocks.push(BlockInfo {
                pc: new.pc,
                code: base + u64::from(new.offset),
                counter: new.counter,
                lengths,
                incoming: NONE,
                instructions: new.instructions,
            });
            if !new.copy {
                self.book.by_pc.insert(new.pc, index);
            }
        }
        self.book.lengths_of.clear();
        for &(pc, offset) in &fragment.landings {
            self.book.landings.insert(pc, base + u64::from(offset));
        }
        for &(returns_to, offset) in &fragment.calls {
            self.book.calls.insert(returns_to, base + u64::from(offset));
        }
        let first_exit = self.exits.len() as u32;
        for new in &fragment.exits {
            let stub = match new.stub {
                0 => 0,
                stub => base + u64::from(stub),
            };
            self.exits.push(Exit {
                target: new.target,
                site: base + u64::from(new.site),
                stub,
                next: NONE,
                linked: false,
            });
        }
        for number in first_exit..self.exits.len() as u32 {
            let exit = self.exits[number as usize];
            if exit.stub == 0 {
                self.note_link(number, exit.target);
            }
        }
        self.remember(
            zone,
            Placed {
                start: base,
                size: fragment.emitter.code.len() as u32,
                first_block,
                blocks: fragment.blocks.len() as u16,
                first_exit,
                exits: fragment.exits.len() as u16,
                valid: true,
                marks: fragment.marks.into_boxed_slice(),
            },
        );
    }

    /// Within a zone, fragments come in the order of their addresses.
    fn remember(&mut self, zone: usize, fragment: Placed) {
        while self.in_zone.len() <= zone {
            self.in_zone.push(Vec::new());
        }
        self.in_zone[zone].push(self.fragments.len() as u32);
        self.fragments.push(fragment);
    }

    fn note_link(&mut self, number: u32, target: u64) {
        // Two threads may have come out of the same exit.
        if self.exits[number as usize].linked {
            return;
        }
        let Some(block) = self.book.block(target) else {
            return;
        };
        let block = &mut self.book.blocks[block as usize];
        self.exits[number as usize].linked = true;
        self.exits[number as usize].next = block.incoming;
        block.incoming = number;
    }

    /// Target of an exit.
    #[must_use]
    pub fn exit_target(&self, number: u32) -> u64 {
        self.exits
            .get(number as usize)
            .map_or(0, |exit| exit.target)
    }

    /// Where an exit leads; links it.
    pub fn follow(&mut self, number: u32) -> (u64, Place) {
        let target = self.exit_target(number);
        let place = self.get(target);
        if let Place::Cache(code) = place {
            let exit = self.exits[number as usize];
            if aim(exit.site, code) {
                self.note_link(number, target);
            }
        }
        (target, place)
    }

    /// Where an indirect branch to `pc` goes on; enters it into the tables.
    pub fn follow_indirect(&mut self, pc: u64) -> Place {
        let known = self.book.block(pc).is_some();
        let place = if known {
            self.get(pc)
        } else {
            self.translate(pc, true)
        };
        if let Place::Native(_) = place {
            return place;
        }
        if self.book.landings.get(pc).is_none() {
            let base = self.room(pc);
            let first_exit = self.exits.len() as u32;
            let (book, factory) = (&mut self.book, &mut self.factory);
            match fragment::build_landing(book, factory, pc, base, first_exit) {
                Ok(fragment) => self.adopt(fragment),
                Err(error) => self.refuse(error, pc),
            }
        }
        if let Some(landing) = self.book.landings.get(pc) {
            self.enter_lookup(pc, landing);
            table_entry(pc).store(landing, Ordering::Release);
        }
        place
    }

    /// Index of the fragment that an address in the cache is in.
    fn fragment_at(&self, address: u64) -> Option<usize> {
        let zone = self.in_zone.get(self.cache.zone_of(address)?)?;
        let start = |&number: &u32| self.fragments[number as usize].start;
        let after = zone.partition_point(|number| start(number) <= address);
        let index = *zone.get(after.checked_sub(1)?)? as usize;
        let fragment = &self.fragments[index];
        (address - fragment.start < u64::from(fragment.size)).then_some(index)
    }

    /// Whether an address is in the cache.
    #[must_use]
    pub fn in_cache(&self, address: u64) -> bool {
        self.cache.zone_of(address).is_some()
    }

    /// Makes sure that the program's code behind an address in the cache can be read: what was
    /// known of its memory may have been forgotten.
    pub fn know(&mut self, address: u64) {
        let Some(index) = self.fragment_at(address) else {
            return;
        };
        let first = self.fragments[index].first_block as usize;
        let count = usize::from(self.fragments[index].blocks);
        for block in first..first + count {
            let _ = self.book.find(self.book.blocks[block].pc);
        }
    }

    /// The program's state at an address in the cache, and the number of the block that a
    /// correction is for.
    #[must_use]
    pub fn recover(
        &self,
        address: u64,
        registers: &[u64; 16],
        aside: Aside,
    ) -> Option<(recover::Found, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let first = fragment.first_block as usize;
        let book = &self.book;
        let exits = &self.exits[fragment.first_exit as usize..][..usize::from(fragment.exits)];
        let view = View {
            marks: &fragment.marks,
            block: |index: usize| {
                let index = index.min(usize::from(fragment.blocks).saturating_sub(1));
                let block = &book.blocks[first + index];
                BlockView {
                    pc: block.pc,
                    lengths: book
                        .shared
                        .read_lengths(block.lengths, usize::from(block.instructions)),
                }
            },
            stub: |offset: u16| {
                let at = fragment.start + u64::from(offset);
                let within = |stub: u64| stub != 0 && at.wrapping_sub(stub) < STUB_BYTES as u64;
                exits
                    .iter()
                    .find(|exit| within(exit.stub))
                    .map(|exit| exit.target)
            },
        };
        let found = recover::recover(&view, book, offset, registers, aside)?;
        let block = found.correction.map_or(0, |correction| correction.block);
        Some((found, fragment.first_block + block as u32))
    }

    /// The system call after which control comes back to an address in the cache: what follows
    /// it in the program, and its block.
    #[must_use]
    pub fn syscall_before(&self, address: u64) -> Option<(u64, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let block = recover::block_at(&fragment.marks, offset)?;
        let number = fragment.first_block + block as u32;
        let info = self.book.blocks.get(number as usize)?;
        let lengths = self
            .book
            .shared
            .read_lengths(info.lengths, usize::from(info.instructions));
        let size: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        Some((info.pc + size, number))
    }

    /// Puts right the count of a block that was left in the middle.
    ///
    /// # Safety
    /// The state must be the caller's own.
    pub unsafe fn correct(&mut self, state: State, block: u32, correction: Correction) {
        let Correction { from, counted, .. } = correction;
        let key = u64::from(block) << 8 | (from as u64) << 1 | u64::from(counted) | 1 << 48;
        let number = match self.corrections.get(key) {
            Some(number) => number,
            None => {
                let info = self.book.blocks[block as usize];
                let total = usize::from(info.instructions);
                let lengths = self.book.shared.read_lengths(info.lengths, total);
                let skipped: u64 = lengths
                    .iter()
                    .take(from)
                    .map(|&length| u64::from(length))
                    .sum();
                let module = self
                    .book
                    .shared
                    .read_record(info.counter)
                    .map_or(NONE, |record| record.module);
                let record = Record {
                    pc: info.pc + if counted { skipped } else { 0 },
                    to: 0,
                    lengths: info.lengths + if counted { from as u32 } else { 0 },
                    module,
                    to_module: NONE,
                    instructions: if counted { total - from } else { from } as u16,
                    kind: if counted { KIND_LESS } else { KIND_MORE },
                };
                let Some(number) = self.book.shared.record(record) else {
                    super::unable("it has more code than the engine has room for");
                };
                self.corrections.insert(key, number);
                number
            }
        };
        let offset = state::counter(number);
        // SAFETY: a counter of the caller's.
        unsafe { state.set(offset, state.get(offset).wrapping_add(1)) };
    }

    /// Takes out of use all translations of code in a range: it has changed or gone.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        for index in 0..self.fragments.len() {
            let fragment = &self.fragments[index];
            if !fragment.valid {
                continue;
            }
            let first = fragment.first_block as usize;
            let blocks = first..first + usize::from(fragment.blocks);
            let book = &self.book;
            let touched = book.blocks[blocks].iter().any(|block| {
                let lengths = book
                    .shared
                    .read_lengths(block.lengths, usize::from(block.instructions));
                let size: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
                block.pc < end && start < block.pc + size.max(1)
            });
            if touched {
                self.retire(index);
            }
        }
    }

    /// Takes a fragment out of use: nothing leads to it any more. Its code stays for threads
    /// that are in it.
    fn retire(&mut self, index: usize) {
        let fragment = &mut self.fragments[index];
        fragment.valid = false;
        let (start, end) = (fragment.start, fragment.start + u64::from(fragment.size));
        let inside = |code: u64| start <= code && code < end;
        let blocks = fragment.first_block..fragment.first_block + u32::from(fragment.blocks);
        let exits = fragment.first_exit..fragment.first_exit + u32::from(fragment.exits);
        for block in blocks {
            let BlockInfo { pc, incoming, .. } = self.book.blocks[block as usize];
            if self.book.block(pc) == Some(block) {
                self.book.by_pc.remove(pc);
            }
            self.book.blocks[block as usize].incoming = NONE;
            self.unlink(incoming);
            if self.book.landings.get(pc).is_some_and(inside) {
                self.book.landings.remove(pc);
                self.forget_indirect(pc, start, end);
            }
        }
        // Calls are found by where they return to: the landing behind them, in this fragment.
        let marks = &self.fragments[index];
        let first = marks.first_block as usize;
        for block in first..first + usize::from(marks.blocks) {
            let BlockInfo {
                pc,
                lengths,
                instructions,
                ..
            } = self.book.blocks[block];
            let lengths = self
                .book
                .shared
                .read_lengths(lengths, usize::from(instructions));
            let after = pc + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
            if self.book.calls.get(after).is_some_and(inside) {
                self.book.calls.remove(after);
            }
            // A landing whose block was never put behind it.
            if self.book.landings.get(after).is_some_and(inside) {
                self.book.landings.remove(after);
                self.forget_indirect(after, start, end);
            }
        }
        for exit in exits {
            self.exits[exit as usize].target = match self.exits[exit as usize].stub {
                // Threads may still come out through the stub.
                0 => 0,
                _ => self.exits[exit as usize].target,
            };
        }
    }

    /// Leads linked exits back to their stubs.
    fn unlink(&mut self, mut number: u32) {
        while number != NONE {
            let Exit {
                target,
                site,
                mut stub,
                next,
                ..
            } = self.exits[number as usize];
            if target != 0 {
                if stub == 0 {
                    stub = self.late_stub(number, site);
                    self.exits[number as usize].stub = stub;
                }
                aim(site, stub);
            }
            self.exits[number as usize].next = NONE;
            self.exits[number as usize].linked = false;
            number = next;
        }
    }

    /// A stub for an exit that was linked from the beginning.
    fn late_stub(&mut self, number: u32, site: u64) -> u64 {
        let base = self.room(site);
        let mut emitter = Emitter {
            base,
            code: Vec::with_capacity(STUB_BYTES),
        };
        emitter.store_number(crate::state::EXIT, number);
        emitter.jump_vector(crate::state::DISPATCH);
        let zone = self.cache.put(base, &emitter.code);
        let marks = [Marked {
            offset: 0,
            mark: Mark::Stub,
            block: 0,
        }];
        self.remember(
            zone,
            Placed {
                start: base,
                size: emitter.code.len() as u32,
                first_block: 0,
                blocks: 0,
                first_exit: number,
                exits: 1,
                valid: false,
                marks: Box::new(marks),
            },
        );
        base
    }

    fn forget_indirect(&mut self, pc: u64, start: u64, end: u64) {
        let entry = table_entry(pc);
        let code = entry.load(Ordering::Relaxed);
        if start <= code && code < end {
            entry.store(miss(), Ordering::Release);
        }
        self.enter_lookup(pc, 0);
    }

    fn new_lookup(&mut self, bits: u32) {
        let bytes = 4096 + (16usize << bits);
        // SAFETY: a new mapping.
        let Some(memory) = (unsafe { sys::mmap(0, bytes, sys::READ_WRITE, sys::PRIVATE, -1) })
        else {
            super::fatal("there is no memory for the table of indirect branches");
        };
        let base = memory as u64 + 4096;
        // SAFETY: in the new mapping.
        unsafe { *((base - 8) as *mut u64) = (1u64 << bits) - 1 };
        let old = LOOKUP.load(Ordering::Relaxed);
        self.lookup_used = 0;
        if old != 0 {
            // SAFETY: made here before; never unmapped, as threads may be reading it.
            let count = unsafe { *((old - 8) as *const u64) } + 1;
            for index in 0..count {
                let entry = (old + index * 16) as *const u64;
                // SAFETY: within the old table.
                let (pc, code) = unsafe { (*entry, *entry.add(1)) };
                if pc != 0 && code != 0 {
                    self.lookup_used += u64::from(lookup_insert(base, pc, code));
                }
            }
        }
        LOOKUP.store(base, Ordering::Release);
    }

    fn enter_lookup(&mut self, pc: u64, code: u64) {
        let base = LOOKUP.load(Ordering::Relaxed);
        // SAFETY: the table's mask.
        let mask = unsafe { *((base - 8) as *const u64) };
        self.lookup_used += u64::from(lookup_insert(base, pc, code));
        if self.lookup_used * 2 > mask {
            self.new_lookup((mask + 1).trailing_zeros() + 1);
        }
    }
}

/// Inserts or replaces; whether it was new. Threads read meanwhile: the value comes first.
fn lookup_insert(base: u64, pc: u64, code: u64) -> bool {
    // SAFETY: the table's mask, and entries within it; never full.
    unsafe {
        let mask = *((base - 8) as *const u64);
        let hash = (pc as i64).wrapping_mul(0x1E37_79B1) as u64;
        let mut index = (hash >> 16) & mask;
        loop {
            let entry = (base + index * 16) as *mut u64;
            let key = &*entry.cast::<AtomicU64>();
            let value = &*entry.add(1).cast::<AtomicU64>();
            let found = key.load(Ordering::Relaxed);
            if found == 0 || found == pc {
                value.store(code, Ordering::Release);
                key.store(pc, Ordering::Release);
                return found == 0;
            }
            index = (index + 1) & mask;
        }
    }
}

/// The entry of the table by the low 16 bits.
fn table_entry(pc: u64) -> &'static AtomicU64 {
    let base = TABLE.load(Ordering::Relaxed);
    // SAFETY: the table has 65536 entries.
    unsafe { &*((base + (pc as usize & 0xFFFF) * 8) as *const AtomicU64) }
}

/// Where the table leads that has no entry.
#[must_use]
pub fn miss() -> u64 {
    label::genba_miss as *const () as u64
}

/// Aims a displacement in the cache, in one store; `false` if it is too far.
fn aim(site: u64, to: u64) -> bool {
    let Ok(displacement) = i32::try_from(to.wrapping_sub(site + 4) as i64) else {
        return false;
    };
    let value = displacement as u32;
    // SAFETY: an exit's displacement in the cache. It does not cross a cache line, so the
    // processor stores all of it at once, and other threads see the old or the new.
    unsafe {
        core::arch::asm!(
            "mov dword ptr [{}], {:e}",
            in(reg) site,
            in(reg) value,
            options(nostack, preserves_flags)
        );
    }
    true
}
