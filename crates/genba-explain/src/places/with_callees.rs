//! Functions with what they call, as places: where the time is spread over many functions.
//!
//! From the function that everything is called from down to the leaves the inclusive time falls. What
//! says something is the last function before it divides: it is called often, and neither it nor any one
//! callee has most of its time.

use genba_model::{FindingSite, PlaceFunction, TimePlace, TimePlaceKind};

use super::{Costs, callers};
use crate::constants::counts::MIN_CALLS_WITH_CALLEES;
use crate::constants::search_limits::{MAX_PLACE_FUNCTIONS, MAX_PLACES_WITH_CALLEES};
use crate::constants::time_shares::{MAX_PART_OF_ONE_CALLEE, MIN_SHARE_OF_TIME_PLACE};
use crate::input::analysis_input::{AnalysisInput, FunctionWithCallees};

/// Those with most of the time, most first.
pub(super) fn places(input: &AnalysisInput, costs: &Costs) -> Vec<TimePlace> {
    let spread = |one: &&FunctionWithCallees| {
        let parts = one.callees.iter().map(|callee| callee.2);
        let most = parts.fold(one.own_share, f64::max);
        one.calls >= MIN_CALLS_WITH_CALLEES && most <= MAX_PART_OF_ONE_CALLEE * one.share
    };
    let all = input.program.with_callees.iter();
    all.filter(spread)
        .take(MAX_PLACES_WITH_CALLEES)
        .map(|one| place(input, costs, one))
        .collect()
}

fn place(input: &AnalysisInput, costs: &Costs, one: &FunctionWithCallees) -> TimePlace {
    let site = FindingSite {
        function: one.function.clone(),
        module: one.module.clone(),
        file: one.place.file.clone(),
        line: one.place.line,
        end_line: one.place.line,
        addresses: vec![one.address],
        called_from: None,
        inside: None,
    };
    let kind = TimePlaceKind::WithCallees;
    let mut place = costs.place(kind, site, one.share, Some(one.calls), input);
    place.calls = Some(one.calls);
    place.callers = callers(&one.callers, one.calls as f64);
    let callees = (one.callees.iter()).map(|(function, module, share, calls)| PlaceFunction {
        function: function.clone(),
        module: module.clone(),
        share: *share,
        calls: Some(*calls as f64),
    });
    let itself = PlaceFunction {
        function: one.function.clone(),
        module: one.module.clone(),
        share: one.own_share,
        calls: None,
    };
    place.spent_in = std::iter::once(itself)
        .chain(callees)
        .filter(|part| part.share >= MIN_SHARE_OF_TIME_PLACE)
        .collect();
    (place.spent_in).sort_by(|a, b| b.share.total_cmp(&a.share));
    place.spent_in.truncate(MAX_PLACE_FUNCTIONS);
    place
}
