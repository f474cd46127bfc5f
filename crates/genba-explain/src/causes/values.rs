//! Value numbering: which registers hold the same value where.
//!
//! Forward over the blocks, each joined from its predecessors (C. Click, "Global Code Motion,
//! Global Value Numbering", PLDI 1995, in its simplest, pessimistic form): at a block's head a
//! location keeps its value if every predecessor brings the same, or if the block heads a loop
//! that does not write the location; else it gets a value of its own. A value is a number and a
//! constant added to it, so that addresses can be compared: `[rax+8]` after `lea rax, [rdi-8]` is
//! `[rdi]`.
//!
//! **What equal means.** Two uses of one value number saw the same bits *in one pass through the
//! code between them*. In a loop the same number in two rounds is only promised where the
//! number was made outside of the loop ([`Values::is_invariant`]).

use std::collections::HashMap;

use genba_code::{
    BlockId, ControlFlow, DataFlow, Location, MemoryAccess, Opaque, STACK_POINTER, Shortcut,
};

/// A value: a number, and a constant added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// Which.
    pub number: u32,
    /// What is added.
    pub offset: i64,
}

/// The number of constants: [`Value::offset`] is the constant itself.
pub const CONSTANT: u32 = 0;

/// Locations that are followed: general registers, vectors, masks, flags.
const LOCATIONS: usize = 128;

/// What made a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A constant.
    Constant,
    /// It was there when the function was entered, or comes from where nothing is known.
    Entry,
    /// Several values met at the head of this block.
    Join(BlockId),
    /// Made by the instruction of this index.
    Instruction(u32),
}

/// Value numbers of one function.
#[derive(Clone, Debug, Default)]
pub struct Values {
    origins: Vec<Origin>,
    /// By instruction: values that it reads, by location, in order of locations.
    reads: Vec<Vec<(Location, Value)>>,
    /// By instruction: values that it writes.
    writes: Vec<Vec<(Location, Value)>>,
    /// By instruction: the address of each of its memory accesses; `None` for those with
    /// segments or vector indices.
    addresses: Vec<Vec<Option<Address>>>,
    /// By number: where a value was loaded from, for values that a load made.
    loads: HashMap<u32, Address>,
    /// By number: what met there, for values made at a block's head.
    joins: HashMap<u32, Vec<Value>>,
}

/// An address as a sum of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Base.
    pub base: Value,
    /// Index and its factor.
    pub index: Option<(Value, u8)>,
    /// Bytes accessed.
    pub bytes: u16,
}

type State = Vec<Value>;

impl Values {
    /// Numbers the values of a function.
    #[must_use]
    pub fn of(flow: &ControlFlow, data: &[DataFlow]) -> Self {
        let mut numbering = Numbering {
            flow,
            data,
            values: Self {
                origins: vec![Origin::Constant],
                reads: vec![Vec::new(); data.len()],
                writes: vec![Vec::new(); data.len()],
                addresses: vec![Vec::new(); data.len()],
                loads: HashMap::new(),
                joins: HashMap::new(),
            },
            known: HashMap::new(),
            at_end: vec![None; flow.blocks().len()],
            loop_writes: loop_writes(flow, data),
        };
        numbering.run();
        numbering.values
    }

    /// The value that an instruction reads from a location.
    #[must_use]
    pub fn read(&self, instruction: usize, location: Location) -> Option<Value> {
        find(self.reads.get(instruction)?, location)
    }

    /// All values that an instruction reads from registers.
    #[must_use]
    pub fn reads(&self, instruction: usize) -> &[(Location, Value)] {
        self.reads.get(instruction).map_or(&[], Vec::as_slice)
    }

    /// The value that an instruction writes to a location.
    #[must_use]
    pub fn written(&self, instruction: usize, location: Location) -> Option<Value> {
        find(self.writes.get(instruction)?, location)
    }

    /// All values that an instruction writes to registers.
    #[must_use]
    pub fn writes(&self, instruction: usize) -> &[(Location, Value)] {
        self.writes.get(instruction).map_or(&[], Vec::as_slice)
    }

    /// Addresses of an instruction's memory accesses, in the order of [`DataFlow::memory`].
    #[must_use]
    pub fn addresses(&self, instruction: usize) -> &[Option<Address>] {
        self.addresses.get(instruction).map_or(&[], Vec::as_slice)
    }

    /// What made a value.
    #[must_use]
    pub fn origin(&self, value: Value) -> Origin {
        self.origins
            .get(value.number as usize)
            .copied()
            .unwrap_or(Origin::Entry)
    }

    /// The values of which one of these is, by the way that control came: of a value that was
    /// made at a block's head what its predecessors brought, else nothing.
    #[must_use]
    pub fn joined(&self, value: Value) -> &[Value] {
        match self.joins.get(&value.number) {
            Some(list) if value.offset == 0 => list,
            _ => &[],
        }
    }

    /// The address that a value was loaded from, on whichever way it came: then it is what
    /// memory held there, and changes only if that does.
    #[must_use]
    pub fn loaded_from(&self, value: Value) -> Option<Address> {
        const MOST: usize = 64;
        let mut seen = vec![value.number];
        let mut next = 0;
        let mut found = None;
        while let Some(&number) = seen.get(next) {
            next += 1;
            if let Some(&address) = self.loads.get(&number) {
                if found.is_some_and(|before| before != address) {
                    return None;
                }
                found = Some(address);
                continue;
            }
            // Something that is neither loaded nor joined of what was.
            for one in self.joins.get(&number)? {
                if one.offset != 0 || seen.len() >= MOST {
                    return None;
                }
                if !seen.contains(&one.number) {
                    seen.push(one.number);
                }
            }
        }
        found.filter(|_| value.offset == 0)
    }

    /// What met at a block's head to make a value, in the order of the block's predecessors;
    /// nothing for values that were made otherwise.
    #[must_use]
    pub fn met(&self, value: Value) -> &[Value] {
        self.joins.get(&value.number).map_or(&[], Vec::as_slice)
    }

    /// All values that were made at blocks' heads, by number, with what met there.
    pub fn joins(&self) -> impl Iterator<Item = (u32, &[Value])> {
        self.joins
            .iter()
            .map(|(&number, list)| (number, list.as_slice()))
    }

    /// Whether a value is the same in every round of a loop: made outside of it.
    #[must_use]
    pub fn is_invariant(&self, value: Value, flow: &ControlFlow, index: u32) -> bool {
        let block = match self.origin(value) {
            Origin::Constant | Origin::Entry => return true,
            Origin::Join(block) => Some(block),
            Origin::Instruction(at) => flow.block_of(at as usize),
        };
        block.is_some_and(|block| !flow.loop_blocks(index).contains(&block))
    }
}

fn find(list: &[(Location, Value)], location: Location) -> Option<Value> {
    list.iter().find(|one| one.0 == location).map(|one| one.1)
}

/// What makes equal values: the operation with its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// An instruction of this form with these operands writes this location.
    Result {
        form: String,
        operands: Vec<(Location, Value)>,
        addresses: Vec<Option<Address>>,
        /// Stores between make loads differ.
        memory: (BlockId, u32, u32),
        to: Location,
    },
    /// What a location holds at a block's head.
    Join(BlockId, Location),
}

/// What was stored in a block so far. A store through one base value is taken not to change
/// what is behind another: compilers may not assume that, but where it matters for a finding
/// the program would have to alias its own operands.
#[derive(Default)]
struct Memory {
    /// Stores whose address is not followed, calls.
    anywhere: u32,
    /// Stores by the number of their base.
    by_base: HashMap<u32, u32>,
}

impl Memory {
    fn note(&mut self, data: &DataFlow, addresses: &[Option<Address>]) {
        if data.opaque.is_some() {
            self.anywhere += 1;
        }
        for (access, address) in data.memory.iter().zip(addresses) {
            match address {
                Some(address) if access.writes => {
                    *self.by_base.entry(address.base.number).or_default() += 1;
                }
                None if access.writes => self.anywhere += 1,
                _ => {}
            }
        }
    }

    /// Changes whenever what is at these addresses may have changed.
    fn epoch(&self, addresses: &[Option<Address>], block: BlockId) -> (BlockId, u32, u32) {
        let stores = addresses
            .iter()
            .flatten()
            .map(|address| self.by_base.get(&address.base.number).copied().unwrap_or(0));
        (block, self.anywhere, stores.sum())
    }
}

/// Registers that a call may change: by the System V calling convention rax, rcx, rdx, rsi, rdi,
/// r8 to r11, all vector and mask registers and flags.
const CALL_CHANGES: u128 = {
    let general = 0b1111_1100_0111;
    let vectors = ((1u128 << 32) - 1) << 16;
    let masks = ((1u128 << 8) - 1) << 48;
    let flags = ((1u128 << 7) - 1) << 64;
    general | vectors | masks | flags
};

/// Locations that an instruction changes, what it calls included.
fn written(data: &DataFlow) -> u128 {
    match data.opaque {
        Some(Opaque::Call) => data.writes | CALL_CHANGES,
        _ => data.writes,
    }
}

struct Numbering<'a> {
    flow: &'a ControlFlow,
    data: &'a [DataFlow],
    values: Values,
    known: HashMap<Key, u32>,
    at_end: Vec<Option<State>>,
    /// By loop: locations that are written in it.
    loop_writes: Vec<u128>,
}

impl Numbering<'_> {
    fn run(&mut self) {
        let entry = self.entry_state();
        for block in order(self.flow) {
            let mut state = self.head(block, &entry);
            let range = self.flow.blocks()[block as usize].instructions.clone();
            // Memory is only followed inside a block.
            let mut memory = Memory::default();
            for at in range {
                self.step(at as usize, &mut state, &mut memory, block);
            }
            self.at_end[block as usize] = Some(state);
        }
        self.note_joins();
    }

    /// Now that all blocks' ends are known: what met at their heads.
    fn note_joins(&mut self) {
        for (key, &number) in &self.known {
            let &Key::Join(block, location) = key else {
                continue;
            };
            let this = &self.flow.blocks()[block as usize];
            if block == 0 || !this.known_entry {
                continue;
            }
            let ends = this.predecessors.iter().map(|&before| {
                let end = self.at_end[before as usize].as_ref()?;
                Some(end[usize::from(location)])
            });
            if let Some(inputs) = ends.collect::<Option<Vec<Value>>>() {
                self.values.joins.insert(number, inputs);
            }
        }
    }

    fn entry_state(&mut self) -> State {
        (0..LOCATIONS).map(|_| self.fresh(Origin::Entry)).collect()
    }

    fn fresh(&mut self, origin: Origin) -> Value {
        self.values.origins.push(origin);
        Value {
            number: self.values.origins.len() as u32 - 1,
            offset: 0,
        }
    }

    /// The values at a block's head.
    fn head(&mut self, block: BlockId, entry: &State) -> State {
        let blocks = self.flow.blocks();
        let this = &blocks[block as usize];
        if !this.known_entry {
            return (0..LOCATIONS)
                .map(|_| self.fresh(Origin::Join(block)))
                .collect();
        }
        if this.predecessors.is_empty() {
            return entry.clone();
        }
        let heads = self.flow.innermost_loop(block).filter(|&index| {
            self.flow.loops()[index as usize].head == block
                && !self.flow.loops()[index as usize].irreducible
        });
        let inside = |before: &BlockId| {
            heads.is_some_and(|index| self.flow.loop_blocks(index).contains(before))
        };
        let (back, forward): (Vec<BlockId>, Vec<BlockId>) =
            this.predecessors.iter().partition(|before| inside(before));
        // What the loop does not write comes round as it went in.
        let changed = match heads {
            Some(index) if !back.is_empty() => self.loop_writes[index as usize],
            _ => 0,
        };
        let mut state = Vec::with_capacity(LOCATIONS);
        for location in 0..LOCATIONS {
            let mut same: Option<Value> = (block == 0).then(|| entry[location]);
            let mut agrees = changed & (1 << location) == 0;
            for &before in &forward {
                match (&self.at_end[before as usize], same) {
                    (None, _) => agrees = false,
                    (Some(end), None) => same = Some(end[location]),
                    (Some(end), Some(value)) => agrees &= end[location] == value,
                }
            }
            state.push(match same {
                Some(value) if agrees => value,
                _ => self.named(Key::Join(block, location as Location), Origin::Join(block)),
            });
        }
        state
    }

    fn named(&mut self, key: Key, origin: Origin) -> Value {
        if let Some(&number) = self.known.get(&key) {
            return Value { number, offset: 0 };
        }
        let value = self.fresh(origin);
        self.known.insert(key, value.number);
        value
    }

    fn step(&mut self, at: usize, state: &mut State, memory: &mut Memory, block: BlockId) {
        let Some(data) = self.data.get(at) else {
            return;
        };
        let reads: Vec<(Location, Value)> = bits(data.reads())
            .map(|location| (location, state[usize::from(location)]))
            .collect();
        let addresses: Vec<Option<Address>> = data
            .memory
            .iter()
            .map(|access| address(access, state))
            .collect();
        let operands: Vec<(Location, Value)> = bits(data.data_reads)
            .map(|location| (location, state[usize::from(location)]))
            .collect();
        let calls = data.opaque == Some(Opaque::Call);
        // What a call pushes is popped when it comes back.
        let moved = if calls { 0 } else { data.stack_delta };
        let mut writes = Vec::new();
        let copied =
            (data.shortcut == Shortcut::Copy && operands.len() == 1).then(|| operands[0].1);
        for location in bits(written(data)) {
            let value = match (&data.sum, copied) {
                (Some(sum), _) if sum.to == location => Value {
                    number: sum
                        .source
                        .map_or(CONSTANT, |from| state[usize::from(from)].number),
                    offset: sum
                        .source
                        .map_or(0, |from| state[usize::from(from)].offset)
                        .wrapping_add(sum.addend),
                },
                (_, Some(value)) => value,
                _ if data.shortcut == Shortcut::Constant && location < 16 => Value {
                    number: CONSTANT,
                    offset: 0,
                },
                _ => self.result(at, data, location, &operands, &addresses, memory, block),
            };
            writes.push((location, value));
        }
        for &(location, value) in &writes {
            state[usize::from(location)] = value;
        }
        if moved != 0 {
            let stack = &mut state[usize::from(STACK_POINTER)];
            stack.offset = stack.offset.wrapping_add(i64::from(moved));
        }
        memory.note(data, &addresses);
        self.values.reads[at] = reads;
        self.values.writes[at] = writes;
        self.values.addresses[at] = addresses;
    }

    #[allow(clippy::too_many_arguments)]
    fn result(
        &mut self,
        at: usize,
        data: &DataFlow,
        to: Location,
        operands: &[(Location, Value)],
        addresses: &[Option<Address>],
        memory: &Memory,
        block: BlockId,
    ) -> Value {
        let origin = Origin::Instruction(at as u32);
        let followed = addresses.iter().all(Option::is_some);
        let has_immediate = data.form.ends_with(", i") || data.form.ends_with(" i");
        // The same operation on the same operands: but not what other code did, not what the
        // kernel wrote, and constants are not known here.
        if data.opaque.is_some() || !followed || has_immediate {
            return self.fresh(origin);
        }
        let plain_load = data.loads() && !data.stores() && operands.is_empty();
        let value = self.keyed(data, to, operands, addresses, memory, block, origin);
        if let (true, [Some(address)]) = (plain_load, addresses) {
            self.values.loads.insert(value.number, *address);
        }
        value
    }

    #[allow(clippy::too_many_arguments)]
    fn keyed(
        &mut self,
        data: &DataFlow,
        to: Location,
        operands: &[(Location, Value)],
        addresses: &[Option<Address>],
        memory: &Memory,
        block: BlockId,
        origin: Origin,
    ) -> Value {
        let epoch = if data.loads() {
            memory.epoch(addresses, block)
        } else {
            (0, 0, 0)
        };
        let key = Key::Result {
            form: data.form.clone(),
            operands: operands.to_vec(),
            addresses: addresses.to_vec(),
            memory: epoch,
            // One result is the same in whichever register.
            to: if data.writes.count_ones() == 1 { 0 } else { to },
        };
        self.named(key, origin)
    }
}

/// The address of an access, as far as values make it.
fn address(access: &MemoryAccess, state: &State) -> Option<Address> {
    if access.segment {
        return None;
    }
    let value = |location: Location| state.get(usize::from(location)).copied();
    let mut base = match access.base {
        Some(location) => value(location)?,
        None => Value {
            number: CONSTANT,
            offset: 0,
        },
    };
    base.offset = base.offset.wrapping_add(access.displacement);
    let index = match access.index {
        // Vectors of indices are many addresses.
        Some(location) if location >= 16 => return None,
        Some(location) => {
            let value = value(location)?;
            base.offset = base
                .offset
                .wrapping_add(value.offset.wrapping_mul(i64::from(access.scale)));
            Some((
                Value {
                    number: value.number,
                    offset: 0,
                },
                access.scale,
            ))
        }
        None => None,
    };
    Some(Address {
        base,
        index,
        bytes: access.bytes,
    })
}

/// Locations in a set.
pub(crate) fn bits(mut set: u128) -> impl Iterator<Item = Location> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let bit = set.trailing_zeros() as Location;
        set &= set - 1;
        Some(bit)
    })
}

/// Blocks so that, loops apart, each comes after those that lead to it.
fn order(flow: &ControlFlow) -> Vec<BlockId> {
    let blocks = flow.blocks();
    let mut seen = vec![false; blocks.len()];
    let mut postorder = Vec::with_capacity(blocks.len());
    let starts = (0..blocks.len()).filter(|&b| b == 0 || !blocks[b].known_entry);
    for start in starts.chain(0..blocks.len()).collect::<Vec<_>>() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((block, next)) = stack.pop() {
            match blocks[block].successors.get(next) {
                Some(&to) => {
                    stack.push((block, next + 1));
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        stack.push((to as usize, 0));
                    }
                }
                None => postorder.push(block as BlockId),
            }
        }
    }
    postorder.reverse();
    postorder
}

/// By loop: locations that are written anywhere in it. Pushes and pops that make up for one
/// another leave the stack pointer as it was.
fn loop_writes(flow: &ControlFlow, data: &[DataFlow]) -> Vec<u128> {
    let by_block: Vec<(u128, i64)> = flow
        .blocks()
        .iter()
        .map(|block| {
            let range = block.instructions.start as usize..block.instructions.end as usize;
            let list = data.get(range).unwrap_or(&[]);
            let moves = |one: &&DataFlow| one.opaque != Some(Opaque::Call);
            let moved = list
                .iter()
                .filter(moves)
                .map(|one| i64::from(one.stack_delta));
            (
                list.iter().fold(0, |set, one| set | written(one)),
                moved.sum(),
            )
        })
        .collect();
    (0..flow.loops().len() as u32)
        .map(|index| {
            let blocks = flow.loop_blocks(index).iter();
            let (set, moved) = blocks.fold((0, 0i64), |(set, moved), &block| {
                let (more, by) = by_block[block as usize];
                (set | more, moved.saturating_add(by))
            });
            if moved == 0 {
                set
            } else {
                set | 1 << STACK_POINTER
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
