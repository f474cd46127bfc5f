//! Findings that would gain the same time.

use crate::candidate::Candidate;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::AnalysisInput;

/// Whether most of a candidate's time is in instructions that an earlier finding takes; of
/// findings without instructions, whether it is the same cause at the same place.
pub(crate) fn overlaps(input: &AnalysisInput, one: &Candidate, before: &Candidate) -> bool {
    let Some(function) = one.function.and_then(|index| input.functions.get(index)) else {
        return before.function.is_none() && before.cause == one.cause && before.at == one.at;
    };
    if before.function != one.function {
        return false;
    }
    let mine = one.affected();
    let theirs = before.affected();
    let shared = mine.iter().copied().filter(|at| theirs.contains(at));
    let all = function.heat_of(mine.iter().copied());
    function.heat_of(shared) > MOST_OF_IT * all || mine == theirs
}
