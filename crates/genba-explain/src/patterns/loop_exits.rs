//! Branches that end a loop, and the instruction that decides each of them.

use genba_code::Flow;

use crate::constants::registers::FLAGS;
use crate::input::analysis_input::FunctionInput;

/// Executed branches of a loop that may lead out of it, each with the instruction of the loop that sets its flags.
pub(crate) fn exits<'a>(
    function: &'a FunctionInput,
    members: &'a [usize],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let executed = members
        .iter()
        .copied()
        .filter(|&at| function.counts[at] > 0);
    let exits = executed.filter(|&at| {
        matches!(function.code[at].flow, Flow::CondJump(_)) && leads_out(function, members, at)
    });
    exits.filter_map(|at| Some((at, flags_before(function, members, at)?)))
}

/// Whether the block of an instruction ends with a branch that may lead out of the loop of these members.
pub(crate) fn leads_out(function: &FunctionInput, members: &[usize], at: usize) -> bool {
    let blocks = function.flow.blocks();
    let first = |to: u32| blocks[to as usize].instructions.start as usize;
    function.flow.block_of(at).is_some_and(|block| {
        let block = &blocks[block as usize];
        let last = block.instructions.end as usize - 1;
        let mut next = block.successors.iter();
        matches!(function.code[last].flow, Flow::CondJump(_))
            && next.any(|&to| members.binary_search(&first(to)).is_err())
    })
}

fn flags_before(function: &FunctionInput, members: &[usize], at: usize) -> Option<usize> {
    let sets = |before: &usize| {
        let mut written = function.values.writes(*before).iter();
        written.any(|one| one.0 >= FLAGS)
    };
    (*members.first()?..at).rev().find(sets)
}
