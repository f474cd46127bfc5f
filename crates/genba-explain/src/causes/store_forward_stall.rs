//! `store-forward-stall`: a load that overlaps a narrower store just before it.
//!
//! **Signature.** A load of several bytes with a store to some of them, in the same loop or shortly before, that takes
//! far longer than an L1d hit. Store forwarding fails, and the load waits until the store is in the cache. That they
//! overlap is known by their registers, or observed: the store may be another function's.
//!
//! **Confirmation.** A store as wide as the load, or the value kept in a register.
//!
//! **Gain.** At least the stall of the load; at most all of the loop except its throughput and what other loads
//! wait, because iterations then overlap. Where others wait longer, perhaps nothing.
//!
//! **Source.** Intel's and AMD's optimisation manuals on store forwarding.

use genba_model::{Cause, Estimate, Fix, LoadFact};

use crate::candidate::Candidate;
use crate::constants::gains::{
    FORWARDING_COPIES_RESIDUAL, FORWARDING_LOW, FORWARDING_RESIDUAL_RANGE,
    FORWARDING_THROUGHPUT_LOW,
};
use crate::constants::processor::{FAILED_FORWARDING_CYCLES, MEMORY_CYCLES};
use crate::constants::search_limits::MAX_INSTRUCTIONS_TO_STORE;
use crate::constants::time_shares::{MIN_SHARE_OF_FORWARDING_STALL, MOST_OF_IT};
use crate::gain::saved_time::combined;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::is_copy_function;
use crate::input::values::Address;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::load_stalls::{Pattern, Stall, stalls};
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use genba_loop_model::Change;

/// Finds slow loads of bytes of which a store shortly before wrote only a part.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    let sites = ObservedSites::of(input);
    for (index, function) in input.functions.iter().enumerate() {
        if function.share.value < MIN_SHARE_OF_FORWARDING_STALL || !function.own {
            continue;
        }
        let mut done: Vec<Option<u32>> = Vec::new();
        let all = stalls(input, function);
        for load in &all {
            let waits = load.each - load.usual;
            if load.share < MIN_SHARE_OF_FORWARDING_STALL
                || !(FAILED_FORWARDING_CYCLES..MEMORY_CYCLES).contains(&waits)
            {
                continue;
            }
            if done.contains(&load.around) && load.around.is_some() {
                continue;
            }
            let store = narrow_store(function, load).map(|at| (index, at));
            let store = store.or_else(|| observed_store(sites.as_ref()?, index, load.at));
            if let Some(store) = store {
                done.push(load.around);
                found.push(candidate(input, sites.as_ref(), index, (load, &all), store));
            }
        }
    }
    found
}

/// Loads of a function that wait for such stores: what causes about memory leave alone.
#[must_use]
pub(crate) fn stalled_loads(
    input: &AnalysisInput,
    sites: Option<&ObservedSites<'_>>,
    number: usize,
    list: &[Stall],
) -> Vec<usize> {
    let stalled = |one: &&Stall| {
        narrow_store(&input.functions[number], one).is_some()
            || sites.is_some_and(|sites| observed_store(sites, number, one.at).is_some())
    };
    list.iter().filter(stalled).map(|one| one.at).collect()
}

/// The store, with its function, that most executions of a load were observed to overlap in part.
fn observed_store(sites: &ObservedSites<'_>, number: usize, at: usize) -> Option<(usize, usize)> {
    let point = sites.point(number, at)?;
    let loads = &sites.observed.partly_stored_loads;
    let one = loads.iter().find(|one| one.at == point)?;
    let mostly = is_enough(&one.seen) && one.seen.share.low >= MOST_OF_IT;
    sites.site(one.store).filter(|_| mostly)
}

/// The store that overlaps a load without covering it.
fn narrow_store(function: &FunctionInput, load: &Stall) -> Option<usize> {
    let values = &function.values;
    // An address that moves on each iteration meets other stores than those of its own iteration.
    if load.around.is_some() && load.pattern == Pattern::Chase {
        return None;
    }
    let accesses = &function.data[load.at].memory;
    let position = accesses.iter().position(|m| m.reads && !m.stack)?;
    let address = (*values.addresses(load.at).get(position)?)?;
    let candidates: Vec<usize> = match load.around {
        Some(index) => function.loop_instructions(index),
        None => (load.at.saturating_sub(MAX_INSTRUCTIONS_TO_STORE)..load.at).collect(),
    };
    let times = function.counts[load.at] as f64;
    let (mut narrow, mut covers) = (None, false);
    for at in candidates {
        if (function.counts[at] as f64) < MOST_OF_IT * times {
            continue;
        }
        let writes = function.data[at].memory.iter().zip(values.addresses(at));
        for (access, store) in writes {
            let (true, Some(store)) = (access.writes, store) else {
                continue;
            };
            match overlap(store, &address) {
                Overlap::None => {}
                Overlap::Part => narrow = Some(at),
                Overlap::Covers => covers |= at < load.at,
            }
        }
    }
    narrow.filter(|_| !covers)
}

/// Bytes that are moved by a function of the library are a part of the same: what it takes may
/// go with it.
fn with_moves(input: &AnalysisInput, function: &FunctionInput, around: u32, found: &mut Candidate) {
    let inside = function.loop_instructions(around);
    let moves = function.call_sites.iter().any(|site| {
        inside.contains(&site.at)
            && (site.targets.iter()).any(|target| is_copy_function(&target.function))
    });
    let copies = input.copy_share();
    let own = function.heat_of(inside);
    if !moves || copies <= 0.0 || own <= 0.0 {
        return;
    }
    let (all, residual_fraction) = combined(&[
        (own, found.residual_fraction),
        (copies, FORWARDING_COPIES_RESIDUAL),
    ]);
    found.share = Some(all.min(1.0));
    found.residual_fraction = residual_fraction;
}

enum Overlap {
    None,
    Part,
    Covers,
}

fn overlap(store: &Address, load: &Address) -> Overlap {
    if store.base.number != load.base.number || store.index != load.index {
        return Overlap::None;
    }
    let range = |a: &Address| {
        (
            a.base.offset,
            a.base.offset.saturating_add(i64::from(a.bytes)),
        )
    };
    let ((a, b), (c, d)) = (range(store), range(load));
    if a <= c && d <= b {
        Overlap::Covers
    } else if a < d && c < b {
        Overlap::Part
    } else {
        Overlap::None
    }
}

/// An iteration of the loop around a load that waits, cycles.
struct Iteration {
    measured: f64,
    throughput: f64,
    /// Of this load.
    waits: f64,
    /// Of other loads that were observed to miss, inner loops' among them.
    others: f64,
    members: Vec<usize>,
}

fn candidate(
    input: &AnalysisInput,
    sites: Option<&ObservedSites<'_>>,
    index: usize,
    (load, all): (&Stall, &[Stall]),
    (storing, store): (usize, usize),
) -> Candidate {
    let function = &input.functions[index];
    let site = match storing == index {
        true => vec![store, load.at],
        false => vec![load.at],
    };
    let mut found = Candidate::new(Cause::StoreForwardStall, Some(index), site, Fix::WiderStore);
    let iteration = load.around.and_then(|around| {
        let cost = function.loops.get(around as usize)?.as_ref()?;
        let model = function.loop_model(&input.program.costs, around, &Change::default())?;
        let iterations = cost.iterations.max(1) as f64;
        let members = function.loop_instructions(around);
        // With the loops inside it, whose time the change may touch as well.
        let whole = function.heat_of(members.iter().copied());
        let whole = cycles_of_all(input).map_or(0.0, |all| all * whole) / iterations;
        let waits = |one: &Stall| {
            (one.each - one.usual).max(0.0) * function.counts[one.at] as f64 / iterations
        };
        // What waits for this load is late as well; a miss comes of itself.
        let misses = |one: &&Stall| {
            one.at != load.at
                && members.contains(&one.at)
                && sites.is_some_and(|sites| sites.misses(index, one.at) == Some(true))
        };
        let others = all.iter().filter(misses);
        Some(Iteration {
            measured: cost.cycles?.value.max(whole),
            throughput: model.throughput?.value,
            waits: waits(load),
            others: others.map(waits).sum(),
            members,
        })
    });
    match iteration {
        Some(one) if one.measured > 0.0 => {
            let stays = (1.0 - one.waits / one.measured)
                .clamp(FORWARDING_RESIDUAL_RANGE.0, FORWARDING_RESIDUAL_RANGE.1);
            let free = ((one.throughput + one.others) / one.measured).min(stays);
            // Behind longer waits of other loads this one may not show at all.
            let hidden = one.others > one.waits;
            found.residual_fraction = Estimate {
                value: match hidden {
                    true => stays,
                    false => (stays * free).sqrt().max(FORWARDING_LOW * stays),
                },
                low: FORWARDING_THROUGHPUT_LOW * free,
                high: if hidden { 1.0 } else { stays.sqrt() },
            };
            found.affected = one.members;
        }
        _ => {
            found.affected.clone_from(&load.group);
            let stays = (load.usual / load.each)
                .clamp(FORWARDING_RESIDUAL_RANGE.0, FORWARDING_RESIDUAL_RANGE.1);
            found.residual_fraction = Estimate {
                value: stays,
                low: FORWARDING_LOW * stays,
                high: (1.0 + stays) / 2.0,
            };
        }
    }
    if let Some(around) = load.around {
        with_moves(input, function, around, &mut found);
    }
    found.executions = Some(function.counts[load.at]);
    found.cycles = Some(Estimate::exact(load.each));
    found
        .fact(LoadFact::PartialOverlap {
            load: function.code[load.at].text.clone(),
            store: input.functions[storing].code[store].text.clone(),
        })
        .fact(LoadFact::Wait {
            instruction: function.code[load.at].text.clone(),
            share: load.share,
            cycles: load.each,
            executions: function.counts[load.at],
            l1d_cycles: load.usual,
            levels: Vec::new(),
        })
}
