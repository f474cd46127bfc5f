//! The walk that numbers values: blocks in order, instructions one by one.

use std::collections::HashMap;

use genba_code::{
    BlockId, Components, ControlFlow, DataFlow, Location, MemoryAccess, Opaque, STACK_POINTER,
    Shortcut,
};

use crate::constants::registers::{CALL_CLOBBERED, LOCATIONS, XMM0};
use crate::input::values::{Address, CONSTANT, Origin, Value, Values, bits};
use genba_loop_model::is_inside;

/// By location.
type State = Vec<Value>;

/// Numbers the values of a function.
pub(crate) fn number(flow: &ControlFlow, data: &[DataFlow]) -> Values {
    let mut numbering = Numbering {
        flow,
        data,
        values: Values {
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

/// What makes equal values: the operation with its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// An instruction of this form with these operands writes this location.
    Result {
        form: String,
        operands: Vec<(Location, Value)>,
        /// Of `lea`.
        components: Option<Components>,
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

/// Locations that an instruction changes, what it calls included.
fn written(data: &DataFlow) -> u128 {
    match data.opaque {
        Some(Opaque::Call) => data.writes | CALL_CLOBBERED,
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
        // What the loop does not write comes back as it went in.
        let changed = match heads {
            Some(index) if !back.is_empty() => self.loop_writes[index as usize],
            _ => 0,
        };
        let mut kept: HashMap<BlockId, u128> = HashMap::new();
        let mut state = Vec::with_capacity(LOCATIONS);
        for location in 0..LOCATIONS {
            let mut same: Option<Value> = (block == 0).then(|| entry[location]);
            let mut agrees = changed & (1 << location) == 0;
            for &before in &forward {
                match (&self.at_end[before as usize], same) {
                    (None, _) => {
                        let kept = *kept
                            .entry(before)
                            .or_insert_with(|| self.kept(block, before));
                        agrees &= kept & (1 << location) != 0;
                    }
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

    /// Locations that are the same at the ends of two blocks, by a loop that both are in, that is
    /// entered in one place, and that does not write them: what comes back in a tangle of loops
    /// inside is what came in.
    fn kept(&self, block: BlockId, before: BlockId) -> u128 {
        let loops = self.flow.loops();
        let around = std::iter::successors(self.flow.innermost_loop(block), |&index| {
            loops[index as usize].parent
        });
        around
            .filter(|&index| !loops[index as usize].irreducible)
            .filter(|&index| is_inside(self.flow, before, index))
            .fold(0, |all, index| all | !self.loop_writes[index as usize])
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
                _ if data.shortcut == Shortcut::Constant && location < XMM0 => Value {
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

    #[expect(clippy::too_many_arguments)]
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

    #[expect(clippy::too_many_arguments)]
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
            components: data.components,
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
        Some(location) if location >= XMM0 => return None,
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
