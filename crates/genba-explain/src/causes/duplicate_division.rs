//! `duplicate-division`: quotient and remainder computed by two divisions.
//!
//! **Signature.** Two integer divisions of one function whose dividends and divisors have the same
//! value numbers, executed equally often. Compilers merge adjacent `n % b` and `n / b`; a store in
//! between that may change an operand, or a call, prevents it.
//!
//! **Confirmation.** One division and `n - q * b` (or `div`'s second result) instead.
//!
//! **Gain.** Half of the time of the two. Where they overlap, the remaining one still takes its
//! full latency, which bounds the gain.
//!
//! **Source.** Intel's and AMD's optimisation manuals on `div`, which gives both results.

use genba_model::{Cause, DivisionFact, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::SAME_COUNT_TOLERANCE;
use crate::constants::gains::{
    DIVISION_PAIR_RESIDUAL, DIVISION_PAIR_RESIDUAL_LOW, RESIDUAL_MARGIN,
};
use crate::constants::time_shares::MIN_SHARE_OF_DIVISIONS;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::divisions::{Division, Equal, cycles_of, divisions, time_fact, with_waiting};
use genba_loop_model::Change;

/// Finds two hot divisions of a function with the same operands, from value numbers and counts.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (index, function) in input
        .functions
        .iter()
        .enumerate()
        .filter(|(_, f)| f.counted)
    {
        let all = divisions(function);
        let mut used = vec![false; all.len()];
        for one in &all {
            let Some(before) = one.done_before(&all, function) else {
                continue;
            };
            // The one of the same loop, if one is, stands for all ways.
            let innermost = |at: usize| function.flow.loop_of_instruction(at);
            let last = before.iter().max_by_key(|other| {
                let same_loop = innermost(other.at) == innermost(one.at);
                (same_loop, function.counts[other.at])
            });
            let Some(other) = last.filter(|other| is_hot(function, other.at, one.at)) else {
                continue;
            };
            found.push(candidate(input, index, other, one));
        }
        for second in 1..all.len() {
            for first in 0..second {
                if used[first] || used[second] || !is_pair(function, &all[first], &all[second]) {
                    continue;
                }
                (used[first], used[second]) = (true, true);
                found.push(candidate(input, index, &all[first], &all[second]));
            }
        }
    }
    found
}

/// Divisions of a function that are one of such a pair: what other causes leave alone.
#[must_use]
pub fn pair_divisions(function: &FunctionInput) -> Vec<usize> {
    let all = divisions(function);
    let mut found = Vec::new();
    for (number, second) in all.iter().enumerate() {
        for first in &all[..number] {
            if is_pair(function, first, second) {
                found.extend([first.at, second.at]);
            }
        }
    }
    found
}

fn is_pair(function: &FunctionInput, first: &Division, second: &Division) -> bool {
    let (a, b) = (function.counts[first.at], function.counts[second.at]);
    first.same_operands(second, function).is_some()
        && (a.abs_diff(b) as f64) <= SAME_COUNT_TOLERANCE * a.max(b) as f64
        && is_hot(function, first.at, second.at)
}

fn is_hot(function: &FunctionInput, first: usize, second: usize) -> bool {
    let counted = function.counts[first].min(function.counts[second]) > 0;
    counted && function.heat_of(with_waiting(function, [first, second])) >= MIN_SHARE_OF_DIVISIONS
}

fn candidate(input: &AnalysisInput, index: usize, one: &Division, other: &Division) -> Candidate {
    let function = &input.functions[index];
    let (first, second) = (one.at, other.at);
    let reloaded = one.same_operands(other, function) == Some(Equal::Reloaded);
    let times = function.counts[first];
    let here = input.program.costs.latency(&function.data[first].form);
    let each = |at: usize| cycles_of(function, at);
    let mut found = Candidate::new(
        Cause::DuplicateDivision,
        Some(index),
        vec![first, second],
        Fix::OneDivision,
    );
    let around = common_loop(function, first, second);
    let gain = around.and_then(|around| {
        let without = |at: usize| {
            let change = Change {
                gone: vec![at],
                ..Change::default()
            };
            function.loop_after(&input.program.costs, around, &change)
        };
        // The next iteration may wait for one of them: that one stays.
        let (a, b) = (without(first)?, without(second)?);
        Some(if a.iteration.value >= b.iteration.value {
            a
        } else {
            b
        })
    });
    let mut modelled = None;
    match around.zip(gain) {
        Some((around, gain)) => {
            found.affected = function.loop_instructions(around);
            found.residual_fraction = gain.residual_fraction;
            modelled = Some(gain.fact());
        }
        None => found.residual_fraction = residual_fraction(each(first).zip(each(second)), here),
    }
    found.executions = Some(times);
    found.cycles = each(first).zip(each(second)).map(|(a, b)| Estimate {
        value: (a.value + b.value) / 2.0,
        low: (a.low + b.low) / 2.0,
        high: (a.high + b.high) / 2.0,
    });
    found
        .fact(DivisionFact::SameOperands {
            form: function.data[first].form.clone(),
            executions: times,
        })
        .facts(reloaded.then_some(DivisionFact::OperandReloaded))
        .fact(time_fact(
            function,
            first,
            function.heat_of(with_waiting(function, [first, second])),
            here,
        ))
        .facts(modelled)
}

/// The innermost loop that both are in.
fn common_loop(function: &FunctionInput, first: usize, second: usize) -> Option<u32> {
    function
        .loops_around(first)
        .find(|&index| function.loops_around(second).any(|other| other == index))
}

/// What stays of the two: half, or the latency of one where they ran side by side.
fn residual_fraction(each: Option<(Estimate, Estimate)>, here: Option<Estimate>) -> Estimate {
    let both = each
        .map(|(a, b)| a.value + b.value)
        .filter(|&sum| sum > 0.0);
    let alone = both.zip(here).map(|(both, here)| here.value / both);
    let value = alone
        .unwrap_or(DIVISION_PAIR_RESIDUAL.0)
        .clamp(DIVISION_PAIR_RESIDUAL.0, DIVISION_PAIR_RESIDUAL.1);
    Estimate {
        value,
        low: DIVISION_PAIR_RESIDUAL_LOW,
        high: (value + RESIDUAL_MARGIN).min(1.0),
    }
}
