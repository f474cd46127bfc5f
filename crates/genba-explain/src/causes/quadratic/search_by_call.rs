//! Linear searches that compare each element with a call: of the C library, or of a function of the
//! user's own that only reads and whose answer is tested.

use genba_code::Flow;
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH_BY_CALL, MIN_SEARCHES, SEARCH_OF_LOOK_UPS};
use crate::constants::gains::CYCLES_OF_LOOK_UP_BY_CALL;
use crate::constants::registers::{RDI, RSI};
use crate::constants::search_limits::MAX_INSTRUCTIONS_TO_TEST;
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, cycles_of_all};
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::search_loops::is_comparison;

/// A search that compares each element's name with a call.
pub(crate) fn search_by_call(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let bare = call.target.function.trim_start_matches('_');
    let compares = ["strcmp", "strcasecmp", "strncmp", "memcmp", "bcmp"];
    let known = compares.iter().find(|name| bare.starts_with(**name));
    if !function.own || known.is_none() && !is_comparison(input, call.target) {
        return None;
    }
    let index = function.flow.loop_of_instruction(at)?;
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let entries = cost.entries.filter(|&entries| entries >= MIN_SEARCHES)?;
    let members = function.loop_instructions(index);
    let others = function.call_sites.iter();
    let mut others = others.filter(|site| site.at != at && members.contains(&site.at));
    // Out of the loop where it is equal.
    let test = (at + 1..=at + MAX_INSTRUCTIONS_TO_TEST)
        .find(|&i| function.code.get(i).is_some_and(|c| c.mnemonic == "test"))?;
    let leaves = matches!(function.code.get(test + 1)?.flow, Flow::CondJump(_)) && {
        let block = function.flow.block_of(test + 1)?;
        let successors = &function.flow.blocks()[block as usize].successors;
        let first = |to: &u32| function.flow.blocks()[*to as usize].instructions.start as usize;
        successors.iter().any(|to| !members.contains(&first(to)))
    };
    let trips = cost.iterations as f64 / entries as f64;
    if !leaves
        || others.next().is_some()
        || trips < MIN_ELEMENTS_PER_SEARCH_BY_CALL
        || !function.is_innermost(index)
    {
        return None;
    }
    let fixed = |location| {
        value_at(function, at, location)
            .is_some_and(|value| is_same_each_iteration(function, index, value))
    };
    // One of the two stays, the other goes on.
    if fixed(RDI) == fixed(RSI) {
        return None;
    }
    let (inside, _) = crate::causes::loop_invariant_call::cost(input, call)?;
    // What stands at the call and behind it is in both.
    let rest = members.iter().copied().filter(|&i| i != at && i != at + 1);
    let share = (inside + function.heat_of(rest)).min(1.0);
    let each = share * cycles_of_all(input)? / entries as f64;
    if share < MIN_SHARE_OF_QUADRATIC_LOOP
        || each < SEARCH_OF_LOOK_UPS * CYCLES_OF_LOOK_UP_BY_CALL[0]
    {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(call.caller),
        vec![at],
        Fix::HashLookup { strings: true },
    );
    one.affected = members;
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP_BY_CALL);
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::LinearSearches {
            searches: entries,
            elements: trips,
            compared_by: Some(
                known.map_or_else(|| call.target.function.clone(), |name| (*name).to_owned()),
            ),
        })
        .fact(QuadraticFact::SearchTime {
            share,
            cycles: each,
        }),
    )
}
