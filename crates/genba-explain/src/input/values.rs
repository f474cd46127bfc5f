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
//! code between them*. In a loop the same number in two iterations is only promised where the
//! number was made outside of the loop ([`Values::is_invariant`]).

use std::collections::HashMap;

use genba_code::{BlockId, ControlFlow, DataFlow, Location};

use crate::constants::registers::LOCATIONS;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::value_numbering;

/// A value: a number, and a constant added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// Number of the value without the constant; equal numbers are equal values.
    pub number: u32,
    /// What is added.
    pub offset: i64,
}

/// The number of constants: [`Value::offset`] is the constant itself.
pub const CONSTANT: u32 = 0;

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
    pub(crate) origins: Vec<Origin>,
    /// By instruction: values that it reads, by location, in order of locations.
    pub(crate) reads: Vec<Vec<(Location, Value)>>,
    /// By instruction: values that it writes.
    pub(crate) writes: Vec<Vec<(Location, Value)>>,
    /// By instruction: the address of each of its memory accesses; `None` for those with
    /// segments or vector indices.
    pub(crate) addresses: Vec<Vec<Option<Address>>>,
    /// By number: where a value was loaded from, for values that a load made.
    pub(crate) loads: HashMap<u32, Address>,
    /// By number: what met there, for values made at a block's head.
    pub(crate) joins: HashMap<u32, Vec<Value>>,
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

impl Values {
    /// Numbers the values of a function.
    #[must_use]
    pub fn of(flow: &ControlFlow, data: &[DataFlow]) -> Self {
        value_numbering::number(flow, data)
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

    /// The location in which a value was when the function was entered: those have the first numbers behind constants.
    #[must_use]
    pub fn location_at_entry(&self, value: Value) -> Option<Location> {
        let first = usize::try_from(value.number.checked_sub(CONSTANT + 1)?).ok()?;
        let known = first < LOCATIONS && value.offset == 0 && self.origin(value) == Origin::Entry;
        known.then_some(first as Location)
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
                if one.offset != 0 || seen.len() >= MAX_VALUES_FOLLOWED {
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

    /// Whether a value is the same in every iteration of a loop: made outside of it.
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

#[cfg(test)]
#[path = "../tests/values.rs"]
mod tests;
