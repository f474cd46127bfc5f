//! Findings that would gain the same time.

use genba_model::{Cause, Fact, ObservedFact};

use crate::candidate::Candidate;
use crate::constants::observations::MIN_REPEATED_AMONG_FEW;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::AnalysisInput;

/// Whether most of a candidate's time is in instructions that an earlier finding takes; of
/// findings without instructions, whether it is the same cause at the same place.
pub(crate) fn overlaps(input: &AnalysisInput, one: &Candidate, before: &Candidate) -> bool {
    if one.function.is_none() {
        return before.function.is_none() && before.cause == one.cause && before.at == one.at;
    }
    let theirs = |of: usize, at: usize| {
        (before.parts()).any(|(function, list)| function == of && list.contains(&at))
    };
    let (mut all, mut shared, mut same) = (0.0, 0.0, true);
    for (of, mine) in one.parts() {
        let Some(function) = input.functions.get(of) else {
            continue;
        };
        let both: Vec<usize> = mine.iter().copied().filter(|&at| theirs(of, at)).collect();
        same &= both.len() == mine.len();
        all += function.heat_of(mine.iter().copied());
        shared += function.heat_of(both);
    }
    shared > MOST_OF_IT * all || same && one.affected().len() == before.affected().len()
}

/// Whether a candidate says why what another says is so: why loads miss (they are of the objects whose fields it
/// would put together), why a call scans or computes the same again (its argument does not change in the loop), or why
/// there are so many scans (nearly each repeats the one before).
pub(crate) fn explains(input: &AnalysisInput, by: &Candidate, one: &Candidate) -> bool {
    match (by.cause, one.cause) {
        (Cause::FieldOrder, Cause::CacheMiss) => {
            let theirs = |at: &&usize| {
                (by.parts())
                    .any(|(function, list)| one.function == Some(function) && list.contains(at))
            };
            let explained = one.site.iter().filter(theirs).count();
            explained as f64 >= MOST_OF_IT * one.site.len() as f64
        }
        (Cause::LoopInvariantCall, Cause::Quadratic | Cause::RedundantComputation) => {
            let (by, one) = (by.shown_at(input), one.shown_at(input));
            let (by, one) = (by.code(), one.code());
            !one.addresses.is_empty()
                && (&by.module, &by.addresses) == (&one.module, &one.addresses)
        }
        (Cause::RepeatedSearch, Cause::Quadratic) => {
            nearly_all_repeat(by) && overlaps(input, by, one) && by.function == one.function
        }
        _ => false,
    }
}

/// Whether nearly all searches find what the one before found: without these few scans are left.
fn nearly_all_repeat(search: &Candidate) -> bool {
    search.facts.iter().any(|fact| {
        let Fact::Observed(ObservedFact::RepeatedSearches { share, .. }) = fact else {
            return false;
        };
        share.value >= MIN_REPEATED_AMONG_FEW
    })
}
