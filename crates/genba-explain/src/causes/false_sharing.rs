//! `false-sharing`: threads write to different variables in one cache line.
//!
//! **Signature.** Observed, not inferred: samples with registers show that loops of several threads
//! store, at addresses that do not change from iteration to iteration, to different addresses of
//! one line of 64 bytes. The same address from two threads is true sharing, which is not reported.
//!
//! **Confirmation.** Padding to 64 bytes (128 on processors that fetch lines in pairs). On one CPU,
//! where no other core can take the line, the same work needs less CPU time.
//!
//! **Gain.** At least what the run on one CPU saves; at most the loop's cycles beyond its
//! throughput, since a sum in a register needs no memory at all.
//!
//! **Source.** W. Bolosky, M. Scott, *False sharing and its effect on shared memory performance*,
//! SEDMS 1993.

use genba_model::{Cause, Estimate, Fix, LoopFact, ModelCase, ThreadFact};

use crate::candidate::Candidate;
use crate::constants::counts::MIN_SHARING_RATIO;
use crate::constants::gains::{
    MAX_SHARING_SAVED, SHARING_REST_SAVED, SHARING_SAVED_BY_MODEL, SHARING_SAVED_LOW,
    UNKNOWN_SHARED_WRITES,
};
use crate::constants::time_shares::MIN_SHARE_OF_SHARED_WRITES;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, SharedLine};

/// Finds loops of several threads that write to one cache line at different addresses, from
/// samples with registers; one candidate for each loop.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let lines = input
        .program
        .follow_up
        .shared_lines
        .as_deref()
        .unwrap_or(&[]);
    let mut loops: Vec<(usize, u32)> = Vec::new();
    for line in lines {
        if !loops.contains(&(line.function, line.around)) {
            loops.push((line.function, line.around));
        }
    }
    loops
        .into_iter()
        .filter_map(|(function, around)| {
            let of = lines
                .iter()
                .filter(|one| (one.function, one.around) == (function, around));
            candidate(input, &of.collect::<Vec<_>>())
        })
        .collect()
}

/// Whether a run on one CPU would tell how much it costs.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    input.program.threads >= 2
        && input
            .program
            .follow_up
            .shared_lines
            .as_ref()
            .is_some_and(|lines| !lines.is_empty())
}

fn candidate(input: &AnalysisInput, lines: &[&SharedLine]) -> Option<Candidate> {
    let first = lines.first()?;
    let function = input.functions.get(first.function)?;
    let share = function.loop_heat(first.around);
    if share < MIN_SHARE_OF_SHARED_WRITES {
        return None;
    }
    let cost = function.loops.get(first.around as usize)?.as_ref();
    let known = cost.and_then(|cost| {
        let measured = cost.cycles?.value;
        let side_by_side = cost.throughput_cycles?.value;
        (measured > 0.0).then_some((measured, side_by_side))
    });
    let by_model = match known {
        Some((measured, side_by_side)) => share * (1.0 - side_by_side / measured).max(0.0),
        None => UNKNOWN_SHARED_WRITES * share,
    };
    let fall = input
        .program
        .follow_up
        .one_cpu_seconds
        .map(|alone| input.program.cpu_seconds / alone.max(1e-9));
    let by_run = fall
        .map_or(0.0, |fall| (1.0 - 1.0 / fall).max(0.0))
        .min(MAX_SHARING_SAVED * share);
    // Padding saves what one CPU alone saves, a sum of the thread's own as much as the model says.
    let likely = match fall {
        Some(_) => 0.5 * (by_run + by_run.max(by_model)),
        None => SHARING_SAVED_BY_MODEL * by_model,
    };
    let most = by_run.max(by_model);
    let mut writes: Vec<usize> = lines.iter().map(|line| line.at).collect();
    writes.sort_by(|&a, &b| function.heat[b].total_cmp(&function.heat[a]));
    writes.dedup();
    let executions = function.counts.get(first.at).copied();
    let mut found = Candidate::new(
        Cause::FalseSharing,
        Some(first.function),
        writes,
        Fix::SeparateCacheLines,
    );
    found.affected = function.loop_instructions(first.around);
    found.saves(&[
        SavedTime::within(
            (
                likely,
                (SHARING_SAVED_LOW.0 * by_run).max(SHARING_SAVED_LOW.1 * by_model),
                most,
            ),
            (1.0, 1.0, 1.0),
        ),
        SavedTime::of(1.0 - most, SHARING_REST_SAVED),
    ]);
    found.executions = executions;
    found = found
        .fact(ThreadFact::SharedCacheLine {
            threads: first.threads,
            distance_bytes: first.distance,
            samples: lines.iter().map(|line| line.samples).sum(),
        })
        .fact(ThreadFact::FixedStore {
            executions: executions.unwrap_or(0),
        });
    if let Some((cost, (measured, side_by_side))) = cost.zip(known) {
        found = found
            .fact(LoopFact::Time {
                share: Some(share),
                iterations: cost.iterations,
                cycles: measured,
                trip_count: None,
            })
            .fact(LoopFact::Model {
                cycles: measured,
                modelled: Estimate::exact(side_by_side),
                case: ModelCase::Throughput,
            });
    }
    if let Some(ratio) = fall.filter(|&fall| fall > MIN_SHARING_RATIO) {
        found = found.fact(ThreadFact::OneCpu { ratio });
    }
    Some(found)
}
