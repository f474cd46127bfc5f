//! Calls of the library's copying and filling functions for a few bytes: part of
//! `short-trip-vector-loop`.
//!
//! **Signature.** A call of `memcpy`, `memmove` or `memset`, often made, with a length that is not known at
//! compile time and that bursts show to be at most two words in nearly all calls: what the function
//! is made of (a ladder of tests of the length, loops over vectors) serves lengths that hardly come.
//!
//! **Confirmation.** A copy of fixed size for short lengths.
//!
//! **Gain.** The measured time of call and callee against that of a load, a store and a test; where there are
//! long copies besides, a cache line of theirs takes as much of the time as a short call. The
//! function's branches on the length are mispredicted where lengths vary: what is behind the call
//! waits for them, too.
//!
//! **Source.** zstd 812e8f2a16ff, LZ4 (`LZ4_wildCopy8`), Snappy (`IncrementalCopyFastPath`): copies of fixed size
//! over the end.

use genba_model::{CallFact, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::causes::dead_store::is_clearing_function;
use crate::causes::loop_invariant_call::cost;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, SHORT_COPY_BYTES};
use crate::constants::gains::{AROUND_COPY_SAVED, INLINE_COPY_CYCLES};
use crate::constants::observations::MIN_SHORT_LENGTHS;
use crate::constants::processor::CACHE_LINE_BYTES;
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::input::copied_bytes::length_of;
use crate::input::runtime_services::is_copy_function;
use crate::patterns::calls::{Call, all_calls, cycles_of_all};
use crate::patterns::observed_sites::is_enough;

/// Finds calls that copy or fill a few bytes.
pub(crate) fn short_library_copies(input: &AnalysisInput) -> Vec<Candidate> {
    let calls = all_calls(input).filter(|call| input.functions[call.caller].own);
    calls.filter_map(|call| candidate(input, &call)).collect()
}

/// Whether nearly all lengths that bursts saw of a call to the library are short; then the length with
/// what is known of it.
pub(crate) fn is_short(input: &AnalysisInput, call: &Call<'_>) -> Option<(Estimate, f64)> {
    let name = &call.target.function;
    if !is_copy_function(name) && !is_clearing_function(name) {
        return None;
    }
    let length = length_of(input, call)?;
    let short = length.short.filter(is_enough)?;
    (short.share.low >= MIN_SHORT_LENGTHS).then_some((short.share, length.bytes_of_short))
}

/// Part of the time of all calls that short ones take if each takes as long as a cache line of the long ones.
fn part_of_short(input: &AnalysisInput, call: &Call<'_>, short: f64) -> f64 {
    let Some(length) = length_of(input, call) else {
        return 1.0;
    };
    let of_long = (length.bytes_per_call - short * length.bytes_of_short).max(0.0);
    1.0 / (1.0 + of_long / CACHE_LINE_BYTES as f64)
}

/// Share of all time in the innermost loop around a call, loops inside it not counted; in the function
/// where there is none.
fn around(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let of = function.flow.loop_of_instruction(at);
    let beside =
        |one: &usize| function.flow.loop_of_instruction(*one) == of && ![at, at + 1].contains(one);
    function.heat_of((0..function.code.len()).filter(beside))
}

fn candidate(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let calls = call.target.count;
    if calls < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let (short, bytes) = is_short(input, call)?;
    let (of_all, _) = cost(input, call)?;
    let share = of_all * part_of_short(input, call, short.value);
    if share < MIN_SHARE_OF_CHAIN_LOOP {
        return None;
    }
    let cycles = |share: f64| Some(share * cycles_of_all(input)? / calls as f64);
    let each = cycles(share)?;
    let fix = Fix::FixedSizeInline {
        fill: is_clearing_function(&call.target.function),
    };
    let site = vec![call.site.at];
    let mut found = Candidate::new(Cause::ShortTripVectorLoop, Some(call.caller), site, fix);
    // Long ones go on as they are.
    let goes = |cycles: f64, short: f64| short * (1.0 - (cycles / each).min(1.0));
    let (value, low, high) = INLINE_COPY_CYCLES;
    let calls_saved = (
        goes(value, short.value),
        goes(high, short.low),
        goes(low, short.high),
    );
    found.saves(&[
        SavedTime::of(share, calls_saved),
        SavedTime::of(around(input, call), AROUND_COPY_SAVED),
    ]);
    found.executions = Some(calls);
    found.cycles = Some(Estimate::exact(each));
    Some(
        found
            .fact(CallFact::ShortLengths {
                function: call.target.function.clone(),
                calls,
                bytes,
                limit: SHORT_COPY_BYTES,
                short,
            })
            .fact(CallFact::Time {
                function: None,
                share: of_all,
                cycles: cycles(of_all)?,
            }),
    )
}
