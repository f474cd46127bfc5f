//! What the instructions of a loop leave behind outside of their frames, by what was counted and observed; and what they
//! add up in registers and in the frame.

use std::cell::Cell;

use genba_code::Opaque;

use super::rescan::is_in_frame;
use crate::constants::counts::SELDOM_EXECUTIONS;
use crate::constants::observations::{MAX_CHANGED_BY_IDLE_PASS, MIN_WITHOUT_EFFECT};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::{MAX_DEPTH_OF_EFFECTS, MAX_VALUES_FOLLOWED};
use crate::input::analysis_input::{AnalysisInput, CallTarget};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::index_of;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::load_stalls::sources_where;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::positions::{Handed, carried};
use crate::patterns::reading_calls::is_of_frame;

/// What instructions leave behind.
pub(super) struct Effects<'a> {
    input: &'a AnalysisInput,
    sites: Option<ObservedSites<'a>>,
    /// Executions up to which an instruction does not matter.
    seldom: f64,
    /// Share of the executions of a store that may change something.
    most_changed: f64,
    /// Whether any of them stored what was there.
    stored_again: Cell<bool>,
}

impl<'a> Effects<'a> {
    /// Those of a loop of so many iterations. Of what stores what is there already, up to `most_changed` of the
    /// executions may store something else.
    pub(super) fn of(input: &'a AnalysisInput, iterations: u64, most_changed: f64) -> Effects<'a> {
        Effects {
            input,
            sites: ObservedSites::of(input),
            seldom: SELDOM_EXECUTIONS * iterations as f64,
            most_changed,
            stored_again: Cell::new(false),
        }
    }

    /// Whether an instruction changes nothing outside of the frame, itself or by what it calls.
    pub(super) fn has_none(&self, place: (usize, usize)) -> bool {
        self.has_none_within(place, MAX_DEPTH_OF_EFFECTS)
    }

    /// Whether any of those that were asked about stores what is there already.
    pub(super) fn stored_again(&self) -> bool {
        self.stored_again.get()
    }

    fn has_none_within(&self, (number, at): (usize, usize), depth: u32) -> bool {
        let function = &self.input.functions[number];
        let data = &function.data[at];
        match data.opaque {
            None => {
                let mut writes = data.memory.iter().filter(|one| one.writes);
                writes.all(is_in_frame) || self.stores_again(number, at)
            }
            Some(Opaque::Call) => {
                let site = function.call_sites.iter().find(|site| site.at == at);
                site.is_some_and(|site| {
                    !site.targets.is_empty()
                        && (site.targets.iter()).all(|target| self.callee_has_none(target, depth))
                })
            }
            Some(Opaque::Exit) => true,
            Some(_) => false,
        }
    }

    fn callee_has_none(&self, target: &CallTarget, depth: u32) -> bool {
        let (Some(depth), Some(callee)) = (
            depth.checked_sub(1),
            index_of(self.input, &target.function, &target.module),
        ) else {
            return false;
        };
        let function = &self.input.functions[callee];
        let known = function.counted && function.counts.len() == function.code.len();
        let mut executed =
            (0..function.code.len()).filter(|&at| function.counts[at] as f64 > self.seldom);
        known && executed.all(|at| self.has_none_within((callee, at), depth))
    }

    /// Whether what a store stores is there already, as observed.
    fn stores_again(&self, function: usize, at: usize) -> bool {
        let seen = (self.sites.as_ref()).and_then(|sites| sites.stored_again(function, at));
        let again = seen.is_some_and(|seen| {
            seen.share.low >= MIN_WITHOUT_EFFECT && seen.share.value > 1.0 - self.most_changed
        });
        self.stored_again.set(self.stored_again.get() || again);
        again
    }
}

/// Whether a loop stores again what is there, but for a few elements; `None` if it changes memory, or keeps a sum in its
/// frame.
pub(super) fn has_no_effect(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<bool> {
    let effects = Effects::of(input, found.cost.iterations, MAX_CHANGED_BY_IDLE_PASS);
    let mut usual =
        (found.members.iter().copied()).filter(|&at| found.times(at) > SELDOM_EXECUTIONS);
    let idle = usual.all(|at| effects.has_none((found.function, at)) && !sums_in_frame(found, at));
    idle.then(|| effects.stored_again())
}

/// Whether iterations hand on a sum: a value made of itself together with something that is loaded, called for or handed on
/// beside it. A mask whose bits are cleared one by one is made of itself alone; what a loop inside adds up begins anew.
pub(super) fn sums_up(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let head = function.flow.loops()[found.index as usize].head;
    let of_iterations =
        |value: &Value| matches!(function.values.origin(*value), Origin::Join(at) if at == head);
    let usual = |made: &&Value| is_made_usually(found, **made);
    let mut all = (carried(function, body).into_values())
        .filter(|value| of_iterations(value) && is_taken(found, *value));
    all.any(|value| {
        let handed = Handed::of(function, body, value);
        let mut made = handed.made.iter().filter(usual);
        made.any(|&made| takes_itself_and_more(found, made, &handed.joins))
    })
}

/// Whether anything takes what a register has at the head of a loop, as it is or after it met others: else it is what is
/// left there.
fn is_taken(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let values = &function.values;
    let mut same = vec![value.number];
    let mut next = 0;
    while let Some(&number) = same.get(next) {
        next += 1;
        for (join, met) in values.joins() {
            if !same.contains(&join) && met.iter().any(|one| one.number == number) {
                same.push(join);
            }
        }
        if same.len() > MAX_VALUES_FOLLOWED {
            return true;
        }
    }
    (0..function.code.len()).any(|at| {
        let mut read = values.reads(at).iter();
        read.any(|one| same.contains(&one.1.number))
    })
}

/// Whether more than a few iterations come by where a value is made.
fn is_made_usually(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let at = match function.values.origin(value) {
        Origin::Instruction(by) => by as usize,
        Origin::Join(block) => function.flow.blocks()[block as usize].instructions.start as usize,
        Origin::Constant | Origin::Entry => return true,
    };
    found.times(at) > SELDOM_EXECUTIONS
}

/// Whether a value is computed in the loop from one of these and from something else that changes.
fn takes_itself_and_more(found: &HotLoop<'_>, made: Value, own: &[u32]) -> bool {
    let (function, values) = (found.input, &found.input.values);
    let (mut itself, mut more) = (false, false);
    let mut known: Vec<u32> = Vec::new();
    let mut work = vec![made];
    while let Some(value) = work.pop() {
        if own.contains(&value.number) {
            itself = true;
            continue;
        }
        let is_fixed = values.is_invariant(value, &function.flow, found.index);
        if is_fixed || known.contains(&value.number) {
            continue;
        }
        known.push(value.number);
        match values.origin(value) {
            Origin::Instruction(by) if known.len() <= MAX_VALUES_FOLLOWED => {
                let data = &function.data[by as usize];
                more |= data.loads() || data.opaque.is_some();
                let reads = values.reads(by as usize).iter();
                let taken = reads.filter(|one| one.0 < FLAGS && data.data_reads >> one.0 & 1 == 1);
                work.extend(taken.map(|one| one.1));
            }
            _ => more = true,
        }
    }
    itself && more
}

/// Whether an instruction stores in the frame what usual iterations make of what stands there. A register that is kept there
/// for a while and loaded again is no sum.
pub(super) fn sums_in_frame(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let (values, data) = (&function.values, &function.data[at]);
    let mut stores = (data.memory.iter().zip(values.addresses(at))).filter(|(access, to)| {
        let by_pointer = || to.is_some_and(|to| is_of_frame(function, to));
        access.writes && (is_in_frame(access) || by_pointer())
    });
    stores.any(|(access, to)| {
        let Some(to) = to else { return true };
        let stored: Vec<Value> = (values.reads(at).iter())
            .filter(|one| one.0 < FLAGS && data.data_reads >> one.0 & 1 == 1)
            .map(|one| one.1)
            .collect();
        let follows = |by: usize| !function.data[by].loads();
        let loads_it = |value: &Value| match values.origin(*value) {
            Origin::Instruction(by) => values.addresses(by as usize).contains(&Some(*to)),
            _ => false,
        };
        let computes = |value: &Value| match values.origin(*value) {
            Origin::Instruction(by) => {
                let moves = function.code[by as usize].mnemonic.starts_with("mov");
                !moves && is_made_usually(found, *value)
            }
            _ => false,
        };
        let made_of = sources_where(function, found.index, &stored, &follows);
        access.reads || made_of.iter().any(loads_it) && made_of.iter().any(computes)
    })
}
