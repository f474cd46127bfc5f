//! A counter that wraps around by a remainder: part of `loop-invariant-divisor`.
//!
//! **Signature.** `i = (i + 1) % n`: a division, or the multiplications in its place, whose dividend is the previous
//! remainder plus one, handed on in a register or in memory. As a remainder is less than its divisor, the quotient is
//! zero or one each time.
//!
//! **Near misses.** Larger steps, of which the divisor may be less; remainders of sums and hashes; generators, which
//! multiply; averages that decay by a multiplication and a shift, which have no product with a divisor.
//!
//! **Confirmation.** A comparison in its place.
//!
//! **Gain.** The loop is modelled with a comparison and a conditional move in the division's place; without a loop the
//! measured time of the division, less those.
//!
//! **Source.** H. Warren, *Hacker's Delight*, chapter 10; A. Fog, "Instruction tables" (a division is 10 to 40 cycles, a
//! multiplication 3 or 4).

use genba_loop_model::{Change, Instead};
use genba_model::{Cause, DivisionFact, Fix};

use crate::candidate::Candidate;
use crate::causes::quadratic::residual_fraction;
use crate::constants::counts::MIN_CALLS_IN_HOT_CODE;
use crate::constants::gains::CYCLES_OF_WRAP;
use crate::constants::processor::WRAP_BY_COMPARISON;
use crate::constants::registers::XMM0;
use crate::constants::time_shares::MIN_SHARE_OF_INVARIANT_DIVISION;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::divisions::{cycles_of, divisions, time_fact, with_waiting};
use crate::patterns::load_stalls::sources_where;

/// Finds counters that wrap around by a remainder: candidates of `loop-invariant-divisor`.
pub(super) fn wrapped_counters(input: &AnalysisInput) -> Vec<Candidate> {
    let users = input.functions.iter().enumerate().filter(|(_, function)| {
        let known = function.counted && function.counts.len() == function.code.len();
        known
            && function.can_be_changed()
            && function.share.value >= MIN_SHARE_OF_INVARIANT_DIVISION
    });
    users
        .flat_map(|(number, function)| {
            let all = by_division(function)
                .into_iter()
                .chain(by_reciprocal(function));
            all.filter_map(move |one| one.candidate(input, number))
                .collect::<Vec<Candidate>>()
        })
        .collect()
}

/// A remainder by which a counter wraps around.
struct Wrapped {
    /// The instruction that makes it.
    at: usize,
    /// Other instructions that only serve it.
    beside: Vec<usize>,
}

impl Wrapped {
    fn candidate(&self, input: &AnalysisInput, number: usize) -> Option<Candidate> {
        let function = &input.functions[number];
        let times = function.counts[self.at];
        let of_it = with_waiting(function, self.beside.iter().copied().chain([self.at]));
        let share = function.heat_of(of_it.iter().copied());
        if times < MIN_CALLS_IN_HOT_CODE || share < MIN_SHARE_OF_INVARIANT_DIVISION {
            return None;
        }
        let costs = &input.program.costs;
        let mut one = Candidate::new(
            Cause::LoopInvariantDivisor,
            Some(number),
            vec![self.at],
            Fix::WrapByComparison,
        );
        let change = Change {
            gone: self.beside.clone(),
            instead: vec![Instead {
                at: self.at,
                latency: WRAP_BY_COMPARISON,
                slots: WRAP_BY_COMPARISON.value,
            }],
            ..Change::default()
        };
        let index = function.flow.loop_of_instruction(self.at);
        let after =
            index.and_then(|index| Some((index, function.loop_after(costs, index, &change)?)));
        let modelled = match after {
            Some((index, gain)) => {
                one.affected = function.loop_instructions(index);
                one.residual_fraction = gain.residual_fraction;
                Some(gain.fact())
            }
            None => {
                one.residual_fraction =
                    residual_fraction(cycles_of(function, self.at)?.value, CYCLES_OF_WRAP);
                one.affected = of_it;
                None
            }
        };
        one.executions = Some(times);
        one.cycles = cycles_of(function, self.at);
        let here = costs.latency(&function.data[self.at].form);
        Some(
            one.fact(DivisionFact::WrappedCounter {
                instruction: function.code[self.at].text.clone(),
                executions: times,
            })
            .fact(time_fact(function, self.at, share, here))
            .facts(modelled),
        )
    }
}

/// Divisions that do nothing but wrap a counter around.
pub(super) fn wrapping_divisions(function: &FunctionInput) -> Vec<usize> {
    by_division(function).iter().map(|one| one.at).collect()
}

fn by_division(function: &FunctionInput) -> Vec<Wrapped> {
    let all = divisions(function).into_iter();
    all.filter(|one| {
        function.counts[one.at] > 0
            && one
                .remainder
                .is_some_and(|remainder| wraps_around(function, one.dividend, remainder))
    })
    .map(|one| Wrapped {
        at: one.at,
        beside: Vec::new(),
    })
    .collect()
}

/// Remainders that are a number less the divisor times a quotient, which multiplications make of the number.
fn by_reciprocal(function: &FunctionInput) -> Vec<Wrapped> {
    let subtractions = (0..function.code.len())
        .filter(|&at| function.code[at].mnemonic == "sub" && function.counts[at] > 0);
    subtractions
        .filter_map(|at| {
            let index = function.flow.loop_of_instruction(at)?;
            let mut writes = function.values.writes(at).iter();
            let &(minuend, made) = writes.find(|one| one.0 < XMM0)?;
            let number = function.values.read(at, minuend)?;
            let reads = function.values.reads(at).iter();
            let mut others = reads.filter(|one| one.0 < XMM0 && one.0 != minuend);
            let (&(_, product), None) = (others.next()?, others.next()) else {
                return None;
            };
            if !wraps_around(function, number, made) || !is_multiple(function, product) {
                return None;
            }
            let loads = |by: usize| function.data[by].loads();
            let follows = |by: usize| !loads(by) && by != at;
            let made_of = sources_where(function, index, &[product], &follows);
            let mut beside: Vec<usize> = (made_of.iter())
                .filter_map(|one| match function.values.origin(*one) {
                    Origin::Instruction(by) => Some(by as usize),
                    _ => None,
                })
                .collect();
            beside.sort_unstable();
            beside.dedup();
            let named = |names: &[&str]| {
                (beside.iter()).any(|&by| names.contains(&function.code[by].mnemonic))
            };
            let divides = named(&["mul", "imul", "mulx"]) && named(&["shr", "sar", "shrx"]);
            let of_number = made_of.iter().any(|one| one.number == number.number);
            let inside = function.loop_instructions(index);
            beside.retain(|by| inside.binary_search(by).is_ok() && *by != at);
            (divides && of_number && !beside.iter().any(|&by| loads(by)))
                .then_some(Wrapped { at, beside })
        })
        .collect()
}

/// Whether a value may be a quotient times the divisor: not the quotient itself, which a shift makes.
fn is_multiple(function: &FunctionInput, value: Value) -> bool {
    match function.values.origin(value) {
        Origin::Instruction(by) => matches!(
            function.code[by as usize].mnemonic,
            "imul" | "lea" | "shl" | "add" | "sub"
        ),
        Origin::Constant | Origin::Entry | Origin::Join(_) => false,
    }
}

/// Whether a number is the previous remainder plus one: that comes back at the head of a loop, or through memory.
fn wraps_around(function: &FunctionInput, number: Value, remainder: Value) -> bool {
    let values = &function.values;
    let Some(before) = before_increment(function, number) else {
        return false;
    };
    let in_register = || match values.origin(before) {
        Origin::Join(block) => {
            let is_head = function.flow.loops().iter().any(|one| one.head == block);
            is_head && values.met(before).contains(&remainder)
        }
        _ => false,
    };
    let in_memory = || {
        let Some(address) = values.loaded_from(before) else {
            return false;
        };
        (0..function.code.len()).any(|at| {
            let memory = function.data[at].memory.iter();
            let mut stores = memory
                .zip(values.addresses(at))
                .filter(|one| one.0.writes && *one.1 == Some(address));
            stores.next().is_some() && values.reads(at).iter().any(|one| one.1 == remainder)
        })
    };
    in_register() || in_memory()
}

/// The value that is one less, by what values know of constants, or where a part of a register is incremented.
fn before_increment(function: &FunctionInput, number: Value) -> Option<Value> {
    if number.offset != 0 {
        return (number.offset == 1).then_some(Value {
            offset: 0,
            ..number
        });
    }
    let Origin::Instruction(by) = function.values.origin(number) else {
        return None;
    };
    let code = &function.code[by as usize];
    let by_one = code.mnemonic == "inc"
        || code.mnemonic == "add" && (code.text.ends_with(",1") || code.text.ends_with(",0x1"));
    let mut reads = function.values.reads(by as usize).iter();
    reads.find(|one| by_one && one.0 < XMM0).map(|one| one.1)
}
