//! `already-optimal`: the hot loop runs at its bound; no cheap fix is known for it.
//!
//! **Signature.** One innermost loop has half of the time or more, its measured cycles are those of
//! its modelled chain or of its instructions, and no other cause was found there.
//!
//! **Gain.** None: it is said so that nobody looks further.
//!
//! **Source.** The loop model ([`crate::loop_bound`]).

use genba_model::{Estimate, LoopBound};

use super::candidate::Candidate;
use super::frame::Frame;
use super::hot_loops::hot_loops;
use super::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "already-optimal";

/// Share of the time that the loop must have.
const LEAST: f64 = 0.5;

/// Looks for it.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    let all = hot_loops(frame, LEAST);
    let Some(one) = all.first().filter(|one| one.frame.own) else {
        return Vec::new();
    };
    if !matches!(one.cost.bound, LoopBound::Latency | LoopBound::Throughput) {
        return Vec::new();
    }
    let function = one.frame;
    let hottest = one
        .members
        .iter()
        .copied()
        .max_by(|&a, &b| function.heat[a].total_cmp(&function.heat[b]));
    let Some(hottest) = hottest else {
        return Vec::new();
    };
    let mut found = Candidate::new(ID, Some(one.function), vec![hottest]);
    found.advice = true;
    found.affected.clone_from(&one.members);
    found.remains = Estimate::exact(1.0);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.fix = "Nothing cheap is left here: less work (another algorithm) would help, other code for the same work hardly."
        .to_owned();
    found.confirm = "genba annotate shows the loop with its bound".to_owned();
    vec![
        found
            .measured(format!(
                "{} of the time is in this loop: {} rounds of {} cycles each",
                percent(one.share),
                count(one.cost.iterations),
                cycles(one.cycles.value)
            ))
            .model(one.cost.why.clone()),
    ]
}
