//! Which memory accesses are of the same address: registers as an unknown plus a constant, and
//! the stores between them.
//!
//! Two addresses are the same only if they are made of the same unknowns; of any other pair it is
//! assumed that they differ, as processors predict it.

use crate::constants::{MAX_REMEMBERED_STORES, STORE_QUEUE_ENTRIES};
use std::collections::HashMap;

use genba_code::{DataFlow, Location, MemoryAccess, STACK_POINTER};

/// A value: an unknown plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    unknown: u64,
    constant: i64,
}

/// The unknown of values that are constants.
const NOTHING: u64 = u64::MAX;

/// The unknowns that an address is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    base: u64,
    index: u64,
    scale: u8,
    segment: bool,
}

/// A store that a load may take its value from.
#[derive(Clone, Copy, Debug)]
struct Stored {
    offset: i64,
    bytes: u16,
    sequence: u64,
    node: u32,
    access: MemoryAccess,
}

/// What a load finds in the stores before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No store to that address.
    Nothing,
    /// The store of this node holds all of it, and was addressed in the same way or not.
    All { node: u32, same: bool },
    /// The store of this node holds a part of it: the load waits until it is in the cache.
    Part(u32),
}

/// Values of the general registers and stores, at one point of the simulation.
pub(super) struct Addresses {
    registers: [Value; 16],
    next_unknown: u64,
    stores: HashMap<Key, Vec<Stored>>,
    sequence: u64,
}

impl Addresses {
    pub(super) fn new() -> Self {
        let mut registers = [Value {
            unknown: 0,
            constant: 0,
        }; 16];
        for (register, unknown) in registers.iter_mut().zip(0u64..) {
            register.unknown = unknown;
        }
        Self {
            registers,
            next_unknown: 16,
            stores: HashMap::new(),
            sequence: 0,
        }
    }

    fn place(&self, access: &MemoryAccess) -> Option<(Key, i64)> {
        let value = |location: Option<Location>| match location {
            None => Some(Value {
                unknown: NOTHING,
                constant: 0,
            }),
            Some(register) => self.registers.get(usize::from(register)).copied(),
        };
        let (base, index) = (value(access.base)?, value(access.index)?);
        let offset = base
            .constant
            .wrapping_add(access.displacement)
            .wrapping_add(index.constant.wrapping_mul(i64::from(access.scale)));
        let scale = if index.unknown == NOTHING {
            0
        } else {
            access.scale
        };
        let key = Key {
            base: base.unknown,
            index: index.unknown,
            scale,
            segment: access.segment,
        };
        Some((key, offset))
    }

    /// The latest store that a load overlaps.
    pub(super) fn find(&self, access: &MemoryAccess) -> Found {
        let Some((key, offset)) = self.place(access) else {
            return Found::Nothing;
        };
        let Some(list) = self.stores.get(&key) else {
            return Found::Nothing;
        };
        let end = offset.saturating_add(i64::from(access.bytes));
        for store in list.iter().rev() {
            if store.sequence + STORE_QUEUE_ENTRIES < self.sequence {
                break;
            }
            let store_end = store.offset.saturating_add(i64::from(store.bytes));
            if store.offset <= offset && end <= store_end {
                return Found::All {
                    node: store.node,
                    same: is_same(&store.access, access),
                };
            }
            if store.offset < end && offset < store_end {
                return Found::Part(store.node);
            }
        }
        Found::Nothing
    }

    /// Remembers a store that `node` made.
    pub(super) fn store(&mut self, access: &MemoryAccess, node: u32) {
        self.sequence += 1;
        let Some((key, offset)) = self.place(access) else {
            return;
        };
        let oldest = self.sequence.saturating_sub(STORE_QUEUE_ENTRIES);
        if self.stores.len() > MAX_REMEMBERED_STORES {
            self.stores
                .retain(|_, list| list.last().is_some_and(|s| s.sequence >= oldest));
        }
        let list = self.stores.entry(key).or_default();
        if list.len() > 2 * STORE_QUEUE_ENTRIES as usize {
            list.retain(|s| s.sequence >= oldest);
        }
        list.push(Stored {
            offset,
            bytes: access.bytes,
            sequence: self.sequence,
            node,
            access: *access,
        });
    }

    /// Applies what an instruction does to the general registers.
    pub(super) fn step(&mut self, flow: &DataFlow) {
        let sum = flow.sum.map(|sum| {
            let source = match sum.source {
                None => Value {
                    unknown: NOTHING,
                    constant: 0,
                },
                Some(register) => self.registers[usize::from(register) & 15],
            };
            (
                sum.to,
                Value {
                    unknown: source.unknown,
                    constant: source.constant.wrapping_add(sum.addend),
                },
            )
        });
        for register in 0..16u8 {
            if flow.writes & (1 << register) == 0 {
                continue;
            }
            self.registers[usize::from(register)] = match sum {
                Some((to, value)) if to == register => value,
                _ => {
                    self.next_unknown += 1;
                    Value {
                        unknown: self.next_unknown,
                        constant: 0,
                    }
                }
            };
        }
        let pointer = &mut self.registers[usize::from(STACK_POINTER)];
        pointer.constant = pointer.constant.wrapping_add(i64::from(flow.stack_delta));
    }
}

/// Whether two accesses are written alike: by the same registers and for the same bytes, or by
/// `push` and `pop`.
fn is_same(store: &MemoryAccess, load: &MemoryAccess) -> bool {
    let registers = (store.base, store.index, store.scale, store.displacement)
        == (load.base, load.index, load.scale, load.displacement);
    store.bytes == load.bytes && (registers || store.stack && load.stack)
}
