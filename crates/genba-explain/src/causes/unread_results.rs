//! Part of `discarded-work`: a call makes something in memory that it allocates, and it is given back unread.
//!
//! **Signature.** Observed: most results of a call that changes nothing else are given back before anybody has read
//! them. Some are read; or the caller hands them on to a function that does not look at them (a log that is off), or
//! would read them on a way that was not taken (the same, inlined).
//!
//! **Near misses.** What nobody is handed and nobody ever reads, as in a benchmark; results that are kept.

use genba_code::{Block, Flow, Location, STACK_POINTER};
use genba_model::{CallFact, Cause, Estimate, Fix, ObservedFact};
use genba_observe::UnreadResult;

use crate::candidate::Candidate;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    MAX_DISCARDED, MIN_DISCARDED, MIN_INSTRUCTIONS_TO_KEEP_RESULT, MIN_SHARE_OF_REPEATED_WORK,
    UNASKED_WORK_SAVED,
};
use crate::constants::registers::RDI;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::FunctionInput;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};

/// Bytes of an object at most that are looked at: three words and a length, as strings and vectors have.
const MAX_BYTES_OF_OBJECT: i64 = 32;

/// Calls of the user's own code whose results are given back unread.
pub(crate) fn candidates(sites: &ObservedSites<'_>) -> Vec<Candidate> {
    let list = sites.observed.unread_results.iter();
    list.filter_map(|one| candidate(sites, one)).collect()
}

fn candidate(sites: &ObservedSites<'_>, one: &UnreadResult) -> Option<Candidate> {
    let (number, at) = sites.users_site(one.at)?;
    let target = sites.target((number, at), one.target)?;
    let unread = one.seen.share;
    let is_wanted = unread.value <= MAX_DISCARDED
        || one.handed_on >= MIN_DISCARDED
        || is_read_elsewhere(&sites.input.functions[number], at);
    if !is_enough(&one.seen)
        || unread.low < MIN_DISCARDED
        || !is_wanted
        || one.kept > MOST_OF_IT
        || one.instructions_per_call < MIN_INSTRUCTIONS_TO_KEEP_RESULT
    {
        return None;
    }
    let share = share_of_target(sites.input, number, target);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let fix = Fix::TestBeforeWork;
    let mut found = Candidate::new(Cause::DiscardedWork, Some(number), vec![at], fix);
    let (value, low, high) = UNASKED_WORK_SAVED;
    found.share = Some(share);
    found.residual_fraction = Estimate {
        value: 1.0 - value * unread.value,
        low: 1.0 - high * unread.high,
        high: (1.0 - low * unread.low).min(MAX_RESIDUAL),
    };
    found.executions = Some(target.count);
    Some(
        found
            .fact(ObservedFact::UnreadResults {
                function: target.function.clone(),
                calls: target.count,
                share: unread,
                handed_on: one.handed_on >= MIN_DISCARDED,
                bursts: one.seen.bursts,
            })
            .fact(CallFact::Time {
                function: Some(target.function.clone()),
                share,
                cycles: share * cycles_of_all(sites.input)? / target.count.max(1) as f64,
            }),
    )
}

/// Whether the caller would read the object that a call makes in its frame, and call something with it, on a way that
/// leads off from what ran and was never taken.
fn is_read_elsewhere(function: &FunctionInput, call: usize) -> bool {
    let place = |register: Location| {
        let base = value_at(function, call, register)?;
        let object = value_at(function, call, RDI)?;
        let from = object.offset.wrapping_sub(base.offset);
        (object.number == base.number).then_some(from..from + MAX_BYTES_OF_OBJECT)
    };
    let Some(object) = place(STACK_POINTER) else {
        return false;
    };
    let blocks = function.flow.blocks();
    let ran = |block: &Block| function.counts[block.instructions.start as usize] > 0;
    let mut others = blocks.iter().filter(|block| {
        let mut before = block.predecessors.iter();
        !ran(block) && before.any(|&id| ran(&blocks[id as usize]))
    });
    others.any(|block| {
        let all = block.instructions.start as usize..block.instructions.end as usize;
        let reads = |at: usize| {
            let mut memory = function.data[at].memory.iter();
            memory.any(|one| {
                let of_frame = one.reads && one.base == Some(STACK_POINTER) && one.index.is_none();
                of_frame && object.contains(&one.displacement)
            })
        };
        let hands_on = |at: usize| {
            let code = &function.code[at];
            let calls = matches!(code.flow, Flow::Call(_) | Flow::IndirectCall);
            calls && !gives_back(&code.text)
        };
        all.clone().any(reads) && all.clone().any(hands_on)
    })
}

/// Whether a call's text names a function that gives memory back.
fn gives_back(text: &str) -> bool {
    ["operator delete", "free", "dealloc", "drop_in_place"]
        .iter()
        .any(|name| text.contains(name))
}
