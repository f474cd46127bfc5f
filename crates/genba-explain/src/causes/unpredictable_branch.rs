//! `unpredictable-branch`: a loop bound by branch mispredictions.
//!
//! **Signature.** An innermost loop without calls, or one whose inner loops run a few iterations each, that takes many
//! more cycles than its dependency chain and its throughput; conditional branches in it with varying outcome; and the
//! time is right behind those branches, on either path, where the processor restarts after a misprediction. Branches
//! with a predictable pattern cost nothing and are not reported. Where much is done in some iterations only, most of
//! the mispredictions must be in tests of one value, which a table replaces. Or a small loop that shifts a number right
//! until its lowest bit is set ([`crate::patterns::trailing_zeros`]), or left until its highest one is
//! ([`crate::patterns::leading_zeros`]). Or a partition of a sort ([`super::partition_loops`]).
//!
//! **Confirmation.** Sorted input; a version without the branch.
//!
//! **Gain.** The cycles of an iteration fall to those of all its instructions without a
//! misprediction; where the next comparison depends on the outcome, to the chain between the two.
//!
//! **Source.** A. Yasin, "A Top-Down Method for Performance Analysis", ISPASS 2014 (bad
//! speculation); Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs", chapter 3.

use genba_code::Flow;
use genba_loop_model::{LoopAnalysis, misprediction_penalty};
use genba_model::{Cause, Confirmation, Estimate, EvidenceSource, Fix, LoopFact, ModelCase};

use crate::candidate::Candidate;
use crate::causes::partition_loops::partitions;
use crate::constants::counts::{
    MAX_INSTRUCTIONS_DECIDED, MIN_CALLS_HABITUAL, MIN_TRIPS_FOR_BRANCHES,
    MIN_TRIPS_FOR_CARRIED_CHAIN, RARE_WAY, VARYING_OUTCOME,
};
use crate::constants::gains::{
    BRANCHLESS_HIGH, BRANCHLESS_LOW, BRANCHLESS_VECTORS, BRANCHLESS_WAIT, CYCLES_OF_COUNTED_ZEROS,
    MAX_LOOP_RESIDUAL,
};
use crate::constants::model_fit::{
    COUNTED_MISPREDICTION_SLACK, MIN_MISPREDICTION_PART, MIN_MISPREDICTIONS_PER_ITERATION,
    MIN_MODELLED_MISPREDICTION_FIT, MIN_SUSPECTED_MISPREDICTION_PART, MIN_TIME_AFTER_BRANCHES,
    MISPREDICTIONS_WITH_FAR_LOADS, UNCOUNTED_MISPREDICTION_FIT,
};
use crate::constants::processor::{
    BRANCHLESS_CHAIN_CYCLES, BRANCHLESS_CHAIN_CYCLES_SHORT, BRANCHLESS_CYCLES_PER_SLOT,
    BRANCHLESS_CYCLES_PER_SLOT_LOW, CACHE_LINE_STEP, INSTRUCTIONS_AFTER_BRANCH,
};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_REPORTED_BRANCHES;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::constants::time_shares::{MIN_SHARE_OF_BRANCH_LOOP, MOST_OF_IT};
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::decision_chains::decision_chains;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::leading_zeros::leading_zeros;
use crate::patterns::trailing_zeros::trailing_zeros;
use crate::patterns::value_steps::{Step, address_step, is_reloaded, value_step};

/// Finds small loops whose cycles are those of mispredicted branches: counted or simulated where a
/// follow-up run was made, else inferred from what the model leaves unexplained.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = loops_of_branches(input);
    let shifts = all.iter().filter_map(shifted_out);
    (all.iter().filter_map(|one| candidate(input, one)))
        .chain(shifts)
        .chain(partitions(input))
        .collect()
}

/// Innermost loops, and the loops around those that seldom run long: when they end is a choice in each iteration around
/// them.
fn loops_of_branches(input: &AnalysisInput) -> Vec<HotLoop<'_>> {
    let innermost = hot_loops(input, MIN_SHARE_OF_BRANCH_LOOP);
    let mut around: Vec<HotLoop<'_>> = Vec::new();
    for parent in innermost.iter().filter_map(around_short_ones) {
        let same = |one: &HotLoop<'_>| (one.function, one.index) == (parent.function, parent.index);
        if !around.iter().any(same) {
            around.push(parent);
        }
    }
    innermost.into_iter().chain(around).collect()
}

/// The loop around one that runs a few iterations each time, if none inside runs more.
fn around_short_ones<'a>(inner: &HotLoop<'a>) -> Option<HotLoop<'a>> {
    let parent = inner.parent()?;
    let function = inner.input;
    let loops = function.flow.loops();
    let long = |cost: &LoopAnalysis| {
        let entries = cost.entries.unwrap_or(0).max(1) as f64;
        cost.iterations as f64 / entries >= MIN_TRIPS_FOR_BRANCHES
    };
    let inside = |index: &usize| {
        let around = |&index: &u32| loops[index as usize].parent;
        std::iter::successors(loops[*index].parent, around).any(|one| one == parent.index)
    };
    let all_short = (0..loops.len())
        .filter(inside)
        .all(|index| !function.loops[index].as_ref().is_some_and(long));
    all_short.then_some(parent)
}

/// A loop that shifts trailing or leading zeros out: an instruction counts them.
fn shifted_out(one: &HotLoop<'_>) -> Option<Candidate> {
    let trailing = trailing_zeros(one).map(|at| (at, Fix::CountTrailingZeros));
    let leading = || leading_zeros(one).map(|at| (at, Fix::CountLeadingZeros));
    let (at, fix) = trailing.or_else(leading).filter(|_| one.input.own)?;
    let entry = one.trips? * one.cycles.value;
    let site = vec![at];
    let mut found = Candidate::new(Cause::UnpredictableBranch, Some(one.function), site, fix);
    found.affected.clone_from(&one.members);
    let [likely, least, most] = CYCLES_OF_COUNTED_ZEROS.map(|cycles| cycles / entry);
    found.residual_fraction = Estimate {
        value: likely.min(MAX_LOOP_RESIDUAL),
        low: least.min(MAX_LOOP_RESIDUAL),
        high: most.min(1.0),
    };
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    Some(found.fact(one.time()))
}

/// Whether branches are found whose guesses may be what a loop's time goes into.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    let penalty = misprediction_penalty(&input.program.costs).value;
    loops_of_branches(input).iter().any(|one| {
        let mispredictions: f64 = branches(one).iter().map(|one| one.mispredictions).sum();
        one.input.can_be_changed()
            && mispredictions >= MIN_MISPREDICTIONS_PER_ITERATION
            && mispredictions * penalty >= MIN_SUSPECTED_MISPREDICTION_PART * one.cycles.value
    })
}

/// A branch with varying outcome.
struct Branch {
    at: usize,
    taken: f64,
    /// Mispredictions per iteration if the outcome is unpredictable.
    mispredictions: f64,
    /// Whether both ways stay in the loop.
    stays: bool,
}

/// What the mispredictions of a loop cost, cycles of an iteration.
struct MispredictionCost {
    /// Mispredictions, if outcomes are unpredictable.
    possible: f64,
    /// Mispredictions that were counted or simulated.
    seen: Option<f64>,
    /// Cycles of a misprediction.
    penalty: f64,
    /// Part of the loop's time right behind the branches.
    behind: f64,
    /// Cycles of an iteration that is never mispredicted, by the model.
    least: f64,
    /// Cycles beyond these, and beyond the misprediction at the loop's end.
    excess: f64,
    /// Cycles that mispredictions take.
    taken: f64,
    /// The same at most.
    most: f64,
}

fn candidate(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let may_be_one = function.can_be_changed() && !found.has_opaque();
    if !may_be_one || !found.is_long(MIN_TRIPS_FOR_BRANCHES) {
        return None;
    }
    let branches = branches(found);
    let executed = (found.members.iter())
        .filter(|&&at| function.counts[at] > 0)
        .count();
    // What is executed in each iteration stays as it is.
    let in_some = |at: &&usize| (f64::MIN_POSITIVE..1.0 - RARE_WAY).contains(&found.times(**at));
    let decided = found.members.iter().filter(in_some).count();
    let is_small = decided <= MAX_INSTRUCTIONS_DECIDED;
    if !is_small && !test_one_value(input, found, &branches) {
        return None;
    }
    // A loop that is left at any time is not a choice that could be made otherwise.
    let main = branches.iter().find(|one| one.stays)?;
    // A library's sort or heap is what it is.
    if function.of_library.get(main.at).copied().unwrap_or(false) {
        return None;
    }
    let cost = misprediction_cost(input, found, &branches)?;
    // A table replaces the tests alone: the rest is executed as often as before.
    let each: f64 = found.members.iter().map(|&at| found.times(at)).sum();
    let slots = match is_small {
        true => each.max(executed as f64),
        false => each,
    };
    let depends = branches.iter().any(|one| depends(found, one.at));
    let after = cycles_without_branches(found, &cost, slots, depends);
    let mut site = vec![main.at];
    let others = branches
        .iter()
        .filter(|one| one.stays && one.mispredictions >= MOST_OF_IT * main.mispredictions);
    site.extend(others.map(|one| one.at).filter(|&at| at != main.at));
    let mut one = Candidate::new(
        Cause::UnpredictableBranch,
        Some(found.function),
        site,
        Fix::Branchless,
    );
    one.affected = found.members.clone();
    one.residual_fraction = after.scaled(1.0 / found.cycles.value);
    one.executions = Some(function.counts[main.at]);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::Mispredictions {
        counted: cost.seen.is_some(),
    };
    Some(with_facts(one, input, found, &branches, &cost))
}

/// What mispredictions cost in this loop; `None` if it is too little, or the time is another's.
fn misprediction_cost(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    branches: &[Branch],
) -> Option<MispredictionCost> {
    let possible: f64 = branches.iter().map(|one| one.mispredictions).sum();
    if possible < MIN_MISPREDICTIONS_PER_ITERATION {
        return None;
    }
    let penalty = misprediction_penalty(&input.program.costs).value;
    let model = |cost: &Option<Estimate>| cost.map_or(0.0, |cost| cost.value);
    let least = model(&found.cost.chain_cycles).max(model(&found.cost.throughput_cycles));
    let iteration = found.cycles.value;
    let excess = iteration - least - penalty / found.trips.unwrap_or(f64::INFINITY).max(1.0);
    let counted = input.program.follow_up.mispredictions.as_ref();
    let is_modelled = counted.is_some_and(|events| is_of_model(events.source));
    let seen = counted.map(|events| {
        events.times(found.function, &found.members) / found.cost.iterations.max(1) as f64
    });
    let behind = behind(found, branches);
    let random = possible * penalty;
    let taken = match seen {
        Some(seen) if seen < MIN_MISPREDICTIONS_PER_ITERATION => return None,
        // The time says that the processor predicts what the model of a predictor does not: it learns long
        // patterns.
        Some(seen) if is_modelled && excess < MIN_MODELLED_MISPREDICTION_FIT * seen * penalty => {
            return None;
        }
        Some(seen) => excess
            .min(COUNTED_MISPREDICTION_SLACK.0 * seen * penalty + COUNTED_MISPREDICTION_SLACK.1),
        None => {
            // Less: mostly predicted. More: something else takes time, too.
            if excess < UNCOUNTED_MISPREDICTION_FIT.0 * random
                || excess > UNCOUNTED_MISPREDICTION_FIT.1 * random + UNCOUNTED_MISPREDICTION_FIT.2
                || behind < MIN_TIME_AFTER_BRANCHES
            {
                return None;
            }
            match loads_far(found) {
                true => excess.min(MISPREDICTIONS_WITH_FAR_LOADS * random),
                false => excess,
            }
        }
    };
    if taken < MIN_MISPREDICTION_PART * iteration {
        return None;
    }
    // A model of a predictor may learn by heart what this processor does not; where the time behind
    // the branches says so, they take up to what random outcomes take.
    let unlearnt = is_modelled && behind >= MIN_TIME_AFTER_BRANCHES && !loads_far(found);
    Some(MispredictionCost {
        possible,
        seen,
        penalty,
        behind,
        least,
        excess,
        taken,
        most: match unlearnt {
            true => taken.max(excess.min(random)),
            false => taken,
        },
    })
}

/// Cycles of an iteration whose choices are made without branches. `slots` instructions are executed in it;
/// whether what is compared next `depends` on the choice before decides what it waits for.
fn cycles_without_branches(
    found: &HotLoop<'_>,
    cost: &MispredictionCost,
    slots: f64,
    depends: bool,
) -> Estimate {
    // A load, a comparison and a conditional move from iteration to iteration; short runs overlap.
    let chain = match (depends, found.is_long(MIN_TRIPS_FOR_CARRIED_CHAIN)) {
        (true, true) => BRANCHLESS_CHAIN_CYCLES,
        (true, false) => BRANCHLESS_CHAIN_CYCLES_SHORT,
        _ => 0.0,
    };
    let (least, iteration) = (cost.least, found.cycles.value);
    let carried = found.cost.chain_cycles.map_or(0.0, |cycles| cycles.value);
    let body = least.max(BRANCHLESS_CYCLES_PER_SLOT * slots).max(chain);
    // A choice by data makes what follows wait for it.
    let waits = match depends {
        true => BRANCHLESS_WAIT.0,
        false => BRANCHLESS_WAIT.1,
    };
    let left = |taken: f64, waits: f64| cost.excess - taken + waits * taken;
    Estimate {
        value: (body + left(cost.most, waits)).min(iteration),
        // Without mispredictions loads start earlier, too, and what no choice decides is done for several elements at a time.
        low: ((least
            .max(BRANCHLESS_CYCLES_PER_SLOT_LOW * slots)
            .max(BRANCHLESS_LOW * chain)
            + BRANCHLESS_LOW * left(cost.most, 0.0))
            * if depends { 1.0 } else { BRANCHLESS_VECTORS })
        .max(carried.min(least))
        .min(iteration),
        high: (BRANCHLESS_HIGH.0 * body + left(cost.taken, waits + BRANCHLESS_HIGH.1))
            .min(MAX_LOOP_RESIDUAL * iteration),
    }
}

fn with_facts(
    mut one: Candidate,
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    branches: &[Branch],
    cost: &MispredictionCost,
) -> Candidate {
    let function = found.input;
    for branch in branches.iter().take(MAX_REPORTED_BRANCHES) {
        one = one.fact(LoopFact::BranchOutcomes {
            line: function.places.get(branch.at).and_then(|place| place.line),
            taken: branch.taken,
            executions: function.counts[branch.at],
        });
    }
    one = one.fact(LoopFact::Model {
        cycles: found.cycles.value,
        modelled: Estimate::exact(cost.least),
        case: ModelCase::Bound,
    });
    let counted = input.program.follow_up.mispredictions.as_ref();
    if counted.is_none() {
        one = one.fact(LoopFact::TimeAfterBranches { share: cost.behind });
    }
    one.fact(LoopFact::Mispredictions {
        per_iteration: cost.seen.unwrap_or(cost.taken / cost.penalty),
        majority: cost.possible,
        penalty_cycles: cost.penalty,
        source: counted.map_or(EvidenceSource::Model, |events| events.source),
    })
}

/// Whether most mispredictions are of tests that look at one value one after the other: classes of letters, ranges.
fn test_one_value(input: &AnalysisInput, found: &HotLoop<'_>, branches: &[Branch]) -> bool {
    let sum = |tested: &dyn Fn(usize) -> bool| -> f64 {
        let tests = branches.iter().filter(|one| tested(one.at));
        tests.map(|one| one.mispredictions).sum()
    };
    let all = sum(&|_| true);
    let chains = decision_chains(input, found.input);
    (chains.iter().filter(|chain| chain.values == 1)).any(|chain| {
        let tested = |at: usize| chain.tests.iter().any(|test| test.branch == at);
        sum(&tested) > MOST_OF_IT * all
    })
}

/// Whether mispredictions are those of a model, not of this processor.
fn is_of_model(source: EvidenceSource) -> bool {
    !matches!(source, EvidenceSource::Counted | EvidenceSource::Measured)
}

/// Whether loads reach another cache line in each iteration, so that they may stall as well.
fn loads_far(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    found.usual().any(|at| {
        let addresses = function.values.addresses(at).iter().flatten();
        let far = |step: Option<Step>| match step {
            Some(Step::Constant(step)) => step.abs() >= CACHE_LINE_STEP,
            Some(Step::Invariant) | None => true,
        };
        function.data[at].loads()
            && addresses
                .map(|address| address_step(function, found.index, address))
                .any(far)
    })
}

fn branches(found: &HotLoop<'_>) -> Vec<Branch> {
    let function = found.input;
    let iterations = found.cost.iterations.max(1) as f64;
    let mut list: Vec<Branch> = (found.members.iter().copied())
        .filter_map(|at| {
            let all = function.counts[at];
            let Flow::CondJump(_) = function.code[at].flow else {
                return None;
            };
            let taken = function.taken.get(at).copied().flatten()? as f64 / all.max(1) as f64;
            let rare = taken.min(1.0 - taken);
            // Of independent outcomes one that guesses the more frequent way misses the others.
            let block = function.flow.block_of(at)?;
            let first = |to: &u32| function.flow.blocks()[*to as usize].instructions.start;
            let successors = &function.flow.blocks()[block as usize].successors;
            let stays = successors
                .iter()
                .all(|to| found.members.contains(&(first(to) as usize)));
            (rare >= VARYING_OUTCOME && all > MIN_CALLS_HABITUAL).then(|| Branch {
                at,
                taken,
                mispredictions: rare * all as f64 / iterations,
                stays,
            })
        })
        .collect();
    list.sort_by(|a, b| b.mispredictions.total_cmp(&a.mispredictions));
    list
}

/// Part of the loop's time at the first instructions after the branches, on either side.
fn behind(found: &HotLoop<'_>, branches: &[Branch]) -> f64 {
    let function = found.input;
    let mut places: Vec<usize> = Vec::new();
    for branch in branches {
        let Some(block) = function.flow.block_of(branch.at) else {
            continue;
        };
        for &next in &function.flow.blocks()[block as usize].successors {
            let start = function.flow.blocks()[next as usize].instructions.start as usize;
            let executed = (start..function.code.len()).filter(|&at| function.counts[at] > 0);
            places.extend(executed.take(INSTRUCTIONS_AFTER_BRANCH));
        }
    }
    places.sort_unstable();
    places.dedup();
    places.retain(|at| found.members.contains(at));
    if found.share > 0.0 {
        function.heat_of(places) / found.share
    } else {
        0.0
    }
}

/// Whether what a branch compares is loaded from where outcomes before decided.
fn depends(found: &HotLoop<'_>, branch: usize) -> bool {
    let function = found.input;
    let Some(block) = function.flow.block_of(branch) else {
        return false;
    };
    let range = &function.flow.blocks()[block as usize].instructions;
    (range.start as usize..branch).any(|at| {
        let mut addresses = function.values.addresses(at).iter().flatten();
        function.data[at].loads() && addresses.any(|address| is_decided(found, address))
    })
}

/// Whether the loop stores where a value was loaded from: a variable that is kept in memory.
fn is_stored(found: &HotLoop<'_>, value: Value) -> bool {
    let values = &found.input.values;
    let from = values.loaded_from(value);
    let executed = found.members.iter().filter(|&&at| found.times(at) > 0.0);
    executed.into_iter().any(|&at| {
        let accesses = found.input.data[at].memory.iter();
        let mut stores = accesses
            .zip(values.addresses(at))
            .filter(|one| one.0.writes);
        stores.any(|(_, to)| to.is_some() && to.map(|to| to.base) == from.map(|from| from.base))
    })
}

/// Whether an address follows from the way that an iteration, or one before, took through the loop.
fn is_decided(found: &HotLoop<'_>, address: &Address) -> bool {
    let (function, index) = (found.input, found.index);
    let values = &function.values;
    let head = function.flow.loops()[index as usize].head;
    let mut work = vec![address.base];
    work.extend(address.index.map(|one| one.0));
    let mut seen: Vec<u32> = Vec::new();
    while let Some(value) = work.pop() {
        let steady = values.is_invariant(value, &function.flow, index)
            || is_reloaded(function, index, value) && !is_stored(found, value)
            || matches!(value_step(function, index, value), Some(Step::Constant(_)));
        if steady || seen.contains(&value.number) {
            continue;
        }
        seen.push(value.number);
        if seen.len() > MAX_VALUES_FOLLOWED {
            return true;
        }
        match values.origin(value) {
            Origin::Constant | Origin::Entry => {}
            // What met inside is different by the way that was taken.
            Origin::Join(block) if block != head => return true,
            Origin::Join(_) => {
                let body = function.flow.loop_blocks(index);
                let before = function.flow.blocks()[head as usize].predecessors.iter();
                let mut brought = (before.zip(values.met(value)))
                    .filter(|one| body.contains(one.0))
                    .map(|one| *one.1);
                let first = brought.next();
                if brought.any(|other| Some(other) != first) {
                    return true;
                }
                work.extend(first);
            }
            Origin::Instruction(at) => {
                let reads = values.reads(at as usize).iter();
                work.extend(reads.filter(|one| one.0 < FLAGS).map(|one| one.1));
            }
        }
    }
    false
}
