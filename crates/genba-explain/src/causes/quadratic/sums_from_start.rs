//! Counts and sums over what lies before a place, made from the beginning for each of many places: the line number of
//! each match, the letters before each token.
//!
//! The loop adds up what it loads, and nothing else, begins where all runs begin, and goes over many times what there
//! is in memory and what is stored: each sum is the one of an earlier run and a few terms more, or less.

use super::predicate_search::begins_at_one_place;
use super::sweep::goes_over_unchanged;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::plain_sums::plain_sum;
use crate::patterns::value_steps::{Step, address_step};

/// The load of such a loop, and the bytes that all runs go over.
pub(super) fn summed_from_start(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
) -> Option<(usize, f64)> {
    let function = found.input;
    let whole = ObservedSites::of(input).is_none_or(|sites| sites.repeats_as_a_whole());
    if whole || !goes_over_unchanged(input, found) {
        return None;
    }
    plain_sum(function, found.index, &found.members)?;
    let usual = || found.usual();
    if usual().any(|at| function.data[at].stores()) {
        return None;
    }
    let mut passed: Option<(usize, f64)> = None;
    for at in usual().filter(|&at| function.data[at].loads()) {
        for address in function.values.addresses(at) {
            let address = (*address)?;
            match address_step(function, found.index, &address)? {
                Step::Constant(0) => {}
                // Of several loads of an iteration the step says how far they come.
                Step::Constant(step) if begins_at_one_place(input, found, &address) => {
                    let bytes = step.unsigned_abs() as f64 * found.cost.iterations as f64;
                    passed = passed.or(Some((at, bytes)));
                }
                Step::Constant(_) | Step::Invariant => return None,
            }
        }
    }
    passed
}
