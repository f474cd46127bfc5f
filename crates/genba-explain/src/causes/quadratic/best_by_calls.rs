//! Searches for the minimum or maximum whose elements are looked at by calls, as accessors in another file are: the part of
//! [`super::predicate_search`] where the loop does not show all that happens to an element.
//!
//! **Signature.** The loop and all that it calls store in their frames only, nearly always. It hands on counters and what
//! is kept until another replaces it. An element is loaded a constant step behind the last one (as observed), from a
//! place to which only what stays leads; the program stores little beside what the searches load.
//!
//! **Near misses.** Elements that are made anew for each search; calls that get a key beside the element (a distance is another one for each search); sums, in registers
//! or in the frame; the best of each of many rows.

use genba_code::{Opaque, STACK_POINTER};

use super::effects::{sums_in_frame, sums_up};
use super::predicate_search::{keeps_best, stays_between_searches};
use crate::constants::counts::{MIN_ELEMENT_BYTES, SELDOM_EXECUTIONS, USUAL_EXECUTIONS};
use crate::constants::observations::MIN_REPEATED_AMONG_FEW;
use crate::constants::registers::{ARGUMENTS, FLAGS};
use crate::constants::search_limits::{MAX_DEPTH_OF_COMPARISON, MAX_VALUES_FOLLOWED};
use crate::input::analysis_input::{AnalysisInput, CallSite};
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::reading_calls::{only_reads, stores_outside, takes};
use crate::patterns::search_loops::is_plain;

/// The load of an element, and the bytes from one to the next, of a loop that searches for the best one by calls.
pub(super) fn best_by_calls(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<(usize, u64)> {
    let function = found.input;
    let usual = || {
        let members = found.members.iter().copied();
        members.filter(|&at| found.times(at) > SELDOM_EXECUTIONS)
    };
    let tests = |at: usize| {
        let data = &function.data[at];
        !stores_outside(function, at)
            && !sums_in_frame(found, at)
            && match data.opaque {
                None => is_plain(function.code[at].mnemonic, data.shortcut),
                Some(Opaque::Call) => {
                    let site = function.call_sites.iter().find(|site| site.at == at);
                    site.is_some_and(|site| asks_of_element(input, found, site))
                }
                Some(_) => false,
            }
    };
    if !usual().all(tests) || !keeps_best(found) || sums_up(found) {
        return None;
    }
    let sites = ObservedSites::of(input)?;
    usual().find_map(|at| {
        let point = sites.point(found.function, at)?;
        let mut loads = sites.observed.loads.iter();
        let stride = loads.find(|one| one.at == point)?.stride.as_ref()?;
        let bytes = stride.bytes.unsigned_abs();
        let steps = stride.share >= MIN_REPEATED_AMONG_FEW && bytes >= MIN_ELEMENT_BYTES;
        let often = found.times(at) >= USUAL_EXECUTIONS;
        let mut places = function.values.addresses(at).iter().flatten();
        (often && steps && places.any(|place| is_led_to_by_what_stays(input, found, place)))
            .then_some((at, bytes))
    })
}

/// Whether all functions that a call reaches change nothing, and get nothing that stays but the frame: no key.
fn asks_of_element(input: &AnalysisInput, found: &HotLoop<'_>, site: &CallSite) -> bool {
    let function = found.input;
    let stack = value_at(function, site.at, STACK_POINTER);
    let is_key = |register| {
        value_at(function, site.at, register).is_some_and(|value| {
            function
                .values
                .is_invariant(value, &function.flow, found.index)
                && stack.is_none_or(|stack| stack.number != value.number)
        })
    };
    !site.targets.is_empty()
        && site.targets.iter().all(|target| {
            only_reads(input, target, MAX_DEPTH_OF_COMPARISON)
                && !(ARGUMENTS.iter()).any(|&one| takes(input, target, one) && is_key(one))
        })
}

/// Whether all that an address is made of, what is loaded on the way as well, comes from values that are the same for each
/// search.
fn is_led_to_by_what_stays(input: &AnalysisInput, found: &HotLoop<'_>, place: &Address) -> bool {
    let function = found.input;
    let values = &function.values;
    let mut work: Vec<Value> = vec![place.base];
    work.extend(place.index.map(|one| one.0));
    let mut known: Vec<u32> = Vec::new();
    while let Some(value) = work.pop() {
        if known.contains(&value.number) {
            continue;
        }
        known.push(value.number);
        if known.len() > MAX_VALUES_FOLLOWED {
            return false;
        }
        if values.is_invariant(value, &function.flow, found.index) {
            if !stays_between_searches(input, found, value, false) {
                return false;
            }
            continue;
        }
        match values.origin(value) {
            Origin::Constant | Origin::Entry => {}
            Origin::Join(_) => work.extend(values.met(value)),
            Origin::Instruction(by) if function.data[by as usize].opaque.is_some() => return false,
            Origin::Instruction(by) => {
                let reads = values.reads(by as usize).iter();
                work.extend(reads.filter(|one| one.0 < FLAGS).map(|one| one.1));
            }
        }
    }
    true
}
