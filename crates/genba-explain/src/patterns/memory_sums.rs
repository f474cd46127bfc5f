//! Integer sums that a loop keeps in memory: at an address that stays, loaded, added to and stored in each iteration.
//!
//! The compiler does so where another store of the loop might change the sum, as stores of bytes might change
//! anything. What one iteration stores the next one loads, so the loop waits for store forwarding.

use genba_code::Shortcut;

use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;

/// A sum that is kept in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemorySum {
    /// What adds.
    pub addition: usize,
    /// Its load and its store, where they are instructions of their own.
    pub beside: Vec<usize>,
}

/// The sum that an instruction of a loop stores at a fixed address, if nothing else of the loop uses the sum.
pub(crate) fn memory_sum(one: &HotLoop<'_>, uses: &Uses, store: usize) -> Option<MemorySum> {
    let function = one.input;
    let place = written_place(function, store)?;
    let others: Vec<usize> = (one.members.iter().copied())
        .filter(|&at| at != store && touches(function, at, &place))
        .collect();
    if function.data[store].loads() {
        let alone = others.is_empty() && adds(function, store);
        return alone.then(|| MemorySum {
            addition: store,
            beside: Vec::new(),
        });
    }
    let &[load] = others.as_slice() else {
        return None;
    };
    let loaded = single_write(function, load)?;
    let inside = |value: Value| -> Vec<usize> {
        let readers = uses.readers(value).into_iter();
        let members = readers.filter(|at| one.members.binary_search(at).is_ok());
        members.collect()
    };
    let stored = function.values.reads(store).iter();
    let data = |location: u8| function.data[store].data_reads & (1 << location) != 0;
    let mut stored = stored.filter(|read| data(read.0)).map(|read| read.1);
    let sum = stored.next()?;
    let Origin::Instruction(addition) = function.values.origin(sum) else {
        return None;
    };
    let addition = addition as usize;
    let moves = function.data[load].shortcut != Shortcut::None
        || function.code[load].mnemonic.starts_with("mov");
    let is_sum = moves
        && adds(function, addition)
        && inside(loaded) == [addition]
        && inside(sum) == [store]
        && stored.next().is_none();
    is_sum.then(|| MemorySum {
        addition,
        beside: vec![load, store],
    })
}

/// The addition whose result a store of a loop puts at a fixed address, from where nothing in the loop loads it: the sum itself
/// goes round in a register.
pub(crate) fn stored_sum(one: &HotLoop<'_>, store: usize) -> Option<usize> {
    let function = one.input;
    let place = written_place(function, store)?;
    let mut others = (one.members.iter()).filter(|&&at| at != store);
    if function.data[store].loads() || others.any(|&at| touches(function, at, &place)) {
        return None;
    }
    let data = |location: u8| function.data[store].data_reads & (1 << location) != 0;
    let mut stored = function.values.reads(store).iter();
    let (_, sum) = stored.find(|read| data(read.0))?;
    let Origin::Instruction(addition) = function.values.origin(*sum) else {
        return None;
    };
    let addition = addition as usize;
    let inside = one.members.binary_search(&addition).is_ok();
    (inside && adds(function, addition)).then_some(addition)
}

/// Whether an instruction adds integers, or collects bits: in any order with the same result.
fn adds(function: &FunctionInput, at: usize) -> bool {
    matches!(
        function.code[at].mnemonic,
        "add" | "sub" | "or" | "and" | "xor"
    )
}

fn written_place(function: &FunctionInput, at: usize) -> Option<Address> {
    let accesses = function.data[at].memory.iter();
    let mut written = accesses
        .zip(function.values.addresses(at))
        .filter(|one| one.0.writes);
    let (_, address) = written.next()?;
    (*address).filter(|_| written.next().is_none())
}

/// Whether an instruction accesses bytes of a place, as far as addresses from the same base tell.
fn touches(function: &FunctionInput, at: usize, place: &Address) -> bool {
    let range = |one: &Address| {
        (
            one.base.offset,
            one.base.offset.saturating_add(i64::from(one.bytes)),
        )
    };
    let (begin, end) = range(place);
    let addresses = function.values.addresses(at).iter().flatten();
    let mut same = addresses
        .filter(|one| one.base.number == place.base.number && one.index == place.index)
        .map(range);
    same.any(|(first, last)| first < end && begin < last)
}

/// The one value that an instruction makes.
fn single_write(function: &FunctionInput, at: usize) -> Option<Value> {
    match function.values.writes(at) {
        [one] => Some(one.1),
        _ => None,
    }
}
