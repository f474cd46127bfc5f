//! A tree that is walked whole by recursion, for each of many things that are looked for in it.
//!
//! **Signature.** A function that calls itself some hundred times for each call from outside. It hands on
//! one argument unchanged (what is looked for) and another that it has loaded (the next element); it compares
//! what an element holds with the first, itself or by a comparison of the C library, and hardly ever are the two
//! equal. On its usual way it stores nothing but into its frame and into what is looked for.
//!
//! **Near misses.** Walks that compute something of each element, that order by a key (a search tree), that end
//! after a few elements, that are made once.
//!
//! **Gain.** One look-up per walk is left.

use genba_code::{Flow, STACK_POINTER};
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES, RARE_WAY};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::registers::{POINTER_ARGUMENTS, RDI, RSI, XMM0};
use crate::constants::search_limits::MAX_INSTRUCTIONS_TO_TEST;
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{Recursion, cycles_of_all};
use crate::patterns::invariance::value_at;
use crate::patterns::search_loops::compares;

/// Walks of a function that calls itself.
pub(super) fn recursive_search(input: &AnalysisInput, number: usize) -> Option<Candidate> {
    let function = &input.functions[number];
    let known = function.own && function.counts.len() == function.code.len();
    let recursion = Recursion::of(function).filter(|_| known)?;
    let walks = recursion.from_outside;
    let elements = recursion.by_itself as f64 / walks as f64;
    let share = function.share.value;
    if walks < MIN_SEARCHES
        || elements < MIN_ELEMENTS_PER_SEARCH
        || share < MIN_SHARE_OF_QUADRATIC_LOOP
    {
        return None;
    }
    let walk = Walk {
        function,
        key: key(function, &recursion.sites)?,
    };
    if !walk.only_looks() {
        return None;
    }
    let site = (0..function.code.len()).find(|&at| walk.looks_for(at))?;
    let each = share * cycles_of_all(input)? / walks as f64;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(number),
        vec![site],
        Fix::WalkOnceForAll,
    );
    one.affected = (0..function.code.len()).collect();
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP);
    one.executions = Some(recursion.by_itself + walks);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::RecursiveWalks { walks, elements })
            .fact(QuadraticFact::SearchTime {
                share,
                cycles: each,
            }),
    )
}

/// The argument that all calls of itself hand on as it is, where another one is an element that was loaded.
fn key(function: &FunctionInput, sites: &[usize]) -> Option<Value> {
    let values = &function.values;
    let at_entry = |location| {
        let mut read = (0..function.code.len()).filter_map(|at| values.read(at, location));
        read.find(|&value| values.origin(value) == Origin::Entry)
    };
    let handed_on = |at: usize, location| {
        let first = at_entry(location)?;
        (value_at(function, at, location)? == first).then_some(first)
    };
    let is_loaded = |at: usize, location| {
        let value = value_at(function, at, location);
        value.is_some_and(|value| loaded_at(function, value).is_some())
    };
    let everywhere = |test: &dyn Fn(usize) -> bool| sites.iter().all(|&at| test(at));
    let element = |location| everywhere(&|at| is_loaded(at, location));
    if !POINTER_ARGUMENTS.into_iter().any(element) {
        return None;
    }
    let mut keys = POINTER_ARGUMENTS.into_iter();
    let key = keys.find(|&one| everywhere(&|at| handed_on(at, one).is_some()))?;
    handed_on(*sites.first()?, key)
}

/// The instruction that loaded a value from other memory than the frame.
fn loaded_at(function: &FunctionInput, value: Value) -> Option<usize> {
    let Origin::Instruction(at) = function.values.origin(value) else {
        return None;
    };
    let at = at as usize;
    let accesses = &function.data[at].memory;
    let outside = accesses.iter().any(|one| one.reads && !one.stack);
    (outside && function.code[at].mnemonic.starts_with("mov")).then_some(at)
}

struct Walk<'a> {
    function: &'a FunctionInput,
    /// What is looked for.
    key: Value,
}

impl Walk<'_> {
    /// Whether nothing is stored on the usual way, apart from the frame and from what is looked for.
    fn only_looks(&self) -> bool {
        let function = self.function;
        let calls = function.calls.unwrap_or(0) as f64;
        (0..function.code.len()).all(|at| {
            let accesses = function.data[at].memory.iter();
            let mut places = accesses.zip(function.values.addresses(at));
            let usual = function.counts[at] as f64 > RARE_WAY * calls;
            !usual
                || places.all(|(access, to)| {
                    !access.writes
                        || access.stack
                        || access.base == Some(STACK_POINTER)
                        || to.is_some_and(|to| to.base.number == self.key.number)
                })
        })
    }

    /// Whether a value is what is looked for, or a field of it.
    fn is_key(&self, value: Value) -> bool {
        let of_field = |at: usize| {
            let mut from = self.function.values.addresses(at).iter().flatten();
            from.any(|from| from.base.number == self.key.number)
        };
        value == self.key || loaded_at(self.function, value).is_some_and(of_field)
    }

    fn is_of_element(&self, value: Value) -> bool {
        !self.is_key(value) && loaded_at(self.function, value).is_some()
    }

    /// Whether an instruction compares an element's with what is looked for, and hardly ever finds them equal.
    fn looks_for(&self, at: usize) -> bool {
        let function = self.function;
        match function.code[at].mnemonic {
            "cmp" => self.compares_here(at) && self.is_rarely_equal(at + 1),
            "call" => {
                let site = function.call_sites.iter().find(|site| site.at == at);
                let by_library = site
                    .and_then(|site| site.targets.first())
                    .is_some_and(|target| compares(&target.function));
                let [first, second] = [RDI, RSI].map(|one| value_at(function, at, one));
                let of_both = |one: Option<Value>, other: Option<Value>| {
                    one.is_some_and(|one| self.is_key(one))
                        && other.is_some_and(|other| self.is_of_element(other))
                };
                by_library
                    && (of_both(first, second) || of_both(second, first))
                    && (at + 2..=at + 1 + MAX_INSTRUCTIONS_TO_TEST)
                        .any(|next| self.is_rarely_equal(next))
            }
            _ => false,
        }
    }

    fn compares_here(&self, at: usize) -> bool {
        let function = self.function;
        let data = &function.data[at];
        let operands: Vec<Value> = (function.values.reads(at).iter())
            .filter(|one| one.0 < XMM0 && data.data_reads >> one.0 & 1 == 1)
            .map(|one| one.1)
            .collect();
        let accesses = data.memory.iter().zip(function.values.addresses(at));
        let mut bases = accesses.filter_map(|(access, from)| from.filter(|_| !access.stack));
        let loads = data.loads() && bases.all(|from| from.base.number != self.key.number);
        let other = loads || operands.iter().any(|&one| self.is_of_element(one));
        other && operands.iter().any(|&one| self.is_key(one))
    }

    /// Whether a branch follows equality, which hardly ever holds.
    fn is_rarely_equal(&self, at: usize) -> bool {
        let function = self.function;
        let Some(code) = function.code.get(at) else {
            return false;
        };
        let taken = function.taken.get(at).copied().flatten();
        let Some(taken) = taken.filter(|_| matches!(code.flow, Flow::CondJump(_))) else {
            return false;
        };
        let all = function.counts[at];
        let equal = match code.mnemonic {
            "je" => taken,
            "jne" => all.saturating_sub(taken),
            _ => return false,
        };
        equal as f64 <= RARE_WAY * all as f64
    }
}
