//! Functions that are small on their usual path, and that compilers do not inline for the size of the rest.

use std::collections::BTreeMap;

use genba_code::{Flow, Opaque};
use genba_model::{CallFact, CallKind, Cause, Estimate, Fix, PathFact};

use super::is_tiny;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_CODE_OF_TINY_CALLEE, MAX_INSTRUCTIONS_OF_TINY_CALLEE, MIN_CALLS_IN_HOT_CODE, RARE_PATH,
};
use crate::constants::processor::DEFAULT_CALL_CYCLES;
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::{Call, all_calls, inlined};
use crate::patterns::usual_path::usual_blocks;

/// Functions called directly and often whose usual path is as small as a function that is inlined.
pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<usize, Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), false) = (call.callee, call.site.indirect || call.site.plt) else {
            continue;
        };
        let (from, to) = (&input.functions[call.caller], &input.functions[callee]);
        if from.own && to.own && callee != call.caller && !is_tiny(call.target, to) {
            groups.entry(callee).or_default().push(call);
        }
    }
    (groups.iter())
        .filter_map(|(&callee, calls)| candidate(input, callee, calls))
        .collect()
}

/// The part of a function's calls that leave a small usual path; `None` if there is none.
fn rare_part(function: &FunctionInput) -> Option<f64> {
    let calls = function.calls?;
    if !function.counted
        || function.counts.len() != function.code.len()
        || calls < MIN_CALLS_IN_HOT_CODE
        || function.counts.first().copied() != Some(calls)
        || function.code.len() <= MAX_CODE_OF_TINY_CALLEE
    {
        return None;
    }
    let rarely = RARE_PATH * calls as f64;
    let blocks = usual_blocks(function, rarely);
    let is_usual = |at: usize| {
        let block = function.flow.block_of(at);
        block.is_some_and(|block| blocks[block as usize])
    };
    let usual: Vec<usize> = (0..function.code.len())
        .filter(|&at| is_usual(at))
        .collect();
    let plain = usual.iter().all(|&at| {
        function.data[at].opaque != Some(Opaque::Call)
            && !function.code[at].is_lock
            && function.flow.loop_of_instruction(at).is_none()
    });
    let executed: u64 = usual.iter().map(|&at| function.counts[at]).sum();
    let each = executed as f64 / calls as f64;
    // The returns of the usual path: who does not come there has left it.
    let returned: u64 = (usual.iter())
        .filter(|&&at| function.code[at].flow == Flow::Return)
        .map(|&at| function.counts[at])
        .sum();
    let left = 1.0 - returned.min(calls) as f64 / calls as f64;
    let small = usual.len() <= MAX_CODE_OF_TINY_CALLEE && each <= MAX_INSTRUCTIONS_OF_TINY_CALLEE;
    (plain && small && left <= RARE_PATH).then_some(left)
}

fn candidate(input: &AnalysisInput, callee: usize, calls: &[Call<'_>]) -> Option<Candidate> {
    let function = &input.functions[callee];
    let rare = rare_part(function)?;
    let overhead = (input.program.costs.throughput("call + ret"))
        .map_or(DEFAULT_CALL_CYCLES, |cost| cost.value);
    // The test for the rare path stays, and jumps to a call.
    let found = inlined(input, calls, overhead, 1.0)?;
    if found.calls < MIN_CALLS_IN_HOT_CODE || function.share.value < MIN_SHARE_OF_CALLEE {
        return None;
    }
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let caller = &input.functions[hottest.caller];
    let from = (caller.places.get(hottest.site.at)).and_then(|place| place.function.clone());
    let mut one = Candidate::new(
        Cause::TinyCalleeNotInlined,
        Some(callee),
        (0..function.code.len()).collect(),
        Fix::SplitColdPath {
            function: function.function.clone(),
        },
    );
    one.share = Some(found.share);
    one.residual_fraction = found.residual_fraction;
    one.executions = Some(found.calls);
    one.cycles = Some(Estimate::exact(found.each));
    Some(
        one.fact(CallFact::SmallCallee {
            function: function.function.clone(),
            others: 0,
            calls: found.calls,
            instructions: hottest.target.instructions_per_call,
            caller: Some(from.unwrap_or_else(|| caller.function.clone())),
            plt: false,
        })
        .fact(PathFact::RarePath {
            function: function.function.clone(),
            calls: function.calls?,
            rare,
        })
        .fact(CallFact::Time {
            function: None,
            share: found.share,
            cycles: found.each,
        })
        .fact(CallFact::InlinedCost {
            kind: CallKind::Direct,
            call_cycles: overhead,
            inlined_cycles: found.after,
        }),
    )
}
