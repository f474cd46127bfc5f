//! Linear searches whose elements' names or sets are compared part by part, in a loop of the search's own (a
//! comparison that was inlined).
//!
//! **Signature.** A loop that goes through a sequence from its first element, dozens of elements for each of many
//! items. A loop inside of it goes through two texts byte by byte, or through two sequences of numbers as long as
//! they are equal. Nothing is stored outside of the frame but counters at fixed addresses, only functions that look at
//! texts are called, and what goes from element to element is where the walk is: no sum, no best so far.
//!
//! **Near misses.** Loops that sum up, choose or mark; searches in a text (which step by bytes); few elements; numbers
//! of two sequences that are used, not compared.

use genba_code::STACK_POINTER;
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use super::search::is_element;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_ELEMENT_BYTES, MIN_ELEMENTS_PER_SEARCH_BY_CALL, MIN_SEARCHES, SEARCH_OF_LOOK_UPS,
    SELDOM_EXECUTIONS, USUAL_EXECUTIONS,
};
use crate::constants::gains::{CYCLES_OF_LOOK_UP, CYCLES_OF_LOOK_UP_BY_CALL};
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::is_scan_function;
use crate::input::value_uses::Uses;
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::search_loops::is_comparison;
use crate::patterns::value_steps::{Step, address_step, value_step};

/// A search around a loop that compares two texts.
pub(super) fn search_with_loop(input: &AnalysisInput, inner: &HotLoop<'_>) -> Option<Candidate> {
    let found = inner.parent()?;
    let function = found.input;
    let (elements, searches) = (found.trips?, found.cost.entries?);
    if !function.own
        || elements < MIN_ELEMENTS_PER_SEARCH_BY_CALL
        || searches < MIN_SEARCHES
        || !(compares_texts(inner) || compares_numbers(inner))
        || !only_looks(input, &found)
        || !carries_only_places(&found)
    {
        return None;
    }
    let element = found.members.iter().copied().find(|&at| {
        let accesses = function.data[at].memory.iter();
        let mut loads = accesses
            .zip(function.values.addresses(at))
            .filter(|one| one.0.reads);
        loads.any(|(_, address)| {
            address.is_some_and(|one| is_element(&found, &one) || is_counted_element(&found, &one))
        })
    })?;
    let sites = function.call_sites.iter();
    let called = sites.filter(|site| found.members.binary_search(&site.at).is_ok());
    let called = called.flat_map(|site| &site.targets);
    let inside: f64 = called
        .map(|one| share_of_target(input, found.function, one))
        .sum();
    let share = (found.share + inside).min(1.0);
    let each = share * cycles_of_all(input)? / searches as f64;
    let look_up = match inside > 0.0 {
        true => CYCLES_OF_LOOK_UP_BY_CALL,
        false => CYCLES_OF_LOOK_UP,
    };
    if share < MIN_SHARE_OF_QUADRATIC_LOOP || each < SEARCH_OF_LOOK_UPS * look_up[0] {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![element],
        Fix::HashLookup {
            strings: compares_texts(inner),
        },
    );
    one.affected.clone_from(&found.members);
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, look_up);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / elements));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::LinearSearches {
            searches,
            elements,
            compared_by: None,
        })
        .fact(QuadraticFact::SearchTime {
            share,
            cycles: each,
        }),
    )
}

/// Whether a loop loads bytes of two texts, one after the other.
fn compares_texts(inner: &HotLoop<'_>) -> bool {
    let mut texts: Vec<u32> = Vec::new();
    for &at in &inner.members {
        for (sequence, bytes) in loads_in_order(inner, at) {
            if bytes == 1 && !texts.contains(&sequence) {
                texts.push(sequence);
            }
        }
    }
    texts.len() >= 2
}

/// Whether a loop compares the numbers of one sequence with those of another, one after the other, and goes on as
/// long as they are equal.
fn compares_numbers(inner: &HotLoop<'_>) -> bool {
    let function = inner.input;
    let ends = |at: usize| {
        let next = function.code.get(at + 1)?;
        let block = function.flow.block_of(at + 1)?;
        let to = &function.flow.blocks()[block as usize].successors;
        let body = function.flow.loop_blocks(inner.index);
        let is_equality = matches!(next.mnemonic, "je" | "jne");
        Some(is_equality && to.iter().any(|one| !body.contains(one)))
    };
    let loaded = |value: &Value| match function.values.origin(*value) {
        Origin::Instruction(at) if inner.members.binary_search(&(at as usize)).is_ok() => {
            loads_in_order(inner, at as usize)
        }
        _ => Vec::new(),
    };
    inner.members.iter().any(|&at| {
        let reads = function.values.reads(at).iter();
        let data = |location: &u8| function.data[at].data_reads & (1 << *location) != 0;
        let of_registers = reads.filter(|one| data(&one.0));
        let mut compared = loads_in_order(inner, at);
        compared.extend(of_registers.flat_map(|one| loaded(&one.1)));
        let wide = |one: &&(u32, i64)| one.1 >= MIN_ELEMENT_BYTES as i64;
        let mut sequences = compared.iter().filter(wide);
        let first = sequences.next();
        let two = first.is_some_and(|first| sequences.any(|one| one.0 != first.0));
        function.code[at].mnemonic == "cmp" && two && ends(at) == Some(true)
    })
}

/// What an instruction loads of sequences that the loop goes through without a gap: base and bytes of an element.
fn loads_in_order(inner: &HotLoop<'_>, at: usize) -> Vec<(u32, i64)> {
    let function = inner.input;
    let accesses = function.data[at].memory.iter();
    let loads = accesses.zip(function.values.addresses(at));
    loads
        .filter_map(|(access, address)| {
            let address = address.filter(|_| access.reads)?;
            let bytes = i64::from(access.bytes);
            let step = address_step(function, inner.index, &address);
            (step == Some(Step::Constant(bytes))).then_some((address.base.number, bytes))
        })
        .collect()
}

/// Whether a loop with all that it calls changes nothing: stores go to the frame, once for each element or to count
/// it, or to counters at fixed addresses (statistics).
fn only_looks(input: &AnalysisInput, found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let executed = |at: &&usize| found.times(**at) > SELDOM_EXECUTIONS;
    found.members.iter().filter(executed).all(|&at| {
        let data = &function.data[at];
        let site = function.call_sites.iter().find(|site| site.at == at);
        if let Some(site) = site {
            return (site.targets.iter())
                .all(|one| is_scan_function(&one.function) || is_comparison(input, one));
        }
        let mut written = data.memory.iter().filter(|access| access.writes);
        data.opaque.is_none()
            && written.all(|access| {
                let frame = access.stack || access.base == Some(STACK_POINTER);
                let counts = access.reads && counts_by(found, at).is_some();
                let fixed = function.values.addresses(at).iter().flatten();
                let is_fixed = |one: &Address| one.base.number == CONSTANT && one.index.is_none();
                counts && fixed.into_iter().any(is_fixed)
                    || frame && (counts || !access.reads && found.times(at) >= USUAL_EXECUTIONS)
            })
    })
}

/// What an instruction adds to memory, if that is a constant.
fn counts_by(found: &HotLoop<'_>, at: usize) -> Option<i64> {
    let function = found.input;
    let code = &function.code[at];
    match code.mnemonic {
        "inc" => Some(1),
        "add" => i64::try_from(code.last_number()?).ok(),
        _ => None,
    }
}

/// Whether all that an element hands on to the next is where the walk is: the element, its number, or the element
/// before.
fn carries_only_places(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let (flow, values) = (&function.flow, &function.values);
    let head = flow.loops()[found.index as usize].head;
    let body = flow.loop_blocks(found.index);
    let uses = Uses::of(function);
    let is_read = |value: Value| {
        let mut readers = uses.readers(value).into_iter();
        readers.any(|at| function.counts[at] > 0)
    };
    let is_link = |number: u32| {
        let addresses = found.members.iter().flat_map(|&at| values.addresses(at));
        let mut bases = addresses.flatten().filter(|one| one.base.number == number);
        bases.any(|one| is_element(found, one))
    };
    let is_place = |value: Value| {
        let step = value_step(function, found.index, value);
        matches!(step, Some(Step::Constant(_))) || is_link(value.number)
    };
    let follows_place = |value: Value| {
        let before = &flow.blocks()[head as usize].predecessors;
        let mut inputs = before.iter().zip(values.met(value));
        inputs.all(|(block, &one)| !body.contains(block) || one == value || is_place(one))
    };
    values.joins().all(|(number, _)| {
        let value = Value { number, offset: 0 };
        values.origin(value) != Origin::Join(head)
            || is_place(value)
            || !is_read(value)
            || follows_place(value)
    })
}

/// Whether an address is an element's by a number that the loop counts in its frame: there was no register left.
fn is_counted_element(found: &HotLoop<'_>, address: &Address) -> bool {
    let function = found.input;
    let values = &function.values;
    let Some((number, scale)) = address.index else {
        return false;
    };
    let in_frame = |value: Value| {
        let Origin::Instruction(at) = values.origin(value) else {
            return None;
        };
        let mut accesses = function.data.get(at as usize)?.memory.iter();
        let frame = accesses.any(|one| one.reads && one.base == Some(STACK_POINTER));
        values.loaded_from(value).filter(|_| frame)
    };
    let writes_to = |place: &Address| {
        let writes = found.members.iter().copied().filter(|&at| {
            let accesses = function.data[at].memory.iter().zip(values.addresses(at));
            let mut written = accesses.filter(|one| one.0.writes).filter_map(|one| *one.1);
            written.any(|to| to == *place)
        });
        writes.collect::<Vec<usize>>()
    };
    let stays = values.is_invariant(address.base, &function.flow, found.index)
        || address.base.number == CONSTANT
        || in_frame(address.base).is_some_and(|place| writes_to(&place).is_empty());
    let step = in_frame(number).and_then(|place| match writes_to(&place).as_slice() {
        &[at] => counts_by(found, at),
        _ => None,
    });
    stays && step.is_some_and(|step| step.unsigned_abs() * u64::from(scale) >= MIN_ELEMENT_BYTES)
}
