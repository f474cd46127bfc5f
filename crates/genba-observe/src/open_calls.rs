//! Calls of a burst that have not returned: what they took in, and what they left behind.

use genba_model::{BurstEvent, Observed};

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

/// The deepest stack of the callers.
const MAX_STACK_BYTES: u64 = 1 << 20;

/// A call that has not returned.
pub(crate) struct Open {
    /// Hash of arguments and of what was read, with the addresses.
    pub inputs: u64,
    /// The same without addresses.
    pub contents: u64,
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
    Open {
        inputs,
        contents,
        read_address: false,
        object,
        registers: known.map_or(0, |registers| registers.integer),
        began: stores,
        instructions: 0,
        arguments_known: known.is_some(),
        watched: !unseen(frame.target.module),
        stored: NetStores::default(),
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

/// A call inside a call: its inputs follow from those of the outer one or are inputs of it, whatever
/// registers it takes them in.
pub(crate) fn inherit(parent: &mut Open, frame: &Frame, child: Open) {
    parent.inputs = mix(parent.inputs, child.inputs);
    parent.contents = mix(parent.contents, child.contents);
    parent.read_address |= child.read_address;
    parent.instructions += child.instructions;
    (parent.stored).inherit(child.stored, |address| !frame.holds(address));
    parent.watched &= child.watched;
}

/// What a call left for its callers on their stacks, as one number; `None` if it left other values in
/// memory of others, or many.
pub(crate) fn results(one: &Open, frame: &Frame) -> Option<u64> {
    let on_stack = |address: u64| {
        (frame.stack).is_some_and(|stack| address > stack && address - stack <= MAX_STACK_BYTES)
    };
    one.stored.results(MAX_RESULTS_ON_STACK, on_stack)
}
