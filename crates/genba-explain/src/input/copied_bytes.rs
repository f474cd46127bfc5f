//! Which calls copy most bytes: time in copies is divided by bytes, not by the number of calls.

use genba_model::{CodePoint, FindingSite};
use genba_observe::CallLength;

use crate::constants::counts::{MIN_BURSTS_FOR_EVENTS, UNSEEN_COPY_BYTES};
use crate::constants::processor::{LEAST_COPY_BANDWIDTH, MOST_SECONDS_OF_SHORT_COPY};
use crate::constants::time_shares::MOST_OF_IT;
use crate::finding_site::site;
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::is_copy_function;
use crate::patterns::calls::{Call, all_calls};

/// What bursts saw of a call's lengths; `None` where they did not see it.
pub(crate) fn length_of(input: &AnalysisInput, call: &Call<'_>) -> Option<CallLength> {
    let observed = input.observed.as_ref()?;
    let function = &input.functions[call.caller];
    let at = CodePoint {
        module: observed.module(&function.module)?,
        address: function.code.get(call.site.at)?.address,
    };
    let index = observed
        .call_lengths
        .binary_search_by_key(&at, |one| one.at);
    let known = observed.call_lengths.get(index.ok()?)?;
    (observed.bursts >= MIN_BURSTS_FOR_EVENTS).then_some(*known)
}

/// Mean bytes that bursts saw a call hand on; `None` where they did not see it.
pub(crate) fn bytes_of(input: &AnalysisInput, call: &Call<'_>) -> Option<f64> {
    Some(length_of(input, call)?.bytes_per_call)
}

/// Large copies, as far as bursts saw the sizes of calls.
pub(crate) struct LargeCopies {
    /// Calls with large sizes.
    pub calls: f64,
    /// Their part of all copied bytes.
    pub part: f64,
    /// The user's line that copies most bytes.
    pub site: FindingSite,
    /// Its part of all copied bytes.
    pub here: f64,
}

/// Whether so many bytes in so many calls can take the time that copies take. If not, a call that bursts
/// did not meet copies the rest: one of megabytes is rare, and bursts that begin within it see no length.
fn explain_time(input: &AnalysisInput, bytes: f64, calls: f64) -> bool {
    let seconds = input.copy_share() * input.program.cpu_seconds;
    seconds <= bytes / LEAST_COPY_BANDWIDTH + calls * MOST_SECONDS_OF_SHORT_COPY
}

/// The large copies where they are most of the copied bytes; `None` where bursts saw no such call, or
/// not those that take the time.
pub(crate) fn large_copies(input: &AnalysisInput, from_bytes: f64) -> Option<LargeCopies> {
    let (mut all, mut all_calls_made, mut large, mut calls) = (0.0, 0.0, 0.0, 0.0);
    let mut lines: Vec<(FindingSite, f64)> = Vec::new();
    for call in all_calls(input).filter(|one| is_copy_function(&one.target.function)) {
        let count = call.target.count as f64;
        let each = bytes_of(input, &call).unwrap_or(UNSEEN_COPY_BYTES);
        all += each * count;
        all_calls_made += count;
        if each < from_bytes {
            continue;
        }
        large += each * count;
        calls += count;
        let function = &input.functions[call.caller];
        if !function.own {
            continue;
        }
        let here = site(function, &[call.site.at]);
        let same = |line: &&mut (FindingSite, f64)| {
            (&line.0.function, &line.0.file, line.0.line) == (&here.function, &here.file, here.line)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.1 += each * count,
            None => lines.push((here, each * count)),
        }
    }
    let (site, bytes) = lines.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let known = large >= MOST_OF_IT * all && explain_time(input, all, all_calls_made);
    known.then(|| LargeCopies {
        calls,
        part: large / all,
        site,
        here: bytes / all,
    })
}

/// The part of all copied bytes that a call copies: its counted calls times the mean size that bursts
/// saw; `None` where they did not see it, or not the copies that take the time.
pub(crate) fn part_of_copied_bytes(input: &AnalysisInput, call: &Call<'_>) -> Option<f64> {
    let count = |call: &Call<'_>| call.target.count as f64;
    let here = bytes_of(input, call)? * count(call);
    let copies = all_calls(input).filter(|one| is_copy_function(&one.target.function));
    let (mut all, mut calls) = (0.0, 0.0);
    for one in copies {
        // What bursts never met is short or rare.
        all += bytes_of(input, &one).unwrap_or(UNSEEN_COPY_BYTES) * count(&one);
        calls += count(&one);
    }
    (all > 0.0 && explain_time(input, all, calls)).then(|| (here / all).min(1.0))
}
