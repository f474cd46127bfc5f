//! `bytewise-copy`: long runs copied or appended one byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte, stores it unchanged and advances by one, in
//! runs of 16 bytes or more. A comparison that finds the end of the run is no other use of the
//! byte. Or a loop that appends a byte per iteration to a buffer whose length it loads from memory
//! and stores there again ([`crate::patterns::appends`]).
//!
//! **Confirmation.** The counted run length.
//!
//! **Gain.** `memcpy` moves 16 to 64 bytes per instruction and takes a dozen cycles to start;
//! finding the end first (`memchr`) takes as much again. Of appended bytes the loop is modelled with
//! pointer and length in registers; without them it may be vectorised.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use genba_model::{ByteOperation, Cause, Estimate, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::constants::gains::{APPENDED_VECTOR_LOW, BYTE_COPY_CYCLES, MAX_LOOP_RESIDUAL};
use crate::constants::time_shares::MIN_SHARE_OF_BYTE_LOOP;
use crate::gain::saved_time::combined;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::appends::append;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};
use crate::patterns::hot_loops::hot_loops;

/// Finds loops that copy bytes unchanged, from the usual path of each loop and its counted run
/// lengths.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    let copied = all.iter().filter(|one| !one.stores.is_empty());
    let mut found: Vec<Candidate> = copied.map(candidate).collect();
    found.extend(appended(input));
    found
}

/// Loops that append bytes through memory: one candidate for all of a function, whose fix is one.
fn appended(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found: Vec<(Candidate, f64)> = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_BYTE_LOOP) {
        let appends = one.input.own.then(|| append(input, &one)).flatten();
        let Some(append) = appends.filter(|append| append.bytes == 1) else {
            continue;
        };
        let residual = append.gain.residual_fraction;
        let value = residual.value.min(MAX_LOOP_RESIDUAL);
        let residual = Estimate {
            value,
            low: (APPENDED_VECTOR_LOW * residual.low).min(value),
            high: (1.0 + value) / 2.0,
        };
        let same = |before: &&mut (Candidate, f64)| before.0.function == Some(one.function);
        if let Some((before, share)) = found.iter_mut().find(same) {
            let both = [(*share, before.residual_fraction), (one.share, residual)];
            (*share, before.residual_fraction) = combined(&both);
            before.affected.extend(&one.members);
            before.site.push(append.store);
            continue;
        }
        let fix = Fix::ReserveOnce;
        let site = vec![append.store];
        let mut candidate = Candidate::new(Cause::BytewiseCopy, Some(one.function), site, fix);
        candidate.affected.clone_from(&one.members);
        candidate.residual_fraction = residual;
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        let candidate = candidate
            .fact(LoopFact::AppendedBytes {
                bytes: one.cost.iterations,
                mean_run: one.trips,
                reloads: append.reloads,
            })
            .fact(LoopFact::ByteTime {
                share: one.share,
                cycles: one.cycles.value,
            })
            .fact(append.gain.fact());
        found.push((candidate, one.share));
    }
    found.into_iter().map(|one| one.0).collect()
}

fn candidate(found: &ByteLoop) -> Candidate {
    let mut site = found.stores.clone();
    site.extend(&found.loads);
    let mut one = Candidate::new(
        Cause::BytewiseCopy,
        Some(found.function),
        site,
        Fix::CopyRuns,
    );
    one.affected = found.path.clone();
    one.residual_fraction = found.residual_fraction(BYTE_COPY_CYCLES);
    one.executions = Some(found.iterations);
    one.cycles = Some(Estimate::exact(found.each));
    found.facts(ByteOperation::Copy, one)
}
