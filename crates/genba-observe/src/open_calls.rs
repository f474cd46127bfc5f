//! Calls of a burst that have not returned: what they took in, and what they left behind.

use std::collections::BTreeMap;

use genba_model::{BurstEvent, Observed};

use crate::allocated_blocks::size_of;
use crate::byte_map::ByteMap;
use crate::call_stack::{CallStack, Frame};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::mix;
use crate::net_stores::NetStores;

/// Arguments below are numbers; those from here on are taken for addresses.
pub(crate) const FIRST_ADDRESS: u64 = 1 << 32;

/// User space ends here.
const LAST_ADDRESS: u64 = 1 << 47;

/// Places on the stacks of its callers up to which what a call leaves there is a result that can be kept.
const MAX_RESULTS_ON_STACK: usize = 8;

/// The same of a call that leaves memory behind which it allocated itself: a structure that points to it.
const MAX_WORDS_OF_OWNER: usize = 64;

/// Blocks of memory that are remembered of one call.
const MAX_BLOCKS: usize = 1 << 12;

/// A block's bytes are marked in pieces of so many, and so many of them.
const PIECE_OF_BLOCK: usize = 1 << 12;
const MAX_PIECES: usize = 16;

/// The deepest stack of the callers.
const MAX_STACK_BYTES: u64 = 1 << 20;

/// What a function of the allocator does.
#[derive(Clone, Copy)]
pub(crate) enum HeapCall {
    /// Hands out so many bytes, in place of a block if there was one.
    Allocates { bytes: u64, instead: u64 },
    /// Takes the block back that begins there.
    Frees(u64),
}

/// The blocks of the heap that a call allocated and freed, with what it calls.
#[derive(Default)]
pub(crate) struct HeapUse {
    /// By begin: their ends, and whether they were freed.
    blocks: BTreeMap<u64, (u64, bool)>,
    /// Blocks of others that it freed.
    freed: Vec<u64>,
    overflown: bool,
}

impl HeapUse {
    fn free(&mut self, begin: u64) {
        match self.blocks.get_mut(&begin) {
            Some((_, freed)) => *freed = true,
            None if begin != 0 => self.freed.push(begin),
            None => {}
        }
        self.limit();
    }

    fn inherit(&mut self, child: HeapUse) {
        self.overflown |= child.overflown;
        for begin in child.freed {
            self.free(begin);
        }
        match self.blocks.len() >= child.blocks.len() {
            true => self.blocks.extend(child.blocks),
            false => {
                let earlier = std::mem::replace(&mut self.blocks, child.blocks);
                for (begin, block) in earlier {
                    self.blocks.entry(begin).or_insert(block);
                }
            }
        }
        self.limit();
    }

    fn limit(&mut self) {
        if self.overflown || self.blocks.len() + self.freed.len() > MAX_BLOCKS {
            *self = Self {
                overflown: true,
                ..Self::default()
            };
        }
    }

    /// Whether it is as before.
    fn is_unchanged(&self) -> bool {
        !self.overflown && self.freed.is_empty() && self.blocks.values().all(|one| one.1)
    }

    /// Whether all that changed is that there is more.
    fn only_grew(&self) -> bool {
        let live = self.blocks.values().any(|one| !one.1);
        !self.overflown && self.freed.is_empty() && live
    }

    fn holds(&self, address: u64) -> bool {
        let before = self.blocks.range(..=address).next_back();
        before.is_some_and(|(_, &(end, _))| address < end)
    }
}

/// A call that has not returned.
pub(crate) struct Open {
    /// Hash of arguments and of what was read, with the addresses.
    pub inputs: u64,
    /// The same without addresses.
    pub contents: u64,
    /// The same without values that are addresses, either: what lies elsewhere on the heap each time is alike.
    pub numbers: u64,
    /// Whether an address was read from memory: contents tell what they are of.
    pub read_address: bool,
    /// Hash of the addresses among the arguments.
    pub object: u64,
    /// Registers that they are in, as in [`crate::ArgumentRegisters::integer`].
    pub registers: u8,
    /// Stores of the burst before it.
    pub began: u32,
    pub instructions: u64,
    /// Whether all that it takes in registers is recorded.
    pub arguments_known: bool,
    /// Whether all that it does is recorded, with what it calls.
    pub watched: bool,
    /// Stores outside of its stack frame.
    pub stored: NetStores,
    /// If it is one of the allocator.
    heap_call: Option<HeapCall>,
    /// Whether it gives memory back, or is called by what does.
    pub freeing: bool,
    /// Whether it is a library's comparison.
    compares: bool,
    heap: HeapUse,
    /// Instructions of allocators among them.
    of_allocator: u64,
    /// Loads of what it did not write itself.
    loads: u64,
}

/// What a call left in memory that it allocated.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    /// Words of it.
    pub words: u64,
    /// Loads of what it did not write itself.
    pub loads: u64,
    /// Instructions but those of allocators.
    pub instructions: u64,
}

impl Open {
    /// Begins and ends of the blocks that it allocated and did not free.
    pub(crate) fn live_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let live = self.heap.blocks.iter().filter(|(_, block)| !block.1);
        live.map(|(begin, block)| (*begin, block.0))
    }

    /// The block that it gives back, if it is a function of the allocator for that.
    pub(crate) fn gives_back(&self) -> Option<u64> {
        match self.heap_call {
            Some(HeapCall::Frees(begin)) => Some(begin),
            _ => None,
        }
    }

    /// Whether it is a call of an allocator.
    pub(crate) fn allocates(&self) -> bool {
        matches!(self.heap_call, Some(HeapCall::Allocates { .. }))
    }
}

/// A call that has just begun, after so many stores of the burst.
pub(crate) fn opened(
    frame: &Frame,
    stores: u32,
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
) -> Open {
    let registers = code.arguments(frame.target);
    let known = registers.filter(|registers| !registers.vector);
    let (mut inputs, mut contents) = (0, 0);
    let mut object = 0;
    for (index, &argument) in frame.arguments.iter().enumerate() {
        if known.is_some_and(|registers| registers.integer >> index & 1 == 1) {
            inputs = mix(mix(inputs, index as u64), argument);
            if argument >= FIRST_ADDRESS {
                object = mix(mix(object, index as u64), argument);
            }
            let number = argument.min(FIRST_ADDRESS);
            contents = mix(mix(contents, index as u64), number);
        }
    }
    let begin = frame.arguments[0];
    let allocation = code.allocation(frame.target);
    let allocates = allocation.map(|one| HeapCall::Allocates {
        bytes: size_of(one, &frame.arguments),
        // `realloc` has a block there; others have a size or an alignment.
        instead: Some(begin)
            .filter(|&begin| begin >= FIRST_ADDRESS)
            .unwrap_or(0),
    });
    let frees = code.frees(frame.target).then_some(HeapCall::Frees(begin));
    Open {
        inputs,
        contents,
        numbers: contents,
        read_address: false,
        object,
        registers: known.map_or(0, |registers| registers.integer),
        // Its own return address, if it is stored already, is nobody's input: it differs from place to place.
        began: stores.saturating_sub(u32::from(frame.stack.is_some())),
        instructions: 0,
        arguments_known: known.is_some(),
        watched: !unseen(frame.target.module),
        stored: NetStores::default(),
        heap_call: allocates.or(frees),
        freeing: frees.is_some(),
        compares: code.compares(frame.target),
        heap: HeapUse::default(),
        of_allocator: 0,
        loads: 0,
    }
}

/// Adds an event to the innermost open call; its callers inherit it when it returns.
pub(crate) fn inside(
    event: &BurstEvent,
    open: &mut [(Frame, Open)],
    written: &mut ByteMap<u32>,
    stores: &mut u32,
    result: &mut u64,
    stack: &CallStack,
) {
    match event.what {
        Observed::Load {
            address,
            size,
            value,
        } => {
            let Some((_, top)) = open.last_mut() else {
                return;
            };
            let mut own = true;
            written.update(address, size, |when| own &= *when > top.began);
            if !own {
                top.inputs = mix(mix(top.inputs, address), value);
                top.contents = mix(top.contents, value);
                top.numbers = mix(top.numbers, number(size, value));
                top.loads += 1;
                top.read_address |= size == 8 && (FIRST_ADDRESS..LAST_ADDRESS).contains(&value);
            }
        }
        Observed::Store {
            address,
            size,
            value,
            before,
            reads,
        } => {
            if let Some((frame, top)) = open.last_mut() {
                if reads {
                    let mut own = true;
                    written.update(address, size, |when| own &= *when > top.began);
                    if !own {
                        top.inputs = mix(mix(top.inputs, address), before);
                        top.contents = mix(top.contents, before);
                        top.numbers = mix(top.numbers, number(size, before));
                    }
                }
                // Where its frame is may be known since its call's own store.
                if let Some(known) = stack.frames().last() {
                    *frame = *known;
                }
                if !frame.holds(address) {
                    top.stored.store(address, size, before, value);
                }
            }
            *stores += 1;
            let now = *stores;
            written.update(address, size, |when| *when = now);
        }
        Observed::Block { instructions } => {
            if let Some((_, top)) = open.last_mut() {
                top.instructions += u64::from(instructions);
            }
        }
        Observed::Return { value } => *result = value,
        Observed::SystemCall { .. } => {
            if let Some((_, top)) = open.last_mut() {
                top.watched = false;
            }
        }
        _ => {}
    }
}

/// A loaded value, but for addresses, of which one is as good as another.
fn number(size: u16, value: u64) -> u64 {
    let is_address = size == 8 && (FIRST_ADDRESS..LAST_ADDRESS).contains(&value);
    if is_address { FIRST_ADDRESS } else { value }
}

/// What is defined of a comparison's result (C17, 7.24.4): its size depends on where the operands lie in their pages.
pub(crate) fn sign(result: u64) -> u64 {
    i64::from((result as i32).signum()) as u64
}

/// A call inside a call: its inputs follow from those of the outer one or are inputs of it, whatever
/// registers it takes them in. Of an allocator's work only how much it was asked for is one: where a block lies is
/// nobody's result, nor what was there before. Of a library's comparison the contents are only how it came out: it loads
/// beyond the ends of its operands.
pub(crate) fn inherit(
    parent: &mut Open,
    frame: &Frame,
    mut child: Open,
    result: u64,
    written: &mut ByteMap<u32>,
    stores: u32,
) {
    match child.heap_call {
        Some(HeapCall::Allocates { bytes, instead }) => {
            parent.inputs = mix(parent.inputs, bytes);
            parent.contents = mix(parent.contents, bytes);
            parent.numbers = mix(parent.numbers, bytes);
            parent.instructions += child.instructions;
            parent.of_allocator += child.instructions;
            parent.heap.free(instead);
            let end = result.saturating_add(bytes);
            parent.heap.blocks.insert(result, (end, false));
            for begin in (result..end).step_by(PIECE_OF_BLOCK).take(MAX_PIECES) {
                let size = (end - begin).min(PIECE_OF_BLOCK as u64) as u16;
                written.update(begin, size, |when| *when = stores);
            }
            parent.heap.limit();
            return;
        }
        Some(HeapCall::Frees(begin)) => {
            parent.instructions += child.instructions;
            parent.of_allocator += child.instructions;
            parent.heap.free(begin);
            return;
        }
        None => {}
    }
    if child.compares {
        child.contents = sign(result);
    }
    parent.heap.inherit(child.heap);
    parent.of_allocator += child.of_allocator;
    parent.loads += child.loads;
    parent.inputs = mix(parent.inputs, child.inputs);
    parent.contents = mix(parent.contents, child.contents);
    parent.numbers = mix(parent.numbers, child.numbers);
    parent.read_address |= child.read_address;
    parent.instructions += child.instructions;
    (parent.stored).inherit(child.stored, |address| !frame.holds(address));
    parent.watched &= child.watched;
}

/// What a call left for its callers on their stacks, as one number; `None` if it left other values in
/// memory of others, or many.
pub(crate) fn results(one: &Open, frame: &Frame) -> Option<u64> {
    let nobodys = |address| one.heap.holds(address);
    let left = (one.stored).results(MAX_RESULTS_ON_STACK, |at| is_on_stack(frame, at), nobodys);
    left.filter(|_| one.heap.is_unchanged())
}

/// What a call left in memory that it allocated, if it changed nothing but that and what its callers have on
/// their stacks.
pub(crate) fn made(one: &Open, frame: &Frame) -> Option<Made> {
    let nobodys = |address| one.heap.holds(address);
    let grew = one.heap.only_grew() && one.heap_call.is_none();
    let left = (one.stored).results(MAX_WORDS_OF_OWNER, |at| is_on_stack(frame, at), nobodys);
    left.filter(|_| grew).map(|_| Made {
        words: one.stored.words(nobodys),
        loads: one.loads,
        instructions: one.instructions - one.of_allocator,
    })
}

fn is_on_stack(frame: &Frame, address: u64) -> bool {
    (frame.stack).is_some_and(|stack| address > stack && address - stack <= MAX_STACK_BYTES)
}
