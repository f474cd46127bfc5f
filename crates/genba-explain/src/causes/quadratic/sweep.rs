//! Passes over all elements, for each of many items, that change hardly any.
//!
//! **Signature.** A loop that goes over more than a thousand elements for each of many items, compares what it loads with
//! a key that stays during the pass, and usually does nothing else: stores and calls are rare, and no register that it
//! writes is read behind it. All passes together load many times what the program reads and has in memory, and many times
//! what it stores: they go over the same elements again, which have not changed.
//!
//! **Near misses.** Sums, best elements and searches that hand on what they found (a register is read behind them);
//! filters (they store often); bounds that are constants (a picture gone over for what is bright); elements that are made
//! anew for each pass (as much is stored or read as is gone over); a program that does all its work again.
//!
//! **Gain.** One look-up for each item and for each changed element is left.

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::rescan::input_read;
use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_ELEMENT_BYTES, MIN_ELEMENTS_PER_SWEEP, MIN_LOADED_PER_STORED, MIN_PASSES_OVER_ALL_MEMORY,
    MIN_SEARCHES, SELDOM_EXECUTIONS,
};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::registers::FLAGS;
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::live_registers::live_registers;
use crate::patterns::observed_sites::ObservedSites;

/// Passes over the same elements by a loop or by one of those around it.
pub(super) fn sweep(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let whole = ObservedSites::of(input).is_some_and(|sites| sites.repeats_as_a_whole());
    if !found.input.own || whole {
        return None;
    }
    let levels = std::iter::successors(Some(found.clone()), HotLoop::parent);
    levels.into_iter().find_map(|level| by_level(input, &level))
}

fn by_level(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let (elements, sweeps) = (found.trips?, found.cost.entries?);
    if elements < MIN_ELEMENTS_PER_SWEEP
        || sweeps < MIN_SEARCHES
        || found.share < MIN_SHARE_OF_QUADRATIC_LOOP
    {
        return None;
    }
    let changed = rare_changes(found)?;
    let key = found
        .members
        .iter()
        .copied()
        .find(|&at| compares_with_key(found, at))?;
    if hands_on(found) || !goes_over_same(input, found) {
        return None;
    }
    let each = found.share * cycles_of_all(input)? / sweeps as f64;
    let fix = Fix::HashLookup { strings: false };
    let mut one = Candidate::new(Cause::Quadratic, Some(found.function), vec![key], fix);
    one.affected.clone_from(&found.members);
    one.share = Some(found.share);
    let look_ups = 1.0 + changed as f64 / sweeps as f64;
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP.map(|one| one * look_ups));
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / elements));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::LinearSearches {
            searches: sweeps,
            elements,
            compared_by: None,
        })
        .fact(QuadraticFact::SearchTime {
            share: found.share,
            cycles: each,
        }),
    )
}

/// How often the loop stores or calls, if it does so for few elements.
fn rare_changes(found: &HotLoop<'_>) -> Option<u64> {
    let function = found.input;
    let changes = |at: &usize| {
        let data = &function.data[*at];
        data.opaque.is_some() || data.memory.iter().any(|one| one.writes)
    };
    let most = (found.members.iter().copied().filter(changes))
        .map(|at| function.counts[at])
        .max()
        .filter(|&most| most > 0)?;
    (most as f64 <= SELDOM_EXECUTIONS * found.cost.iterations as f64).then_some(most)
}

/// Whether an instruction compares an element with a key: a value of the pass that is no constant.
pub(super) fn compares_with_key(found: &HotLoop<'_>, at: usize) -> bool {
    let (function, values) = (found.input, &found.input.values);
    let data = &function.data[at];
    if function.code[at].mnemonic != "cmp" || found.times(at) <= SELDOM_EXECUTIONS {
        return false;
    }
    let wide = |at: usize| {
        let mut loads = function.data[at].memory.iter().filter(|one| one.reads);
        loads.any(|one| !one.stack && u64::from(one.bytes) >= MIN_ELEMENT_BYTES)
    };
    let is_element = |value: Value| match values.origin(value) {
        Origin::Instruction(from) => {
            found.members.binary_search(&(from as usize)).is_ok()
                && function.code[from as usize].mnemonic.starts_with("mov")
                && wide(from as usize)
        }
        _ => false,
    };
    let is_key = |value: Value| {
        value.number != CONSTANT
            && values.origin(value) != Origin::Constant
            && values.is_invariant(value, &function.flow, found.index)
    };
    let operands: Vec<Value> = (values.reads(at).iter())
        .filter(|one| one.0 < FLAGS && data.data_reads & (1 << one.0) != 0)
        .map(|one| one.1)
        .collect();
    operands.iter().any(|&one| is_key(one))
        && (wide(at) || operands.iter().any(|&one| is_element(one)))
}

/// Whether a register that the loop usually writes is read behind it.
fn hands_on(found: &HotLoop<'_>) -> bool {
    let (function, flow) = (found.input, &found.input.flow);
    let body = flow.loop_blocks(found.index);
    let written = found
        .members
        .iter()
        .copied()
        .filter(|&at| found.times(at) > SELDOM_EXECUTIONS);
    let written = written.fold(0, |all, at| all | function.data[at].writes);
    let live = live_registers(function, Some(0));
    let exits = body
        .iter()
        .flat_map(|&block| &flow.blocks()[block as usize].successors);
    exits
        .filter(|next| !body.contains(next))
        .any(|&next| live[next as usize] & written != 0)
}

/// Whether all passes load many times what there is, and what is stored.
fn goes_over_same(input: &AnalysisInput, found: &HotLoop<'_>) -> bool {
    let loads = found
        .members
        .iter()
        .map(|&at| bytes(found.input, at, false));
    let loaded = loads.fold(0.0, f64::max);
    let counted = input
        .functions
        .iter()
        .filter(|one| one.counts.len() == one.code.len());
    let stores = counted.flat_map(|one| (0..one.code.len()).map(|at| bytes(one, at, true)));
    let stored: f64 = stores.sum();
    let (Some(read), Some(memory)) = (input_read(input), input.program.max_rss_bytes) else {
        return false;
    };
    loaded >= MIN_PASSES_OVER_ALL_MEMORY * memory.max(read as f64)
        && loaded >= MIN_LOADED_PER_STORED * stored
}

/// Bytes that all executions of an instruction load or store, but for those of the frame.
fn bytes(function: &FunctionInput, at: usize, writes: bool) -> f64 {
    let accesses = function.data[at].memory.iter();
    let of_kind = accesses.filter(|one| !one.stack && if writes { one.writes } else { one.reads });
    let each: u64 = of_kind.map(|one| u64::from(one.bytes)).sum();
    each as f64 * function.counts[at] as f64
}
