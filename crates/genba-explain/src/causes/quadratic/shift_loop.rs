//! Elements of an array that a loop moves up or down one by one: an element inserted or removed.
//!
//! **Signature.** A loop that loads elements and stores them as they are, a step further or nearer in the same array,
//! and stores nothing else; hundreds of them, for each of many items.
//!
//! **Near misses.** Copies to another array; elements that are changed on the way; short arrays.
//!
//! **Gain.** Without the moves, as for `memmove` ([`super::shift`]).

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CYCLES_PER_LONG_MOVE, MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES};
use crate::constants::gains::CYCLES_WITHOUT_SHIFT;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step};

/// A loop that moves the elements of an array onto their neighbours.
pub(super) fn shift_by_loop(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (elements, times) = (found.trips?, found.cost.entries?);
    let each = found.share * cycles_of_all(input)? / times as f64;
    if !function.own
        || elements < MIN_ELEMENTS_PER_SEARCH
        || times < MIN_SEARCHES
        || each < MIN_CYCLES_PER_LONG_MOVE
        || found.has_opaque()
    {
        return None;
    }
    let executed = found.members.iter().copied();
    let stores: Vec<usize> = executed
        .filter(|&at| found.times(at) > 0.0 && function.data[at].memory.iter().any(|m| m.writes))
        .collect();
    let &first = stores.first()?;
    let shift = moved_by(found, first)?;
    if !stores.iter().all(|&at| moved_by(found, at) == Some(shift)) {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![first],
        Fix::AvoidShifts,
    );
    // The function may be inlined into this one.
    let place = function.places.get(first);
    let name = place.and_then(|place| place.function.clone());
    one.affected.clone_from(&found.members);
    one.share = Some(found.share);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_SHIFT);
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::ArrayShift {
            function: name.unwrap_or_else(|| function.function.clone()),
            times,
            bytes: Some(shift.unsigned_abs()),
            removed: shift > 0,
        })
        .fact(QuadraticFact::MoveTime {
            share: found.share,
            cycles: each,
        }),
    )
}

/// Bytes between where a stored element was loaded and where it is stored, if it is the step of the loop.
fn moved_by(found: &HotLoop<'_>, at: usize) -> Option<i64> {
    let (from, to) = found.moved(at)?;
    let same = to.base.number == from.base.number && to.index == from.index;
    let shift = from.base.offset.wrapping_sub(to.base.offset);
    let steps = matches!(
        address_step(found.input, found.index, &to),
        Some(Step::Constant(step)) if step.unsigned_abs() == shift.unsigned_abs()
    );
    (same && shift != 0 && steps).then_some(shift)
}
