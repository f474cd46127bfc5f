//! Whether what a loop computes follows from what it loads and from values that repeat as well.
//!
//! Bursts record loads and branches, not registers: a loop that loads the same again computes the same
//! only if the registers that go into its results hold the same.

use std::cell::Cell;

use genba_code::{BlockId, Flow, Opaque, STACK_POINTER};

use crate::constants::registers::{FLAGS, VECTORS};
use crate::constants::search_limits::{MAX_STEP_DEPTH, MAX_VALUES_FOLLOWED};
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::load_stalls::sources_where;

/// Whether all values that a loop computes with are constants, loaded in it, or loaded where `repeats`
/// says that the same is loaded again, or are made at most `changes` times in all, so that most runs
/// have the same. What a loop around carries on, as its counter, is another in each run. Addresses and comparisons are no matter: they are seen in the loads and branches.
pub(crate) fn computes_from_loads(
    function: &FunctionInput,
    index: u32,
    changes: f64,
    repeats: &dyn Fn(usize) -> bool,
) -> bool {
    let members = function.loop_instructions(index);
    let left = Cell::new(changes);
    let seldom = |times: u64| {
        let rest = left.get() - times as f64;
        left.set(if rest >= 0.0 { rest } else { left.get() });
        rest >= 0.0
    };
    let mut work: Vec<u32> = Vec::new();
    let addresses = address_numbers(function, &members);
    let mut computes = false;
    for &at in members.iter().filter(|&&at| function.counts[at] > 0) {
        if !makes_values(function, at) {
            continue;
        }
        let results = function.values.writes(at);
        if results.iter().any(|one| addresses.contains(&one.1.number)) {
            continue;
        }
        computes = true;
        let data = &function.data[at];
        let reads = function.values.reads(at).iter();
        let reads = reads.filter(|one| data.data_reads >> one.0 & 1 == 1);
        work.extend(reads.map(|one| one.1.number));
    }
    let mut met: Vec<u32> = Vec::new();
    while let Some(number) = work.pop() {
        if number == CONSTANT || met.contains(&number) {
            continue;
        }
        met.push(number);
        if met.len() > MAX_VALUES_FOLLOWED {
            return false;
        }
        let value = Value { number, offset: 0 };
        match function.values.origin(value) {
            Origin::Constant => {}
            Origin::Entry if function.calls.is_some_and(seldom) => {}
            Origin::Entry => return false,
            Origin::Join(block) => {
                let list = function.values.met(value);
                // What a loop around makes of what it had before (a counter) is another each time.
                let around = is_head_around(function, index, block);
                if list.is_empty() || around && is_carried_around(function, index, number) {
                    return false;
                }
                work.extend(list.iter().map(|one| one.number));
            }
            Origin::Instruction(at) => {
                let at = at as usize;
                let data = &function.data[at];
                if seldom(function.counts[at]) {
                    continue;
                }
                if data.opaque.is_some() {
                    return false;
                }
                let inside = members.binary_search(&at).is_ok();
                if data.loads() && !inside && !repeats(at) {
                    return false;
                }
                let reads = function.values.reads(at).iter();
                let reads = reads.filter(|one| data.data_reads >> one.0 & 1 == 1);
                work.extend(reads.map(|one| one.1.number));
            }
        }
    }
    computes
}

/// Whether a block is the head of a loop around another one.
fn is_head_around(function: &FunctionInput, index: u32, block: BlockId) -> bool {
    let loops = function.flow.loops();
    let parent = |index: u32| loops[index as usize].parent;
    std::iter::successors(parent(index), |&index| parent(index))
        .any(|index| loops[index as usize].head == block)
}

/// Whether a value where several meet outside of a loop is made of itself there, other than by being kept. What
/// goes through an innermost loop is added up by it; what goes through a nest is what the nest is executed
/// for again: a program that repeats all its work with another result is none that computes again.
fn is_carried_around(function: &FunctionInput, index: u32, number: u32) -> bool {
    let body: &[BlockId] = match function.is_innermost(index) {
        true => function.flow.loop_blocks(index),
        false => &[],
    };
    let mut met: Vec<(u32, bool)> = Vec::new();
    let mut work = vec![(number, false)];
    while let Some((from, changed)) = work.pop() {
        let value = Value {
            number: from,
            offset: 0,
        };
        let made_of: Vec<(u32, bool)> = match function.values.origin(value) {
            Origin::Constant | Origin::Entry => Vec::new(),
            Origin::Join(block) if body.contains(&block) => Vec::new(),
            Origin::Join(_) => (function.values.met(value).iter())
                .map(|one| (one.number, changed || one.offset != 0))
                .collect(),
            Origin::Instruction(at)
                if (function.flow.block_of(at as usize))
                    .is_some_and(|block| body.contains(&block)) =>
            {
                Vec::new()
            }
            Origin::Instruction(at) => {
                let data = &function.data[at as usize];
                let reads = function.values.reads(at as usize).iter();
                let reads = reads.filter(|one| data.data_reads >> one.0 & 1 == 1);
                reads.map(|one| (one.1.number, true)).collect()
            }
        };
        for (one, changed) in made_of {
            if one == number && changed {
                return true;
            }
            if one == number || one == CONSTANT || met.contains(&(one, changed)) {
                continue;
            }
            // Too much to follow: it may be.
            if met.len() >= MAX_VALUES_FOLLOWED {
                return true;
            }
            met.push((one, changed));
            work.push((one, changed));
        }
    }
    false
}

/// Values that addresses are made of in a loop, and those that they were joined from.
pub(crate) fn address_numbers(function: &FunctionInput, members: &[usize]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for &at in members {
        for address in function.values.addresses(at).iter().flatten() {
            found.push(address.base.number);
            found.extend(address.index.map(|one| one.0.number));
        }
    }
    let mut next = 0;
    while let Some(&number) = found.get(next) {
        next += 1;
        let value = Value { number, offset: 0 };
        for one in function.values.met(value) {
            if !found.contains(&one.number) && found.len() < MAX_VALUES_FOLLOWED {
                found.push(one.number);
            }
        }
    }
    found.retain(|&number| number != CONSTANT);
    found
}

/// Whether an instruction makes a new value of its operands: no move, no sum with a constant, no comparison, no
/// jump.
fn makes_values(function: &FunctionInput, at: usize) -> bool {
    let (code, data) = (&function.code[at], &function.data[at]);
    let mnemonic = code.mnemonic;
    let moves = mnemonic.starts_with("mov") || mnemonic.starts_with("vmov");
    let compares = matches!(mnemonic, "cmp" | "test" | "nop") || mnemonic.contains("comis");
    let stays = !matches!(code.flow, Flow::Next);
    !(moves || compares || stays || data.sum.is_some())
        && data.shortcut == genba_code::Shortcut::None
        && data.writes & ((1u128 << FLAGS) - 1) != 0
}

/// Whether a value is what one of these instructions loaded, or a part of it.
pub(crate) fn is_loaded_among(function: &FunctionInput, members: &[usize], value: Value) -> bool {
    let mut value = value;
    for _ in 0..MAX_STEP_DEPTH {
        let Origin::Instruction(by) = function.values.origin(value) else {
            return false;
        };
        let by = by as usize;
        if members.binary_search(&by).is_err() {
            return false;
        }
        if function.data[by].loads() {
            return true;
        }
        let &[(_, from)] = function.values.reads(by) else {
            return false;
        };
        value = from;
    }
    false
}

/// Whether an instruction of a loop takes what the loop loads together with a value that it was handed, or that is made of
/// one: a key, a factor.
pub(crate) fn meets_what_is_handed(
    function: &FunctionInput,
    index: u32,
    members: &[usize],
) -> bool {
    meeting_places(function, index, members).next().is_some()
}

/// The instructions that do so.
pub(crate) fn meeting_places<'a>(
    function: &'a FunctionInput,
    index: u32,
    members: &'a [usize],
) -> impl Iterator<Item = usize> + 'a {
    let executed = members.iter().filter(|&&at| function.counts[at] > 0);
    executed.copied().filter(move |&at| {
        let data = &function.data[at];
        let reads = function.values.reads(at).iter();
        let operands = || {
            let read_as_data = |one: &&(u8, Value)| data.data_reads >> one.0 & 1 == 1;
            (reads.clone().filter(read_as_data))
                .filter(|one| one.0 < FLAGS)
                .map(|one| one.1)
        };
        let is_handed = |value: Value| {
            let made_of =
                sources_where(function, index, &[value], &|by| !function.data[by].loads());
            is_input(function, index, value)
                || made_of.iter().any(|one| takes_input(function, index, *one))
        };
        let reads_frame = |framed: bool| {
            let mut accesses = data.memory.iter().filter(|one| one.reads);
            accesses.any(|one| (one.base == Some(STACK_POINTER)) == framed)
        };
        let loads =
            reads_frame(false) || operands().any(|value| is_loaded_among(function, members, value));
        loads && (reads_frame(true) || operands().any(is_handed))
    })
}

/// Whether a value comes from outside of a loop, and is no constant.
fn is_input(function: &FunctionInput, index: u32, value: Value) -> bool {
    function.values.is_invariant(value, &function.flow, index) && !is_constant(function, value)
}

/// Whether a value is computed in a loop from such a one.
fn takes_input(function: &FunctionInput, index: u32, value: Value) -> bool {
    let Origin::Instruction(by) = function.values.origin(value) else {
        return false;
    };
    let taken = function.data[by as usize].data_reads;
    let mut reads = function.values.reads(by as usize).iter();
    reads.any(|one| taken >> one.0 & 1 == 1 && is_input(function, index, one.1))
}

/// Whether a value is a constant, or a vector of constants, which code loads from where it lies beside it.
fn is_constant(function: &FunctionInput, value: Value) -> bool {
    match function.values.origin(value) {
        Origin::Constant => true,
        Origin::Instruction(by) => {
            let data = &function.data[by as usize];
            let mut memory = data.memory.iter();
            let fixed = memory.all(|one| one.base.is_none() && one.index.is_none() && !one.segment);
            data.writes & VECTORS != 0 && data.loads() && fixed
        }
        _ => false,
    }
}

/// Whether a loop chooses values by conditional moves or flags and uses them in no address: then neither the branches nor
/// the loads of a burst show what it chose. They do where the value is only tested (less, equal or greater, in one register), or
/// handed to a call (the shorter of two lengths to `memcmp`).
pub(crate) fn chooses_unseen(function: &FunctionInput, members: &[usize]) -> bool {
    let addresses = address_numbers(function, members);
    let uses = Uses::of(function);
    let executed = members.iter().filter(|&&at| function.counts[at] > 0);
    executed.copied().any(|at| {
        let name = function.code[at].mnemonic;
        let chooses = name.starts_with("cmov") || name.starts_with("set");
        let mut made = (function.values.writes(at).iter()).filter(|one| one.0 < FLAGS);
        (chooses || matches!(name, "adc" | "sbb"))
            && made
                .any(|one| !addresses.contains(&one.1.number) && !is_shown(function, &uses, one.1))
    })
}

/// Whether a value, and what it is moved to, is read by tests and calls only.
fn is_shown(function: &FunctionInput, uses: &Uses, value: Value) -> bool {
    let values = &function.values;
    let mut followed = vec![value];
    let mut next = 0;
    let mut read = false;
    while let Some(&value) = followed.get(next) {
        next += 1;
        if next > MAX_VALUES_FOLLOWED {
            return false;
        }
        for at in uses.readers(value) {
            let (name, data) = (function.code[at].mnemonic, &function.data[at]);
            if matches!(name, "cmp" | "test") || data.opaque == Some(Opaque::Call) {
                read = true;
                continue;
            }
            let goes_on = matches!(name, "mov" | "movzx" | "movsx" | "movsxd" | "adc" | "sbb");
            if !goes_on || !data.memory.is_empty() {
                return false;
            }
            let made = values.writes(at).iter().filter(|one| one.0 < FLAGS);
            let new: Vec<Value> = (made.map(|one| one.1))
                .filter(|one| !followed.contains(one))
                .collect();
            followed.extend(new);
        }
    }
    read
}
