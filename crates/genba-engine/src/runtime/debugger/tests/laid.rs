//! Fragments of arbitrary code, in the lists as the engine keeps them.

use core::mem::offset_of;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
use proptest::prelude::*;

use super::machine::Memory;
use crate::emit::Emitter;
use crate::fragment::tests::{Fake, pieces};
use crate::fragment::{Landing, STUB_BYTES, build, build_landing};
use crate::layout::{Control, LENGTHS, SLOT_SIZE, SLOTS};
use crate::liveness::Code;
use crate::liveness::tests::Bytes;
use crate::marks::{Mark, Marked};
use crate::recover::{Aside, BlockView, Found, View, recover};
use crate::runtime::book::{BlockInfo, NONE};
use crate::runtime::debugger::rules::Lists;
use crate::runtime::engine::{Exit, Placed};
use crate::state::{self, EXIT_INDIRECT};

const HEADS: u64 = 0x7FFF_F7FA_1000;
const ZONES: u64 = 0x7FFF_F7FA_1100;
const FRAGMENTS: u64 = 0x7F10_0000_0010;
const BLOCKS: u64 = 0x7F20_0000_0010;
const EXITS: u64 = 0x7F30_0000_0010;
const NUMBERS: u64 = 0x7F40_0000_0010;
const MARKS: u64 = 0x7F50_0000_0010;
const IN_USE: u64 = 0x7FFF_F7E0_0040;
const SHARED: u64 = 0x7E00_0000_0000;
/// Low addresses, as programs that are not position-independent have them, and high ones.
pub const CODE: [u64; 2] = [0x7F00_0000, 0x5555_5555_4000];
const ZONE: u64 = 32 << 20;
/// Stack pointers: nothing else is there.
pub const STACKS: core::ops::Range<u64> = 0x7F60_0000_0000..0x7FFF_0000_0000;
/// What no list says anything with.
const GARBAGE: u8 = 0xAA;

/// Where the lists are.
pub const LISTS: Lists = Lists {
    fragments: HEADS,
    blocks: HEADS + 8,
    exits: HEADS + 16,
    zones: ZONES,
    shared: SHARED,
    in_use: IN_USE,
};

/// A fragment to be.
#[derive(Clone, Debug)]
pub struct Plan {
    code: Vec<u8>,
    entry: Entry,
    transfers: bool,
    zone: usize,
    /// Bytes before it, 16 times as many.
    gap: u64,
}

impl Plan {
    /// A block.
    pub fn of(code: &[u8]) -> Self {
        Self {
            code: code.to_vec(),
            entry: Entry::Block(None),
            transfers: false,
            zone: 0,
            gap: 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Block(Option<Landing>),
    /// A landing alone.
    Alone(Landing),
    /// The stub that an exit gets which had none.
    LateStub,
}

/// Jumps and calls in all their forms, before and between the rest: with 8 and 32 bits, forwards
/// and backwards, and with prefixes that make them as long as each other.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let to = any::<[u8; 2]>().prop_map(|[low, high]| match high % 3 {
        0 => [low, 0, 0, 0],
        1 => [low, 0xFF, 0xFF, 0xFF],
        _ => [low, high, 0, 0],
    });
    let prefixes = prop::collection::vec(
        prop::sample::select(&[0x26, 0x2E, 0x3E, 0x36, 0xF2][..]),
        0..6,
    );
    let branch = (0u8..8, any::<u8>(), to, prefixes).prop_map(|(kind, number, to, prefixes)| {
        let branch = match kind {
            0..=2 => [&[0x0F, 0x80 | number & 15], &to[..]].concat(),
            3 | 4 => vec![0x70 | number & 15, to[0]],
            5 => vec![0xE0 | number & 3, to[0]],
            6 => [&[0xE8], &to[..]].concat(),
            _ => [&[0xE9], &to[..]].concat(),
        };
        [prefixes, branch].concat()
    });
    (prop::collection::vec(branch, 0..4), pieces())
        .prop_map(|(branches, pieces)| [branches.concat(), pieces].concat())
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let entry = prop_oneof![
        4 => Just(Entry::Block(None)),
        3 => Just(Entry::Block(Some(Landing::Jump))),
        3 => Just(Entry::Block(Some(Landing::Return))),
        1 => Just(Entry::Alone(Landing::Jump)),
        1 => Just(Entry::Alone(Landing::Return)),
        1 => Just(Entry::LateStub),
    ];
    (code(), entry, any::<bool>(), 0..3usize, 0..3u64).prop_map(
        |(code, entry, transfers, zone, gap)| Plan {
            code,
            entry,
            transfers,
            zone,
            gap,
        },
    )
}

/// Where the state of a slot is.
pub fn state_of(slot: usize) -> u64 {
    SHARED + SLOTS + slot as u64 * SLOT_SIZE
}

/// What a thread has put aside, and where its stack was last known to be.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub in_use: bool,
    pub rsp: u64,
    pub aside: [u64; 3],
}

impl Slot {
    fn aside(&self) -> Aside {
        let [rax, rcx, target] = self.aside;
        Aside { rax, rcx, target }
    }
}

struct Zone {
    low: u64,
    next: u64,
    numbers: Vec<u32>,
}

/// Everything in its place.
pub struct Laid {
    pub memory: Memory,
    pub fragments: Vec<Placed>,
    blocks: Vec<BlockInfo>,
    pub exits: Vec<Exit>,
    lengths: Vec<u8>,
    /// Code of the program: address, bytes.
    program: Vec<(u64, Vec<u8>)>,
    zones: Vec<Zone>,
}

impl Code for Laid {
    fn bytes(&self, pc: u64) -> &[u8] {
        let mut program = self.program.iter();
        let at = program.rfind(|(start, _)| *start <= pc);
        at.and_then(|(start, bytes)| bytes.get((pc - start) as usize..))
            .unwrap_or(&[])
    }
}

impl Laid {
    pub fn new(plans: &[Plan], high: bool) -> Self {
        let none = Exit {
            target: 0,
            site: 0,
            stub: 0,
            next: NONE,
            linked: false,
        };
        let mut laid = Self {
            memory: Memory::default(),
            fragments: Vec::new(),
            blocks: Vec::new(),
            exits: vec![none; EXIT_INDIRECT as usize + 1],
            lengths: vec![GARBAGE; 3],
            program: Vec::new(),
            zones: Vec::new(),
        };
        let first = CODE[usize::from(high)];
        for (index, plan) in plans.iter().enumerate() {
            // Listed in the order of their first use, which is not that of their addresses.
            let low = first - [2, 3, 1][plan.zone] * ZONE;
            let found = laid.zones.iter().position(|zone| zone.low == low);
            let zone = found.unwrap_or_else(|| {
                laid.zones.push(Zone {
                    low,
                    next: low,
                    numbers: Vec::new(),
                });
                laid.zones.len() - 1
            });
            let base = ((laid.zones[zone].next + 15) & !15) + plan.gap * 16;
            laid.fragment(plan, first + ((index as u64) << 16), base, zone);
        }
        laid.write();
        laid
    }

    fn fragment(&mut self, plan: &Plan, pc: u64, base: u64, zone: usize) {
        let mut world = Fake {
            code: Bytes(pc, &plan.code),
            counters: 0,
            lengths: Vec::new(),
            transfers: plan.transfers,
        };
        let first_exit = self.exits.len() as u32;
        let mut factory = InstructionInfoFactory::new();
        let built = match plan.entry {
            Entry::Block(landing) => build(&mut world, &mut factory, pc, landing, base, first_exit),
            Entry::Alone(kind) => {
                build_landing(&mut world, &mut factory, pc, kind, base, first_exit)
            }
            Entry::LateStub => return self.late_stub(base, zone),
        };
        let Ok(fragment) = built else { return };
        let first_block = self.blocks.len() as u32;
        let first_lengths: Vec<u32> = (world.lengths.iter())
            .map(|lengths| {
                let at = self.lengths.len() as u32;
                self.lengths.extend_from_slice(lengths);
                at
            })
            .collect();
        for new in &fragment.blocks {
            let lengths = first_lengths.get(new.counter as usize);
            self.blocks.push(BlockInfo {
                pc: new.pc,
                code: base + u64::from(new.offset),
                counter: new.counter,
                lengths: lengths.copied().unwrap_or(0),
                incoming: NONE,
                instructions: new.instructions,
            });
        }
        for new in &fragment.exits {
            self.exits.push(Exit {
                target: new.target,
                site: base + u64::from(new.site),
                stub: match new.stub {
                    0 => 0,
                    stub => base + u64::from(stub),
                },
                next: NONE,
                linked: false,
            });
        }
        self.program.push((pc, plan.code.clone()));
        let code = fragment.emitter.code.clone();
        self.remember(zone, Placed::of(fragment, first_block, first_exit), code);
    }

    fn late_stub(&mut self, base: u64, zone: usize) {
        let linked = |exit: &Exit| exit.target != 0 && exit.stub == 0;
        let Some(number) = self.exits.iter().position(linked) else {
            return;
        };
        self.exits[number].stub = base;
        let mut emitter = Emitter {
            base,
            code: Vec::new(),
        };
        emitter.store_number(state::EXIT, number as u32);
        emitter.jump_vector(state::DISPATCH);
        let placed = Placed {
            start: base,
            size: emitter.code.len() as u32,
            first_block: 0,
            blocks: 0,
            first_exit: number as u32,
            exits: 1,
            valid: false,
            marks: Box::new([Marked {
                offset: 0,
                mark: Mark::Stub,
                block: 0,
            }]),
        };
        self.remember(zone, placed, emitter.code);
    }

    fn remember(&mut self, zone: usize, placed: Placed, code: Vec<u8>) {
        let zone = &mut self.zones[zone];
        zone.next = placed.start + code.len() as u64;
        zone.numbers.push(self.fragments.len() as u32);
        self.memory.put(placed.start, code);
        self.fragments.push(placed);
    }

    /// Puts the lists into memory.
    fn write(&mut self) {
        let memory = &mut self.memory;
        memory.words(HEADS, &[FRAGMENTS, BLOCKS, EXITS]);
        let mut bytes = Items::default();
        let mut marks = Vec::new();
        for placed in &self.fragments {
            let [address, length] = [MARKS + marks.len() as u64, placed.marks.len() as u64];
            for marked in &placed.marks {
                marks.extend_from_slice(&marked.offset.to_le_bytes());
                marks.extend_from_slice(&[marked.mark as u8, marked.block]);
            }
            bytes.item(size_of::<Placed>());
            bytes.field(offset_of!(Placed, start), &placed.start.to_le_bytes());
            bytes.field(offset_of!(Placed, size), &placed.size.to_le_bytes());
            let first_block = placed.first_block.to_le_bytes();
            bytes.field(offset_of!(Placed, first_block), &first_block);
            bytes.field(offset_of!(Placed, marks), &address.to_le_bytes());
            bytes.field(offset_of!(Placed, marks) + 8, &length.to_le_bytes());
        }
        memory.put(FRAGMENTS, bytes.0);
        memory.put(MARKS, marks);
        let mut bytes = Items::default();
        for block in &self.blocks {
            bytes.item(size_of::<BlockInfo>());
            bytes.field(offset_of!(BlockInfo, pc), &block.pc.to_le_bytes());
            bytes.field(offset_of!(BlockInfo, lengths), &block.lengths.to_le_bytes());
            let instructions = block.instructions.to_le_bytes();
            bytes.field(offset_of!(BlockInfo, instructions), &instructions);
        }
        memory.put(BLOCKS, bytes.0);
        let mut bytes = Items::default();
        for exit in &self.exits {
            bytes.item(size_of::<Exit>());
            bytes.field(offset_of!(Exit, target), &exit.target.to_le_bytes());
        }
        memory.put(EXITS, bytes.0);
        let mut numbers = Vec::new();
        let mut zones = Vec::new();
        for zone in self.zones.iter().filter(|zone| !zone.numbers.is_empty()) {
            zones.extend([zone.low, zone.low + ZONE, NUMBERS + numbers.len() as u64]);
            zones.push(zone.numbers.len() as u64);
            numbers.extend(zone.numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        zones.push(0);
        memory.words(ZONES, &zones);
        memory.put(NUMBERS, numbers);
        memory.put(SHARED + LENGTHS, self.lengths.clone());
        for (pc, code) in &self.program {
            memory.put(*pc, code.clone());
        }
    }

    /// Puts the states of threads into memory.
    pub fn threads(&mut self, slots: &[Slot]) {
        let used = offset_of!(Control, slots) as u64;
        let count = slots.len() as u32;
        self.memory.put(SHARED + used, count.to_le_bytes().to_vec());
        let flags = slots.iter().map(|slot| u32::from(slot.in_use));
        let flags = flags.flat_map(u32::to_le_bytes).collect();
        self.memory.put(IN_USE, flags);
        for (index, slot) in slots.iter().enumerate() {
            let mut bytes = Items::default();
            bytes.item(0x200);
            for (offset, value) in [
                (state::RAX, slot.aside[0]),
                (state::RCX, slot.aside[1]),
                (state::TARGET, slot.aside[2]),
                (state::CONTEXT + 8 * state::register::RSP, slot.rsp),
            ] {
                bytes.field(offset as usize, &value.to_le_bytes());
            }
            self.memory.put(state_of(index), bytes.0);
        }
    }

    /// What [`recover`] finds, as the engine asks it.
    pub fn recover(&self, address: u64, registers: &[u64; 16], slot: &Slot) -> Option<Found> {
        let within = |placed: &&Placed| {
            (placed.start..placed.start + u64::from(placed.size)).contains(&address)
        };
        let placed = self.fragments.iter().find(within)?;
        let exits = &self.exits[placed.first_exit as usize..][..usize::from(placed.exits)];
        let view = View {
            marks: &placed.marks,
            block: |index: usize| {
                let block = &self.blocks[placed.first_block as usize + index];
                let lengths = &self.lengths[block.lengths as usize..];
                BlockView {
                    pc: block.pc,
                    lengths: &lengths[..usize::from(block.instructions)],
                }
            },
            stub: |offset: u16| {
                let at = placed.start + u64::from(offset);
                let within = |stub: u64| stub != 0 && at.wrapping_sub(stub) < STUB_BYTES as u64;
                let mut exits = exits.iter();
                exits.find(|exit| within(exit.stub)).map(|exit| exit.target)
            },
        };
        let offset = (address - placed.start) as u16;
        recover(&view, self, offset, registers, slot.aside())
    }

    /// What holds at an address, for messages.
    pub fn mark(&self, address: u64) -> Option<(Mark, u64)> {
        let within = |placed: &&Placed| address.wrapping_sub(placed.start) < placed.size.into();
        let placed = self.fragments.iter().find(within)?;
        let offset = address - placed.start;
        let mut marks = placed.marks.iter();
        let last = marks.rfind(|marked| u64::from(marked.offset) <= offset)?;
        Some((last.mark, offset))
    }

    /// Where instructions of the copies begin; and all kinds of places beside them.
    pub fn places(&self) -> Vec<u64> {
        let mut places = vec![0, 1 << 47];
        for zone in &self.zones {
            let end = zone.low + ZONE;
            places.extend([zone.low - 1, zone.low, zone.next, end - 1, end]);
        }
        for placed in &self.fragments {
            let (start, size) = (placed.start, placed.size as usize);
            places.extend([start - 1, start + size as u64 - 1, start + size as u64]);
            let code = self.memory.bytes(start);
            let mut at = 0;
            while at < size {
                places.push(start + at as u64);
                let code = &code[at..];
                let decoded = Decoder::new(64, code, DecoderOptions::NONE).decode();
                let next = at + decoded.len().max(1);
                // Behind constants, instructions begin where something else holds.
                let mut marks = placed.marks.iter().map(|mark| usize::from(mark.offset));
                at = marks
                    .find(|mark| (at + 1..next).contains(mark))
                    .unwrap_or(next);
            }
        }
        places
    }
}

/// Items as they are in memory, with garbage where they have nothing.
#[derive(Default)]
struct Items(Vec<u8>, usize);

impl Items {
    fn item(&mut self, size: usize) {
        self.1 = self.0.len();
        self.0.resize(self.1 + size, GARBAGE);
    }

    fn field(&mut self, offset: usize, bytes: &[u8]) {
        self.0[self.1 + offset..][..bytes.len()].copy_from_slice(bytes);
    }
}
