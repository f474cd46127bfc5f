//! State machines that stay in one state: part of `general-case-first`.
//!
//! **Signature.** An innermost loop over a stream of bytes that waits for a chain through a table of states: what an
//! iteration looks up is the state of the next. Observed: it is nearly always the same state, for runs of many bytes.
//! Or a loop around one that follows the table, of which a load that depends on the state is the same as the time before.
//! Or the state is kept in memory: a small number that an iteration loads from one place and by which it looks into a
//! table, nearly always the same; what the loop calls for each byte belongs to the machine.
//!
//! **Near misses.** Words instead of bytes; states that change every few bytes; tables whose address is kept in memory; a
//! number that never changes (a mode: its tests leave the loop).
//!
//! **Confirmation.** A test of many bytes at once for whether they keep the state, in front of the table.
//!
//! **Gain.** The measured time of the steps that keep the state, less that of the test for each run and byte.
//!
//! **Source.** D. Lemire, J. Keiser, "Validating UTF-8 in less than one instruction per byte", Software: Practice and
//! Experience 51, 2021 (runs of ASCII in front of the automaton).

use genba_code::STACK_POINTER;
use genba_loop_model::chain_mnemonics;
use genba_model::{Cause, Estimate, Fix, LoopFact, ObservedFact};

use crate::candidate::Candidate;
use crate::constants::counts::MAX_BYTES_OF_STATE;
use crate::constants::gains::{
    CALLED_FOR_BYTES_SAVED, CYCLES_OF_KEPT_BYTE, CYCLES_OF_KEPT_RUN, MAX_RESIDUAL,
};
use crate::constants::observations::{MIN_BURSTS, MIN_BYTES_IN_STATE, MIN_SEEN, MIN_STAYING};
use crate::constants::time_shares::{MIN_SHARE_OF_CHAIN_LOOP, MOST_OF_IT};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::Value;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::latency_chain::waits;
use crate::patterns::load_stalls::{sources, sources_where};
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::positions::{Course, Handed, carried};
use crate::patterns::value_steps::{Step, address_step};

/// Finds loops over state machines that hardly ever leave a state.
pub(crate) fn staying_states(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP).into_iter();
    let mut found: Vec<Candidate> = Vec::new();
    for one in loops.filter(|one| one.input.own) {
        if let Some(in_memory) = state_in_memory(&sites, &one).and_then(|it| candidate(&one, &it)) {
            found.push(with_callees(input, &one, in_memory));
            continue;
        }
        if one.has_opaque() {
            continue;
        }
        let in_chain = || waits(&one).then(|| state_in_chain(&sites, &one)).flatten();
        if let Some(of_chain) = in_chain().and_then(|state| candidate(&one, &state)) {
            found.push(of_chain);
            continue;
        }
        // What goes from byte to byte may be a loop around one that follows the table.
        let mut levels = std::iter::successors(Some(one.clone()), HotLoop::parent);
        let machine = levels.find_map(|level| {
            let state = kept_state(&sites, &level)?;
            reads_bytes(&level, state.at).then_some((state, level))
        });
        if let Some((state, level)) = machine {
            let known = |other: &Candidate| {
                other.function == Some(level.function) && other.affected == level.members
            };
            if !found.iter().any(known) {
                found.extend(candidate(&level, &state));
            }
        }
    }
    found
}

/// A load by which a loop keeps its state.
struct State {
    /// The load.
    at: usize,
    /// Share of the iterations that keep it.
    stays: Estimate,
    /// How often it is left, at most, for each iteration.
    left: f64,
    fact: ObservedFact,
}

fn candidate(one: &HotLoop<'_>, state: &State) -> Option<Candidate> {
    let function = one.input;
    if !reads_bytes(one, state.at) {
        return None;
    }
    let stays = state.stays.value.min(1.0);
    let run = (stays / state.left.max(1e-6)).min(one.trips.unwrap_or(f64::INFINITY));
    if run < MIN_BYTES_IN_STATE {
        return None;
    }
    let left = |run_cycles: f64, byte_cycles: f64| {
        let each = (run_cycles / run + byte_cycles) / one.cycles.value;
        (1.0 - stays + stays * each).min(MAX_RESIDUAL)
    };
    let mut found = Candidate::new(
        Cause::GeneralCaseFirst,
        Some(one.function),
        vec![state.at],
        Fix::SkipKeptState,
    );
    found.affected.clone_from(&one.members);
    let [value, low, high] =
        [0, 1, 2].map(|of| left(CYCLES_OF_KEPT_RUN[of], CYCLES_OF_KEPT_BYTE[of]));
    found.residual_fraction = Estimate { value, low, high };
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    let mut found = found.fact(one.time());
    if !one.cost.chain.is_empty() {
        found = found.fact(LoopFact::Chain {
            instructions: chain_mnemonics(&one.cost.chain, &function.code),
            cycles: one.cost.chain_cycles.map_or(0.0, |chain| chain.value),
            throughput_cycles: one.cost.throughput_cycles.map_or(0.0, |all| all.value),
        });
    }
    Some(found.fact(state.fact.clone()))
}

/// The load of the chain of an innermost loop that brings one value nearly always.
fn state_in_chain(sites: &ObservedSites<'_>, one: &HotLoop<'_>) -> Option<State> {
    let function = one.input;
    let chain = one.cost.chain.iter().map(|&at| at as usize);
    let mut loads = chain.filter(|&at| function.data[at].loads());
    loads.find_map(|at| nearly_always_one(sites, one, at))
}

/// A load that brings one value nearly always.
fn nearly_always_one(sites: &ObservedSites<'_>, one: &HotLoop<'_>, at: usize) -> Option<State> {
    let function = one.input;
    let point = sites.point(one.function, at)?;
    let mut values = sites.observed.operand_values.iter();
    let seen = values.find(|seen| seen.at == point && !seen.stored && seen.size <= 8)?;
    let usual = seen.values.first()?;
    let enough = seen.executions >= MIN_SEEN && seen.bursts >= MIN_BURSTS;
    (enough && usual.share.low >= MIN_STAYING).then(|| State {
        at,
        stays: usual.share,
        left: 1.0 - usual.share.value,
        fact: ObservedFact::KnownValue {
            instruction: function.code[at].text.clone(),
            value: usual.value.to_string(),
            share: usual.share,
            executions: function.counts[at],
            bursts: seen.bursts,
        },
    })
}

/// A load of a small number from one place, by which iterations look into a table, and that is nearly always the same,
/// though not always.
fn state_in_memory(sites: &ObservedSites<'_>, one: &HotLoop<'_>) -> Option<State> {
    let function = one.input;
    let values = &function.values;
    let of_one_place = |at: usize| {
        let accesses = function.data[at].memory.iter();
        (accesses.zip(values.addresses(at))).any(|(access, address)| {
            let stays =
                |address| address_step(function, one.index, address) == Some(Step::Constant(0));
            let in_frame = access.base == Some(STACK_POINTER) && access.index.is_none();
            access.reads
                && access.bytes <= MAX_BYTES_OF_STATE
                && (in_frame || address.as_ref().is_some_and(stays))
        })
    };
    let chooses = |at: usize| {
        let loaded: Vec<u32> = values.writes(at).iter().map(|one| one.1.number).collect();
        // What only loads brings another value.
        let computes = |by: usize| {
            !function.data[by].loads() || !function.code[by].mnemonic.starts_with("mov")
        };
        one.usual().filter(|&other| other != at).any(|other| {
            let addresses = values.addresses(other).iter().flatten();
            let parts = addresses.flat_map(|to| [Some(to.base), to.index.map(|one| one.0)]);
            let roots: Vec<Value> = parts.flatten().collect();
            let made_of = sources_where(function, one.index, &roots, &computes);
            function.data[other].loads()
                && made_of.iter().any(|value| loaded.contains(&value.number))
        })
    };
    let mut loads = one.usual().filter(|&at| function.data[at].loads());
    loads.find_map(|at| {
        let state = nearly_always_one(sites, one, at)?;
        let is_state = state.stays.value < 1.0 && of_one_place(at) && chooses(at);
        is_state.then(|| with_ways_back(sites, one, state))
    })
}

/// With how often the state is left, by how often it changes: once to another one and at least once more to come back.
fn with_ways_back(sites: &ObservedSites<'_>, one: &HotLoop<'_>, state: State) -> State {
    let point = sites.point(one.function, state.at);
    let mut loads = sites.observed.same_loads.iter();
    let same = loads.find(|same| Some(same.at) == point && is_enough(&same.seen));
    let changes = same.map_or(f64::INFINITY, |same| 1.0 - same.seen.share.value);
    State {
        left: state.left.min(changes / 2.0),
        ..state
    }
}

/// With the time of what the loop calls: a part of it is the machine's.
fn with_callees(input: &AnalysisInput, one: &HotLoop<'_>, mut found: Candidate) -> Candidate {
    let sites = one.input.call_sites.iter();
    let targets = sites
        .filter(|site| one.members.contains(&site.at))
        .flat_map(|site| &site.targets);
    let called: f64 = targets
        .map(|target| share_of_target(input, one.function, target))
        .sum();
    let left = found.residual_fraction;
    let own = (1.0 - left.value, 1.0 - left.high, 1.0 - left.low);
    found.saves(&[
        SavedTime::of(one.share, own),
        SavedTime::of(called.min(1.0 - one.share), CALLED_FOR_BYTES_SAVED),
    ]);
    found
}

/// A load whose address comes of what iterations hand on and make anew of itself, and that nearly always loads the
/// same from the same place as before.
fn kept_state(sites: &ObservedSites<'_>, one: &HotLoop<'_>) -> Option<State> {
    let function = one.input;
    let body = function.flow.loop_blocks(one.index);
    let states: Vec<u32> = (carried(function, body).into_values())
        .filter(|&value| {
            let handed = Handed::of(function, body, value);
            let made_of = || sources(function, one.index, &handed.made);
            !matches!(handed.course(u64::MAX), Course::Advances(_))
                && made_of().iter().any(|made| made.number == value.number)
        })
        .map(|value| value.number)
        .collect();
    let loads = one
        .members
        .iter()
        .copied()
        .filter(|&at| function.data[at].loads() && one.times(at) >= MOST_OF_IT);
    let of_state = |at: &usize| {
        let addresses = function.values.addresses(*at).iter().flatten();
        addresses.into_iter().any(|address| {
            let roots = [Some(address.base), address.index.map(|index| index.0)];
            let roots: Vec<_> = roots.into_iter().flatten().collect();
            let made_of = sources(function, one.index, &roots);
            made_of.iter().any(|value| states.contains(&value.number))
        })
    };
    loads.into_iter().filter(of_state).find_map(|at| {
        let point = sites.point(one.function, at)?;
        let same = sites
            .observed
            .same_loads
            .iter()
            .find(|same| same.at == point)?;
        let enough = is_enough(&same.seen) && same.seen.share.low >= MIN_STAYING;
        enough.then(|| State {
            at,
            stays: same.seen.share,
            left: 1.0 - same.seen.share.value,
            fact: ObservedFact::KeptLoad {
                instruction: function.code[at].text.clone(),
                share: same.seen.share,
                executions: function.counts[at],
                bursts: same.seen.bursts,
            },
        })
    })
}

/// Whether the loop reads one byte after the other beside its table.
fn reads_bytes(one: &HotLoop<'_>, state: usize) -> bool {
    let function = one.input;
    one.usual().filter(|&at| at != state).any(|at| {
        let accesses = function.data[at].memory.iter();
        (accesses.zip(function.values.addresses(at))).any(|(access, address)| {
            let next = |address| address_step(function, one.index, address);
            let steps = address.as_ref().and_then(next);
            access.reads && access.bytes == 1 && matches!(steps, Some(Step::Constant(1 | -1)))
        })
    })
}
