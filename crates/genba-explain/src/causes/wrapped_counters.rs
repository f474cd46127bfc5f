//! A counter that goes round by a remainder: part of `loop-invariant-divisor`.
//!
//! **Signature.** `i = (i + 1) % n`: a division, or the multiplications in its place, whose dividend is the remainder of the
//! time before and a small constant more, handed on in a register or in memory. As a remainder is less than its divisor,
//! the quotient is nought or one each time.
//!
//! **Near misses.** Remainders of sums and hashes; generators, which multiply; counters that are not made of the
//! remainder.
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
use crate::constants::counts::{MAX_STEP_OF_WRAPPED_COUNTER, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::CYCLES_OF_WRAP;
use crate::constants::processor::WRAP_BY_COMPARISON;
use crate::constants::registers::XMM0;
use crate::constants::time_shares::MIN_SHARE_OF_INVARIANT_DIVISION;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::divisions::{cycles_of, divisions, time_fact, with_waiting};
use crate::patterns::load_stalls::sources_where;

/// Finds remainders by which counters go round.
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

/// A remainder by which a counter goes round.
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

fn by_division(function: &FunctionInput) -> Vec<Wrapped> {
    let all = divisions(function).into_iter();
    all.filter(|one| {
        function.counts[one.at] > 0
            && one
                .remainder
                .is_some_and(|remainder| goes_round(function, one.dividend, remainder))
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
            let reads = function.values.reads(at).iter();
            let operands: Vec<Value> = reads.filter(|one| one.0 < XMM0).map(|one| one.1).collect();
            let made = function
                .values
                .writes(at)
                .iter()
                .find(|one| one.0 < XMM0)?
                .1;
            let [one, other] = operands[..] else {
                return None;
            };
            let (number, product) = match goes_round(function, one, made) {
                true => (one, other),
                false if goes_round(function, other, made) => (other, one),
                false => return None,
            };
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

/// Whether a number is a little more than the remainder of the time before: that comes back at the head of a loop, or
/// through memory.
fn goes_round(function: &FunctionInput, number: Value, remainder: Value) -> bool {
    let values = &function.values;
    let before = Value {
        offset: 0,
        ..number
    };
    let small = (1..=MAX_STEP_OF_WRAPPED_COUNTER).contains(&number.offset);
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
    small && (in_register() || in_memory())
}
