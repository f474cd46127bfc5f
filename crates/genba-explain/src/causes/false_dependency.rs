//! `false-dependency`: an instruction waits for a register of which it only keeps a part.
//!
//! **Signature.** A loop whose measured cycles are those of its longest dependency chain, which
//! runs through conversions, square roots or roundings that keep the upper half of their
//! destination, by the destination and not by the operand.
//!
//! **Confirmation.** `xorps` of the destination before it.
//!
//! **Gain.** The loop is modelled without that dependency.
//!
//! Processors that track that an upper half is zero (AMD's since Zen) do not wait for it: there the
//! loop is far faster than the chain, and nothing is reported.
//!
//! **Source.** A. Fog, "The microarchitecture of Intel, AMD and VIA CPUs", on partial registers and
//! false dependencies.

use genba_code::{DataFlow, Location};

use genba_model::{Cause, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::constants::model_fit::{FALSE_CHAIN_FIT, MAX_RESIDUAL_OF_FALSE_DEPENDENCY};
use crate::constants::registers::{K0, XMM0};
use crate::constants::time_shares::MIN_SHARE_OF_BRANCH_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::hot_loops;
use genba_loop_model::Change;

/// Instructions that keep the rest of a vector register.
const KEEP: [&str; 12] = [
    "cvtsi2sd",
    "cvtsi2ss",
    "cvtss2sd",
    "cvtsd2ss",
    "sqrtsd",
    "sqrtss",
    "rcpss",
    "rsqrtss",
    "roundsd",
    "roundss",
    "cvtsi2sdq",
    "cvtsi2ssq",
];

/// Whether an instruction leaves the upper half of its target as it was, and needs nothing else
/// of it.
pub(crate) fn keeps_upper_half(data: &DataFlow) -> bool {
    let name = data.form.split(' ').next().unwrap_or_default();
    let keeps = KEEP.contains(&name.strip_prefix('v').unwrap_or(name))
        && data.writes.count_ones() == 1
        && data.data_reads & data.writes != 0;
    // `sqrtsd xmm0, xmm0` needs what it keeps.
    let own = data.data_reads == data.writes && data.memory.is_empty();
    keeps && !own
}

/// Finds loops bound by a chain through instructions that keep a part of their destination.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_BRANCH_LOOP) {
        let function = one.input;
        let (Some(chain), false) = (one.cost.chain_cycles, one.cost.chain.is_empty()) else {
            continue;
        };
        // The chain must really be what the iterations wait for.
        // What such conversions take is only known within bounds.
        if chain.high < FALSE_CHAIN_FIT.0 * one.cycles.value
            || chain.low > FALSE_CHAIN_FIT.1 * one.cycles.value
        {
            continue;
        }
        let kept: Vec<(usize, Location)> = one
            .members
            .iter()
            .filter_map(|&at| {
                let data = &function.data[at];
                let target = (data.writes.trailing_zeros()) as Location;
                (keeps_upper_half(data) && (XMM0..K0).contains(&target)).then_some((at, target))
            })
            .collect();
        let links: Vec<usize> = kept
            .iter()
            .map(|one| one.0)
            .filter(|&at| one.cost.chain.contains(&(at as u32)))
            .collect();
        if links.is_empty() {
            continue;
        }
        let change = Change {
            unread: kept,
            ..Change::default()
        };
        let Some(gain) = function.loop_after(&input.program.costs, one.index, &change) else {
            continue;
        };
        if gain.residual_fraction.value > MAX_RESIDUAL_OF_FALSE_DEPENDENCY {
            continue;
        }
        let mut candidate = Candidate::new(
            Cause::FalseDependency,
            Some(one.function),
            links.clone(),
            Fix::ClearDestination,
        );
        candidate.affected = one.members.clone();
        candidate.residual_fraction = gain.residual_fraction;
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        found.push(
            candidate
                .fact(LoopFact::KeepsUpperPart {
                    instruction: function.code[links[0]].text.clone(),
                    executions: function.counts[links[0]],
                })
                .fact(LoopFact::ChainThrough {
                    // The model's upper bound may be above what was measured.
                    cycles: chain.value.min(one.cycles.value),
                    iteration_cycles: one.cycles.value,
                })
                .fact(gain.fact()),
        );
    }
    found
}
