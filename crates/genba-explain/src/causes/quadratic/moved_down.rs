//! Passes that move nearly all elements of an array to the front, to take out a few.
//!
//! **Signature.** A loop that loads from element to element, and stores most of each element as it is to a place that goes on
//! by one with each store only (`Vec::retain`, `std::remove_if`, a compaction by hand): nine of ten elements and more are
//! moved. It is entered for each of many items; all passes together load many times what the program reads and has in
//! memory, and many times what everything else stores: the elements have not changed meanwhile.
//!
//! **Near misses.** Copies of all elements (their places go on in each iteration); filters, which drop many; elements that are
//! made anew, or changed, for each pass; few or short passes; a program that does all its work again.
//!
//! **Gain.** What it costs to take elements out where nothing moves is left for each pass.

use genba_code::Flow;
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use super::sweep::goes_over_same;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_CYCLES_PER_LONG_MOVE, MIN_PART_CHANGED, MIN_PART_OF_ELEMENT_MOVED, MIN_SEARCHES,
    SELDOM_EXECUTIONS, USUAL_EXECUTIONS,
};
use crate::constants::gains::CYCLES_WITHOUT_SHIFT;
use crate::constants::time_shares::{MIN_SHARE_OF_QUADRATIC_LOOP, MOST_OF_IT};
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::Origin;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::reading_calls::stores_outside;
use crate::patterns::value_steps::{Step, address_step};

/// Passes over the same elements that move nearly all of them.
pub(super) fn moved_down(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (elements, passes) = (found.trips?, found.cost.entries?);
    let whole = ObservedSites::of(input).is_some_and(|sites| sites.repeats_as_a_whole());
    if !function.own || whole || passes < MIN_SEARCHES || found.share < MIN_SHARE_OF_QUADRATIC_LOOP
    {
        return None;
    }
    let each = found.share * cycles_of_all(input)? / passes as f64;
    let (site, element) = moving_store(found)?;
    if each < MIN_CYCLES_PER_LONG_MOVE
        || !goes_over_same(input, found)
        || change_meanwhile(input, found, element)
    {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![site],
        Fix::AvoidShifts,
    );
    one.affected.clone_from(&found.members);
    one.share = Some(found.share);
    let taken_out = found.cost.iterations.saturating_sub(function.counts[site]);
    let items = 1.0 + taken_out as f64 / passes as f64;
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_SHIFT.map(|one| one * items));
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / elements));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::IdlePasses { passes, elements })
            .fact(QuadraticFact::MoveTime {
                share: found.share,
                cycles: each,
            }),
    )
}

/// Whether another store is executed as often as elements may have changed for.
fn change_meanwhile(input: &AnalysisInput, found: &HotLoop<'_>, element: u64) -> bool {
    let moved = found.cost.iterations as f64;
    let others = input.functions.iter().enumerate();
    others.into_iter().any(|(number, function)| {
        let elsewhere =
            |at: usize| number != found.function || found.members.binary_search(&at).is_err();
        let steps_by_elements = |at: usize| {
            let around = function.flow.loop_of_instruction(at);
            let addresses = function.values.addresses(at).iter().flatten();
            around.is_some_and(|index| {
                let mut steps = addresses.map(|to| address_step(function, index, to));
                steps.any(
                    |step| matches!(step, Some(Step::Constant(by)) if by.unsigned_abs() == element),
                )
            })
        };
        (0..function.counts.len().min(function.code.len())).any(|at| {
            let part = function.counts[at] as f64 / moved;
            let may = part >= MOST_OF_IT || part >= MIN_PART_CHANGED && steps_by_elements(at);
            may && elsewhere(at) && stores_outside(function, at)
        })
    })
}

/// The first store of the loop and the bytes of an element, if most iterations move most of an element, and nothing else is usually stored or called.
fn moving_store(found: &HotLoop<'_>) -> Option<(usize, u64)> {
    let function = found.input;
    let often = |at: &usize| found.times(*at) > SELDOM_EXECUTIONS;
    let mut first = None;
    let (mut moved, mut element) = (0, 0);
    for at in found.members.iter().copied().filter(often) {
        let data = &function.data[at];
        if data.opaque.is_some() {
            return None;
        }
        if !stores_outside(function, at) {
            continue;
        }
        let (bytes, step) = moved_by(found, at)?;
        if found.times(at) < USUAL_EXECUTIONS {
            return None;
        }
        moved += bytes;
        element = step;
        first = first.or(Some(at));
    }
    let most = moved as f64 >= MIN_PART_OF_ELEMENT_MOVED * element as f64;
    first
        .filter(|_| element > 0 && most)
        .map(|at| (at, element))
}

/// Bytes that a store puts where the next element is kept, as they were loaded in the same iteration from one element after
/// the other, and the bytes from one to the next; `None` for other stores.
fn moved_by(found: &HotLoop<'_>, store: usize) -> Option<(u64, u64)> {
    let (function, values) = (found.input, &found.input.values);
    let [access] = function.data[store].memory.as_slice() else {
        return None;
    };
    if function.code[store].flow != Flow::Next || !function.code[store].mnemonic.starts_with("mov")
    {
        return None;
    }
    let to = values.addresses(store).first().copied().flatten()?;
    let stored = values.reads(store).iter().map(|one| one.1);
    let load = stored
        .map(|value| values.origin(value))
        .find_map(|origin| {
            let Origin::Instruction(load) = origin else {
                return None;
            };
            let load = load as usize;
            let data = &function.data[load];
            let moves = function.code[load].mnemonic.starts_with("mov") && data.loads();
            let inside = found.members.binary_search(&load).is_ok();
            let same = (data.memory.iter()).any(|one| one.reads && one.bytes == access.bytes);
            (moves && inside && same).then_some(load)
        })?;
    let from = values.addresses(load).first().copied().flatten()?;
    let Some(Step::Constant(step)) = address_step(function, found.index, &from) else {
        return None;
    };
    // It goes on where something was stored only.
    let goes_on_by_stores = address_step(function, found.index, &to).is_none();
    (goes_on_by_stores && step != 0).then_some((u64::from(access.bytes), step.unsigned_abs()))
}
