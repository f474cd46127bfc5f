//! Divisions that carry time and are all needed: what `already-optimal` says of them.
//!
//! That a division is done twice (`duplicate-division`) is what one looks for first where numbers
//! are taken apart. Where it was looked for and is not so, that is worth saying: either no two
//! divisions of the function have the same operands, so that quotient and remainder come from one;
//! or the loop does not divide at all but multiplies with a reciprocal, and takes the remainder
//! from the quotient.
//!
//! **Source.** N. Möller, T. Granlund, "Improved Division by Invariant Integers", IEEE Transactions
//! on Computers, 2011; T. Granlund, P. Montgomery, PLDI 1994, for constant divisors.

use genba_model::DivisionFact;

use crate::constants::counts::SELDOM_EXECUTIONS;
use crate::constants::model_fit::MIN_TIME_AT_DIVISIONS;
use crate::constants::registers::{RDX, XMM0};
use crate::constants::search_limits::{MAX_RECIPROCAL_DEPTH, MAX_VALUES_FOLLOWED};
use crate::constants::time_shares::MIN_SHARE_OF_NEEDED_DIVISIONS;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::Value;
use crate::patterns::divisions::{Division, divisions, with_waiting};
use crate::patterns::hot_loops::{HotLoop, hot_loops};

/// A hot loop whose divisions are all needed.
pub(crate) struct Needed<'a> {
    pub one: HotLoop<'a>,
    /// The divisions, or the multiplications in their place.
    pub at: Vec<usize>,
    /// Why none of them is superfluous.
    pub fact: DivisionFact,
}

/// Hot loops of divisions in which nothing is divided twice, most time first.
pub(crate) fn needed_divisions(input: &AnalysisInput) -> Vec<Needed<'_>> {
    hot_loops(input, MIN_SHARE_OF_NEEDED_DIVISIONS)
        .into_iter()
        .filter_map(|one| {
            by_division(&one)
                .or_else(|| by_reciprocal(&one))
                .map(|(at, fact)| Needed { one, at, fact })
        })
        .collect()
}

fn by_division(one: &HotLoop<'_>) -> Option<(Vec<usize>, DivisionFact)> {
    let function = one.input;
    let all = divisions(function);
    let inside: Vec<&Division> = all
        .iter()
        .filter(|division| {
            one.members.contains(&division.at) && one.times(division.at) >= SELDOM_EXECUTIONS
        })
        .collect();
    let waiting = with_waiting(function, inside.iter().map(|division| division.at));
    let carried = function.heat_of(waiting) / one.share;
    if inside.is_empty() || carried < MIN_TIME_AT_DIVISIONS {
        return None;
    }
    let twice = inside.iter().any(|division| {
        let same = |other: &Division| {
            other.at != division.at && division.same_operands(other, function).is_some()
        };
        all.iter().any(same) || division.done_before(&all, function).is_some()
    });
    if twice {
        return None;
    }
    let uses = Uses::of(function);
    let used = |value: Option<Value>| value.is_some_and(|value| !uses.readers(value).is_empty());
    let both = inside
        .iter()
        .filter(|division| used(division.quotient) && used(division.remainder))
        .count();
    let executed = inside.iter().fold(0u64, |sum, division| {
        sum.saturating_add(function.counts[division.at])
    });
    let both_results = (both > 0).then(|| function.code[inside[0].at].mnemonic.to_owned());
    let fact = DivisionFact::AllNeeded {
        executions: executed,
        share: carried,
        both_results,
    };
    Some((inside.iter().map(|division| division.at).collect(), fact))
}

fn name(function: &FunctionInput, at: usize) -> &'static str {
    function.code[at].mnemonic
}

fn multiplies(function: &FunctionInput, at: usize) -> bool {
    matches!(name(function, at), "mul" | "imul" | "mulx")
}

fn by_reciprocal(one: &HotLoop<'_>) -> Option<(Vec<usize>, DivisionFact)> {
    let function = one.input;
    let divides = |&at: &usize| {
        matches!(name(function, at), "div" | "idiv") && one.times(at) >= SELDOM_EXECUTIONS
    };
    if one.members.iter().any(divides) {
        return None;
    }
    // A product of whose two halves the high one is wanted.
    let wide: Vec<usize> = one
        .usual()
        .filter(|&at| name(function, at) == "mul" && function.values.written(at, RDX).is_some())
        .collect();
    if wide.is_empty() {
        return None;
    }
    let uses = Uses::of(function);
    let found: Vec<(usize, usize)> = wide
        .iter()
        .filter_map(|&at| Some((at, back_multiplication(one, &uses, at)?)))
        .collect();
    let (first, back) = *found.first()?;
    let operands = |at: usize| {
        let mut list: Vec<Value> = function.values.reads(at).iter().map(|one| one.1).collect();
        list.sort_by_key(|value| (value.number, value.offset));
        list
    };
    let twice = (1..found.len()).any(|second| {
        (0..second).any(|other| operands(found[other].0) == operands(found[second].0))
    });
    if twice {
        return None;
    }
    let fact = DivisionFact::Reciprocal {
        multiplication: function.code[first].text.clone(),
        remainder: function.code[back].text.clone(),
        executions: function.counts[first],
    };
    Some((found.iter().map(|one| one.0).collect(), fact))
}

/// The multiplication of a quotient, made of a product's high half, whose result is subtracted
/// from what was divided.
fn back_multiplication(one: &HotLoop<'_>, uses: &Uses, at: usize) -> Option<usize> {
    let function = one.input;
    let high = function.values.written(at, RDX)?;
    let mut values = vec![(high, 0)];
    let mut next = 0;
    while let Some(&(value, depth)) = values.get(next) {
        next += 1;
        for reader in uses.readers(value) {
            if reader == at || !one.members.contains(&reader) {
                continue;
            }
            if multiplies(function, reader) {
                if is_subtracted(one, uses, reader) {
                    return Some(reader);
                }
            } else if depth < MAX_RECIPROCAL_DEPTH
                && matches!(
                    name(function, reader),
                    "add" | "adc" | "sub" | "lea" | "mov" | "shr" | "sar" | "shrd" | "inc"
                )
            {
                let writes = function.values.writes(reader).iter();
                for &(location, written) in writes.filter(|write| write.0 < XMM0) {
                    let known = values.iter().any(|one| one.0.number == written.number);
                    if location < XMM0 && !known && values.len() < MAX_VALUES_FOLLOWED {
                        values.push((written, depth + 1));
                    }
                }
            }
        }
    }
    None
}

/// Whether a product is subtracted from something.
fn is_subtracted(one: &HotLoop<'_>, uses: &Uses, product: usize) -> bool {
    let function = one.input;
    let writes = function.values.writes(product).iter();
    // The low half, where a product has two.
    let low = writes
        .filter(|write| write.0 < XMM0 && (write.0 != RDX || name(function, product) == "imul"));
    let mut values: Vec<Value> = low.map(|write| write.1).collect();
    // Once through a move or a doubling.
    for pass in 0..2 {
        let mut more = Vec::new();
        for &value in &values {
            for reader in uses
                .readers(value)
                .into_iter()
                .filter(|at| one.members.contains(at))
            {
                match name(function, reader) {
                    "sub" | "sbb" | "neg" => return true,
                    "mov" | "add" | "lea" if pass == 0 => {
                        let writes = function.values.writes(reader).iter();
                        more.extend(writes.filter(|write| write.0 < XMM0).map(|write| write.1));
                    }
                    _ => {}
                }
            }
        }
        values = more;
    }
    false
}
