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
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::hot_loops;
use genba_loop_model::Change;

/// Share of the time below which a loop is not looked at.
const LEAST: f64 = 0.1;

/// Share of the loop's instructions that must be such moves.
const MOVES: f64 = 0.25;

/// Part of the loop's time at the moves that makes them its reason by itself.
const STANDS: f64 = 0.6;

/// Gains below this are not told: other bounds are near, and compilers know their registers.
const LARGEST_REMAINS: f64 = 0.85;

/// Finds hot loops a good part of whose instructions move values to the stack and back.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for one in hot_loops(input, LEAST) {
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
        if moves.len() < 6 || (moves.len() as f64) < MOVES * usual.len() as f64 {
            continue;
        }
        let change = Change {
            passed: moves.clone(),
            ..Change::default()
        };
        let Some(gain) = function.loop_after(&input.program.costs, one.index, &change) else {
            continue;
        };
        let modelled = gain.before.round().map_or(0.0, |round| round.value);
        // Loads from the stack never miss: where the time stands at the moves, they are the reason
        // even if they take longer than the model knows (forwarding from stores has its limits).
        let stands = function.heat_of(moves.iter().copied()) >= STANDS * one.share
            && moves.len() * 2 >= usual.len();
        let explained =
            modelled <= 1.2 * one.cycles.value && (modelled >= 0.7 * one.cycles.value || stands);
        if !explained || gain.residual_fraction.value > LARGEST_REMAINS {
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
        candidate.residual_fraction.high = candidate.residual_fraction.high.max(0.95);
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
