//! `false-sharing`: threads write to different variables in one cache line.
//!
//! **Signature.** Observed, not inferred: samples with registers show that loops of several threads
//! store, at addresses that do not change from iteration to iteration, to different addresses of
//! one line of 64 bytes. Where such samples show none, or the machine cannot take them: bursts of several
//! threads show a line that they use in turn, one of them writes, and no byte of which two of them
//! use. The same address from two threads is true sharing, which is not reported.
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
use crate::constants::observations::{MIN_BURSTS, MIN_PART_OF_SHARED_ACCESSES, MIN_SEEN};
use crate::constants::time_shares::MIN_SHARE_OF_SHARED_WRITES;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, SharedLine};
use crate::patterns::observed_sites::ObservedSites;

/// Finds loops of several threads that write to one cache line at different addresses, from
/// samples with registers, else from bursts; one candidate for each loop.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let lines = sampled_lines(input);
    if lines.is_empty() {
        return observed(input);
    }
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

fn sampled_lines(input: &AnalysisInput) -> &[SharedLine] {
    let lines = input.program.follow_up.shared_lines.as_deref();
    lines.unwrap_or(&[])
}

/// Whether a run on one CPU would tell how much it costs.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    input.program.threads >= 2
        && (!sampled_lines(input).is_empty() || !observed_places(input).is_empty())
}

/// Accesses of one loop, or of one function outside of loops, to lines that others write to.
struct ObservedPlace {
    function: usize,
    around: Option<u32>,
    accesses: Vec<usize>,
    /// Indices of the lines in the observations.
    lines: Vec<usize>,
}

fn observed_places(input: &AnalysisInput) -> Vec<ObservedPlace> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let mut found: Vec<ObservedPlace> = Vec::new();
    for (number, line) in sites.observed.shared_lines.iter().enumerate() {
        let often = line.bursts >= MIN_BURSTS && line.accesses >= MIN_SEEN;
        if !line.false_sharing || line.writers == 0 || !often {
            continue;
        }
        for access in &line.by {
            let part = access.accesses as f64 / access.of.max(1) as f64;
            let Some((function, at)) = sites.users_site(access.at) else {
                continue;
            };
            if part < MIN_PART_OF_SHARED_ACCESSES {
                continue;
            }
            let around = input.functions[function].flow.loop_of_instruction(at);
            let same = |one: &ObservedPlace| (one.function, one.around) == (function, around);
            let index = match found.iter().position(same) {
                Some(index) => index,
                None => {
                    found.push(ObservedPlace {
                        function,
                        around,
                        accesses: Vec::new(),
                        lines: Vec::new(),
                    });
                    found.len() - 1
                }
            };
            let place = &mut found[index];
            if !place.accesses.contains(&at) {
                place.accesses.push(at);
            }
            if !place.lines.contains(&number) {
                place.lines.push(number);
            }
        }
    }
    found
}

fn observed(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(observed) = input
        .observed
        .as_ref()
        .filter(|_| input.program.threads >= 2)
    else {
        return Vec::new();
    };
    let places = observed_places(input);
    let candidates = places.iter().filter_map(|place| {
        let first = observed.shared_lines.get(*place.lines.first()?)?;
        let of = || place.lines.iter().map(|&line| &observed.shared_lines[line]);
        let found = rated(input, place.function, place.around, place.accesses.clone())?;
        Some(found.fact(ThreadFact::ObservedSharedLine {
            threads: first.threads,
            writers: first.writers,
            distance_bytes: u64::from(first.distance_bytes),
            lines: place.lines.len(),
            accesses: of().map(|line| line.accesses).sum(),
            bursts: of().map(|line| line.bursts).max().unwrap_or(0),
        }))
    });
    candidates.collect()
}

fn candidate(input: &AnalysisInput, lines: &[&SharedLine]) -> Option<Candidate> {
    let first = lines.first()?;
    let mut writes: Vec<usize> = lines.iter().map(|line| line.at).collect();
    writes.dedup();
    let function = input.functions.get(first.function)?;
    let executions = function.counts.get(first.at).copied().unwrap_or(0);
    let mut found = rated(input, first.function, Some(first.around), writes)?;
    let facts = std::mem::take(&mut found.facts);
    Some(
        found
            .fact(ThreadFact::SharedCacheLine {
                threads: first.threads,
                distance_bytes: first.distance,
                samples: lines.iter().map(|line| line.samples).sum(),
            })
            .fact(ThreadFact::FixedStore { executions })
            .facts(facts),
    )
}

/// The candidate for accesses of a loop, or outside of loops, with what is known of its time.
fn rated(
    input: &AnalysisInput,
    number: usize,
    around: Option<u32>,
    mut accesses: Vec<usize>,
) -> Option<Candidate> {
    let function = input.functions.get(number)?;
    let affected = match around {
        Some(around) => function.loop_instructions(around),
        None => {
            // The instruction behind may be the one that waits.
            let last = function.code.len().saturating_sub(1);
            let mut list: Vec<usize> = (accesses.iter())
                .flat_map(|&at| [at, (at + 1).min(last)])
                .collect();
            list.sort_unstable();
            list.dedup();
            list
        }
    };
    let share = function.heat_of(affected.iter().copied());
    if share < MIN_SHARE_OF_SHARED_WRITES {
        return None;
    }
    let cost = around.and_then(|around| function.loops.get(around as usize)?.as_ref());
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
    accesses.sort_by(|&a, &b| function.heat[b].total_cmp(&function.heat[a]));
    accesses.dedup();
    let executions = (accesses.first()).and_then(|&at| function.counts.get(at).copied());
    let mut found = Candidate::new(
        Cause::FalseSharing,
        Some(number),
        accesses,
        Fix::SeparateCacheLines,
    );
    found.affected = affected;
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
