//! The engine of a process: translates on demand, and links fragments.

use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use iced_x86::InstructionInfoFactory;

use crate::address_map::AddressMap;
use crate::count_file_layout::TRANSFERS_WITHIN;
use crate::fragment::{self, BuildContext, Error, Fragment, LandingPad};
use crate::recovery_marks::{Marked, PackedMarks};
use crate::thread_state::EXIT_INDIRECT;

use super::bursts::Bursts;
use super::code_cache::Cache;
use super::code_map::{BlockInfo, CodeLookup, CodeMap, NONE};
use super::fragment_exit::Exit;
use super::indirect_branch_tables::table_entry;
use super::signal_delivery::SignalActions;
use super::thread_slots::ThreadSlots;
use super::transfer_recording::Transfers;
use super::writable_code::own_state;

/// A fragment in the code cache.
pub struct PlacedFragment {
    /// Address of the fragment.
    pub start: u64,
    /// Size, bytes.
    pub size: u32,
    /// Number of its first block.
    pub first_block: u32,
    /// Number of its blocks.
    pub blocks: u16,
    /// Number of its first exit.
    pub first_exit: u32,
    /// Number of its exits.
    pub exits: u16,
    /// Whether it is in use.
    pub valid: bool,
    /// Number of its recovery marks.
    pub marks: u16,
    /// Where they begin in [`Engine::marks`].
    pub first_mark: u32,
}

impl PlacedFragment {
    /// Returns a built fragment as one in use at its base address, whose marks begin at `first_mark`.
    #[must_use]
    pub fn new(fragment: &Fragment, first_block: u32, first_exit: u32, first_mark: u32) -> Self {
        Self {
            start: fragment.emitter.base,
            size: fragment.emitter.code.len() as u32,
            first_block,
            blocks: fragment.blocks.len() as u16,
            first_exit,
            exits: fragment.exits.len() as u16,
            valid: true,
            marks: fragment.marks.len() as u16,
            first_mark,
        }
    }
}

/// Where a thread resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumePoint {
    /// In the code cache.
    Cache(u64),
    /// At the program's own address, where it faults.
    Native(u64),
}

impl ResumePoint {
    /// Returns the address to jump to.
    #[must_use]
    pub fn address(self) -> u64 {
        match self {
            Self::Cache(address) | Self::Native(address) => address,
        }
    }
}

/// The engine of a process.
pub struct Engine {
    /// What the engine knows of the program's code.
    pub code_map: CodeMap,
    /// The slots of threads.
    pub slots: ThreadSlots,
    /// Signal actions of this process and of children of `vfork`, by the index in
    /// [`thread_state::PROCESS`].
    pub processes: Vec<SignalActions>,
    /// Whether child processes are counted.
    pub children: bool,
    /// Counters of recorded indirect jumps and calls.
    pub transfers: Transfers,
    /// Addresses of the jumps by which ld.so enters functions that it has bound.
    pub resolvers: AddressMap<u8>,
    /// The code cache.
    pub cache: Cache,
    pub(super) factory: InstructionInfoFactory,
    /// All fragments, by number.
    pub fragments: Vec<PlacedFragment>,
    /// Their recovery marks.
    marks: PackedMarks,
    /// For [`Self::adopt`]: the first exit that waits for a block, and the block.
    waiting: Vec<(u32, u32)>,
    /// Numbers of the fragments in each zone of the code cache, in the order of their addresses.
    fragments_by_zone: Vec<Vec<u32>>,
    /// Numbers of correction counters, by block, instruction and sign.
    pub(super) corrections: AddressMap<u32>,
    /// All exits, by number.
    pub exits: Vec<Exit>,
    /// Bursts, if they were requested.
    pub bursts: Option<Bursts>,
    /// Number of entries in the tables of all branch targets: of jumps, of returns.
    pub lookup_entries: [u64; 2],
}

impl Engine {
    /// Returns an engine with an empty code cache.
    #[must_use]
    pub fn new(code_map: CodeMap, slots: ThreadSlots, children: bool) -> Self {
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
            marks: PackedMarks::default(),
            waiting: Vec::new(),
            fragments_by_zone: Vec::new(),
            corrections: AddressMap::default(),
            // EXIT_INDIRECT, 0, is not the number of an exit.
            exits: alloc::vec![Exit::new(0, 0); EXIT_INDIRECT as usize + 1],
            bursts: None,
            lookup_entries: [0; 2],
        };
        engine.new_lookup(LandingPad::Jump, 13);
        engine.new_lookup(LandingPad::Return, 13);
        if engine.code_map.transfers >= TRANSFERS_WITHIN {
            engine.transfers.grow();
        }
        engine
    }

    /// Returns where the program's code at `pc` is executed; translates it if necessary.
    pub fn get(&mut self, pc: u64) -> ResumePoint {
        match self.code_map.block(pc) {
            Some(index) => ResumePoint::Cache(self.code_map.blocks[index as usize].code),
            None => self.translate(pc, None),
        }
    }

    fn translate(&mut self, pc: u64, landing: Option<LandingPad>) -> ResumePoint {
        match self.code_map.find(pc) {
            // Natively no memory is there, and the jump would fault.
            CodeLookup::Code(_) if self.in_cache(pc) => {
                super::refuse("it jumps to an address at which the engine has its own memory")
            }
            // SAFETY: on the engine's stack, like all of the engine.
            CodeLookup::Code(region) if region.writable => unsafe {
                self.refuse_code_on_stack(own_state(), &region);
            },
            CodeLookup::Code(_) => {}
            CodeLookup::Nothing => return ResumePoint::Native(pc),
            CodeLookup::Vsyscall => super::refuse("it uses the vsyscall page"),
            CodeLookup::CountFile => super::refuse_at(
                "it executes code from memory that others can write to",
                pc,
                &self.code_map.path(pc),
            ),
        }
        let base = self.next_fragment_address(pc);
        let first_exit = self.exits.len() as u32;
        let (code_map, factory) = (&mut self.code_map, &mut self.factory);
        match fragment::build(code_map, factory, pc, landing, base, first_exit) {
            Ok(fragment) => self.adopt(fragment, false),
            Err(error) => self.refuse(error, pc),
        }
        match self.code_map.block(pc) {
            Some(index) => ResumePoint::Cache(self.code_map.blocks[index as usize].code),
            None => super::fatal("a translated block is missing"),
        }
    }

    /// Returns the address of the next fragment for code at `pc`.
    pub fn next_fragment_address(&mut self, pc: u64) -> u64 {
        match self.cache.place(pc) {
            Some(base) => base,
            None => super::refuse("there is no free memory near its code for translated code"),
        }
    }

    pub(super) fn refuse(&self, error: Error, pc: u64) -> ! {
        let (Error::Refused(reason) | Error::Full(reason)) = error;
        super::refuse_at(reason, pc, &self.code_map.path(pc))
    }

    /// Puts a fragment into the code cache, and enters it into the code map.
    pub(super) fn adopt(&mut self, fragment: Fragment, observing: bool) {
        let base = fragment.emitter.base;
        let zone = self.cache.put(base, &fragment.emitter.code);
        let first_block = self.code_map.blocks.len() as u32;
        let mut waiting = core::mem::take(&mut self.waiting);
        for new in &fragment.blocks {
            let index = self.code_map.blocks.len() as u32;
            self.code_map.blocks.push(BlockInfo {
                pc: new.pc,
                code: base + u64::from(new.offset),
                target: new.target,
                counter: new.counter,
                incoming: NONE,
            });
            if observing {
                self.code_map.observing.insert(new.pc, index);
            } else if !new.copy {
                waiting.push((self.code_map.by_pc.set_block(new.pc, index), index));
            }
        }
        self.code_map.new_counters.clear();
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
        self.adopt_duets(&fragment);
        let first_exit = self.exits.len() as u32;
        for new in &fragment.exits {
            let mut exit = Exit::new(new.target, base + u64::from(new.site));
            if new.stub != 0 {
                exit.set_stub(base + u64::from(new.stub));
            }
            exit.set_of_burst(observing, new.leaves_burst);
            self.exits.push(exit);
        }
        for number in first_exit..self.exits.len() as u32 {
            let exit = self.exits[number as usize];
            if exit.stub() == 0 {
                self.note_linked(number, exit.target);
            } else if !observing
                && !exit.leaves_burst()
                && let Some(next) = self.code_map.by_pc.wait(exit.target, number)
            {
                self.exits[number as usize].set_next(next);
            }
        }
        self.note_pages_read(self.fragments.len() as u32);
        let first_mark = self.keep_marks(&fragment.marks);
        let placed = PlacedFragment::new(&fragment, first_block, first_exit, first_mark);
        self.remember(zone, placed);
        for (exit, block) in waiting.drain(..) {
            self.link_waiting(exit, block);
        }
        self.waiting = waiting;
    }

    /// Makes threads choose their side of the fragment's blocks that are laid down twice.
    fn adopt_duets(&mut self, fragment: &Fragment) {
        let at = |offset: u16| fragment.emitter.base + u64::from(offset);
        let duet = &mut self.code_map.duet;
        for new in &fragment.duets {
            duet.note_counter(new.counter);
            if new.repeats {
                duet.note_loop(at(new.sides[0]), at(new.ends[1]));
            }
            self.slots.add_selector(new.sides.map(at));
            let blocks = &self.code_map.shared.control().duet_blocks;
            blocks.fetch_add(1, Ordering::Relaxed);
        }
        for new in &fragment.restores {
            duet.note_restore(at(new.begin), at(new.end), new.register, new.slot);
        }
    }

    /// Links the exits that have waited for a block, `number` and those after it, so that they need
    /// not come to the dispatcher.
    fn link_waiting(&mut self, mut number: u32, block: u32) {
        let code = self.code_map.blocks[block as usize].code;
        while number != NONE {
            let exit = &mut self.exits[number as usize];
            let (site, next) = (exit.site, exit.next());
            exit.set_next(NONE);
            if aim(site, code) {
                self.note_linked_to(number, block);
            }
            number = next;
        }
    }

    /// Keeps the marks of a fragment; where they begin.
    pub fn keep_marks(&mut self, marks: &[Marked]) -> u32 {
        match u32::try_from(self.marks.push(marks)) {
            Ok(begin) => begin,
            Err(_) => super::refuse("it has more code than the engine has memory for"),
        }
    }

    /// Returns the recovery marks of a fragment, in the order of their offsets.
    #[must_use]
    pub fn marks_of(&self, fragment: &PlacedFragment) -> Vec<Marked> {
        let count = usize::from(fragment.marks);
        self.marks.unpack(fragment.first_mark as usize, count)
    }

    /// Remembers a fragment. What must hold: fragments of a zone come in the order of their
    /// addresses.
    pub fn remember(&mut self, zone: usize, fragment: PlacedFragment) {
        while self.fragments_by_zone.len() <= zone {
            self.fragments_by_zone.push(Vec::new());
        }
        self.fragments_by_zone[zone].push(self.fragments.len() as u32);
        self.fragments.push(fragment);
    }

    pub(super) fn note_linked(&mut self, number: u32, target: u64) {
        // Two threads may have left through the same exit.
        if self.exits[number as usize].linked() {
            return;
        }
        let block = match self.exits[number as usize].observing() {
            true => self.code_map.observing.get(target),
            false => self.code_map.block(target),
        };
        if let Some(block) = block {
            self.note_linked_to(number, block);
        }
    }

    fn note_linked_to(&mut self, number: u32, block: u32) {
        let block = &mut self.code_map.blocks[block as usize];
        let exit = &mut self.exits[number as usize];
        exit.set_linked(true);
        exit.set_next(block.incoming);
        block.incoming = number;
    }

    /// Returns the program address to which an exit leads.
    #[must_use]
    pub fn exit_target(&self, number: u32) -> u64 {
        self.exits
            .get(number as usize)
            .map_or(0, |exit| exit.target)
    }

    /// Returns where an exit leads, and links it.
    pub fn follow(&mut self, number: u32) -> (u64, ResumePoint) {
        let target = self.exit_target(number);
        let place = self.get(target);
        if let ResumePoint::Cache(code) = place {
            let exit = self.exits[number as usize];
            if aim(exit.site, code) {
                self.note_linked(number, target);
            }
        }
        (target, place)
    }

    /// Returns where an indirect branch to `pc` resumes, and enters it into the lookup tables.
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
            let base = self.next_fragment_address(pc);
            let first_exit = self.exits.len() as u32;
            let (code_map, factory) = (&mut self.code_map, &mut self.factory);
            match fragment::build_landing_pad(code_map, factory, pc, kind, base, first_exit) {
                Ok(fragment) => self.adopt(fragment, false),
                Err(error) => self.refuse(error, pc),
            }
        }
        if let Some(landing) = self.landing(pc, kind) {
            self.enter_lookup(pc, kind, landing);
            table_entry(pc, kind).store(landing, Ordering::Release);
        }
        place
    }

    /// Returns the landing pad for `pc`.
    fn landing(&self, pc: u64, kind: LandingPad) -> Option<u64> {
        match kind {
            LandingPad::Jump => self.code_map.landing_pads.get(pc),
            LandingPad::Return => self.code_map.returns.get(pc),
        }
    }

    /// Returns the index of the fragment that contains an address.
    pub(super) fn fragment_at(&self, address: u64) -> Option<usize> {
        let zone = self.fragments_by_zone.get(self.cache.zone_of(address)?)?;
        let start = |&number: &u32| self.fragments[number as usize].start;
        let after = zone.partition_point(|number| start(number) <= address);
        let index = *zone.get(after.checked_sub(1)?)? as usize;
        let fragment = &self.fragments[index];
        (address - fragment.start < u64::from(fragment.size)).then_some(index)
    }

    /// Whether an address is in the code cache.
    #[must_use]
    pub fn in_cache(&self, address: u64) -> bool {
        self.cache.zone_of(address).is_some()
    }
}

/// Sets a displacement in the code cache in one store; `false` if the target is out of reach.
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
