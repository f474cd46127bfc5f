//! State machines that stay in one state: part of `general-case-first`.
//!
//! **Signature.** An innermost loop over a stream of bytes that waits for a chain through a table of states: what an
//! iteration looks up is the state of the next. Observed: it is nearly always the same state, for runs of many bytes.
//!
//! **Confirmation.** A test of many bytes at once for whether they keep the state, in front of the table.
//!
//! **Gain.** The measured time of the steps that keep the state, less that of the test for each run and byte.
//!
//! **Source.** D. Lemire, J. Keiser, "Validating UTF-8 in less than one instruction per byte", Software: Practice and
//! Experience 51, 2021 (runs of ASCII in front of the automaton).

use genba_loop_model::chain_mnemonics;
use genba_model::{Cause, Estimate, Fix, LoopFact, ObservedFact};
use genba_observe::{OperandValues, ValueShare};

use crate::candidate::Candidate;
use crate::constants::gains::{CYCLES_OF_KEPT_BYTE, CYCLES_OF_KEPT_RUN, MAX_RESIDUAL};
use crate::constants::observations::{MIN_BURSTS, MIN_BYTES_IN_STATE, MIN_SEEN, MIN_STAYING};
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::latency_chain::waits;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::value_steps::{Step, address_step};

/// Finds loops over state machines that hardly ever leave a state.
pub(crate) fn staying_states(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP).into_iter();
    let waiting = loops.filter(|one| one.input.own && waits(one) && !one.has_opaque());
    waiting.filter_map(|one| candidate(&sites, &one)).collect()
}

fn candidate(sites: &ObservedSites<'_>, one: &HotLoop<'_>) -> Option<Candidate> {
    let function = one.input;
    let chain = one.cost.chain.iter().map(|&at| at as usize);
    let (at, observed, usual) = chain
        .filter(|&at| function.data[at].loads())
        .find_map(|at| usual_state(sites, one, at))?;
    if !reads_bytes(one, at) {
        return None;
    }
    let stays = usual.share.value.min(1.0);
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
        vec![at],
        Fix::SkipKeptState,
    );
    found.affected.clone_from(&one.members);
    let [value, low, high] =
        [0, 1, 2].map(|of| left(CYCLES_OF_KEPT_RUN[of], CYCLES_OF_KEPT_BYTE[of]));
    found.residual_fraction = Estimate { value, low, high };
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    Some(
        found
            .fact(LoopFact::Time {
                share: Some(one.share),
                iterations: one.cost.iterations,
                cycles: one.cycles.value,
                trip_count: one.trips,
            })
            .fact(LoopFact::Chain {
                instructions: chain_mnemonics(&one.cost.chain, &function.code),
                cycles: one.cost.chain_cycles.map_or(0.0, |chain| chain.value),
                throughput_cycles: one.cost.throughput_cycles.map_or(0.0, |all| all.value),
            })
            .fact(ObservedFact::KnownValue {
                instruction: function.code[at].text.clone(),
                value: usual.value.to_string(),
                share: usual.share,
                executions: function.counts[at],
                bursts: observed.bursts,
            }),
    )
}

/// The value that a load of the chain brings nearly always.
fn usual_state<'a>(
    sites: &ObservedSites<'a>,
    one: &HotLoop<'_>,
    at: usize,
) -> Option<(usize, &'a OperandValues, ValueShare)> {
    let point = sites.point(one.function, at)?;
    let mut values = sites.observed.operand_values.iter();
    let seen = values.find(|seen| seen.at == point && !seen.stored && seen.size <= 8)?;
    let usual = *seen.values.first()?;
    let enough = seen.executions >= MIN_SEEN && seen.bursts >= MIN_BURSTS;
    (enough && usual.share.low >= MIN_STAYING).then_some((at, seen, usual))
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
