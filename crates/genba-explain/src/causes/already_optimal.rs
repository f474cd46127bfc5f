//! `already-optimal`: the hot loop runs at its bound, and no cheap fix is known.
//!
//! **Signature.** An innermost loop has half of the time or more, its measured cycles are those of
//! its modelled dependency chain or of its throughput, and no other cause was found there.
//! Divisions that carry time and are all needed ([`crate::patterns::needed_divisions`]) are
//! reported in the same way, whatever the rest of their loop does.
//!
//! **Confirmation.** The annotated loop.
//!
//! **Gain.** None is predicted: what is said is that the instructions take the time that they need.
//!
//! **Source.** The loop model ([`genba_loop_model`]).

use genba_model::{Cause, Confirmation, DivisionFact, Estimate, Fix, LoopBound, LoopFact};

use crate::candidate::Candidate;
use crate::constants::search_limits::MAX_REPORTED_DIVISION_LOOPS;
use crate::constants::time_shares::MIN_SHARE_OF_OPTIMAL_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::needed_divisions::{Needed, needed_divisions};

/// Finds, where a whole run was counted, the hottest loop if its cycles are those of its model, and hot loops of divisions none of
/// which is superfluous.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    if input.program.part_counted {
        return Vec::new();
    }
    let mut found: Vec<Candidate> = at_bound(input).into_iter().collect();
    for divisions in needed_divisions(input)
        .into_iter()
        .take(MAX_REPORTED_DIVISION_LOOPS)
    {
        let (function, members) = (divisions.one.function, &divisions.one.members);
        let same = |before: &&mut Candidate| {
            before.function == Some(function) && before.affected == *members
        };
        match found.iter_mut().find(same) {
            Some(before) => *before = before.clone().fact(divisions.fact),
            None => found.push(of_divisions(input, divisions)),
        }
    }
    found
}

fn of_divisions(input: &AnalysisInput, divisions: Needed<'_>) -> Candidate {
    let Needed { one, at, fact } = divisions;
    let mut found = Candidate::new(
        Cause::AlreadyOptimal,
        Some(one.function),
        at,
        Fix::LessWork { divisions: true },
    );
    found.advice = true;
    found.affected.clone_from(&one.members);
    found.residual_fraction = Estimate::exact(1.0);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.confirmation = Confirmation::Annotate;
    found = found.fact(loop_time(&one)).fact(fact);
    let caller = input.functions[one.function].callers.first();
    match caller.filter(|caller| caller.count > 0) {
        Some(caller) => found.fact(DivisionFact::CalledFrom {
            caller: caller.function.clone(),
            calls: caller.count,
        }),
        None => found,
    }
}

fn at_bound(input: &AnalysisInput) -> Option<Candidate> {
    let all = hot_loops(input, MIN_SHARE_OF_OPTIMAL_LOOP);
    let one = all.first().filter(|one| one.input.own)?;
    if !matches!(
        one.cost.verdict.bound(),
        LoopBound::Latency | LoopBound::Throughput
    ) {
        return None;
    }
    let function = one.input;
    let hottest = one
        .members
        .iter()
        .copied()
        .max_by(|&a, &b| function.heat[a].total_cmp(&function.heat[b]));
    let mut found = Candidate::new(
        Cause::AlreadyOptimal,
        Some(one.function),
        vec![hottest?],
        Fix::LessWork { divisions: false },
    );
    found.advice = true;
    found.affected.clone_from(&one.members);
    found.residual_fraction = Estimate::exact(1.0);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.confirmation = Confirmation::Annotate;
    let verdict = LoopFact::Verdict(one.cost.verdict.clone());
    Some(found.fact(loop_time(one)).fact(verdict))
}

fn loop_time(one: &HotLoop<'_>) -> LoopFact {
    LoopFact::Time {
        share: Some(one.share),
        iterations: one.cost.iterations,
        cycles: one.cycles.value,
        trip_count: None,
    }
}
