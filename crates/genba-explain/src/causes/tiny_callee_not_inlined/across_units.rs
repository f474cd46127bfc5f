//! Small functions of another translation unit: within one unit the compiler saw both and decided;
//! across units it could not.

use std::collections::BTreeMap;

use genba_model::{CallFact, CallKind, Cause, Confirmation, Fix};

use super::is_tiny;
use crate::candidate::Candidate;
use crate::constants::counts::MIN_CALLS_IN_HOT_CODE;
use crate::constants::processor::DEFAULT_CALL_CYCLES;
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::{Call, all_calls, inlined};

/// Small functions called directly and often from another translation unit.
pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<(String, String), Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), false) = (call.callee, call.site.indirect || call.site.plt) else {
            continue;
        };
        let (from, to) = (&input.functions[call.caller], &input.functions[callee]);
        if is_tiny(call.target, to) && from.own && to.own && across_units(from, to) {
            let unit = to.unit.clone().unwrap_or_default();
            groups
                .entry((to.module.clone(), unit))
                .or_default()
                .push(call);
        }
    }
    groups
        .values()
        .filter_map(|calls| candidate(input, calls))
        .collect()
}

/// Whether the compiler cannot have seen the callee's body where it compiled the caller.
fn across_units(from: &FunctionInput, to: &FunctionInput) -> bool {
    let (Some(a), Some(b)) = (&from.unit, &to.unit) else {
        return false;
    };
    let assembler = |unit: &str| {
        let lower = unit.to_ascii_lowercase();
        [".s", ".asm"].iter().any(|ending| lower.ends_with(ending))
    };
    // rustc's units are parts of a crate: `src/main.rs/@/name.hash-cgu.0`.
    let (crate_a, crate_b) = (a.split("/@/").next(), b.split("/@/").next());
    if crate_a == crate_b || assembler(b) {
        return false;
    }
    // A body in a header, or of a template, was seen by both.
    let rust = b.contains("/@/");
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let own_file = to
        .places
        .iter()
        .find_map(|place| place.file.as_deref())
        .map(file);
    rust || own_file == Some(file(b))
}

fn candidate(input: &AnalysisInput, calls: &[Call<'_>]) -> Option<Candidate> {
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call + ret")
        .map_or(DEFAULT_CALL_CYCLES, |cost| cost.value);
    let found = inlined(input, calls, overhead, 0.0)?;
    let share_of = |index: usize| input.functions[index].share.value;
    let mut callees: Vec<usize> = calls.iter().filter_map(|call| call.callee).collect();
    callees.sort_unstable();
    callees.dedup();
    if found.calls < MIN_CALLS_IN_HOT_CODE
        || callees.iter().map(|&c| share_of(c)).sum::<f64>() < MIN_SHARE_OF_CALLEE
    {
        return None;
    }
    let main = *callees
        .iter()
        .max_by(|&&a, &&b| share_of(a).total_cmp(&share_of(b)))?;
    let callee = &input.functions[main];
    let hottest = calls
        .iter()
        .filter(|call| call.callee == Some(main))
        .max_by_key(|call| call.target.count)?;
    let caller = &input.functions[hottest.caller];
    let fix = Fix::Inline {
        function: callee.function.clone(),
    };
    let mut one = Candidate::new(
        Cause::TinyCalleeNotInlined,
        Some(main),
        (0..callee.code.len()).collect(),
        fix,
    );
    let from = caller
        .places
        .get(hottest.site.at)
        .and_then(|p| p.function.clone());
    let from = from.unwrap_or_else(|| caller.function.clone());
    one.confirmation = Confirmation::LinkTimeOptimisation;
    let one = one
        .fact(CallFact::SmallCallee {
            function: callee.function.clone(),
            others: callees.len() - 1,
            calls: found.calls,
            instructions: hottest.target.instructions_per_call,
            caller: Some(from),
            plt: false,
        })
        .fact(CallFact::SeparateUnits {
            callee: callee.unit.as_deref().map(file_of_unit),
            caller: caller.unit.as_deref().map(file_of_unit),
        });
    Some(found.told(one, CallKind::Direct, overhead))
}

/// The file name of a translation unit; of rustc's units that of the crate's root.
fn file_of_unit(unit: &str) -> String {
    let path = unit.split("/@/").next().unwrap_or(unit);
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
