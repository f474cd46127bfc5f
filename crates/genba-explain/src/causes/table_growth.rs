//! A table that is made anew, a little larger, and filled from the old one: part of `realloc-growth`.
//!
//! **Signature.** A function that adds a constant to a size, takes new memory, goes through the old table in a loop of its own, frees that and stores
//! the new one where it was; dozens of times, and so often that each item which could have made it grow pays for several
//! moves. A table that doubles moves each item once or twice.
//!
//! **Near misses.** Tables that double, however many there are; images and matrices that are made anew with the same size; buffers that are replaced without a loop (a copy by the C
//! library is [`super::realloc_growth`]'s own); memory that is kept elsewhere.
//!
//! **Gain.** All that is moved but twice the number of items.
//!
//! **Source.** Amortised cost of dynamic tables: Cormen et al., *Introduction to Algorithms*, 17.4.

use genba_code::Location;
use genba_model::{Cause, Confirmation, Estimate, Fix, Language, MemoryFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MAX_GROWTHS_BY_DOUBLING, MIN_MOVES_PER_ITEM, SAME_CALLS_TOLERANCE};
use crate::constants::gains::{MAX_QUADRATIC_RESIDUAL, MOVES_BY_DOUBLING};
use crate::constants::registers::{RAX, RDI};
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::constants::time_shares::MIN_SHARE_OF_GROWTH;
use crate::input::analysis_input::{AnalysisInput, CallSite, FunctionInput};
use crate::input::runtime_services::service;
use crate::input::values::{Address, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::share_of_target;

/// Tables that are filled anew for each few items.
pub(super) fn table_growth(input: &AnalysisInput) -> Option<Candidate> {
    let own = input.functions.iter().enumerate().filter(|(_, function)| {
        let known = function.counted && function.counts.len() == function.code.len();
        known && function.can_be_changed()
    });
    own.filter_map(|(number, function)| candidate(input, number, function))
        .max_by(|a, b| a.share_of_time(input).total_cmp(&b.share_of_time(input)))
}

fn candidate(input: &AnalysisInput, number: usize, function: &FunctionInput) -> Option<Candidate> {
    let (new, times) = replaced(function)?;
    if !grows_by_constant(function, times) {
        return None;
    }
    let moving = moving_loop(function, times)?;
    let moves = function.loops.get(moving as usize)?.as_ref()?.iterations;
    let items = items(input, function, new, times)?;
    if (moves as f64) < MIN_MOVES_PER_ITEM * items as f64 {
        return None;
    }
    let members = function.loop_instructions(moving);
    let called = (function.call_sites.iter())
        .filter(|site| members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, number, target));
    let share = (function.heat_of(members.iter().copied()) + called.sum::<f64>()).min(1.0);
    if share < MIN_SHARE_OF_GROWTH {
        return None;
    }
    let file = function
        .places
        .get(new)
        .and_then(|place| place.file.as_deref());
    let fix = Fix::GrowByFactor(Language::of_file(file));
    let mut one = Candidate::new(Cause::ReallocGrowth, Some(number), vec![new], fix);
    one.affected = members;
    one.share = Some(share);
    let left = |moved: f64| (moved * items as f64 / moves as f64).min(MAX_QUADRATIC_RESIDUAL);
    let [value, low, high] = MOVES_BY_DOUBLING.map(left);
    one.residual_fraction = Estimate { value, low, high };
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(
        share * cycles_of_all(input)? / times as f64,
    ));
    one.confirmation = Confirmation::GrowthSizes;
    Some(one.fact(MemoryFact::TableResizes {
        times,
        moves: moves as f64 / times as f64,
        items,
        share,
    }))
}

fn is_alike(one: u64, other: u64) -> bool {
    (one as f64 - other as f64).abs() <= 1.0 + SAME_CALLS_TOLERANCE * other as f64
}

/// The call for new memory that is stored where the old was, which is freed as often; and how often.
fn replaced(function: &FunctionInput) -> Option<(usize, u64)> {
    let times = |site: &CallSite| function.counts[site.at];
    let of_kind = |site: &&CallSite, kind: &str, operator: &str| {
        let fits = |name: &str| {
            service(name).is_some_and(|one| one.0 == kind) || name.starts_with(operator)
        };
        !site.targets.is_empty() && site.targets.iter().all(|one| fits(&one.function))
    };
    let sites = || function.call_sites.iter();
    sites()
        .filter(|site| of_kind(site, "malloc", "operator new"))
        .filter(|site| times(site) as f64 >= 2.0 * MAX_GROWTHS_BY_DOUBLING)
        .find(|new| {
            let kept = stored_at(function, new.at);
            let mut freed = sites()
                .filter(|site| of_kind(site, "free", "operator delete"))
                .filter(|site| is_alike(times(site), times(new)));
            freed.any(|old| {
                let from = value_at(function, old.at, RDI);
                let from = from.and_then(|value| function.values.loaded_from(value));
                from.is_some_and(|from| {
                    let sources = sources_of(function, from);
                    sources.iter().any(|one| kept.contains(one))
                })
            })
        })
        .map(|site| (site.at, times(site)))
}

/// Where the result of a call is stored.
fn stored_at(function: &FunctionInput, call: usize) -> Vec<Address> {
    const RESULT: Location = RAX;
    let Some(result) = function.values.written(call, RESULT) else {
        return Vec::new();
    };
    let stores = (0..function.code.len()).filter(|&at| {
        function.data[at].stores() && function.values.reads(at).iter().any(|one| one.1 == result)
    });
    stores
        .flat_map(|at| {
            let memory = function.data[at].memory.iter();
            let stored = memory
                .zip(function.values.addresses(at))
                .filter(|one| one.0.writes);
            stored.filter_map(|one| *one.1).collect::<Vec<Address>>()
        })
        .collect()
}

/// An address and those that what is stored there was loaded from, and so on: a pointer for which no register was left
/// goes from place to place of the frame.
fn sources_of(function: &FunctionInput, address: Address) -> Vec<Address> {
    let values = &function.values;
    let mut found = vec![address];
    let mut next = 0;
    while let Some(&one) = found
        .get(next)
        .filter(|_| found.len() < MAX_VALUES_FOLLOWED)
    {
        next += 1;
        let stores = (0..function.code.len()).filter(|&at| {
            let memory = function.data[at].memory.iter();
            let mut all = memory.zip(values.addresses(at));
            all.any(|access| access.0.writes && *access.1 == Some(one))
        });
        let stored = stores.flat_map(|at| values.reads(at).iter().map(|one| one.1));
        let from: Vec<Address> = stored
            .flat_map(|value| loaded_from(function, value))
            .collect();
        for one in from {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// Where a value was loaded from, on whichever way it came.
fn loaded_from(function: &FunctionInput, value: Value) -> Vec<Address> {
    let values = &function.values;
    let ways = std::iter::once(value).chain(values.joined(value).iter().copied());
    ways.filter_map(|one| values.loaded_from(one)).collect()
}

/// Whether the function, as often as it makes a table, adds a constant to what memory holds: the size.
fn grows_by_constant(function: &FunctionInput, times: u64) -> bool {
    let stores = (0..function.code.len())
        .filter(|&at| function.data[at].stores() && is_alike(function.counts[at], times));
    stores.into_iter().any(|at| {
        let memory = function.data[at].memory.iter();
        let stored = memory
            .zip(function.values.addresses(at))
            .filter(|one| one.0.writes);
        let to: Vec<Address> = stored.filter_map(|one| *one.1).collect();
        let mut added = (function.values.reads(at).iter())
            .map(|one| one.1)
            .filter(|value| value.offset > 0);
        added.any(|value| {
            let before = Value { offset: 0, ..value };
            let from = loaded_from(function, before).into_iter();
            let mut sources = from.flat_map(|one| sources_of(function, one));
            sources.any(|one| to.contains(&one))
        })
    })
}

/// The loop with most time that is entered once for each new table, none around it.
fn moving_loop(function: &FunctionInput, times: u64) -> Option<u32> {
    let entered = |index: u32| {
        let cost = function
            .loops
            .get(index as usize)
            .and_then(|one| one.as_ref());
        let entries = cost.and_then(|cost| cost.entries);
        entries.is_some_and(|entries| is_alike(entries, times))
    };
    let loops = function.flow.loops();
    (0..loops.len() as u32)
        .filter(|&index| entered(index))
        .filter(|&index| !loops[index as usize].parent.is_some_and(entered))
        .max_by(|&a, &b| function.loop_heat(a).total_cmp(&function.loop_heat(b)))
}

/// How often the table could have been made anew: iterations of the loop around, here or where the function is called;
/// without one the calls of the function that decides.
fn items(input: &AnalysisInput, function: &FunctionInput, at: usize, times: u64) -> Option<u64> {
    let around = |function: &FunctionInput, at: usize| {
        let index = function.flow.loop_of_instruction(at)?;
        Some(function.loops.get(index as usize)?.as_ref()?.iterations)
    };
    if let Some(iterations) = around(function, at) {
        return Some(iterations);
    }
    let calls = function.calls?;
    if !is_alike(calls, times) {
        return Some(calls);
    }
    let caller = function.callers.first()?;
    let deciding = (input.functions.iter())
        .find(|one| one.function == caller.function && one.module == caller.module)?;
    let site = deciding
        .code
        .binary_search_by_key(&caller.address, |one| one.address)
        .ok()?;
    around(deciding, site).or(deciding.calls)
}
