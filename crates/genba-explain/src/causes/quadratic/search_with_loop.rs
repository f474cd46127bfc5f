//! Linear searches whose elements' names are compared letter by letter, in a loop of the search's own (a comparison
//! that was inlined).
//!
//! **Signature.** A loop that goes through a sequence from its first element, dozens of elements for each of many
//! items. A loop inside of it goes through two texts byte by byte. Nothing is stored outside of the frame, only
//! functions that look at texts are called, and what goes from element to element is where the walk is: no sum, no best
//! so far.
//!
//! **Near misses.** Loops that count, choose or mark; searches in a text (which step by bytes); few elements.

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
        || !compares_texts(inner)
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
        Fix::HashLookup { strings: true },
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
    let function = inner.input;
    let mut texts: Vec<u32> = Vec::new();
    for &at in &inner.members {
        let accesses = function.data[at].memory.iter();
        for (access, address) in accesses.zip(function.values.addresses(at)) {
            let Some(address) = address.filter(|_| access.reads && access.bytes == 1) else {
                continue;
            };
            let next = address_step(function, inner.index, &address) == Some(Step::Constant(1));
            if next && !texts.contains(&address.base.number) {
                texts.push(address.base.number);
            }
        }
    }
    texts.len() >= 2
}

/// Whether a loop with all that it calls changes nothing: stores go to the frame, once for each element or to count
/// it.
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
                frame && (counts || !access.reads && found.times(at) >= USUAL_EXECUTIONS)
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
        inputs.all(|(block, &one)| !body.contains(block) || is_place(one))
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
