//! `loop-alignment`: a tiny loop that crosses a cache line.
//!
//! **Signature.** A loop of few bytes of code without loads, stores and unpredictable branches that
//! crosses a line of 64 bytes, takes well over its model, and whose time is spread over it. It is
//! an effect of where the linker put it rather than of the program, and a measurement bias first.
//!
//! **Confirmation.** The same with `-falign-loops=64`.
//!
//! **Gain.** At most down to the model.
//!
//! **Source.** T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!",
//! ASPLOS 2009.

use genba_model::{Cause, Confirmation, Estimate, Fix, LoopFact, ModelCase};

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::load_stalls::wrong_in;
use genba_loop_model::Change;

/// Share of the time below which a loop is not looked at.
const LEAST: f64 = 0.2;

/// Most bytes of code.
const TINY: u64 = 32;

/// Bytes of a line.
const LINE: u64 = 64;

/// Finds tiny hot loops across a cache line that take far longer than their model.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for one in hot_loops(input, LEAST) {
        let function = one.input;
        let (Some(&first), Some(&last)) = (one.members.first(), one.members.last()) else {
            continue;
        };
        let begin = function.code[first].address;
        let end = function.code[last].end();
        let crosses = begin / LINE != end.saturating_sub(1) / LINE;
        let plain = |&at: &usize| {
            let data = &function.data[at];
            data.memory.is_empty() && data.opaque.is_none()
        };
        let tiny = end.saturating_sub(begin) <= TINY && one.members.len() == last - first + 1;
        if !function.own
            || !tiny
            || !crosses
            || !one.members.iter().all(plain)
            || !one.is_long(100.0)
        {
            continue;
        }
        let Some(model) = function.loop_model(&input.program.costs, one.index, &Change::default())
        else {
            continue;
        };
        let Some(round) = model.round().filter(|_| model.chain.is_some()) else {
            continue;
        };
        let rest = one.cycles.low - wrong_in(input, &one);
        if rest < 1.5 * round.high {
            continue;
        }
        let mut candidate = Candidate::new(
            Cause::LoopAlignment,
            Some(one.function),
            vec![first],
            Fix::AlignLoop,
        );
        candidate.affected.clone_from(&one.members);
        let least = round.value / one.cycles.value;
        candidate.residual_fraction = Estimate {
            value: (1.0 + least) / 2.0,
            low: least,
            high: 1.0,
        };
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        candidate.confirmation = Confirmation::AlignLoops;
        found.push(
            candidate
                .fact(LoopFact::CrossesCacheLine {
                    bytes: end - begin,
                    address: begin,
                    line_bytes: LINE,
                })
                .fact(LoopFact::Model {
                    cycles: one.cycles.value,
                    modelled: Estimate::exact(round.value),
                    case: ModelCase::Bound,
                }),
        );
    }
    found
}
