//! Part of `discarded-work`: calls that change nothing, and whose result only one way of a test behind them reads.
//!
//! The test does not need the result (it would be a reader otherwise), and the call changes nothing that the test
//! could read: it can come first. Work inside a discarded call is counted once, so that the shares of several calls
//! add up.

use genba_code::first_readers;
use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::UnaskedResult;

use crate::candidate::Candidate;
use crate::constants::gains::{MAX_RESIDUAL, MIN_RESIDUAL_OF_PROGRAM};
use crate::constants::observations::{
    MAX_CALLS_WITH_EFFECTS, MAX_DEPTH_OF_CALLEES, MAX_DISCARDED, MIN_INSTRUCTIONS_TO_KEEP_RESULT,
    MIN_SHARE_OF_REPEATED_WORK, UNASKED_WORK_SAVED,
};
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::patterns::calls::index_of;
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// Calls of the user's own code whose results are not asked for.
pub(crate) fn candidates(sites: &ObservedSites<'_>) -> Vec<Candidate> {
    let list = sites.observed.unasked_results.iter();
    list.filter_map(|one| candidate(sites, one)).collect()
}

fn candidate(sites: &ObservedSites<'_>, one: &UnaskedResult) -> Option<Candidate> {
    let (number, at) = sites.users_site(one.at)?;
    let function = &sites.input.functions[number];
    let (_, test) = sites.site(one.test).filter(|test| test.0 == number)?;
    if !is_enough(&one.seen)
        || one.with_effects > MAX_CALLS_WITH_EFFECTS
        || one.instructions_per_call < MIN_INSTRUCTIONS_TO_KEEP_RESULT
    {
        return None;
    }
    let site = function.call_sites.iter().find(|site| site.at == at)?;
    let calls: u64 = site.targets.iter().map(|target| target.count).sum();
    let unread = unread_share(function, at).filter(|&share| share > one.seen.share.value);
    let (share, work) = match unread {
        // Tests behind the first one drop results as well.
        Some(share) => {
            let more = share / one.seen.share.value.max(f64::MIN_POSITIVE);
            let work = one.share_of_instructions;
            let scaled = |part: f64| (part * more).min(1.0);
            let work = Estimate {
                value: scaled(work.value),
                low: scaled(work.low),
                high: scaled(work.high),
            };
            (Estimate::exact(share), work)
        }
        None => (one.seen.share, one.share_of_instructions),
    };
    let most = (work.high * cost_of_instructions(sites.input, &site.targets)).min(1.0);
    let part = |share: f64| share / work.high.max(f64::MIN_POSITIVE);
    let (value, low, high) = UNASKED_WORK_SAVED;
    if most * part(work.value) < MIN_SHARE_OF_REPEATED_WORK || share.value > MAX_DISCARDED {
        return None;
    }
    let places = vec![at, test];
    let fix = Fix::TestBeforeWork;
    let mut found = Candidate::new(Cause::DiscardedWork, Some(number), places, fix);
    found.share = Some(most);
    found.residual_fraction = Estimate {
        value: 1.0 - value * part(work.value),
        low: (1.0 - high).max(MIN_RESIDUAL_OF_PROGRAM),
        high: (1.0 - low * part(work.low)).min(MAX_RESIDUAL),
    };
    found.executions = Some(calls);
    let target = site.targets.first().map(|target| target.function.clone());
    Some(
        found
            .fact(ObservedFact::UnaskedResults {
                function: target.filter(|_| site.targets.len() == 1),
                calls,
                share,
                work,
                bursts: one.seen.bursts,
            })
            .fact(ObservedFact::DiscardingTest {
                executions: function.counts[test],
                share: share.value,
                line: function.places[test].line,
            }),
    )
}

/// Counted: part of a call's results that nobody reads, whichever of the tests behind it says so; `None` where that is not known.
fn unread_share(function: &FunctionInput, call: usize) -> Option<f64> {
    let readers = first_readers(&function.code, &function.data, &function.flow, call);
    let count = |at: usize| function.counts.get(at).copied();
    let calls = count(call).filter(|&calls| calls > 0)? as f64;
    let read: u64 = readers.iter().filter_map(|&at| count(at)).sum();
    (!readers.is_empty()).then(|| (1.0 - read as f64 / calls).max(0.0))
}

/// Time of an instruction in calls of these, with all that they call, ÷ that of the program's mean instruction.
fn cost_of_instructions(input: &AnalysisInput, targets: &[CallTarget]) -> f64 {
    let Some(all) = input.program.instructions.filter(|&all| all > 0) else {
        return 1.0;
    };
    let index = |target: &CallTarget| index_of(input, &target.function, &target.module);
    let mut met: Vec<usize> = targets.iter().filter_map(index).collect();
    let mut from = 0;
    for _ in 0..MAX_DEPTH_OF_CALLEES {
        let until = met.len();
        for next in from..until {
            let callees = input.functions[met[next]].call_sites.iter();
            for callee in callees.flat_map(|site| &site.targets).filter_map(index) {
                if !met.contains(&callee) {
                    met.push(callee);
                }
            }
        }
        from = until;
    }
    let (mut time, mut instructions) = (0.0, 0.0);
    for function in met.iter().map(|&index| &input.functions[index]) {
        if function.counts.len() == function.code.len() {
            time += function.share.value;
            instructions += function
                .counts
                .iter()
                .map(|&count| count as f64)
                .sum::<f64>();
        }
    }
    match instructions > 0.0 && time > 0.0 {
        true => time / (instructions / all as f64),
        false => 1.0,
    }
}
