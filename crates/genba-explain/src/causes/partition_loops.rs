//! Part of `unpredictable-branch`: a sort or selection that parts what it is given by comparisons that go either way.
//!
//! **Signature.** In one loop two scans in opposite directions, each of which goes on while what it loads is on its side
//! of a pivot, a few steps each time; behind them the two elements change places (C. A. R. Hoare, "Quicksort", The
//! Computer Journal 5, 1962). The end of each scan is mispredicted, and that takes a good part of the loop's time. A
//! library's, too, at the user's call: there are others.
//!
//! **Near misses.** What is in order already: the scans are long, and their ends are predicted. Comparisons by calls, or of what lies
//! behind pointers: then these take the time.
//!
//! **Gain.** Cycles of an element to those of a partition without branches.
//!
//! **Source.** S. Edelkamp and A. Weiss, "BlockQuicksort: avoiding branch mispredictions in quicksort", ESA 2016;
//! O. Peters, "Pattern-defeating quicksort", 2021.

use genba_code::STACK_POINTER;
use genba_loop_model::misprediction_penalty;
use genba_model::{Cause, Confirmation, Estimate, EvidenceSource, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MAX_STEPS_OF_PARTITION, MIN_CALLS_HABITUAL};
use crate::constants::gains::MAX_LOOP_RESIDUAL;
use crate::constants::model_fit::MIN_MISPREDICTION_PART;
use crate::constants::processor::BRANCHLESS_PARTITION_CYCLES;
use crate::constants::time_shares::MIN_SHARE_OF_BRANCH_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::search_loops::{Comparison, search_of};
use crate::patterns::value_steps::{Step, address_step};

/// Loads of a scan beside that of the element: the pivot's. Others are behind pointers.
const MAX_LOADS_OF_SCAN: usize = 2;

/// All of the program.
pub(crate) fn partitions(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, function) in input.functions.iter().enumerate() {
        let loops = function.flow.loops();
        if !function.counted
            || function.counts.len() != function.code.len()
            || function.loops.len() != loops.len()
        {
            continue;
        }
        let scans: Vec<Scan> = (0..loops.len() as u32)
            .filter(|&index| function.is_innermost(index))
            .filter_map(|index| scan(input, function, index))
            .filter(|one| one.steps as f64 <= MAX_STEPS_OF_PARTITION * one.runs as f64)
            .collect();
        let mut around: Vec<u32> = (0..loops.len() as u32)
            .filter(|&index| function.loop_heat(index) >= MIN_SHARE_OF_BRANCH_LOOP)
            .collect();
        around.sort_by_key(|&index| function.flow.loop_blocks(index).len());
        let mut parted: Vec<u32> = Vec::new();
        for index in around {
            if parted
                .iter()
                .any(|&inner| function.is_loop_within(inner, index))
            {
                continue;
            }
            if let Some(scans) = scans_in(function, index, &scans) {
                parted.push(index);
                found.extend(candidate(input, number, index, scans, all));
            }
        }
    }
    found
}

/// Whether a loop is one of the scans of a partition, however far they go: what it passes is parted again in pieces, by halves.
pub(crate) fn parts(input: &AnalysisInput, function: &FunctionInput, index: u32) -> bool {
    let loops = function.flow.loops();
    let known = function.counts.len() == function.code.len() && function.loops.len() == loops.len();
    if !known || !function.is_innermost(index) {
        return false;
    }
    let scans: Vec<Scan> = (0..loops.len() as u32)
        .filter(|&one| function.is_innermost(one))
        .filter_map(|one| scan(input, function, one))
        .collect();
    let parent = |one: &u32| loops[*one as usize].parent;
    std::iter::successors(parent(&index), parent).any(|around| {
        let two = scans_in(function, around, &scans);
        two.is_some_and(|two| two.iter().any(|scan| scan.index == index))
    })
}

/// A loop that passes elements on one side of the pivot.
struct Scan {
    index: u32,
    /// Where it loads the element.
    load: usize,
    forward: bool,
    steps: u64,
    runs: u64,
}

/// The two scans in a loop that changes elements' places beside them. Compilers make several loops of the one around.
fn scans_in<'a>(function: &FunctionInput, index: u32, all: &'a [Scan]) -> Option<[&'a Scan; 2]> {
    let mut inside = (all.iter()).filter(|one| function.is_loop_within(one.index, index));
    let (first, second) = (inside.next()?, inside.next()?);
    if inside.next().is_some() || first.forward == second.forward {
        return None;
    }
    let within = |at: &usize| {
        let innermost = function.flow.loop_of_instruction(*at);
        let scans = [Some(first.index), Some(second.index)];
        !scans.contains(&innermost) && function.counts[*at] > 0
    };
    let stores = (function.loop_instructions(index).into_iter().filter(within))
        .flat_map(|at| function.data[at].memory.iter())
        .filter(|one| one.writes && !one.stack && one.base != Some(STACK_POINTER));
    (stores.count() >= 2).then_some([first, second])
}

fn scan(input: &AnalysisInput, function: &FunctionInput, index: u32) -> Option<Scan> {
    let cost = function.loops[index as usize].as_ref()?;
    let runs = cost.entries.filter(|&runs| runs >= MIN_CALLS_HABITUAL)?;
    if search_of(input, function, index) != Some(Comparison::Order) {
        return None;
    }
    let members = function.loop_instructions(index);
    let loads: Vec<usize> = (members.into_iter())
        .filter(|&at| function.counts[at] > 0 && function.data[at].loads())
        .collect();
    let step = |at: usize| {
        let addresses = function.values.addresses(at).iter().flatten();
        let steps = addresses.map(|address| address_step(function, index, address));
        steps.into_iter().find_map(|step| match step {
            Some(Step::Constant(step)) if step != 0 => Some(step),
            _ => None,
        })
    };
    let (load, step) = (loads.iter()).find_map(|&at| Some((at, step(at)?)))?;
    (loads.len() <= MAX_LOADS_OF_SCAN).then_some(Scan {
        index,
        load,
        forward: step > 0,
        steps: cost.iterations,
        runs,
    })
}

fn candidate(
    input: &AnalysisInput,
    number: usize,
    index: u32,
    scans: [&Scan; 2],
    all: f64,
) -> Option<Candidate> {
    let function = &input.functions[number];
    let members = function.loop_instructions(index);
    let share = function.heat_of(members.iter().copied());
    let elements: u64 = scans.iter().map(|one| one.steps).sum();
    let cycles = share * all / elements.max(1) as f64;
    let counted = input.program.follow_up.mispredictions.as_ref();
    // Of independent outcomes one that guesses the more frequent way misses the others.
    let guesses = scans
        .iter()
        .map(|one| one.runs.min(one.steps.saturating_sub(one.runs)));
    let possible = guesses.sum::<u64>() as f64 / elements.max(1) as f64;
    let seen = counted.map(|events| events.times(number, &members) / elements.max(1) as f64);
    let penalty = misprediction_penalty(&input.program.costs).value;
    if seen.unwrap_or(possible) * penalty < MIN_MISPREDICTION_PART * cycles {
        return None;
    }
    let mut found = Candidate::new(
        Cause::UnpredictableBranch,
        Some(number),
        scans.iter().map(|one| one.load).collect(),
        Fix::PartitionWithoutBranches,
    );
    if !function.own {
        let user = function.user_callers.first()?;
        found.at = Some(site_of(
            &user.function,
            &user.module,
            user.address,
            &user.place,
        ));
    }
    found.affected = members;
    let [likely, least, most] =
        BRANCHLESS_PARTITION_CYCLES.map(|after| (after / cycles).min(MAX_LOOP_RESIDUAL));
    found.share = Some(share);
    found.residual_fraction = Estimate {
        value: likely,
        low: least,
        high: most,
    };
    found.executions = Some(elements);
    found.cycles = Some(Estimate::exact(cycles));
    found.confirmation = Confirmation::Mispredictions {
        counted: counted.is_some(),
    };
    let runs = scans.iter().map(|one| one.runs).sum();
    Some(
        found
            .fact(time_of_runs(share, all, elements, runs))
            .fact(LoopFact::Mispredictions {
                per_iteration: seen.unwrap_or(possible),
                majority: possible,
                penalty_cycles: penalty,
                source: counted.map_or(EvidenceSource::Model, |events| events.source),
            }),
    )
}
