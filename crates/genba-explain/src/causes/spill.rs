//! `spill`: a loop with more live values than registers.
//!
//! **Signature.** In an innermost loop, a good part of the instructions of each iteration move
//! values between registers and fixed places of the stack frame, and the loop's measured cycles are
//! those of its model, of which these moves are a good part, or its time is at them.
//!
//! **Confirmation.** Fewer live values: the loop split in two, a smaller register block.
//!
//! **Gain.** The loop is modelled without these moves.
//!
//! **Source.** Intel's optimisation manual on register spills in unrolled and blocked loops.

use genba_code::STACK_POINTER;

use genba_model::{Cause, Fix, LoopFact, LoopPlace};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_SPILL_MOVES, MIN_SPILL_MOVES_PART};
use crate::constants::gains::MAX_LOOP_RESIDUAL;
use crate::constants::model_fit::{
    MAX_MODEL_OF_CYCLES, MAX_RESIDUAL_OF_SPILLS, MIN_CHAIN_OF_CYCLES, MIN_TIME_AT_SPILLS,
};
use crate::constants::time_shares::MIN_SHARE_OF_SPILLING_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::hot_loops;
use genba_loop_model::Change;

/// Finds hot loops a good part of whose instructions move values to the stack and back.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_SPILLING_LOOP) {
        let function = one.input;
        if !function.own || one.has_opaque() {
            continue;
        }
        let usual: Vec<usize> = one.usual().collect();
        let moves: Vec<usize> = usual
            .iter()
            .copied()
            .filter(|&at| {
                let data = &function.data[at];
                let fixed = data.memory.iter().any(|access| {
                    access.base == Some(STACK_POINTER) && access.index.is_none() && !access.stack
                });
                // Moves only: what computes with a memory operand stays.
                fixed && data.without_memory.is_none()
            })
            .collect();
        if moves.len() < MIN_SPILL_MOVES
            || (moves.len() as f64) < MIN_SPILL_MOVES_PART * usual.len() as f64
        {
            continue;
        }
        let change = Change {
            passed: moves.clone(),
            ..Change::default()
        };
        let Some(gain) = function.loop_after(&input.program.costs, one.index, &change) else {
            continue;
        };
        let modelled = gain.before.cycles().map_or(0.0, |cycles| cycles.value);
        // Loads from the stack never miss: where the time stands at the moves, they are the reason
        // even if they take longer than the model knows (forwarding from stores has its limits).
        let stands = function.heat_of(moves.iter().copied()) >= MIN_TIME_AT_SPILLS * one.share
            && moves.len() * 2 >= usual.len();
        let explained = modelled <= MAX_MODEL_OF_CYCLES * one.cycles.value
            && (modelled >= MIN_CHAIN_OF_CYCLES * one.cycles.value || stands);
        if !explained || gain.residual_fraction.value > MAX_RESIDUAL_OF_SPILLS {
            continue;
        }
        let mut candidate = Candidate::new(
            Cause::Spill,
            Some(one.function),
            moves.clone(),
            Fix::FewerLiveValues,
        );
        candidate.affected.clone_from(&one.members);
        candidate.residual_fraction = gain.residual_fraction;
        candidate.residual_fraction.high = candidate.residual_fraction.high.max(MAX_LOOP_RESIDUAL);
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        found.push(
            candidate
                .fact(LoopFact::StackMoves {
                    moves: moves.len(),
                    instructions: usual.len(),
                })
                .fact(LoopFact::TimeAt {
                    share: function.heat_of(moves) / one.share,
                    place: LoopPlace::StackMoves,
                })
                .fact(gain.fact()),
        );
    }
    found
}
