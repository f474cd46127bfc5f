//! `loop-invariant-divisor`: division by a divisor that the loop does not change.
//!
//! **Signature.** A counter that wraps around by a remainder ([`super::wrapped_counters`]). Or a division in a loop with
//! many iterations whose divisor is computed outside of the loop, or is loaded from memory that the loop does not write.
//! Compilers turn divisions by constants into multiplications; those are not reported.
//!
//! **Confirmation.** The values of the divisor (by the code: one).
//!
//! **Gain.** A multiplication and a shift by a reciprocal that is computed once (or a mask, or a
//! comparison and a subtraction, where the operands allow it): the loop is modelled with those. It gains no more
//! than some times the measured time at the divisions and what waits for them, whatever the model says.
//!
//! **Source.** T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication",
//! PLDI 1994; D. Lemire et al., "Faster remainder by direct computation", 2019.

use genba_code::STACK_POINTER;
use genba_model::{Cause, DivisionFact, Estimate, Fix};

use crate::candidate::Candidate;
use crate::causes::division_as_overflow_check::check_divisions;
use crate::causes::duplicate_division;
use crate::causes::wrapped_counters::wrapped_counters;
use crate::constants::counts::{MIN_TRIPS_TO_PRECOMPUTE_DIVISOR, SELDOM_CALLS_DIVISOR};
use crate::constants::gains::{MIN_RECIPROCAL_RESIDUAL, OUTER_LOOP_REST_RESIDUAL};
use crate::constants::model_fit::MIN_PARENT_OF_LOOP;
use crate::constants::processor::RECIPROCAL_CYCLES;
use crate::constants::time_shares::MIN_SHARE_OF_INVARIANT_DIVISION;
use crate::gain::saved_time::combined;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Address, Origin, Value};
use crate::patterns::divisions::{
    Division, Divisor, by_reciprocal, cycles_of, divisions, left_without, time_fact, with_waiting,
};

/// Finds hot divisions whose divisor keeps its value through many iterations of a loop.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = wrapped_counters(input);
    let wrapped: Vec<(Option<usize>, usize)> = found
        .iter()
        .map(|one| (one.function, one.site[0]))
        .collect();
    for (index, function) in input.functions.iter().enumerate() {
        if !function.counted || function.share.value < MIN_SHARE_OF_INVARIANT_DIVISION {
            continue;
        }
        let all = divisions(function);
        if all.is_empty() {
            continue;
        }
        // Those have cheaper remedies, which must come first.
        let mut others = check_divisions(function);
        others.extend(duplicate_division::pair_divisions(function));
        let mut groups: Vec<(u32, u32, Vec<Division>)> = Vec::new();
        for division in all {
            if others.contains(&division.at) || wrapped.contains(&(Some(index), division.at)) {
                continue;
            }
            let Some((inner, outer)) = invariant_in(function, &division) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.0 == inner) {
                Some(group) => group.2.push(division),
                None => groups.push((inner, outer, vec![division])),
            }
        }
        for (inner, outer, list) in groups {
            let heat = function.heat_of(with_waiting(function, list.iter().map(|one| one.at)));
            if heat >= MIN_SHARE_OF_INVARIANT_DIVISION {
                found.extend(candidate(input, index, inner, outer, &list));
            }
        }
    }
    found
}

/// Divisions whose divisor a loop around them does not change.
pub(super) fn invariant_divisions(function: &FunctionInput) -> Vec<usize> {
    let all = divisions(function).into_iter();
    all.filter(|division| invariant_in(function, division).is_some())
        .map(|division| division.at)
        .collect()
}

/// The innermost loop around a division and the outermost in which its divisor does not change,
/// if that lasts for many divisions.
fn invariant_in(function: &FunctionInput, division: &Division) -> Option<(u32, u32)> {
    let inner = function.loops_around(division.at).next()?;
    let outer = function
        .loops_around(division.at)
        .take_while(|&index| is_invariant(function, &division.divisor, index))
        .last()?;
    let times = function.counts.get(division.at).copied()?;
    let entries = function.loops.get(outer as usize)?.as_ref()?.entries?;
    (times as f64 >= MIN_TRIPS_TO_PRECOMPUTE_DIVISOR * entries.max(1) as f64)
        .then_some((inner, outer))
}

fn is_invariant(function: &FunctionInput, divisor: &Divisor, index: u32) -> bool {
    let values = &function.values;
    match *divisor {
        Divisor::Memory(address) => stays(function, &address, index),
        Divisor::Value(_, value) => {
            values.is_invariant(value, &function.flow, index)
                || values
                    .loaded_from(value)
                    .is_some_and(|address| stays(function, &address, index))
                || comes_back(function, value, index)
        }
    }
}

/// Whether a value at the loop's head is one that each iteration loads again from a place that the
/// loop does not write: a divisor for which no register was left.
fn comes_back(function: &FunctionInput, value: Value, index: u32) -> bool {
    let values = &function.values;
    let head = function.flow.loops()[index as usize].head;
    if values.origin(value) != Origin::Join(head) {
        return false;
    }
    let body = function.flow.loop_blocks(index);
    let before = &function.flow.blocks()[head as usize].predecessors;
    let mut inside = before
        .iter()
        .zip(values.met(value))
        .filter(|(block, _)| body.contains(block))
        .map(|(_, &input)| input)
        .peekable();
    inside.peek().is_some()
        && inside.all(|input| {
            let address = values.loaded_from(input);
            address.is_some_and(|address| stays(function, &address, index))
        })
}

/// Whether memory at an address is the same in all iterations of a loop, stores through other
/// pointers apart.
fn stays(function: &FunctionInput, address: &Address, index: u32) -> bool {
    let values = &function.values;
    let fixed = values.is_invariant(address.base, &function.flow, index)
        && address
            .index
            .is_none_or(|(value, _)| values.is_invariant(value, &function.flow, index));
    let input =
        function.values.origin(address.base).eq(&Origin::Entry) && is_stack(function, address);
    let iterations = |cost: &genba_loop_model::LoopAnalysis| cost.iterations / SELDOM_CALLS_DIVISOR;
    let often = function.loops.get(index as usize);
    let often = often.and_then(|cost| cost.as_ref()).map_or(0, iterations);
    fixed
        && !function.loop_instructions(index).into_iter().any(|at| {
            let data = &function.data[at];
            // Nobody else writes to the function's own frame.
            let calls = data.opaque.is_some() && !input && function.counts[at] > often;
            let written = data.memory.iter().zip(values.addresses(at));
            calls
                || written
                    .filter(|(access, _)| access.writes)
                    .any(|(_, at)| at.is_some_and(|at| overlaps(&at, address)))
        })
}

/// Whether an address is one of the function's own frame: made of what the stack pointer was.
fn is_stack(function: &FunctionInput, address: &Address) -> bool {
    let entry = (0..function.code.len()).find_map(|at| function.values.read(at, STACK_POINTER));
    entry.is_some_and(|entry| entry.number == address.base.number) && address.index.is_none()
}

/// Whether two addresses of the same values overlap.
fn overlaps(one: &Address, other: &Address) -> bool {
    let range = |a: &Address| {
        (
            a.base.offset,
            a.base.offset.saturating_add(i64::from(a.bytes)),
        )
    };
    let ((a, b), (c, d)) = (range(one), range(other));
    one.base.number == other.base.number && one.index == other.index && a < d && c < b
}

/// The time that changes and what stays of it: where the iterations of a short loop are a part of
/// another loop's, that one's other work may wait for these divisions, too.
fn around(
    function: &FunctionInput,
    inner: u32,
    outer: u32,
    residual_fraction: Estimate,
) -> (Vec<usize>, Estimate) {
    let own = function.loop_heat(inner);
    let parent = function.flow.loops()[inner as usize]
        .parent
        .filter(|_| inner != outer);
    let Some((parent, all)) = parent
        .map(|parent| (parent, function.loop_heat(parent)))
        .filter(|&(_, all)| all > MIN_PARENT_OF_LOOP * own)
    else {
        return (function.loop_instructions(inner), residual_fraction);
    };
    let rest = Estimate {
        value: OUTER_LOOP_REST_RESIDUAL,
        low: residual_fraction.value,
        high: 1.0,
    };
    let (_, residual_fraction) = combined(&[(own, residual_fraction), (all - own, rest)]);
    (function.loop_instructions(parent), residual_fraction)
}

fn candidate(
    input: &AnalysisInput,
    index: usize,
    inner: u32,
    outer: u32,
    list: &[Division],
) -> Option<Candidate> {
    let function = &input.functions[index];
    let costs = &input.program.costs;
    let most = list
        .iter()
        .max_by(|a, b| {
            let heat = |one: &Division| function.heat_of(with_waiting(function, [one.at]));
            heat(a).total_cmp(&heat(b))
        })?
        .at;
    let mut site = vec![most];
    site.extend(list.iter().map(|one| one.at).filter(|&at| at != most));
    let change = by_reciprocal(&site, None);
    let here = costs.latency(&function.data[most].form);
    let mut found = Candidate::new(
        Cause::LoopInvariantDivisor,
        Some(index),
        site.clone(),
        Fix::Reciprocal,
    );
    let mut modelled = None;
    match function.loop_after(costs, inner, &change) {
        Some(gain) => {
            let left = left_without(function, inner, &site, &gain, false);
            (found.affected, found.residual_fraction) = around(function, inner, outer, left);
            modelled = Some(gain.fact());
        }
        None => {
            let each = cycles_of(function, most)?.value;
            let part = |cycles: f64| (cycles / each).clamp(MIN_RECIPROCAL_RESIDUAL, 1.0);
            found.residual_fraction = Estimate {
                value: part(RECIPROCAL_CYCLES.value),
                low: part(RECIPROCAL_CYCLES.low),
                high: part(RECIPROCAL_CYCLES.high),
            };
        }
    }
    let share = function.heat_of(with_waiting(function, site));
    let entries = function.loops[outer as usize].as_ref()?.entries?;
    let times = function.counts[most];
    found.executions = Some(times);
    found.cycles = cycles_of(function, most);
    Some(
        found
            .fact(DivisionFact::InvariantDivisor {
                instruction: function.code[most].text.clone(),
                executions: times,
                entries,
            })
            .fact(time_fact(function, most, share, here))
            .facts(modelled),
    )
}
