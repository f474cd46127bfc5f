//! `denormals`: floating-point arithmetic on denormal numbers.
//!
//! **Signature.** A loop that takes several times its model, with most of its time at additions and
//! multiplications between registers that take many times their latency; no load of it stalls. Many
//! processors handle operands below the least normal number by microcode.
//!
//! **Confirmation.** A run with denormals flushed to zero (`-ffast-math` when linking,
//! `_MM_SET_FLUSH_ZERO_MODE`).
//!
//! **Gain.** An iteration falls to its model.
//!
//! **Source.** Intel's optimisation manual, "Floating-point exceptions and denormals"; A. Fog on
//! the penalty by microarchitecture.

use genba_model::{Cause, Confirmation, Estimate, Fix, LoopFact, LoopPlace, ModelCase};

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::load_stalls::wrong_in;
use genba_loop_model::Change;

/// Share of the time below which a loop is not looked at.
const LEAST: f64 = 0.05;

/// Times that a round takes its model.
const TIMES: f64 = 5.0;

/// Cycles that an operation must take.
const SLOW: f64 = 25.0;

/// Finds loops far slower than their model whose time is at floating-point arithmetic between
/// registers.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for one in hot_loops(input, LEAST) {
        let function = one.input;
        let operations: Vec<usize> = one
            .members
            .iter()
            .copied()
            .filter(|&at| is_arithmetic(function, at))
            .collect();
        let each = |at: &usize| function.cycles[*at].map_or(0.0, |cycles| cycles.value);
        let slow: Vec<usize> = operations
            .iter()
            .copied()
            .filter(|at| each(at) >= SLOW)
            .collect();
        let Some(&most) = slow.iter().max_by(|a, b| each(a).total_cmp(&each(b))) else {
            continue;
        };
        let time = function.heat_of(operations.iter().copied()) / one.share;
        let Some(model) = function.loop_model(&input.program.costs, one.index, &Change::default())
        else {
            continue;
        };
        let Some(round) = model.round().filter(|_| model.chain.is_some()) else {
            continue;
        };
        let rest = one.cycles.value - wrong_in(input, &one);
        if time < 0.6 || rest < TIMES * round.high || one.has_opaque() {
            continue;
        }
        let mut candidate = Candidate::new(
            Cause::Denormals,
            Some(one.function),
            vec![most],
            Fix::FlushDenormals,
        );
        candidate.affected.clone_from(&one.members);
        let stays = round.value / one.cycles.value;
        candidate.residual_fraction = Estimate {
            value: (1.5 * stays).min(0.9),
            low: 0.7 * stays,
            high: (4.0 * stays).min(0.95),
        };
        candidate.executions = Some(function.counts[most]);
        candidate.cycles = function.cycles[most];
        candidate.confirmation = Confirmation::FlushDenormals;
        found.push(
            candidate
                .fact(LoopFact::InstructionCost {
                    instruction: function.code[most].text.clone(),
                    cycles: each(&most),
                    executions: function.counts[most],
                })
                .fact(LoopFact::TimeAt {
                    share: time,
                    place: LoopPlace::FloatArithmetic,
                })
                .fact(LoopFact::Model {
                    cycles: one.cycles.value,
                    modelled: Estimate::exact(round.value),
                    case: ModelCase::NormalOperands,
                }),
        );
    }
    found
}

/// Additions and multiplications of floating-point numbers in registers.
fn is_arithmetic(function: &FunctionInput, at: usize) -> bool {
    let data = &function.data[at];
    let name = data.form.split(' ').next().unwrap_or_default();
    let stem = name.strip_prefix('v').unwrap_or(name);
    let float = ["sd", "ss", "pd", "ps"]
        .iter()
        .any(|end| stem.ends_with(end));
    let kinds = ["add", "sub", "mul", "fmadd", "fmsub", "fnmadd", "fnmsub"];
    float && data.memory.is_empty() && kinds.iter().any(|kind| stem.starts_with(kind))
}
