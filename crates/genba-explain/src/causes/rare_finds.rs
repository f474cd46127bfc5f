//! Searches for what is hardly ever there: part of `general-case-first`.
//!
//! **Signature.** A loop that usually only compares and by its usual end has no effect: no register that it
//! writes is read behind it, nothing is stored; what it does with an element that may fit (loops and calls that
//! look closer) is rare. Observed: it compares the same few elements each time
//! (exceptions, special characters, rules), so that the key alone decides; nearly no search finds
//! one. The code in front of it that only serves the search belongs to it.
//!
//! **Confirmation.** One test of the key in front: a table of what has an entry.
//!
//! **Gain.** The measured time of the search and of what only serves it, less that test; of the rest of its
//! function a part, since the usual case may do without its frame.
//!
//! **Source.** As [`super::general_case_first`]; B. Bloom, "Space/time trade-offs in hash coding with allowable
//! errors", CACM 13, 1970 (a cheap test for what is mostly absent).

use genba_code::{BlockId, Locations};
use genba_model::{Cause, Estimate, Fix, PathFact};
use genba_observe::RepeatedLoop;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::{MAX_FOUND, MIN_CALLS_IN_HOT_CODE, MIN_ELEMENTS_COMPARED, RARE_WAY};
use crate::constants::gains::{BESIDE_SEARCH_SAVED, RULED_OUT_SAVED};
use crate::constants::observations::MIN_SAME_ELEMENTS;
use crate::constants::registers::LIVE_AT_RETURN;
use crate::constants::time_shares::MIN_SHARE_OF_TESTS;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::edge_counts::edge_at_most;
use crate::patterns::live_registers::live_registers;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::search_loops::{is_usually_innermost, usual_search_of};

/// Finds searches that hardly ever find.
pub(crate) fn rare_finds(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let loops = sites.observed.repeated_loops.iter();
    loops
        .filter_map(|seen| candidate(&sites, seen, all))
        .collect()
}

fn candidate(sites: &ObservedSites<'_>, seen: &RepeatedLoop, all: f64) -> Option<Candidate> {
    let input = sites.input;
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &input.functions[number];
    if !is_enough(&seen.seen) || seen.seen.share.low < MIN_SAME_ELEMENTS {
        return None;
    }
    let runs = entries(function, index)?;
    let rare = (RARE_WAY * runs as f64) as u64;
    if !is_usually_innermost(function, index, rare) {
        return None;
    }
    usual_search_of(input, function, index, rare)?;
    let elements = function.loops.get(index as usize)?.as_ref()?.iterations as f64 / runs as f64;
    let (usual, times) = usual_exit(function, index)?;
    let found = (1.0 - times as f64 / runs as f64).max(0.0);
    if runs < MIN_CALLS_IN_HOT_CODE || elements < MIN_ELEMENTS_COMPARED || found > MAX_FOUND {
        return None;
    }
    let region = without_effect(function, index, usual, runs)?;
    let members: Vec<usize> = (region.iter())
        .flat_map(|&block| {
            let range = &function.flow.blocks()[block as usize].instructions;
            range.start as usize..range.end as usize
        })
        .collect();
    let compared = (function.call_sites.iter())
        .filter(|site| members.contains(&site.at))
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, number, target));
    let share = (function.heat_of(members.iter().copied()) + compared.sum::<f64>()).min(1.0);
    if share < MIN_SHARE_OF_TESTS {
        return None;
    }
    let each = share * all / runs as f64;
    let site = function.loop_instructions(index);
    let mut one = Candidate::new(
        Cause::GeneralCaseFirst,
        Some(number),
        site,
        Fix::RuleOutFirst,
    );
    one.affected = members;
    let rest = (function.share.value - share).max(0.0);
    one.saves(&[
        SavedTime::of(share, RULED_OUT_SAVED),
        SavedTime::of(rest, BESIDE_SEARCH_SAVED),
    ]);
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(PathFact::RareFind {
            searches: runs,
            elements,
            found,
        })
        .fact(PathFact::DecisionTime {
            share,
            cycles: each,
        }),
    )
}

/// The block to which a loop is left most often, and how often.
fn usual_exit(function: &FunctionInput, index: u32) -> Option<(BlockId, u64)> {
    let blocks = function.flow.loop_blocks(index);
    let mut exits: Vec<(BlockId, u64)> = Vec::new();
    for &block in blocks {
        for &next in &function.flow.blocks()[block as usize].successors {
            if blocks.contains(&next) {
                continue;
            }
            let times = edge_at_most(function, block, next);
            match exits.iter_mut().find(|exit| exit.0 == next) {
                Some(exit) => exit.1 += times,
                None => exits.push((next, times)),
            }
        }
    }
    exits.into_iter().max_by_key(|exit| exit.1)
}

/// The blocks of a loop without an effect by its usual end, with those in front of it that only lead
/// there; `None` where the loop has one.
fn without_effect(
    function: &FunctionInput,
    index: u32,
    usual: BlockId,
    runs: u64,
) -> Option<Vec<BlockId>> {
    let rare = (RARE_WAY * runs as f64) as u64;
    let live = live_registers(function, Some(rare), LIVE_AT_RETURN)[usual as usize];
    let blocks = function.flow.blocks();
    let count =
        |block: BlockId| function.counts[blocks[block as usize].instructions.start as usize];
    // What the usual way does not execute does not count.
    let has_effect = |block: BlockId| {
        let range = blocks[block as usize].instructions.clone();
        (range.start as usize..range.end as usize).any(|at| changes(function, at, live))
    };
    let mut region = function.flow.loop_blocks(index).to_vec();
    if (region.iter()).any(|&block| count(block) > rare && has_effect(block)) {
        return None;
    }
    loop {
        let fits = |block: BlockId| {
            let successors = &blocks[block as usize].successors;
            let inside = |next: &BlockId| region.contains(next);
            !region.contains(&block)
                && block != usual
                && count(block) > rare
                && successors.iter().any(inside)
                && (successors.iter()).all(|next| {
                    inside(next) || *next == usual || edge_at_most(function, block, *next) <= rare
                })
                && !has_effect(block)
        };
        let more: Vec<BlockId> = (0..blocks.len() as BlockId)
            .filter(|&one| fits(one))
            .collect();
        if more.is_empty() {
            region.sort_unstable();
            return Some(region);
        }
        region.extend(more);
    }
}

/// Whether an instruction writes memory other than the stack, one of these registers, or something unknown.
fn changes(function: &FunctionInput, at: usize, live: Locations) -> bool {
    let data = &function.data[at];
    let stores = (data.memory.iter())
        .any(|one| one.writes && !one.stack && one.base != Some(genba_code::STACK_POINTER));
    let calls = function.call_sites.iter().any(|site| site.at == at);
    stores || !calls && (data.writes & live != 0 || data.opaque.is_some())
}
