//! `already-optimal`: the hot loop runs at its bound; no cheap fix is known for it.
//!
//! **Signature.** One innermost loop has half of the time or more, its measured cycles are those of
//! its modelled chain or of its instructions, and no other cause was found there.
//!
//! The same is said of divisions that carry time and are all needed ([`crate::patterns::needed_divisions`]),
//! whatever the rest of their loop does.
//!
//! **Gain.** None: it is said so that nobody looks further.
//!
//! **Source.** The loop model ([`genba_loop_model`]).

use genba_model::{Estimate, LoopBound};

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::needed_divisions::{Needed, needed_divisions};
use crate::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "already-optimal";

/// Share of the time that the loop must have.
const LEAST: f64 = 0.5;

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = at_bound(input).into_iter().collect();
    for divisions in needed_divisions(input).into_iter().take(MOST) {
        let (function, members) = (divisions.one.function, &divisions.one.members);
        let same = |before: &&mut Candidate| {
            before.function == Some(function) && before.affected == *members
        };
        match found.iter_mut().find(same) {
            Some(before) => *before = before.clone().counted(divisions.fact),
            None => found.push(of_divisions(input, divisions)),
        }
    }
    found
}

/// Loops of divisions that are told of.
const MOST: usize = 1;

fn of_divisions(input: &AnalysisInput, divisions: Needed<'_>) -> Candidate {
    let Needed { one, at, fact } = divisions;
    let mut found = Candidate::new(ID, Some(one.function), at);
    found.advice = true;
    found.affected.clone_from(&one.members);
    found.residual_fraction = Estimate::exact(1.0);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.fix = "Nothing cheap is left in these divisions: fewer of them would help (several digits a step, long numbers divided into halves, another algorithm), other code for the same ones hardly."
        .to_owned();
    found.confirm = "genba annotate shows the loop".to_owned();
    found = found
        .measured(format!(
            "{} of the time is in this loop: {} rounds of {} cycles each",
            percent(one.share),
            count(one.cost.iterations),
            cycles(one.cycles.value)
        ))
        .counted(fact);
    let caller = input.functions[one.function].callers.first();
    match caller.filter(|caller| caller.count > 0) {
        Some(caller) => found.counted(format!(
            "{} calls from {}",
            count(caller.count),
            caller.function
        )),
        None => found,
    }
}

fn at_bound(input: &AnalysisInput) -> Option<Candidate> {
    let all = hot_loops(input, LEAST);
    let one = all.first().filter(|one| one.input.own)?;
    if !matches!(one.cost.bound, LoopBound::Latency | LoopBound::Throughput) {
        return None;
    }
    let function = one.input;
    let hottest = one
        .members
        .iter()
        .copied()
        .max_by(|&a, &b| function.heat[a].total_cmp(&function.heat[b]));
    let mut found = Candidate::new(ID, Some(one.function), vec![hottest?]);
    found.advice = true;
    found.affected.clone_from(&one.members);
    found.residual_fraction = Estimate::exact(1.0);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.fix = "Nothing cheap is left here: less work (another algorithm) would help, other code for the same work hardly."
        .to_owned();
    found.confirm = "genba annotate shows the loop with its bound".to_owned();
    Some(
        found
            .measured(format!(
                "{} of the time is in this loop: {} rounds of {} cycles each",
                percent(one.share),
                count(one.cost.iterations),
                cycles(one.cycles.value)
            ))
            .model(one.cost.why.clone()),
    )
}
