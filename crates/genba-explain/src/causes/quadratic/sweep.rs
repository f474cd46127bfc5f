//! Passes over all elements, for each of many items, that change hardly any, or only their numbers.
//!
//! **Signature.** A loop that goes over more than a thousand elements for each of many items, compares what it loads with
//! a key that stays during the pass, and usually does nothing else: stores and calls are rare, and no register that it
//! writes is read behind it. All passes together load many times what the program reads and has in memory, and many times
//! what it stores: they go over the same elements again, which have not changed. Or all that the loop stores are the
//! numbers that it has compared with the key, one (or another constant) more or less: what comes behind an item that
//! goes or comes is renumbered. Or no key stays, but each element is looked up elsewhere: a load's place is computed from
//! it, or a function that only answers gets it (what is in another collection is taken from this one; all that could be
//! in a table is looked up there). Loops beside that make what is gone over, or look it up once more, belong to it where
//! they leave nothing else behind. What is stored where it stands already has not changed, and is not made anew.
//!
//! **Near misses.** Sums, best elements and searches that hand on what they found (a register is read behind them);
//! filters (they store often); bounds that are constants (a picture gone over for what is bright); elements that are made
//! anew for each pass (as much is stored or read as is gone over); a program that does all its work again; numbers that
//! are compared with a constant, or changed otherwise (limits, thresholds).
//!
//! **Gain.** One look-up for each item and for each changed element is left.

use genba_code::Opaque;
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::effects::{has_no_effect, sums_in_frame, sums_up};
use super::predicate_search::{compares_with_best, hands_best_on};
use super::rescan::{input_read, is_in_frame};
use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_ELEMENT_BYTES, MIN_ELEMENTS_PER_SWEEP, MIN_LOADED_PER_STORED, MIN_PASSES_OVER_ALL_MEMORY,
    MIN_SEARCHES, SELDOM_EXECUTIONS, USUAL_EXECUTIONS,
};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::observations::SAME_TIMES_TOLERANCE;
use crate::constants::registers::{FLAGS, LIVE_AT_RETURN, VECTORS};
use crate::constants::time_shares::{MIN_SHARE_OF_LOOP_BESIDE_CALLS, MIN_SHARE_OF_QUADRATIC_LOOP};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::live_registers::live_registers;
use crate::patterns::load_stalls::sources_where;
use crate::patterns::loop_inputs::is_loaded_among;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::reading_calls::stores_outside;
use crate::patterns::search_loops::only_answers;

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
    let members = || found.members.iter().copied();
    let key = members().find(|&at| compares_with_key(found, at));
    let looked_up = || members().find(|&at| looks_element_up(input, found, at));
    let site = key.or_else(looked_up)?;
    let rare = rare_changes(input, found).filter(|_| goes_over_unchanged(input, found));
    let (changed, fix) = match rare {
        Some(changed) if key.is_some() => (changed, Fix::HashLookup { strings: false }),
        Some(changed) => (changed, Fix::GoOverFewer),
        // Without the shift one number is left to change for each item.
        None if key.is_some() && renumbers(found) => (sweeps, Fix::AvoidShifts),
        None => return None,
    };
    let comes_of_it = match fix {
        // Calls may take anything that stands in a register: what they take is no sum, and not the best one.
        Fix::GoOverFewer => sums_up(found) || hands_best_on(found) || compares_with_best(found),
        _ => hands_on(found, fix == Fix::AvoidShifts),
    };
    if comes_of_it || !goes_over_same(input, found) {
        return None;
    }
    let beside = match fix {
        Fix::GoOverFewer => loops_beside(input, found),
        _ => Vec::new(),
    };
    let share = beside
        .iter()
        .fold(found.share, |sum, one| sum + one.share)
        .min(1.0);
    let each = share * cycles_of_all(input)? / sweeps as f64;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![site],
        fix.clone(),
    );
    one.affected = (beside.iter().flat_map(|one| &one.members))
        .chain(&found.members)
        .copied()
        .collect();
    one.share = Some(share);
    let look_ups = 1.0 + changed as f64 / sweeps as f64;
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP.map(|one| one * look_ups));
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / elements));
    one.confirmation = Confirmation::InputSweep;
    Some(match fix {
        Fix::GoOverFewer => one
            .fact(QuadraticFact::IdlePasses {
                passes: sweeps,
                elements,
            })
            .fact(QuadraticFact::RareChanges { changed })
            .fact(QuadraticFact::PassTime {
                share,
                cycles: each,
            }),
        _ => one
            .fact(QuadraticFact::LinearSearches {
                searches: sweeps,
                elements,
                compared_by: None,
            })
            .fact(QuadraticFact::SearchTime {
                share,
                cycles: each,
            }),
    })
}

/// How often the loop stores or calls, if it does so for few elements. What it keeps in its frame for the few is no change,
/// nor is a call that only answers.
fn rare_changes(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<u64> {
    let function = found.input;
    let mut usual =
        (found.members.iter().copied()).filter(|&at| found.times(at) > SELDOM_EXECUTIONS);
    if usual.any(|at| sums_in_frame(found, at)) {
        return None;
    }
    let changes = |at: &usize| {
        let data = &function.data[*at];
        data.opaque.is_some() && !only_answers_at(input, found, *at)
            || stores_outside(function, *at)
    };
    let most = (found.members.iter().copied().filter(changes))
        .map(|at| function.counts[at])
        .max()
        .filter(|&most| most > 0)?;
    (most as f64 <= SELDOM_EXECUTIONS * found.cost.iterations as f64).then_some(most)
}

/// Loops of the function that go over as many elements in all and leave nothing behind but for a few: they make what is gone
/// over, or look it up a second time.
fn loops_beside<'a>(input: &'a AnalysisInput, found: &HotLoop<'a>) -> Vec<HotLoop<'a>> {
    let near = |other: &HotLoop<'_>| are_as_many(found.cost.iterations, other.cost.iterations);
    let apart = |other: &HotLoop<'_>| {
        other.function == found.function
            && !(other.members.iter()).any(|at| found.members.binary_search(at).is_ok())
    };
    let idle = |other: &HotLoop<'_>| has_no_effect(input, other).is_some() && !sums_up(other);
    let mut beside: Vec<HotLoop<'a>> = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_LOOP_BESIDE_CALLS) {
        let levels = std::iter::successors(Some(one), HotLoop::parent);
        let Some(level) = levels.into_iter().find(|level| near(level)) else {
            continue;
        };
        let known = beside.iter().any(|other| other.index == level.index);
        if !known && apart(&level) && idle(&level) {
            beside.push(level);
        }
    }
    beside
}

/// Whether two loops go over as many elements, or as often.
pub(super) fn are_as_many(one: u64, other: u64) -> bool {
    one.abs_diff(other) as f64 <= SAME_TIMES_TOLERANCE * one as f64
}

/// Whether all functions that a call reaches only answer.
fn only_answers_at(input: &AnalysisInput, found: &HotLoop<'_>, at: usize) -> bool {
    let site = found.input.call_sites.iter().find(|site| site.at == at);
    site.is_some_and(|site| {
        !site.targets.is_empty() && site.targets.iter().all(|one| only_answers(input, one))
    })
}

/// Whether an instruction that each iteration executes looks an element up: it loads from a place that is computed from what
/// the loop loads, or asks a function that only answers.
fn looks_element_up(input: &AnalysisInput, found: &HotLoop<'_>, at: usize) -> bool {
    let (function, values) = (found.input, &found.input.values);
    let data = &function.data[at];
    if found.times(at) < USUAL_EXECUTIONS {
        return false;
    }
    if data.opaque == Some(Opaque::Call) {
        return only_answers_at(input, found, at);
    }
    let loaded =
        |value: Value| is_loaded_among(function, &found.members, value) && is_wide(found, value);
    let made_of_it = |part: Value| match values.origin(part) {
        Origin::Instruction(by) => {
            let by = by as usize;
            let inside = found.members.binary_search(&by).is_ok();
            inside && !function.data[by].loads() && {
                let follows = |by: usize| !function.data[by].loads();
                let sources = sources_where(function, found.index, &[part], &follows);
                sources.into_iter().any(loaded)
            }
        }
        _ => false,
    };
    // Where a loop inside probes, the first place meets the next ones.
    let computed =
        |part: Value| made_of_it(part) || values.met(part).iter().any(|&one| made_of_it(one));
    let outside = data.memory.iter().any(|one| one.reads && !is_in_frame(one));
    let mut places = values.addresses(at).iter().flatten();
    outside
        && data.loads()
        && places.any(|place| {
            computed(place.base) || place.index.is_some_and(|(index, _)| computed(index))
        })
}

/// Whether a value was loaded with as many bytes as an element has.
fn is_wide(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    matches!(function.values.origin(value), Origin::Instruction(by) if {
        let mut memory = function.data[by as usize].memory.iter();
        memory.any(|one| one.reads && u64::from(one.bytes) >= MIN_ELEMENT_BYTES)
    })
}

/// Whether all that the loop stores are elements that a constant was added to, which it has compared with the key
/// before.
fn renumbers(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let values = &function.values;
    let executed = |at: &&usize| function.counts[**at] > 0;
    let mut stores = 0;
    let plainly = found.members.iter().filter(executed).all(|&at| {
        let data = &function.data[at];
        if !data.memory.iter().any(|one| one.writes) {
            return data.opaque.is_none();
        }
        stores += 1;
        let accesses = data.memory.iter().zip(values.addresses(at));
        let place = (accesses.filter(|one| one.0.writes)).find_map(|(_, to)| *to);
        place.is_some_and(|place| {
            let read_and_written = data.memory.iter().any(|one| one.reads);
            let number = match read_and_written {
                true => adds_constant(found, at).then(|| compared_at(found, place)),
                false => stored_number(found, at, place).map(Some),
            };
            number.flatten().is_some()
        })
    });
    plainly && stores > 0
}

/// Whether an instruction adds a constant to what it changes.
fn adds_constant(found: &HotLoop<'_>, at: usize) -> bool {
    let code = &found.input.code[at];
    match code.mnemonic {
        "inc" | "dec" => true,
        "add" | "sub" => code.last_number().is_some(),
        _ => false,
    }
}

/// The load of an element at a place, whose value is compared with a key.
fn compared_at(found: &HotLoop<'_>, place: Address) -> Option<usize> {
    let (function, values) = (found.input, &found.input.values);
    let loads = |at: usize| {
        let accesses = function.data[at].memory.iter().zip(values.addresses(at));
        let mut read = accesses.filter(|one| one.0.reads);
        read.any(|one| *one.1 == Some(place))
    };
    let keys = found.members.iter().copied();
    keys.filter(|&at| compares_with_key(found, at))
        .find_map(|at| {
            if loads(at) {
                return Some(at);
            }
            let operands = values.reads(at).iter();
            (operands.map(|one| values.origin(one.1))).find_map(|origin| match origin {
                Origin::Instruction(from) if loads(from as usize) => Some(from as usize),
                _ => None,
            })
        })
}

/// The load that brought an element which is stored where it was, more or less by a constant.
fn stored_number(found: &HotLoop<'_>, at: usize, place: Address) -> Option<usize> {
    let (function, values) = (found.input, &found.input.values);
    let load = compared_at(found, place)?;
    let loaded = values.writes(load).iter().map(|one| one.1.number);
    let loaded: Vec<u32> = loaded.collect();
    let data = &function.data[at];
    let mut stored = (values.reads(at).iter())
        .filter(|one| one.0 < FLAGS && data.data_reads & (1 << one.0) != 0)
        .map(|one| one.1);
    stored
        .any(|value| {
            // The same number and a constant, by the values' own account or by an instruction of 32 bits.
            value.offset != 0 && loaded.contains(&value.number)
                || matches!(values.origin(value), Origin::Instruction(by)
                    if adds_constant(found, by as usize)
                        && values.reads(by as usize).iter().any(|one| loaded.contains(&one.1.number)))
        })
        .then_some(load)
}

/// Whether an instruction compares an element with a key: a value of the pass that is not a constant.
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

/// Whether a register that the loop usually writes is read behind it; with `carried` only those that an iteration
/// hands to the next as well (a sum, the best so far): others may be taken for arguments of a call behind it.
pub(super) fn hands_on(found: &HotLoop<'_>, carried: bool) -> bool {
    let (function, flow) = (found.input, &found.input.flow);
    let body = flow.loop_blocks(found.index);
    let written = found
        .members
        .iter()
        .copied()
        .filter(|&at| found.times(at) > SELDOM_EXECUTIONS);
    let written = written.fold(0, |all, at| all | function.data[at].writes);
    let live = live_registers(function, Some(0), LIVE_AT_RETURN);
    let head = flow.loops()[found.index as usize].head;
    let written = match carried {
        true => written & live[head as usize] & !made_anew(found),
        false => written,
    };
    let exits = body
        .iter()
        .flat_map(|&block| &flow.blocks()[block as usize].successors);
    exits
        .filter(|next| !body.contains(next))
        .any(|&next| live[next as usize] & written != 0)
}

/// Vector registers that the loop writes before it reads them: what a conditional block moves through one is not a sum,
/// though such a register may be live behind the function (as a result).
fn made_anew(found: &HotLoop<'_>) -> u128 {
    let data = found.members.iter().map(|&at| &found.input.data[at]);
    let (_, made) = data.fold((0, 0), |(read, made): (u128, u128), one| {
        let read = read | one.reads() & !made;
        (read, made | one.writes & !read)
    });
    made & VECTORS
}

/// Whether all passes load many times what is stored. What is stored where it stands already has not changed.
pub(super) fn goes_over_unchanged(input: &AnalysisInput, found: &HotLoop<'_>) -> bool {
    let sites = ObservedSites::of(input);
    let changed = |number, at| {
        let silent = sites
            .as_ref()
            .and_then(|sites| sites.stored_again(number, at));
        1.0 - silent.map_or(0.0, |seen| seen.share.low)
    };
    let counted =
        (input.functions.iter().enumerate()).filter(|(_, one)| one.counts.len() == one.code.len());
    let stores = counted.flat_map(|(number, one)| {
        // A counter that is kept in memory is no element.
        let outside = |at: &usize| stores_outside(one, *at) && !stores_in_one_place(one, *at);
        let changed = &changed;
        (0..one.code.len())
            .filter(outside)
            .map(move |at| one.bytes_moved(at, true) * changed(number, at))
    });
    let stored: f64 = stores.sum();
    loaded(found) >= MIN_LOADED_PER_STORED * stored
}

/// Whether an instruction of a loop stores where it stored in the iteration before.
fn stores_in_one_place(function: &FunctionInput, at: usize) -> bool {
    let innermost = function.flow.loop_of_instruction(at);
    let stays = |address: &Address, index: u32| {
        let parts = [Some(address.base), address.index.map(|one| one.0)];
        let mut parts = parts.into_iter().flatten();
        parts.all(|part| function.values.is_invariant(part, &function.flow, index))
    };
    innermost.is_some_and(|index| {
        let accesses = function.data[at].memory.iter();
        (accesses.zip(function.values.addresses(at)))
            .filter(|one| one.0.writes)
            .all(|(_, address)| {
                address
                    .as_ref()
                    .is_some_and(|address| stays(address, index))
            })
    })
}

/// Bytes that the passes load, of the instruction that loads most.
fn loaded(found: &HotLoop<'_>) -> f64 {
    let loads = found
        .members
        .iter()
        .map(|&at| found.input.bytes_moved(at, false));
    loads.fold(0.0, f64::max)
}

/// Whether all passes load many times what there is.
pub(super) fn goes_over_same(input: &AnalysisInput, found: &HotLoop<'_>) -> bool {
    let (Some(read), Some(memory)) = (input_read(input), input.program.max_rss_bytes) else {
        return false;
    };
    loaded(found) >= MIN_PASSES_OVER_ALL_MEMORY * memory.max(read as f64)
}
