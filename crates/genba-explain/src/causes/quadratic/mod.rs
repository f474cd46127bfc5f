//! `quadratic`: work that grows with the square of the input.
//!
//! **Signature.** One run cannot show growth; it can show shapes that have it:
//! - an inner loop that searches a sequence for one equal element from its first one, hundreds of
//!   elements for each item; or dozens, whose names are compared by a call or by a loop inside;
//! - the same for the first element that meets a predicate, or for the minimum or maximum (`predicate_search`);
//! - an inner loop that only looks for where to stop, thousands of bytes each time, and in all many
//!   times the input and the memory of the program (`rescan`), itself, by calls (`rescan_by_calls`) or in the
//!   C library (`library_scan`); those of one function are one finding;
//! - a loop that follows a list from its beginning to its end, or to the element of a number, hundreds of links
//!   for each item, or from which nothing comes;
//! - walks that go over what an earlier one went over, and end a step behind it (`walks_again`);
//! - a tree that a function walks whole by calling itself, for each of many things looked for in it;
//! - look-ups in a hash table that go through hundreds of slots each;
//! - passes over thousands of elements for each item that change hardly any, or only renumber them (`sweep`), or that
//!   store what is there already (`idle_sweep`);
//! - a move of memory onto itself, shifted, by the C library or by a loop (`shift_loop`): elements inserted into, or
//!   removed from, the front of a long array;
//! - `strcat` to a string that has grown long, for each piece.
//!
//! **Confirmation.** Runs with inputs of several sizes: an exponent over 1.5.
//!
//! **Gain.** One look-up per item is left: a few dozen cycles.
//!
//! **Source.** S. Goldsmith, A. Aiken, D. Wilkerson, "Measuring Empirical Computational
//! Complexity", FSE 2007.

mod best_by_calls;
mod effects;
mod idle_sweep;
mod idle_walk;
mod left_to_pass;
mod library_scan;
mod list_links;
mod list_walk;
mod loaded_steps;
mod moved_down;
mod passed_bytes;
mod predicate_search;
mod probes;
mod recursive_search;
mod rescan;
mod rescan_by_calls;
mod scans_of_function;
mod search;
mod search_by_call;
mod search_with_loop;
mod shift;
mod shift_loop;
mod sums_from_start;
mod sweep;
mod walks_again;
mod window_sums;

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CYCLES_PER_LONG_MOVE, MIN_SEARCHES};
use crate::constants::gains::{CYCLES_WITHOUT_STRING_SCAN, MAX_QUADRATIC_RESIDUAL};
use crate::constants::time_shares::{MIN_SHARE_OF_LOOP_BESIDE_CALLS, MIN_SHARE_OF_QUADRATIC_LOOP};
use crate::finding_site::of_all_of_them;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::patterns::calls::{all_calls, cycles_of_all};
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use idle_sweep::idle_sweep;
use idle_walk::idle_walk;
use library_scan::library_scan;
use list_walk::list_walk;
use moved_down::moved_down;
use predicate_search::predicate_search;
use probes::probes;
use recursive_search::recursive_search;
use rescan::{rescan, rescan_through_memory};
use rescan_by_calls::rescans_by_calls;
use scans_of_function::together;
use search::search;
use search_by_call::search_by_call;
use search_with_loop::search_with_loop;
use shift::{onto_itself, shifts};
use shift_loop::shift_by_loop;
use sweep::sweep;
use walks_again::walks_again;
use window_sums::window_sums;

/// Finds linear searches, shifts of arrays and appends to strings whose cost for each item shows
/// long sequences.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_QUADRATIC_LOOP);
    let of_loop = |one| {
        search(input, one)
            .or_else(|| rescan(input, one))
            .or_else(|| rescan_through_memory(input, one))
            .or_else(|| shift_by_loop(input, one))
            .or_else(|| window_sums(one))
    };
    let mut found: Vec<Candidate> = loops.iter().filter_map(of_loop).collect();
    // Most of the time may be in what the loop calls.
    let with_calls = hot_loops(input, MIN_SHARE_OF_LOOP_BESIDE_CALLS);
    found.extend(
        with_calls
            .iter()
            .filter_map(|one| search_with_loop(input, one)),
    );
    found.extend(rescans_by_calls(input));
    let known = |one: &&HotLoop<'_>| {
        let is_known = |of: &Candidate| {
            of.function == Some(one.function) && of.affected().contains(&one.members[0])
        };
        !found.iter().any(is_known)
    };
    // A walk that was inlined at several places has a part of its time at each.
    let walks: Vec<Candidate> = (with_calls.iter().filter(known))
        .filter_map(|one| {
            list_walk(input, one)
                .or_else(|| idle_walk(input, one))
                .or_else(|| probes(input, one))
                .or_else(|| sweep(input, one))
                .or_else(|| moved_down(input, one))
                .or_else(|| idle_sweep(input, one, &with_calls))
                .or_else(|| predicate_search(input, one))
        })
        .collect();
    found.extend(walks);
    let again = walks_again(input).into_iter();
    let again: Vec<Candidate> = again
        .filter(|one| !found.iter().any(|other| overlaps(other, one)))
        .collect();
    found.extend(again);
    found = together(input, found);
    found.retain(|one| {
        !matches!(one.fix, Fix::RememberPlace | Fix::SkipWalk)
            || one.share_of_time(input) >= MIN_SHARE_OF_QUADRATIC_LOOP
    });
    found.extend(all_calls(input).filter_map(|call| onto_itself(input, &call)));
    if found.is_empty() {
        found.extend(shifts(input));
        found.extend(all_calls(input).filter_map(|call| search_by_call(input, &call)));
    }
    let appends = input.functions.iter().enumerate();
    found.extend(appends.filter_map(|(index, function)| append(input, index, function)));
    let numbers = 0..input.functions.len();
    found.extend(
        numbers.filter_map(|index| {
            library_scan(input, index).or_else(|| recursive_search(input, index))
        }),
    );
    for one in &mut found {
        name_the_loop(input, one);
    }
    found
}

/// Moves a site of one instruction to the function of the loop that has it, where it is of an accessor that was inlined.
fn name_the_loop(input: &AnalysisInput, one: &mut Candidate) {
    let (Some(number), &[at]) = (one.function, one.site.as_slice()) else {
        return;
    };
    let function = &input.functions[number];
    let members = || {
        let affected = one.affected.iter().copied();
        affected.filter(|&at| function.counts[at] > 0)
    };
    let site = of_all_of_them(function, members(), members(), at);
    one.site = site;
}

/// Whether two findings are of the same instructions.
fn overlaps(one: &Candidate, other: &Candidate) -> bool {
    one.function == other.function && one.affected().contains(&other.affected()[0])
}

/// `strcat` to strings that have grown long, whoever calls it.
fn append(input: &AnalysisInput, index: usize, function: &FunctionInput) -> Option<Candidate> {
    let bare = function.function.trim_start_matches('_');
    if function.own || !(bare.starts_with("strcat") || bare.starts_with("wcscat")) {
        return None;
    }
    let calls = function.calls?;
    let caller = function.callers.iter().find(|caller| caller.own)?;
    let each = function.share.value * cycles_of_all(input)? / calls.max(1) as f64;
    if calls < MIN_SEARCHES
        || function.share.value < MIN_SHARE_OF_QUADRATIC_LOOP
        || each < MIN_CYCLES_PER_LONG_MOVE
    {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(index),
        (0..function.code.len()).collect(),
        Fix::RememberEnd,
    );
    one.at = Some(site_of(
        &caller.function,
        &caller.module,
        caller.address,
        &caller.place,
    ));
    one.share = Some(function.share.value);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_STRING_SCAN);
    one.executions = Some(calls);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::Appends {
            function: "strcat".to_owned(),
            calls,
        })
        .fact(QuadraticFact::AppendTime {
            share: function.share.value,
            cycles: each,
        }),
    )
}

/// What stays of a cost of `each` cycles where so many (likely, least, most) are enough.
pub(crate) fn residual_fraction(each: f64, [likely, least, most]: [f64; 3]) -> Estimate {
    let stays = |cycles: f64| (cycles / each).clamp(0.0, MAX_QUADRATIC_RESIDUAL);
    Estimate {
        value: stays(likely),
        low: stays(least),
        high: stays(most).max(stays(likely)),
    }
}
