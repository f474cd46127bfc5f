//! One loop of the source, inlined at several places, whose copies go over the same data one after another:
//! a look-up that is made by `contains` and again by `at`, a hash for the search and again for the insertion.

use genba_code::Flow;
use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::LoopAgain;

use super::left;
use super::loops::rest_of_function;
use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::SELDOM_EXECUTIONS;
use crate::constants::observations::{
    CYCLES_OF_KEPT_RESULT, MIN_CYCLES_OF_REPEATED_LOOP, MIN_REPEATED, MIN_SHARE_OF_REPEATED_WORK,
};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::loop_inputs::computes_from_loads;
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// The loops of a function of the source that is inlined several times into another one, each with its copies.
struct LoopsOfFunction<'a> {
    function: usize,
    name: String,
    loops: Vec<Vec<Copy<'a>>>,
}

/// A copy, and the observation that it goes over what another one has gone over, if it does.
struct Copy<'a> {
    function: usize,
    index: u32,
    runs: u64,
    again: Option<&'a LoopAgain>,
}

pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let mut groups: Vec<Vec<Copy<'_>>> = Vec::new();
    for again in &sites.observed.loops_again {
        let enough = is_enough(&again.seen) && again.seen.share.low >= MIN_REPEATED;
        let (Some(one), Some(other)) = (
            sites.loop_with_head(again.head),
            sites.loop_with_head(again.other),
        ) else {
            continue;
        };
        if !enough || !is_copy_of(input, one, other) {
            continue;
        }
        let known = |group: &&mut Vec<Copy<'_>>| {
            let (function, index) = (group[0].function, group[0].index);
            function == one.0 && is_copy_of(input, (function, index), one)
        };
        let mut both = Vec::new();
        both.extend(copy(input, other, None).filter(|_| other.0 == one.0));
        both.extend(copy(input, one, Some(again)));
        match groups.iter_mut().find(known) {
            Some(group) => group.extend(both),
            None if !both.is_empty() => groups.push(both),
            None => {}
        }
    }
    // All loops of one function of the source are one finding: one kept result serves them.
    let mut functions: Vec<LoopsOfFunction<'_>> = Vec::new();
    for group in groups.into_iter().map(once_each) {
        let (number, index) = (group[0].function, group[0].index);
        let Some(name) = name_of(&input.functions[number], index) else {
            continue;
        };
        let same = |one: &&mut LoopsOfFunction<'_>| one.function == number && one.name == name;
        match functions.iter_mut().find(same) {
            Some(one) => one.loops.push(group),
            None => functions.push(LoopsOfFunction {
                function: number,
                name,
                loops: vec![group],
            }),
        }
    }
    functions
        .into_iter()
        .filter_map(|one| one.candidate(&sites, all))
        .collect()
}

fn copy<'a>(
    input: &AnalysisInput,
    (function, index): (usize, u32),
    again: Option<&'a LoopAgain>,
) -> Option<Copy<'a>> {
    let runs = entries(&input.functions[function], index)?;
    Some(Copy {
        function,
        index,
        runs,
        again,
    })
}

/// Of a copy that is known as the other one of several and by itself what is known of itself.
fn once_each(group: Vec<Copy<'_>>) -> Vec<Copy<'_>> {
    let mut found: Vec<Copy<'_>> = Vec::new();
    for one in group {
        match found.iter_mut().find(|other| other.index == one.index) {
            Some(other) => other.again = other.again.or(one.again),
            None => found.push(one),
        }
    }
    found
}

/// Whether two loops are the same of the source and compute the same: their heads are of one function, which may
/// be inlined, they have a line in common, and they execute the same operations with the same constants. A
/// generic loop with another closure, or with another argument folded into it, is another loop.
fn is_copy_of(input: &AnalysisInput, one: (usize, u32), other: (usize, u32)) -> bool {
    if operations(input, one) != operations(input, other) {
        return false;
    }
    let lines = |(function, index): (usize, u32)| {
        let function = &input.functions[function];
        let members = function.loop_instructions(index);
        let name = name_of(function, index);
        let places = members.into_iter().filter_map(|at| function.places.get(at));
        let own = places.filter(|place| place.function == name);
        (
            name.clone(),
            own.filter_map(|place| place.line).collect::<Vec<u32>>(),
        )
    };
    let (one, other) = (lines(one), lines(other));
    one.0.is_some() && one.0 == other.0 && one.1.iter().any(|line| other.1.contains(line))
}

/// What a loop executes but moves, without registers and addresses, in an order of its own.
fn operations(input: &AnalysisInput, (function, index): (usize, u32)) -> Vec<(&'static str, &str)> {
    let function = &input.functions[function];
    let members = function.loop_instructions(index).into_iter();
    let mut found: Vec<(&str, &str)> = members
        .filter(|&at| function.counts[at] > 0)
        .map(|at| &function.code[at])
        .filter(|code| !code.mnemonic.starts_with("mov") && !matches!(code.flow, Flow::Jump(_)))
        .map(|code| {
            let last = code.text.rsplit([' ', ',']).next().unwrap_or_default();
            let constant = last.starts_with(|first: char| first.is_ascii_digit());
            let jumps = !matches!(code.flow, Flow::Next);
            (code.mnemonic, if constant && !jumps { last } else { "" })
        })
        .collect();
    found.sort_unstable();
    found
}

/// The function of the source that a loop's head is of.
fn name_of(function: &FunctionInput, index: u32) -> Option<String> {
    let head = *function.loop_instructions(index).first()?;
    function.places.get(head)?.function.clone()
}

impl LoopsOfFunction<'_> {
    fn candidate(mut self, sites: &ObservedSites<'_>, all: f64) -> Option<Candidate> {
        let function = &sites.input.functions[self.function];
        let indices: Vec<u32> = self.loops.iter().flatten().map(|one| one.index).collect();
        let repeats = |at: usize| {
            let mut around = function.loops_around(at);
            around.any(|index| indices.contains(&index)) || sites.loads_one_value(self.function, at)
        };
        self.loops.retain(|copies| {
            copies.iter().all(|one| {
                let changes = SELDOM_EXECUTIONS * one.runs as f64;
                computes_from_loads(function, one.index, changes, &repeats)
            })
        });
        let runs_of = |copies: &Vec<Copy<'_>>| copies.iter().map(|one| one.runs).sum::<u64>();
        let most = self.loops.iter().max_by_key(|copies| runs_of(copies))?;
        let (runs, copies) = (runs_of(most), most.len());
        let again = most.iter().find_map(|one| Some((one.index, one.again?)))?;
        let mut members: Vec<usize> = (self.loops.iter().flatten())
            .flat_map(|one| function.loop_instructions(one.index))
            .collect();
        members.sort_unstable();
        members.dedup();
        let share = function.heat_of(members.iter().copied());
        let each = share * all / runs.max(1) as f64;
        if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_REPEATED_LOOP {
            return None;
        }
        let repeated = repeated_part(function, &self.loops)?;
        let of_loops = left(repeated, CYCLES_OF_KEPT_RESULT.map(|cycles| cycles / each));
        // The same inputs go into the rest of the function: it may follow from them as well.
        let rest = rest_of_function(function, &self.name, &members);
        let rest_share = function.heat_of(rest.iter().copied());
        let all_share = share + rest_share;
        let residual =
            |of_loops: f64, saved: f64| (share * of_loops + rest_share * (1.0 - saved)) / all_share;
        let fix = Fix::KeepResult {
            function: self.name.clone(),
        };
        let site = function.loop_instructions(again.0);
        let mut one = Candidate::new(Cause::RedundantComputation, Some(self.function), site, fix);
        one.affected = [members, rest].concat();
        one.affected.sort_unstable();
        one.share = Some(all_share);
        one.residual_fraction = Estimate {
            value: residual(of_loops.value, repeated.value / 2.0),
            low: residual(of_loops.low, repeated.high),
            high: residual(of_loops.high, 0.0),
        };
        one.executions = Some(runs);
        one.cycles = Some(Estimate::exact(each));
        let iterations: u64 = (most.iter())
            .filter_map(|one| function.loops.get(one.index as usize)?.as_ref())
            .map(|cost| cost.iterations)
            .sum();
        Some(
            one.fact(ObservedFact::LoopsAgain {
                copies: copies as u32,
                runs,
                share: repeated,
                bursts: again.1.seen.bursts,
            })
            .fact(time_of_runs(share, all, iterations, runs)),
        )
    }
}

/// Share of the runs of these loops that repeat one, weighted by the loops' time. Runs of the first of a
/// loop's copies repeat nothing: they are in the whole, not in the part.
fn repeated_part(function: &FunctionInput, loops: &[Vec<Copy<'_>>]) -> Option<Estimate> {
    let heat = |copies: &Vec<Copy<'_>>| -> f64 {
        copies.iter().map(|one| function.loop_heat(one.index)).sum()
    };
    let whole: f64 = loops.iter().map(heat).sum();
    let part = |of: fn(&Estimate) -> f64| {
        let repeated = |copies: &Vec<Copy<'_>>| {
            let runs: u64 = copies.iter().map(|one| one.runs).sum();
            let again = |one: &Copy<'_>| {
                let share = one.again.map_or(0.0, |again| of(&again.seen.share));
                share * one.runs as f64
            };
            heat(copies) * copies.iter().map(again).sum::<f64>() / runs.max(1) as f64
        };
        loops.iter().map(repeated).sum::<f64>() / whole
    };
    (whole > 0.0).then(|| Estimate {
        value: part(|share| share.value),
        low: part(|share| share.low),
        high: part(|share| share.high),
    })
}
