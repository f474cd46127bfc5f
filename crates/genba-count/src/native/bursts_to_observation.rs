//! Converts bursts to what they saw: events with the addresses that `objdump` prints.

use std::collections::HashMap;
use std::path::Path;

use genba_engine::burst_layout::{End, NOTE_FULL, NOTE_TIMER, Operation};
use genba_model::{
    Burst, BurstEvent, CodePoint, MemoryRegion, Observation, Observed, ObservedModule,
};
use genba_symbols::parse_mappings;

use super::burst_words::{BlockOperation, BurstFile, ObservedBlock, RawBurst};
use super::count_file::Module;
use crate::elf_code::ElfCode;
use crate::process_counts_builder::GENERATED;

/// Most bytes of one event; larger accesses are several.
const MAX_EVENT_BYTES: u64 = 0x8000;
/// Most events of one access; the rest of it is dropped.
const MAX_EVENTS_OF_ACCESS: u64 = 4096;
/// The first of the numbers that stand for values that were not recorded.
const FIRST_UNRECORDED_VALUE: u64 = 0xE5C0_0000_0000_0000;
/// Most mappings of which regions are made.
const MAX_REGIONS: usize = 16_384;

/// Converts the bursts of a process.
pub fn convert(file: &BurstFile, modules: &[Module], pid: i32) -> Observation {
    let mut converter = Converter {
        modules,
        code: HashMap::new(),
        places: HashMap::new(),
        found: Vec::new(),
        unrecorded: FIRST_UNRECORDED_VALUE,
        events: Vec::new(),
    };
    let mut known = HashMap::new();
    let mut bursts = Vec::new();
    for raw in &file.bursts {
        let blocks = file.blocks(raw, &mut known);
        let instructions = blocks.iter().map(|(block, _)| block.offsets.len() as u64);
        let instructions = instructions.sum();
        if instructions == 0 {
            continue;
        }
        converter.burst(raw, &blocks);
        bursts.push(Burst {
            pid,
            thread: raw.thread,
            began_cpu_seconds: raw.cpu_nanoseconds as f64 / 1e9,
            began_wall_seconds: raw.wall_nanoseconds as f64 / 1e9,
            instructions_before: raw.instructions_before,
            instructions,
            weight: 1.0,
            events: std::mem::take(&mut converter.events),
        });
    }
    Observation {
        modules: converter.found,
        regions: regions(&file.maps),
        notes: notes(file, &bursts),
        bursts,
    }
}

fn regions(maps: &str) -> Vec<MemoryRegion> {
    let region = |mapping: genba_symbols::Mapping| MemoryRegion {
        begin: mapping.start,
        end: mapping.end,
        name: mapping.path,
    };
    parse_mappings(maps).map(region).take(MAX_REGIONS).collect()
}

fn notes(file: &BurstFile, bursts: &[Burst]) -> Vec<String> {
    let mut notes = Vec::new();
    if file.notes & NOTE_TIMER != 0 {
        notes.push("the kernel gave no timer for bursts to some threads".to_owned());
    }
    if file.notes & NOTE_FULL != 0 {
        notes.push("some code could not be translated for bursts, which ended there".to_owned());
    }
    if bursts.is_empty() {
        notes.push("no burst: it took too little CPU time, or it blocks all signals".to_owned());
    }
    notes
}

struct Converter<'a> {
    modules: &'a [Module],
    code: HashMap<&'a [u8], Option<ElfCode>>,
    /// Indices in [`Self::found`], by path and bias.
    places: HashMap<(&'a [u8], u64), u32>,
    found: Vec<ObservedModule>,
    unrecorded: u64,
    events: Vec<BurstEvent>,
}

impl<'a> Converter<'a> {
    /// Returns the place of an address in a mapping.
    fn place(&mut self, pc: u64, module: usize) -> CodePoint {
        let modules = self.modules;
        let Some(module) = modules.get(module) else {
            return self.point(GENERATED.as_bytes(), 0, pc);
        };
        let offset = pc.wrapping_sub(module.start).wrapping_add(module.offset);
        let address = match module.path.as_slice() {
            b"[vdso]" => Some(offset),
            _ => self.file(module).and_then(|code| code.address_of(offset)),
        };
        match address {
            Some(address) => self.point(&module.path, pc.wrapping_sub(address), address),
            None => self.point(GENERATED.as_bytes(), 0, pc),
        }
    }

    fn file(&mut self, module: &'a Module) -> Option<&ElfCode> {
        let code = self.code.entry(&module.path).or_insert_with(|| {
            let path = String::from_utf8_lossy(&module.path);
            path.starts_with('/')
                .then(|| ElfCode::read(Path::new(&*path)))
                .flatten()
        });
        code.as_ref()
    }

    fn point(&mut self, path: &'a [u8], bias: u64, address: u64) -> CodePoint {
        let next = self.found.len() as u32;
        let module = *self.places.entry((path, bias)).or_insert(next);
        if module == next {
            self.found.push(ObservedModule {
                path: String::from_utf8_lossy(path).into_owned(),
                bias,
            });
        }
        CodePoint { module, address }
    }

    /// Returns the place of an address in the mapping that was seen last there.
    fn place_of_address(&mut self, pc: u64) -> CodePoint {
        let holds = |module: &Module| module.start <= pc && pc < module.end;
        let module = self.modules.iter().rposition(holds);
        self.place(pc, module.unwrap_or(usize::MAX))
    }

    /// Whether a place in this mapping is a stub.
    fn is_stub(&mut self, mapping: usize, at: CodePoint) -> bool {
        let modules = self.modules;
        let module = modules.get(mapping);
        let code = module.and_then(|module| self.file(module));
        code.is_some_and(|code| code.is_stub(at.address))
    }

    /// Returns where block number `index` begins, or for the one after the last, where the burst
    /// ends; `None` if that is not known.
    fn beginning(
        &mut self,
        raw: &RawBurst,
        blocks: &[(&ObservedBlock, usize)],
        index: usize,
    ) -> Option<CodePoint> {
        match blocks.get(index) {
            Some((block, _)) => Some(self.place(block.pc, block.module)),
            None if raw.end_pc != 0 => Some(self.place_of_address(raw.end_pc)),
            None => None,
        }
    }

    fn burst(&mut self, raw: &RawBurst, blocks: &[(&ObservedBlock, usize)]) {
        for (index, &(block, words)) in blocks.iter().enumerate() {
            let begin = self.place(block.pc, block.module);
            let at = |instruction: usize| CodePoint {
                module: begin.module,
                address: begin.address.wrapping_add(
                    block
                        .offsets
                        .get(instruction)
                        .map_or(0, |&offset| offset.into()),
                ),
            };
            let what = Observed::Block {
                instructions: block.offsets.len() as u32,
            };
            self.events.push(BurstEvent { at: begin, what });
            let mut word = words + 1;
            let mut registers = [0u64; 6];
            let mut has_arguments = false;
            for operation in &block.operations {
                let count = operation.operation.words() as usize;
                let Some(values) = raw.words.get(word..word + count) else {
                    return;
                };
                word += count;
                match operation.operation {
                    Operation::Arguments | Operation::Result => {
                        registers[..count].copy_from_slice(values);
                        has_arguments |= operation.operation == Operation::Arguments;
                    }
                    _ => self.access(at(usize::from(operation.instruction)), operation, values),
                }
            }
            let last = at(block.offsets.len() - 1);
            let next_pc = match blocks.get(index + 1) {
                Some((next, _)) => next.pc,
                None => raw.end_pc,
            };
            let what = match block.end {
                End::Falls => None,
                End::Branch if next_pc == 0 => None,
                End::Branch => Some(Observed::Branch {
                    taken: next_pc == block.target,
                }),
                End::Call => self
                    .callee(raw, blocks, index + 1)
                    .map(|target| Observed::Call {
                        target,
                        arguments: registers,
                    }),
                End::Jump => {
                    let target = self.beginning(raw, blocks, index + 1);
                    target.map(|target| {
                        let leaves = has_arguments && target.module != begin.module;
                        match leaves && !self.is_behind_call(blocks, index) {
                            true => Observed::Call {
                                target,
                                arguments: registers,
                            },
                            false => Observed::Jump { target },
                        }
                    })
                }
                End::Return => Some(Observed::Return {
                    value: registers[0],
                }),
                End::SystemCall => Some(Observed::SystemCall {
                    number: registers[0],
                }),
            };
            let place = match block.end {
                // The call itself is the instruction after the block.
                End::SystemCall => (self.beginning(raw, blocks, index + 1)).unwrap_or(last),
                End::Jump => self.jump_to_stub(blocks, index).unwrap_or(last),
                _ => last,
            };
            if let Some(what) = what {
                self.events.push(BurstEvent { at: place, what });
            }
        }
    }

    /// Whether a block is the stub that a call goes through.
    fn is_behind_call(&mut self, blocks: &[(&ObservedBlock, usize)], index: usize) -> bool {
        let called = index
            .checked_sub(1)
            .is_some_and(|before| blocks[before].0.end == End::Call);
        let (block, _) = blocks[index];
        called && {
            let begin = self.place(block.pc, block.module);
            self.is_stub(block.module, begin)
        }
    }

    /// Returns the jump that reached a stub: a tail call.
    fn jump_to_stub(
        &mut self,
        blocks: &[(&ObservedBlock, usize)],
        index: usize,
    ) -> Option<CodePoint> {
        let (stub, _) = blocks[index];
        let begin = self.place(stub.pc, stub.module);
        let (before, _) = *blocks.get(index.checked_sub(1)?)?;
        if !matches!(before.end, End::Falls | End::Branch) || !self.is_stub(stub.module, begin) {
            return None;
        }
        let last = before.pc + u64::from(*before.offsets.last()?);
        Some(self.place(last, before.module))
    }

    /// Returns the function that a call reaches: behind a PLT stub, the one that the stub jumps to.
    fn callee(
        &mut self,
        raw: &RawBurst,
        blocks: &[(&ObservedBlock, usize)],
        index: usize,
    ) -> Option<CodePoint> {
        let target = self.beginning(raw, blocks, index)?;
        match blocks.get(index) {
            Some((block, _)) if block.end == End::Jump && self.is_stub(block.module, target) => {
                // Before the linker has bound it, the stub leads to another one.
                let behind = self.beginning(raw, blocks, index + 1)?;
                return (!self.is_stub(block.module, behind)).then_some(behind);
            }
            Some(_) => {}
            // The burst ends in front of the stub: what is behind it was not seen.
            None => {
                let pc = raw.end_pc;
                let holds = |module: &Module| module.start <= pc && pc < module.end;
                let mapping = self.modules.iter().rposition(holds);
                if mapping.is_some_and(|mapping| self.is_stub(mapping, target)) {
                    return None;
                }
            }
        }
        Some(target)
    }

    fn unrecorded(&mut self) -> u64 {
        self.unrecorded = self.unrecorded.wrapping_add(1);
        self.unrecorded
    }

    fn access(&mut self, at: CodePoint, operation: &BlockOperation, values: &[u64]) {
        let word = |index: usize| values.get(index).copied().unwrap_or(0);
        let size = operation.size;
        let what = match operation.operation {
            Operation::Load => Observed::Load {
                address: word(0),
                size,
                value: word(1),
            },
            Operation::Store | Operation::Update => Observed::Store {
                address: word(0),
                size,
                before: word(1),
                value: word(2),
                reads: operation.operation == Operation::Update,
            },
            Operation::LoadRange | Operation::StoreRange => {
                return self.range(at, operation, word(0), word(1));
            }
            Operation::Arguments | Operation::Result => return,
        };
        self.events.push(BurstEvent { at, what });
    }

    /// The access of a repeated string instruction, which has moved its address from one to another.
    fn range(&mut self, at: CodePoint, operation: &BlockOperation, from: u64, to: u64) {
        let size = u64::from(operation.size);
        let (mut address, end) = if to >= from {
            (from, to)
        } else {
            // Backwards: the first element is the highest.
            (to.wrapping_add(size), from.wrapping_add(size))
        };
        for _ in 0..MAX_EVENTS_OF_ACCESS {
            let bytes = end.saturating_sub(address).min(MAX_EVENT_BYTES);
            if bytes == 0 {
                return;
            }
            let size = bytes as u16;
            let what = if operation.operation == Operation::LoadRange {
                let value = self.unrecorded();
                Observed::Load {
                    address,
                    size,
                    value,
                }
            } else {
                let (before, value) = (self.unrecorded(), self.unrecorded());
                Observed::Store {
                    address,
                    size,
                    before,
                    value,
                    reads: false,
                }
            };
            self.events.push(BurstEvent { at, what });
            address = address.wrapping_add(bytes);
        }
    }
}
