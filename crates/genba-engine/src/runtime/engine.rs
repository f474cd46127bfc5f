//! Translating on demand, linking, and taking translations out of use.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use iced_x86::InstructionInfoFactory;

use crate::address_map::AddressMap;
use crate::count_file_layout::{KIND_ADD, KIND_SUBTRACT, Record, TRANSFERS_WITHIN};
use crate::fragment::{self, BuildContext, EXIT_STUB_BYTES, Error, Fragment, LandingPad};
use crate::recovery_marks::Marked;
use crate::state_recovery::{self, BlockView, Correction, FragmentView, SavedRegisters};
use crate::thread_state::{self, EXIT_INDIRECT, State};

use super::code_cache::Cache;
use super::code_map::{BlockInfo, CodeLookup, CodeMap, NONE};
use super::indirect_branch_tables::table_entry;
use super::signal_delivery::SignalActions;
use super::thread_slots::ThreadSlots;
use super::transfer_recording::Transfers;

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
pub struct PlacedFragment {
    /// Its address.
    pub start: u64,
    /// Its bytes.
    pub size: u32,
    /// Number of its first block.
    pub first_block: u32,
    /// How many blocks it has.
    pub blocks: u16,
    /// Number of its first exit.
    pub first_exit: u32,
    /// How many exits it has.
    pub exits: u16,
    /// It is in use.
    pub valid: bool,
    /// What holds where in it.
    pub marks: Box<[Marked]>,
}

impl PlacedFragment {
    /// A fragment, where it is built for, in use.
    #[must_use]
    pub fn of(fragment: Fragment, first_block: u32, first_exit: u32) -> Self {
        Self {
            start: fragment.emitter.base,
            size: fragment.emitter.code.len() as u32,
            first_block,
            blocks: fragment.blocks.len() as u16,
            first_exit,
            exits: fragment.exits.len() as u16,
            valid: true,
            marks: fragment.marks.into_boxed_slice(),
        }
    }
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumePoint {
    /// In the cache.
    Cache(u64),
    /// At the program's own place: it faults there.
    Native(u64),
}

impl ResumePoint {
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
    pub code_map: CodeMap,
    /// Threads.
    pub slots: ThreadSlots,
    /// Signal handlers, by the threads' index of their process.
    pub processes: Vec<SignalActions>,
    /// Children are counted.
    pub children: bool,
    /// Counters of indirect jumps.
    pub transfers: Transfers,
    /// Jumps by which ld.so enters functions that it has bound.
    pub resolvers: AddressMap<u8>,
    /// Memory for translations.
    pub cache: Cache,
    factory: InstructionInfoFactory,
    /// All fragments.
    pub fragments: Vec<PlacedFragment>,
    /// Numbers of fragments by zone.
    fragments_by_zone: Vec<Vec<u32>>,
    /// Numbers of the counters that correct others, by block, instruction and direction.
    corrections: AddressMap<u32>,
    /// All exits.
    pub exits: Vec<Exit>,
    /// Entries of the tables of all indirect targets: of jumps, of returns.
    pub lookup_entries: [u64; 2],
}

impl Engine {
    /// An engine with nothing translated.
    #[must_use]
    pub fn new(code_map: CodeMap, slots: ThreadSlots, children: bool) -> Self {
        let none = Exit {
            target: 0,
            site: 0,
            stub: 0,
            next: NONE,
            linked: false,
        };
        let mut engine = Self {
            code_map,
            slots,
            processes: Vec::new(),
            children,
            transfers: Transfers::default(),
            resolvers: AddressMap::default(),
            cache: Cache::new(crate::raw_syscall::program_break()),
            factory: InstructionInfoFactory::new(),
            fragments: Vec::new(),
            fragments_by_zone: Vec::new(),
            corrections: AddressMap::default(),
            // Number 0 means an indirect branch.
            exits: alloc::vec![none; EXIT_INDIRECT as usize + 1],
            lookup_entries: [0; 2],
        };
        engine.new_lookup(LandingPad::Jump, 13);
        engine.new_lookup(LandingPad::Return, 13);
        if engine.code_map.transfers >= TRANSFERS_WITHIN {
            engine.transfers.grow();
        }
        engine
    }

    /// Where the program's `pc` is to be executed; translates it if need be.
    pub fn get(&mut self, pc: u64) -> ResumePoint {
        match self.code_map.block(pc) {
            Some(index) => ResumePoint::Cache(self.code_map.blocks[index as usize].code),
            None => self.translate(pc, None),
        }
    }

    fn translate(&mut self, pc: u64, landing: Option<LandingPad>) -> ResumePoint {
        match self.code_map.find(pc) {
            // Natively nothing is there, and it would fault.
            CodeLookup::Code(_) if self.in_cache(pc) => {
                super::refuse("it jumps to where the engine has its own memory")
            }
            CodeLookup::Code(region) if region.writable => {
                let path = self.code_map.path(pc);
                super::refuse_at("it runs code that it makes at run time", pc, &path)
            }
            CodeLookup::Code(_) => {}
            CodeLookup::Nothing => return ResumePoint::Native(pc),
            CodeLookup::Vsyscall => super::refuse("it uses the old vsyscall page"),
            CodeLookup::CountFile => super::refuse_at(
                "it runs code from memory that others can write to",
                pc,
                &self.code_map.path(pc),
            ),
        }
        let base = self.room(pc);
        let first_exit = self.exits.len() as u32;
        let (code_map, factory) = (&mut self.code_map, &mut self.factory);
        match fragment::build(code_map, factory, pc, landing, base, first_exit) {
            Ok(fragment) => self.adopt(fragment),
            Err(error) => self.refuse(error, pc),
        }
        match self.code_map.block(pc) {
            Some(index) => ResumePoint::Cache(self.code_map.blocks[index as usize].code),
            None => super::fatal("a translated block is not there"),
        }
    }

    /// Where the next fragment for code at this address will be.
    pub fn room(&mut self, pc: u64) -> u64 {
        match self.cache.place(pc) {
            Some(base) => base,
            None => super::refuse("there is no room for translations near its code"),
        }
    }

    fn refuse(&self, error: Error, pc: u64) -> ! {
        let (Error::Refused(reason) | Error::Full(reason)) = error;
        super::refuse_at(reason, pc, &self.code_map.path(pc))
    }

    /// Puts a fragment into the cache and the books.
    fn adopt(&mut self, fragment: Fragment) {
        let base = fragment.emitter.base;
        let zone = self.cache.put(base, &fragment.emitter.code);
        let first_block = self.code_map.blocks.len() as u32;
        for new in &fragment.blocks {
            let lengths = self.code_map.lengths_of.iter();
            let lengths = lengths
                .rev()
                .find(|(counter, _)| *counter == new.counter)
                .map_or(0, |&(_, at)| at);
            let index = self.code_map.blocks.len() as u32;
            self.code_map.blocks.push(BlockInfo {
                pc: new.pc,
                code: base + u64::from(new.offset),
                counter: new.counter,
                lengths,
                incoming: NONE,
                instructions: new.instructions,
            });
            if !new.copy {
                self.code_map.by_pc.insert(new.pc, index);
            }
        }
        self.code_map.lengths_of.clear();
        for &(pc, offset) in &fragment.landing_pads {
            self.code_map
                .landing_pads
                .insert(pc, base + u64::from(offset));
        }
        for &(pc, offset) in &fragment.returns {
            self.code_map.returns.insert(pc, base + u64::from(offset));
        }
        for &(returns_to, offset) in &fragment.calls {
            self.code_map
                .calls
                .insert(returns_to, base + u64::from(offset));
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
        self.remember(zone, PlacedFragment::of(fragment, first_block, first_exit));
    }

    /// Within a zone, fragments come in the order of their addresses.
    pub fn remember(&mut self, zone: usize, fragment: PlacedFragment) {
        while self.fragments_by_zone.len() <= zone {
            self.fragments_by_zone.push(Vec::new());
        }
        self.fragments_by_zone[zone].push(self.fragments.len() as u32);
        self.fragments.push(fragment);
    }

    fn note_link(&mut self, number: u32, target: u64) {
        // Two threads may have come out of the same exit.
        if self.exits[number as usize].linked {
            return;
        }
        let Some(block) = self.code_map.block(target) else {
            return;
        };
        let block = &mut self.code_map.blocks[block as usize];
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
    pub fn follow(&mut self, number: u32) -> (u64, ResumePoint) {
        let target = self.exit_target(number);
        let place = self.get(target);
        if let ResumePoint::Cache(code) = place {
            let exit = self.exits[number as usize];
            if aim(exit.site, code) {
                self.note_link(number, target);
            }
        }
        (target, place)
    }

    /// Where an indirect branch to `pc` goes on; enters it into the tables.
    pub fn follow_indirect(&mut self, pc: u64, kind: LandingPad) -> ResumePoint {
        if kind == LandingPad::Jump {
            self.code_map.enters(pc);
        }
        let known = self.code_map.block(pc).is_some();
        let place = if known {
            self.get(pc)
        } else {
            self.translate(pc, Some(kind))
        };
        if let ResumePoint::Native(_) = place {
            return place;
        }
        if self.landing(pc, kind).is_none() {
            let base = self.room(pc);
            let first_exit = self.exits.len() as u32;
            let (code_map, factory) = (&mut self.code_map, &mut self.factory);
            match fragment::build_landing_pad(code_map, factory, pc, kind, base, first_exit) {
                Ok(fragment) => self.adopt(fragment),
                Err(error) => self.refuse(error, pc),
            }
        }
        if let Some(landing) = self.landing(pc, kind) {
            self.enter_lookup(pc, kind, landing);
            table_entry(pc, kind).store(landing, Ordering::Release);
        }
        place
    }

    /// The landing pad for `pc`.
    fn landing(&self, pc: u64, kind: LandingPad) -> Option<u64> {
        match kind {
            LandingPad::Jump => self.code_map.landing_pads.get(pc),
            LandingPad::Return => self.code_map.returns.get(pc),
        }
    }

    /// Index of the fragment that an address in the cache is in.
    fn fragment_at(&self, address: u64) -> Option<usize> {
        let zone = self.fragments_by_zone.get(self.cache.zone_of(address)?)?;
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
            let _ = self.code_map.find(self.code_map.blocks[block].pc);
        }
    }

    /// The program's state at an address in the cache, and the number of the block that a
    /// correction is for.
    #[must_use]
    pub fn recover(
        &self,
        address: u64,
        registers: &[u64; 16],
        aside: SavedRegisters,
    ) -> Option<(state_recovery::RecoveredState, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let first = fragment.first_block as usize;
        let code_map = &self.code_map;
        let exits = &self.exits[fragment.first_exit as usize..][..usize::from(fragment.exits)];
        let view = FragmentView {
            marks: &fragment.marks,
            block: |index: usize| {
                let index = index.min(usize::from(fragment.blocks).saturating_sub(1));
                let block = &code_map.blocks[first + index];
                BlockView {
                    pc: block.pc,
                    lengths: code_map
                        .shared
                        .read_lengths(block.lengths, usize::from(block.instructions)),
                }
            },
            stub: |offset: u16| {
                let at = fragment.start + u64::from(offset);
                let within =
                    |stub: u64| stub != 0 && at.wrapping_sub(stub) < EXIT_STUB_BYTES as u64;
                exits
                    .iter()
                    .find(|exit| within(exit.stub))
                    .map(|exit| exit.target)
            },
        };
        let mut found = state_recovery::recover(&view, code_map, offset, registers, aside)?;
        // A copy of a short loop is counted when the jump into it is.
        if let Some(index) = state_recovery::uncounted_at(&fragment.marks, offset)
            && let Some(block) = code_map.blocks.get(first + index)
            && let Some(record) = code_map.shared.read_record(block.counter)
            && record.to != 0
        {
            let view = (view.block)(index);
            let last = view.lengths.len().saturating_sub(1);
            found.unrecorded = Some((view.address(last), record.to));
        }
        let block = found.correction.map_or(0, |correction| correction.block);
        Some((found, fragment.first_block + block as u32))
    }

    /// The system call after which control comes back to an address in the cache: what follows
    /// it in the program, and its block.
    #[must_use]
    pub fn syscall_before(&self, address: u64) -> Option<(u64, u32)> {
        let fragment = &self.fragments[self.fragment_at(address)?];
        let offset = (address - fragment.start) as u16;
        let block = state_recovery::block_at(&fragment.marks, offset)?;
        let number = fragment.first_block + block as u32;
        let info = self.code_map.blocks.get(number as usize)?;
        let lengths = self
            .code_map
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
                let info = self.code_map.blocks[block as usize];
                let total = usize::from(info.instructions);
                let lengths = self.code_map.shared.read_lengths(info.lengths, total);
                let skipped: u64 = lengths
                    .iter()
                    .take(from)
                    .map(|&length| u64::from(length))
                    .sum();
                let module = self
                    .code_map
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
                    kind: if counted { KIND_SUBTRACT } else { KIND_ADD },
                };
                let Some(number) = self.code_map.shared.record(record) else {
                    super::refuse("it has more code than the engine has room for");
                };
                self.corrections.insert(key, number);
                number
            }
        };
        let offset = thread_state::counter(number);
        // SAFETY: a counter of the caller's.
        unsafe { state.set(offset, state.get(offset).wrapping_add(1)) };
    }
}

/// Aims a displacement in the cache, in one store; `false` if it is too far.
pub fn aim(site: u64, to: u64) -> bool {
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
