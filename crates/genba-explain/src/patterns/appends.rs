//! Loops that append one element at a time to a buffer whose pointer and length are in memory.
//!
//! A store of a byte may change any object in C and C++, and what other functions reach: compilers
//! then read the buffer's pointer and length again for each element, store the new length, test for
//! room, and may end the text anew. The length goes round through memory, so that each iteration
//! waits for the store of the one before. A local pointer needs none of that. The rare way that makes
//! the buffer larger is not part of it.
//!
//! **Source.** ISO C 6.5 p7 (character types alias everything); A. Fog, "Optimizing software in C++",
//! section 8.3 ("Pointer aliasing"); store forwarding takes 4 to 5 cycles ("Instruction tables").

use genba_code::Shortcut;
use genba_loop_model::Change;

use crate::constants::counts::MIN_BYTES_IN_APPENDED_RUN;
use crate::gain::loop_gain::LoopGain;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Address, CONSTANT, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::usual_values::{before_spills, usually_stays};

/// A loop that appends.
#[derive(Clone, Debug)]
pub(crate) struct Append {
    /// The store of the element.
    pub store: usize,
    /// Bytes of an element.
    pub bytes: u16,
    /// Loads of what does not change but for the length.
    pub reloads: usize,
    /// The iteration with pointer and length in registers.
    pub gain: LoopGain,
}

/// Whether a loop appends elements one at a time through memory, with what it costs.
pub(crate) fn append(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Append> {
    if !found.is_long(MIN_BYTES_IN_APPENDED_RUN) || found.has_opaque() {
        return None;
    }
    let usual: Vec<usize> = found.usual().collect();
    let (position, length) = usual.iter().find_map(|&at| position(found, at))?;
    let elements = usual.iter().filter_map(|&at| element(found, at, &position));
    // What ends the text anew is a constant.
    let (store, bytes) = elements
        .clone()
        .find(|one| !one.2)
        .map(|one| (one.0, one.1))?;
    let ends: Vec<usize> = elements.filter(|one| one.2).map(|one| one.0).collect();
    let reloads: Vec<usize> = (usual.iter().copied())
        .filter(|&at| reads_fixed_address(found, at))
        .collect();
    let mut gone = reloads.clone();
    gone.extend(length);
    gone.extend(ends);
    // A comparison with memory takes its jump along.
    let jumps: Vec<usize> = (gone.iter().map(|at| at + 1))
        .filter(|&next| {
            found.members.contains(&next)
                && found.input.code[next - 1].mnemonic == "cmp"
                && found.input.code[next].flow.jump_target().is_some()
        })
        .collect();
    gone.extend(jumps);
    gone.sort_unstable();
    gone.dedup();
    let change = Change {
        gone,
        ..Change::default()
    };
    let gain = (found.input).loop_after(&input.program.costs, found.index, &change)?;
    Some(Append {
        store,
        bytes,
        reloads: reloads.len(),
        gain,
    })
}

fn is_same_place(one: &Address, other: &Address) -> bool {
    one.base == other.base && one.index == other.index
}

/// Whether an address is the same in nearly every iteration.
pub(crate) fn is_fixed(found: &HotLoop<'_>, address: &Address) -> bool {
    let function = found.input;
    let fixed = |value: Value| usually_stays(function, found.index, value);
    address.base.number != CONSTANT
        && fixed(address.base)
        && address.index.is_none_or(|(value, _)| fixed(value))
}

/// Whether an instruction reads an address that stays.
fn reads_fixed_address(found: &HotLoop<'_>, at: usize) -> bool {
    let accesses = found.input.data[at].memory.iter();
    let mut both = accesses.zip(found.input.values.addresses(at));
    both.any(|(access, address)| {
        let fixed = address.is_some_and(|address| is_fixed(found, &address));
        access.reads && !access.writes && !access.stack && fixed
    })
}

/// A value that is loaded from an address that stays and stored there again with a constant added:
/// its number, and the instructions that store it.
pub(crate) fn position(found: &HotLoop<'_>, at: usize) -> Option<(Value, Vec<usize>)> {
    let function = found.input;
    let data = &function.data[at];
    let accesses = data.memory.iter().zip(function.values.addresses(at));
    let (_, address) = (accesses)
        .filter_map(|(access, address)| Some((access, (*address)?)))
        .find(|(access, address)| {
            let wide = usize::from(access.bytes) >= size_of::<u32>();
            access.writes && !access.reads && !access.stack && wide && is_fixed(found, address)
        })?;
    let loaded = |value: Value| {
        let start = Value {
            number: value.number,
            offset: 0,
        };
        let from = function.values.loaded_from(start);
        value.offset != 0 && from.is_some_and(|from| is_same_place(&from, &address))
    };
    let stored = |location: u8| data.data_reads >> location & 1 == 1;
    let reads = function.values.reads(at).iter();
    // Where the buffer has just grown it is another one.
    let (_, value) = reads
        .map(|(location, value)| (location, before_spills(function, *value)))
        .find(|(location, value)| stored(**location) && loaded(*value))?;
    let start = Value {
        number: value.number,
        offset: 0,
    };
    Some((start, vec![at]))
}

/// A store at the position: its instruction, bytes, and whether a constant is stored.
fn element(found: &HotLoop<'_>, at: usize, position: &Value) -> Option<(usize, u16, bool)> {
    let function = found.input;
    let data = &function.data[at];
    let is_position = |value: Value| is_position(function, value, *position);
    let accesses = data.memory.iter().zip(function.values.addresses(at));
    let (access, _) = (accesses)
        .filter_map(|(access, address)| Some((access, (*address)?)))
        .find(|(access, address)| {
            let here = is_position(address.base)
                || address.index.is_some_and(|(value, _)| is_position(value));
            access.writes && !access.reads && !access.stack && here
        })?;
    let made = |location: u8| data.data_reads >> location & 1 == 1;
    let constant = data.shortcut == Shortcut::Constant
        || (function.values.reads(at).iter())
            .filter(|read| made(read.0))
            .all(|read| read.1.number == CONSTANT);
    Some((at, access.bytes, constant))
}

/// Whether a value is what was loaded as a position, or what was stored as one and loaded again.
pub(crate) fn is_position(function: &FunctionInput, value: Value, position: Value) -> bool {
    let start = before_spills(function, value);
    [value, start]
        .into_iter()
        .any(|value| value.number == position.number || same_origin(function, value, position))
}

/// Whether two values were loaded from the same place: the length is read again after its store.
fn same_origin(function: &FunctionInput, one: Value, other: Value) -> bool {
    let start = |value: Value| Value {
        number: value.number,
        offset: 0,
    };
    let from = |value: Value| function.values.loaded_from(start(value));
    from(one)
        .zip(from(other))
        .is_some_and(|(one, other)| is_same_place(&one, &other))
}
