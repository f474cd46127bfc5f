//! Texts that are checked to be UTF-8 piece by piece: part of `invariant-check`.
//!
//! **Signature.** A function of the user's own calls the library's check of short pieces, often, and that takes a good
//! part of the time: to begin and to end a check takes longer than to check so few bytes.
//!
//! **Near misses.** Long texts, which must be read once in any case; lines that the library itself reads and checks.
//!
//! **Gain.** All that the check takes, and what tests its outcome, where the bytes are known to be text (they were
//! written by the program, or are a part of a text); a part of it where the whole is checked once.
//!
//! **Source.** serde_json 1.0.63 (e0747b9979e4): what the serialiser wrote was checked again for each piece.

use genba_model::{CallFact, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::cost;
use crate::constants::counts::MIN_CALLS_HABITUAL;
use crate::constants::gains::{MAX_CYCLES_OF_SHORT_TEXT_CHECK, TEXT_CHECKS_SAVED};
use crate::constants::time_shares::MIN_SHARE_OF_CONVERSION;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, cycles_of_all};

/// Calls of the user's own that check short texts.
pub(super) fn text_checks(input: &AnalysisInput) -> Vec<Candidate> {
    let calls = all_calls(input).filter(|call| {
        let caller = &input.functions[call.caller];
        caller.own && !caller.is_library_template() && is_check(&call.target.function)
    });
    calls.filter_map(|call| candidate(input, &call)).collect()
}

/// Whether a function of Rust's library checks that bytes are text.
fn is_check(name: &str) -> bool {
    matches!(
        name,
        "core::str::converts::from_utf8"
            | "core::str::from_utf8"
            | "core::str::validations::run_utf8_validation"
    )
}

fn candidate(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let calls = call.target.count;
    let (inside, _) = cost(input, call)?;
    let cycles = inside * cycles_of_all(input)? / calls.max(1) as f64;
    if calls < MIN_CALLS_HABITUAL
        || inside < MIN_SHARE_OF_CONVERSION
        || cycles > MAX_CYCLES_OF_SHORT_TEXT_CHECK
    {
        return None;
    }
    let site = vec![call.site.at];
    let mut one = Candidate::new(
        Cause::InvariantCheck,
        Some(call.caller),
        site,
        Fix::CheckTextOnce,
    );
    one.saves(&[SavedTime::of(inside, TEXT_CHECKS_SAVED)]);
    one.executions = Some(calls);
    one.cycles = Some(Estimate::exact(cycles));
    Some(one.fact(CallFact::Time {
        function: Some(call.target.function.clone()),
        share: inside,
        cycles,
    }))
}
