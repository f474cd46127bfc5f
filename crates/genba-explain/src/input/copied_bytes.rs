//! Which calls copy most bytes: time in copies is divided by bytes, not by the number of calls.

use genba_model::CodePoint;

use crate::constants::counts::{MIN_BURSTS_FOR_EVENTS, UNSEEN_COPY_BYTES};
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::is_copy_function;
use crate::patterns::calls::{Call, all_calls};

/// Mean bytes that bursts saw a call hand on; `None` where they did not see it.
pub(crate) fn bytes_of(input: &AnalysisInput, call: &Call<'_>) -> Option<f64> {
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
    (observed.bursts >= MIN_BURSTS_FOR_EVENTS).then_some(known.bytes_per_call)
}

/// The part of all copied bytes that a call copies: its counted calls times the mean size that bursts
/// saw; `None` where they did not see it.
pub(crate) fn part_of_copied_bytes(input: &AnalysisInput, call: &Call<'_>) -> Option<f64> {
    let count = |call: &Call<'_>| call.target.count as f64;
    let here = bytes_of(input, call)? * count(call);
    let copies = all_calls(input).filter(|one| is_copy_function(&one.target.function));
    // What bursts never met is short or rare.
    let bytes = copies.map(|one| bytes_of(input, &one).unwrap_or(UNSEEN_COPY_BYTES) * count(&one));
    let all: f64 = bytes.sum();
    (all > 0.0).then(|| (here / all).min(1.0))
}
