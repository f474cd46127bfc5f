//! Calls that round a number. The x86-64 baseline has no instruction for it, so that `floor` and its like are functions
//! of the mathematical library; since SSE4.1 most are one instruction (Intel SDM volume 2, ROUNDSD). A loop with such a
//! call cannot be vectorised.
//!
//! **Signature.** An innermost loop of the user's own calls such functions, and hardly ever another one (a vector that
//! grows now and then).
//!
//! **Near misses.** Loops with other calls keep those. Methods of these names are other functions; Rust links its own
//! copies of the library's into the program.
//!
//! **Gain.** The measured time of the calls, and a part of the loop around, which may be vectorised.

use std::collections::BTreeMap;

use genba_model::{CallFact, Cause, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::MIN_SHARE_OF_ROUNDING;
use crate::constants::gains::{AROUND_ROUNDING_SAVED, ROUNDING_SAVED};
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, cycles_of_all};
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::search_loops::stem;

/// Hot loops that round by calls: a candidate for each.
pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut loops: BTreeMap<(usize, u32), Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let function = &input.functions[call.caller];
        let index = function.flow.loop_of_instruction(call.site.at);
        let index = index.filter(|&index| function.is_innermost(index));
        if let (Some(index), true) = (index, function.own && call.target.count > 0) {
            loops.entry((call.caller, index)).or_default().push(call);
        }
    }
    let mut found = Vec::new();
    for ((number, index), calls) in loops {
        let executions = |calls: &[Call<'_>]| calls.iter().map(|one| one.target.count).sum::<u64>();
        let (rounding, others): (Vec<_>, Vec<_>) = calls
            .into_iter()
            .partition(|call| is_rounding(&call.target.function));
        let total = executions(&rounding) + executions(&others);
        if executions(&rounding) as f64 >= MIN_SHARE_OF_ROUNDING * total as f64 {
            found.extend(candidate(input, number, index, &rounding));
        }
    }
    found
}

fn candidate(
    input: &AnalysisInput,
    number: usize,
    index: u32,
    calls: &[Call<'_>],
) -> Option<Candidate> {
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let name = stem(&hottest.target.function).to_owned();
    let shares = calls
        .iter()
        .map(|call| share_of_target(input, number, call.target));
    let share = shares.sum::<f64>().min(1.0);
    if share < MIN_SHARE_OF_CALLEE {
        return None;
    }
    let count: u64 = calls.iter().map(|call| call.target.count).sum();
    let at: Vec<usize> = calls.iter().map(|call| call.site.at).collect();
    let fix = Fix::RoundInline {
        function: name.clone(),
    };
    let mut one = Candidate::new(Cause::TinyCalleeNotInlined, Some(number), at, fix);
    one.affected = input.functions[number].loop_instructions(index);
    one.saves(&[
        SavedTime::of(share, ROUNDING_SAVED),
        SavedTime::of(
            input.functions[number].loop_heat(index),
            AROUND_ROUNDING_SAVED,
        ),
    ]);
    one.executions = Some(count);
    Some(
        one.fact(CallFact::SmallCallee {
            function: name.clone(),
            others: 0,
            calls: count,
            instructions: hottest.target.instructions_per_call,
            caller: None,
            plt: hottest.site.plt,
        })
        .fact(CallFact::Time {
            function: Some(name),
            share,
            cycles: share * cycles_of_all(input)? / count.max(1) as f64,
        }),
    )
}

/// Whether the library's function rounds a floating-point number to a whole one.
fn is_rounding(name: &str) -> bool {
    let stem = stem(name);
    let of_double = stem.strip_suffix('f').unwrap_or(stem);
    matches!(
        of_double,
        "floor" | "ceil" | "trunc" | "rint" | "nearbyint" | "round" | "roundeven"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_for_processors_and_single_precision_round_too() {
        for name in [
            "floor",
            "floorf",
            "__floor_sse41",
            "roundf@@GLIBC_2.2.5",
            "rint",
        ] {
            assert!(is_rounding(name), "{name}");
        }
        for name in ["fmod", "lround", "erf", "printf"] {
            assert!(!is_rounding(name), "{name}");
        }
    }
}
