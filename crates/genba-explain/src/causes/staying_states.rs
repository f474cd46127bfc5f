//! State machines that stay in one state: part of `general-case-first`.
//!
//! **Signature.** An innermost loop over a stream of bytes that waits for a chain through a table of states: what an
//! iteration looks up is the state of the next. Observed: it is nearly always the same state, for runs of many bytes.
//! Or a loop around one that follows the table, of which a load that depends on the state is the same as the time before.
//!
//! **Confirmation.** A test of many bytes at once for whether they keep the state, in front of the table.
//!
//! **Gain.** The measured time of the steps that keep the state, less that of the test for each run and byte.
//!
//! **Source.** D. Lemire, J. Keiser, "Validating UTF-8 in less than one instruction per byte", Software: Practice and
//! Experience 51, 2021 (runs of ASCII in front of the automaton).

use genba_loop_model::chain_mnemonics;
use genba_model::{Cause, Estimate, Fix, LoopFact, ObservedFact};

use crate::candidate::Candidate;
use crate::constants::gains::{CYCLES_OF_KEPT_BYTE, CYCLES_OF_KEPT_RUN, MAX_RESIDUAL};
use crate::constants::observations::{MIN_BURSTS, MIN_BYTES_IN_STATE, MIN_SEEN, MIN_STAYING};
use crate::constants::time_shares::{MIN_SHARE_OF_CHAIN_LOOP, MOST_OF_IT};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::latency_chain::waits;
use crate::patterns::load_stalls::sources;
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use crate::patterns::positions::{Course, Handed, carried};
use crate::patterns::value_steps::{Step, address_step};

/// Finds loops over state machines that hardly ever leave a state.
pub(crate) fn staying_states(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP).into_iter();
    let own = loops.filter(|one| one.input.own && !one.has_opaque());
    let mut found: Vec<Candidate> = Vec::new();
    for one in own {
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
    fact: ObservedFact,
}

fn candidate(one: &HotLoop<'_>, state: &State) -> Option<Candidate> {
    let function = one.input;
    if !reads_bytes(one, state.at) {
        return None;
    }
    let stays = state.stays.value.min(1.0);
    let run = (1.0 / (1.0 - stays).max(1e-6)).min(one.trips.unwrap_or(f64::INFINITY));
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
    loads.find_map(|at| {
        let point = sites.point(one.function, at)?;
        let mut values = sites.observed.operand_values.iter();
        let seen = values.find(|seen| seen.at == point && !seen.stored && seen.size <= 8)?;
        let usual = seen.values.first()?;
        let enough = seen.executions >= MIN_SEEN && seen.bursts >= MIN_BURSTS;
        (enough && usual.share.low >= MIN_STAYING).then(|| State {
            at,
            stays: usual.share,
            fact: ObservedFact::KnownValue {
                instruction: function.code[at].text.clone(),
                value: usual.value.to_string(),
                share: usual.share,
                executions: function.counts[at],
                bursts: seen.bursts,
            },
        })
    })
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
