//! `redundant-computation`: a function computes again what it computed before.
//!
//! **Signature.** Observed: most calls from one place take the arguments, read the memory and give the
//! result of an earlier call from there, among few different inputs or just after one another; the
//! function changes no memory of others, makes no system call, and has enough work for a kept
//! result to be cheaper. Or each call is about one object that stays as it is, and can keep the result.
//! Or the calls do what the same function did just before for another place
//! (a hash for the look-up, and again for the insertion). Or the result is a structure on the heap, made of the same again: a table that is
//! parsed for each of its users. Not reported are constructors (they read next to nothing), copies (they do little else than load and store) and
//! benchmarks (nearly all time is in such calls). Or a function calls itself again and again for the same. Of calls within repeated calls the outer ones
//! are reported. Likewise loops
//! (most functions are inlined): most runs load the same again, and what they compute follows from
//! that ([`crate::patterns::loop_inputs`]), or another copy of the same loop, inlined elsewhere, has just gone over the same, or add up mostly the same terms (`sums_again`). And sorts of what is in order already ([`super::ordered_sorts`]),
//! files that are opened or asked about again (`same_files`), and functions that store what is there already
//! (`built_again`). And, by the code alone, elementary functions of
//! one byte (`results_of_bytes`).
//!
//! **Confirmation.** The result kept.
//!
//! **Gain.** The measured time of the repeated calls with all that they call, less what a look at a kept
//! result costs. Of repeated loops up to that of the function that they are in: whether the rest of it
//! follows from the same inputs is not observed.
//!
//! **Source.** L. Della Toffola et al., "Performance problems you can fix: a dynamic analysis of
//! memoization opportunities", OOPSLA 2015; S. Wen et al., "RedSpy: exploring value locality in
//! software", ASPLOS 2017.

mod built_again;
mod calls;
mod inlined_copies;
mod loops;
mod results_of_bytes;
mod same_files;
mod starting_over;
mod sums_again;

use genba_model::{Cause, Estimate, Fix};
use genba_observe::{RepeatedLoop, Seen};

use crate::candidate::Candidate;
use crate::causes::ordered_sorts::ordered_sorts;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{MAX_DISTINCT_INPUTS, MIN_REPEATED, MIN_REPEATED_AMONG_FEW};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::observed_sites::is_enough;

use built_again::built_again;
pub(crate) use calls::repeated_calls;
pub(crate) use same_files::is_suspected as files_may_come_again;
use starting_over::starting_over;
use sums_again::sums_again;

/// Finds calls that repeat earlier ones, but searches; and loops that compute from repeated loads.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let calls = repeated_calls(input);
    let computed = calls.iter().filter(|call| !call.searches);
    let mut found: Vec<Candidate> = computed
        .map(|call| {
            let function = call.target.function.clone();
            let fix = match call.recurses {
                true => Fix::MemoiseRecursion { function },
                false if call.makes => Fix::KeepMade { function },
                false => Fix::KeepResult { function },
            };
            call.candidate(Cause::RedundantComputation, fix)
        })
        .collect();
    found.extend(loops::repeated_loops(input));
    found.extend(starting_over(input));
    let named = |number| {
        let named = |call: &calls::RepeatedCalls<'_>| call.callee(input) == Some(number);
        calls.iter().any(named)
    };
    found.extend(built_again(input, &named));
    found.extend(sums_again(input));
    found.extend(inlined_copies::detect(input));
    found.extend(ordered_sorts(input));
    found.extend(same_files::same_files(input));
    found.extend(results_of_bytes::results_of_bytes(input));
    found
}

/// The share of a loop's runs that repeat an earlier one, and whether it is the one just before. Among many different runs
/// of a burst it is one of the latest.
fn how_loop_repeats(seen: &RepeatedLoop) -> Option<(Estimate, bool)> {
    let recent = seen.repeats_recent.as_ref().filter(|one| is_enough(one));
    how_repeated(&seen.seen, &seen.repeats_previous, seen.distinct_per_burst).or_else(|| {
        let recent = recent.filter(|one| one.share.low >= MIN_REPEATED_AMONG_FEW)?;
        Some((recent.share, false))
    })
}

/// The share of executions that repeat an earlier one, and whether it is the one just before; `None`
/// if too few do, or after too many others.
fn how_repeated(any: &Seen, previous: &Seen, distinct: f64) -> Option<(Estimate, bool)> {
    let after = is_enough(previous) && previous.share.low >= MIN_REPEATED;
    let few = is_enough(any)
        && any.share.low >= MIN_REPEATED_AMONG_FEW
        && distinct <= MAX_DISTINCT_INPUTS;
    match (few, after) {
        (true, _) => Some((any.share, after)),
        (_, true) => Some((previous.share, true)),
        _ => None,
    }
}

/// What stays when repeated work is replaced by a look at what was kept; costs as parts of the work.
fn left(repeated: Estimate, costs: [f64; 3]) -> Estimate {
    let [value, low, high] = costs.map(|cost| cost.min(1.0));
    Estimate {
        value: 1.0 - repeated.value * (1.0 - value),
        low: 1.0 - repeated.high * (1.0 - low),
        high: (1.0 - repeated.low * (1.0 - high)).min(MAX_RESIDUAL),
    }
}
