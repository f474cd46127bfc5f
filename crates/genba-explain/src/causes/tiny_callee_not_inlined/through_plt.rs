//! Small functions called through the procedure linkage table. A shared library that calls its own
//! exported function goes through the PLT, because another module may interpose the function; for
//! the same reason the compiler may not inline it. Across modules only a definition in the header or
//! a static link with link-time optimisation allows that.
//!
//! **Source.** U. Drepper, "How To Write Shared Libraries", 2011, section 2.2.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{CallFact, CallKind, Cause, Confirmation, Fix};

use super::is_tiny;
use crate::candidate::Candidate;
use crate::constants::counts::MIN_CALLS_IN_HOT_CODE;
use crate::constants::processor::DEFAULT_PLT_CALL_CYCLES;
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, inlined};

/// Hot calls through the PLT of small functions of the user's own: a candidate for each callee, whose
/// symbol is hidden once for all callers; callees of little time are one for the module.
pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<(usize, bool), Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), true) = (call.callee, call.site.plt && !call.site.indirect) else {
            continue;
        };
        let (from, to) = (&input.functions[call.caller], &input.functions[callee]);
        if from.own && to.own && is_tiny(call.target, to) {
            let same = from.module == to.module;
            groups.entry((callee, same)).or_default().push(call);
        }
    }
    let mut found = Vec::new();
    let mut small: BTreeMap<(&str, bool), Vec<Call<'_>>> = BTreeMap::new();
    for ((callee, same), calls) in groups {
        match candidate(input, &calls, same) {
            Some(one) if one.share_of_time(input) >= MIN_SHARE_OF_CALLEE => found.push(one),
            _ => {
                let module = input.functions[callee].module.as_str();
                small.entry((module, same)).or_default().extend(calls);
            }
        }
    }
    let together = small.iter();
    found.extend(together.filter_map(|((_, same), calls)| candidate(input, calls, *same)));
    found
}

fn candidate(input: &AnalysisInput, calls: &[Call<'_>], same_module: bool) -> Option<Candidate> {
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let function = hottest.target.function.clone();
    let fix = match same_module {
        true => Fix::HideSymbol { function },
        false => Fix::DefineInHeader { function },
    };
    inlined_calls(input, calls, fix)
}

/// Calls of functions through the PLT as one candidate, whose fix makes them inline.
pub(super) fn inlined_calls(
    input: &AnalysisInput,
    calls: &[Call<'_>],
    fix: Fix,
) -> Option<Candidate> {
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call [PLT] + ret")
        .map_or(DEFAULT_PLT_CALL_CYCLES, |cost| cost.value);
    let found = inlined(input, calls, overhead, 0.0)?;
    if found.calls < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let caller = &input.functions[hottest.caller];
    let name = &hottest.target.function;
    let interposed = matches!(fix, Fix::HideSymbol { .. });
    let mut one = Candidate::new(
        Cause::TinyCalleeNotInlined,
        Some(hottest.caller),
        vec![hottest.site.at],
        fix,
    );
    let mut around: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(caller, at) in &found.around {
        around.entry(caller).or_default().push(at);
    }
    one.affected = around.remove(&hottest.caller).unwrap_or_default();
    one.copies = around.into_iter().collect();
    let several = !one.copies.is_empty();
    let callees: BTreeSet<Option<usize>> = calls.iter().map(|call| call.callee).collect();
    let module = caller.module.rsplit('/').next().unwrap_or(&caller.module);
    if !matches!(one.fix, Fix::UnlockStream { .. }) {
        one.confirmation = Confirmation::NoInterposition;
    }
    let one = one
        .fact(CallFact::SmallCallee {
            function: name.clone(),
            others: callees.len() - 1,
            calls: found.calls,
            instructions: hottest.target.instructions_per_call,
            caller: several.then(|| caller.function.clone()),
            plt: true,
        })
        .fact(match interposed {
            true => CallFact::Interposable {
                module: module.to_owned(),
            },
            false => CallFact::OtherModule,
        });
    Some(found.told(one, CallKind::Plt, overhead))
}
