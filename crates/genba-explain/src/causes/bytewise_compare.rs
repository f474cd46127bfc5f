//! `bytewise-compare`: long runs compared or searched one byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte and only compares it, with a byte of another
//! run, with a constant or by a table of what stops it, in runs of 16 bytes or more (of two runs: of six, since a comparison of words needs no
//! call and its end is seldom mispredicted: matches of compressors). Or a long loop without branches that only
//! asks of each byte whether it is one of a few that stay ([`crate::patterns::byte_matches`]). Or a loop that
//! only tests bytes, by tables too, at a position that it stores in memory for each, and mostly reads there
//! ([`crate::patterns::memory_scans`]). Or a search for a word that goes on by what a table has for a letter
//! ([`crate::patterns::text_skips`]): each step waits for two loads one behind the other.
//!
//! **Confirmation.** The counted run length. Short runs are not reported: wider code does not pay
//! there.
//!
//! **Gain.** Eight to 32 bytes per comparison, plus some cycles to start and to locate the byte. Of positions in
//! memory: a load, a look-up and a test for each byte, and for each run one byte on the general path as before.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17; W. Muła, "SIMD-friendly algorithms for
//! substring searching", 2018.

use genba_model::{ByteOperation, Cause, Estimate, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::causes::missed_vectorisation;
use crate::constants::counts::{MIN_BYTES_IN_RUN, MIN_BYTES_PER_LONG_SCAN};
use crate::constants::gains::{
    BYTE_COMPARE_CYCLES, BYTES_BETWEEN_MATCHES, CLASS_TEST_CYCLES, CYCLES_OF_SKIPPED_BYTES,
    MAX_RESIDUAL, SCAN_AHEAD_CYCLES, WORD_COMPARE_CYCLES,
};
use crate::constants::time_shares::{MIN_SHARE_OF_BYTE_LOOP, MOST_OF_IT};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};
use crate::patterns::byte_matches::byte_matches;
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::memory_scans::memory_scan;
use crate::patterns::text_skips::{Skips, skips};

/// Finds loops that only compare bytes, from the usual path of each loop and its counted run
/// lengths.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    let of_loops = (all
        .iter()
        .filter(|one| one.stores.is_empty() && !one.turns_round))
    .map(|one| candidate(input, one));
    let mut found: Vec<Candidate> = through_memory(input);
    for one in of_loops
        .chain(without_branches(input))
        .chain(by_skips(input))
    {
        // A position kept in a register is the smaller change, where it is the position that costs.
        let same = |other: &Candidate| {
            other.function == one.function
                && (one.affected())
                    .iter()
                    .any(|at| other.affected().contains(at))
        };
        match found.iter().position(same) {
            Some(other) if found[other].residual_fraction.value > MOST_OF_IT => found[other] = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found
}

/// Loops that pass bytes at a position in memory, with tests of more than the bytes.
fn through_memory(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP);
    let own = loops.iter().filter(|one| one.input.own);
    own.filter_map(|one| {
        let scan = memory_scan(one)?;
        let each = one.cycles.value * one.input.heat_of(scan.usual.iter().copied())
            / one.share.max(f64::MIN_POSITIVE);
        let [start, per_byte] = SCAN_AHEAD_CYCLES;
        // The byte that ends a run goes through all tests as before.
        let stays = |number: usize| {
            let after = each + start[number] + per_byte[number] * scan.run;
            (after / (each * scan.run)).min(1.0)
        };
        let mut found = Candidate::new(
            Cause::BytewiseCompare,
            Some(one.function),
            vec![scan.load],
            Fix::ScanAhead,
        );
        found.residual_fraction = Estimate {
            value: stays(0),
            low: stays(1),
            high: stays(2),
        };
        found.executions = Some(one.cost.iterations);
        found.cycles = Some(one.cycles);
        let share = one.input.heat_of(scan.usual.iter().copied());
        found.affected = scan.usual;
        Some(
            found
                .fact(LoopFact::BytesThroughMemory {
                    bytes: one.cost.iterations,
                    mean_run: scan.run,
                    reloads: scan.reloads,
                })
                .fact(LoopFact::ByteTime {
                    share,
                    cycles: each,
                })
                .fact(LoopFact::WideByteCost {
                    operation: ByteOperation::Test,
                }),
        )
    })
    .collect()
}

/// Loops that count or remember the place of certain bytes by conditional moves.
fn without_branches(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP);
    let own = loops.iter().filter(|one| one.input.own);
    own.filter_map(|one| {
        let matches = byte_matches(one)?;
        // A count is what compilers vectorise.
        let vectorised = || missed_vectorisation::detect(input);
        let same = |other: &Candidate| {
            other.function == Some(one.function)
                && (other.site.iter()).any(|at| one.members.contains(at))
        };
        if matches.counts_only && vectorised().iter().any(same) {
            return None;
        }
        let bytes = matches.bytes as f64;
        if one.trips? * bytes < MIN_BYTES_PER_LONG_SCAN {
            return None;
        }
        let each = one.cycles.value / bytes;
        let [start, per_byte] = BYTE_COMPARE_CYCLES;
        let stays = |number: usize| {
            let wide = start[number] / BYTES_BETWEEN_MATCHES[number] + per_byte[number];
            (wide / each).min(MAX_RESIDUAL)
        };
        let (value, low) = (stays(0), stays(1));
        let site = matches.comparisons.clone();
        let mut found = Candidate::new(
            Cause::BytewiseCompare,
            Some(one.function),
            site,
            Fix::LibrarySearch,
        );
        found.affected.clone_from(&one.members);
        found.residual_fraction = Estimate {
            value,
            low: low.min(value),
            high: stays(2).max(value),
        };
        found.executions = Some(one.cost.iterations);
        found.cycles = Some(one.cycles);
        let all = one.cost.iterations as f64 * bytes;
        Some(
            found
                .fact(LoopFact::ByteTests {
                    bytes: all as u64,
                    mean_run: one.trips? * bytes,
                })
                .fact(LoopFact::ByteTime {
                    share: one.share,
                    cycles: each,
                })
                .fact(LoopFact::WideByteCost {
                    operation: ByteOperation::Compare,
                }),
        )
    })
    .collect()
}

/// Searches for a word that look at one byte, and go on by what a table has for another.
fn by_skips(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP);
    let own = loops.iter().filter(|one| one.input.own);
    own.filter_map(|one| {
        let trips = one.trips.filter(|&trips| trips >= MIN_BYTES_IN_RUN)?;
        let Skips { comparisons, steps } = skips(one)?;
        let stays = |cycles: f64| (cycles / one.cycles.value).min(MAX_RESIDUAL);
        let [value, low, high] = CYCLES_OF_SKIPPED_BYTES;
        let mut site = comparisons;
        site.extend(steps);
        site.sort_unstable();
        let mut found = Candidate::new(
            Cause::BytewiseCompare,
            Some(one.function),
            site,
            Fix::SearchWord,
        );
        found.affected.clone_from(&one.members);
        found.residual_fraction = Estimate {
            value: stays(value),
            low: stays(low),
            high: stays(high),
        };
        found.executions = Some(one.cost.iterations);
        found.cycles = Some(one.cycles);
        Some(
            found
                .fact(LoopFact::SkipsInText {
                    positions: one.cost.iterations,
                    mean_run: trips,
                })
                .fact(LoopFact::Time {
                    share: Some(one.share),
                    iterations: one.cost.iterations,
                    cycles: one.cycles.value,
                    trip_count: None,
                }),
        )
    })
    .collect()
}

fn candidate(input: &AnalysisInput, found: &ByteLoop) -> Candidate {
    let fix = match (found.compares_two, found.by_table) {
        (true, _) => Fix::WideCompare,
        (_, true) => Fix::WideClasses,
        _ => Fix::LibrarySearch,
    };
    let mut one = Candidate::new(
        Cause::BytewiseCompare,
        Some(found.function),
        found.loads.clone(),
        fix,
    );
    one.affected = found.path.clone();
    let wide = match found.run < MIN_BYTES_IN_RUN {
        true => WORD_COMPARE_CYCLES,
        false if found.by_table => CLASS_TEST_CYCLES,
        false => BYTE_COMPARE_CYCLES,
    };
    one.residual_fraction = found.residual_fraction(input, wide);
    one.executions = Some(found.iterations);
    one.cycles = Some(Estimate::exact(found.each));
    let operation = match found.by_table {
        true => ByteOperation::Classify,
        false => ByteOperation::Compare,
    };
    found.facts(operation, one)
}
