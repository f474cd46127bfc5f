//! Part of `discarded-work`: a loop whose results a test behind it often drops.
//!
//! **Signature.** Counted: where a test behind a loop goes one way, which is often so, nothing needs what the loop makes: it
//! calls nothing, writes to no memory but its own frame, and its results are read on the other way alone
//! ([`needed_before`]). Now and then they are wanted.
//!
//! **Near misses.** A loop that makes what the test looks at; results that both ways read; a test in the loop itself, which
//! asks for one of its iterations.
//!
//! **Gain.** The measured time of the loop, as often as the test drops what it made, with what else is only for that.
//!
//! **Source.** R. Bodik and R. Gupta, "Partial dead code elimination using slicing transformations", PLDI 1997.

use genba_code::{BlockId, Flow};
use genba_model::{Cause, Fix, ObservedFact};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::MIN_CALLS_HABITUAL;
use crate::constants::observations::{
    DISCARDED_WORK_SAVED, MAX_DISCARDED, MIN_DROPPED, MIN_SHARE_OF_REPEATED_WORK,
    SAME_TIMES_TOLERANCE,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::edge_counts::edge;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::needed_code::{Before, Needs, needed_before, needs};

/// A test behind a loop that drops its results.
struct DroppingTest {
    branch: usize,
    /// Part of the results that it drops.
    part: f64,
    /// What nothing needs where it does.
    work: Vec<usize>,
}

/// Candidates of one function, one for each outermost loop of this kind.
pub(crate) fn dropped_loops(input: &AnalysisInput, number: usize) -> Vec<Candidate> {
    let function = &input.functions[number];
    if !function.can_be_changed() || !function.counted {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut covered: Vec<usize> = Vec::new();
    let loops = function.flow.loops();
    let mut order: Vec<u32> = (0..loops.len() as u32)
        .filter(|&index| function.loop_heat(index) >= MIN_SHARE_OF_REPEATED_WORK)
        .filter(|&index| makes_registers_only(function, index))
        .collect();
    order.sort_by_key(|&index| std::cmp::Reverse(function.flow.loop_blocks(index).len()));
    let mut all_needed = None;
    for index in order {
        let head = function.loop_instructions(index)[0];
        if covered.contains(&head) {
            continue;
        }
        let all_needed = all_needed.get_or_insert_with(|| needs(function)).as_ref();
        let Some(drop) = all_needed.and_then(|all| drop_of(function, index, all)) else {
            continue;
        };
        found.extend(candidate(input, number, index, &drop));
        covered.extend(drop.work);
    }
    found
}

/// Whether a loop calls nothing and writes to no memory but the frame.
fn makes_registers_only(function: &FunctionInput, index: u32) -> bool {
    let members = function.loop_instructions(index);
    (members.iter().filter(|&&at| function.counts[at] > 0)).all(|&at| {
        let data = &function.data[at];
        let own = |one: &genba_code::MemoryAccess| {
            !one.writes || one.base == Some(genba_code::STACK_POINTER) && one.index.is_none()
        };
        data.opaque.is_none() && data.memory.iter().all(own)
    })
}

/// The test behind a loop, met as often, that often drops what the loop made.
fn drop_of(function: &FunctionInput, index: u32, all: &Needs) -> Option<DroppingTest> {
    let runs = entries(function, index).filter(|&runs| runs >= MIN_CALLS_HABITUAL)? as f64;
    let one = &function.flow.loops()[index as usize];
    let members = function.loop_instructions(index);
    let blocks = function.flow.blocks();
    let tests = (0..blocks.len() as BlockId)
        .filter(|&block| function.flow.innermost_loop(block) == one.parent);
    let mut ways: Vec<(f64, usize, Vec<bool>, BlockId)> = Vec::new();
    for block in tests {
        let branch = blocks[block as usize].instructions.end as usize - 1;
        let times = function.counts[branch] as f64;
        let as_often = (times - runs).abs() <= SAME_TIMES_TOLERANCE * runs;
        if !matches!(function.code[branch].flow, Flow::CondJump(_)) || !as_often {
            continue;
        }
        let Some(between) = blocks_between(function, index, block) else {
            continue;
        };
        for &then in &blocks[block as usize].successors {
            let part = edge(function, block, then).unwrap_or(0) as f64 / times;
            if (MIN_DROPPED..=MAX_DISCARDED).contains(&part) {
                ways.push((part, branch, between.clone(), then));
            }
        }
    }
    ways.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ways.into_iter().find_map(|(part, branch, between, then)| {
        let before = Before {
            part: &between,
            test: function.flow.block_of(branch)?,
            then,
        };
        let left = needed_before(function, all, &before)?;
        let inside = |at: usize| {
            let block = function.flow.block_of(at);
            block.is_some_and(|block| between[block as usize])
        };
        let work: Vec<usize> = (0..left.len())
            .filter(|&at| inside(at) && all.instructions[at] && !left[at])
            .collect();
        let whole = members.iter().all(|at| !left[*at]);
        let makes = members.iter().any(|at| all.instructions[*at]);
        (whole && makes).then_some(DroppingTest { branch, part, work })
    })
}

/// By block: the loop, and what lies on ways from it to a test in the same iteration of the loop around; `None` if none does.
fn blocks_between(function: &FunctionInput, index: u32, test: BlockId) -> Option<Vec<bool>> {
    let blocks = function.flow.blocks();
    let loops = function.flow.loops();
    let one = &loops[index as usize];
    let around = one.parent.map(|parent| loops[parent as usize].head);
    let mut met = vec![false; blocks.len()];
    let mut work = vec![one.head];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut met[block as usize], true) || block == test {
            continue;
        }
        let next = blocks[block as usize].successors.iter().copied();
        work.extend(next.filter(|next| Some(*next) != around));
    }
    met[test as usize].then_some(met)
}

fn candidate(
    input: &AnalysisInput,
    number: usize,
    index: u32,
    drop: &DroppingTest,
) -> Option<Candidate> {
    let function = &input.functions[number];
    let members = function.loop_instructions(index);
    let share = function.heat_of(drop.work.iter().copied());
    let runs = entries(function, index)?;
    let mut found = Candidate::new(
        Cause::DiscardedWork,
        Some(number),
        vec![members[0], drop.branch],
        Fix::TestBeforeWork,
    );
    found.affected = drop.work.clone();
    found.saves(&[SavedTime::of(share * drop.part, DISCARDED_WORK_SAVED)]);
    found.executions = Some(runs);
    let steps = function.loops.get(index as usize)?.as_ref()?.iterations;
    let all = cycles_of_all(input)?;
    Some(
        found
            .fact(time_of_runs(share, all, steps, runs))
            .fact(ObservedFact::DiscardingTest {
                executions: function.counts[drop.branch],
                share: drop.part,
                line: function
                    .places
                    .get(drop.branch)
                    .and_then(|place| place.line),
            }),
    )
}
