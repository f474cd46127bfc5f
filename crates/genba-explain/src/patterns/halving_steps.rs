//! Binary searches that the compiler has unrolled: chains of loads each of whose places a conditional move chose by a
//! comparison with what the one before loaded.
//!
//! **Near misses.** Searches in a loop ([`crate::patterns::search_loops::halves`]); conditional moves that choose values; a
//! chain of two or three choices; tables whose place is not in the code.
//!
//! **Source.** P. Khuong, P. Morin, "Array layouts for comparison-based searching", ACM Journal of Experimental
//! Algorithmics 22, 2017 (branch-free binary search and its latency).

use std::collections::HashMap;

use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_STEPS_TO_CHOICE;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};

/// A search: its loads in the order in which they wait for one another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Halving {
    /// Load instructions, the first one first.
    pub loads: Vec<usize>,
}

/// The unrolled searches of a function with at least so many steps, in tables at fixed addresses.
pub(crate) fn halving_steps(function: &FunctionInput, least: usize) -> Vec<Halving> {
    // By load: the loads before it in its chain.
    let mut chains: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in (0..function.code.len()).filter(|&at| function.counts[at] > 0) {
        if !function.data[at].loads() {
            continue;
        }
        let before = chosen_by(function, at).and_then(|load| chains.get(&load));
        let mut chain = before.cloned().unwrap_or_default();
        chain.push(at);
        chains.insert(at, chain);
    }
    let mut ends: Vec<Vec<usize>> = chains.into_values().collect();
    ends.sort_by_key(|chain| std::cmp::Reverse(chain.len()));
    let mut found: Vec<Halving> = Vec::new();
    for loads in ends.into_iter().take_while(|chain| chain.len() > least) {
        let known = |one: &Halving| loads.iter().any(|at| one.loads.contains(at));
        if !found.iter().any(known) {
            found.push(Halving { loads });
        }
    }
    found
}

/// The load whose comparison chose where an instruction loads from, in a table that the code has at a fixed place.
fn chosen_by(function: &FunctionInput, at: usize) -> Option<usize> {
    let values = &function.values;
    let address = values.addresses(at).first().copied().flatten()?;
    let is_fixed = |value: Value| values.origin(value) == Origin::Constant;
    let (index, _) = address.index.filter(|_| is_fixed(address.base))?;
    let mut value = index;
    for _ in 0..MAX_STEPS_TO_CHOICE {
        let Origin::Instruction(by) = values.origin(value) else {
            return None;
        };
        let by = by as usize;
        if function.code[by].mnemonic.starts_with("cmov") {
            return flags_of(function, by).and_then(|compares| load_of(function, compares));
        }
        if function.data[by].loads() {
            return None;
        }
        // Moves, sums with constants and multiples of one value.
        let mut reads = values.reads(by).iter().filter(|one| one.0 < FLAGS);
        value = reads.next()?.1;
        if reads.any(|one| one.1.number != value.number) {
            return None;
        }
    }
    None
}

/// The instruction whose flags another one reads.
fn flags_of(function: &FunctionInput, at: usize) -> Option<usize> {
    let mut flags = function
        .values
        .reads(at)
        .iter()
        .filter(|one| one.0 >= FLAGS);
    match function.values.origin(flags.next()?.1) {
        Origin::Instruction(by) => Some(by as usize),
        _ => None,
    }
}

/// The load that brings what an instruction compares, itself if it compares with memory.
fn load_of(function: &FunctionInput, at: usize) -> Option<usize> {
    if function.data[at].loads() {
        return Some(at);
    }
    let mut reads = function.values.reads(at).iter();
    reads.find_map(|one| match function.values.origin(one.1) {
        Origin::Instruction(by) if function.data[by as usize].loads() => Some(by as usize),
        _ => None,
    })
}
