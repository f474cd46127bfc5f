//! Loops without effects that load again what they loaded, and compute from that alone.

use genba_model::{Cause, Estimate, Fix, LoopFact, ObservedFact};
use genba_observe::RepeatedLoop;

use super::{how_loop_repeats, left};
use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::SELDOM_EXECUTIONS;
use crate::constants::observations::{
    CYCLES_OF_KEPT_RESULT, MAX_CALLS_WITH_EFFECTS, MAX_PART_OF_LOOP_AROUND,
    MIN_CYCLES_OF_REPEATED_LOOP, MIN_REPEATED, MIN_SHARE_OF_REPEATED_WORK,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::loop_inputs::computes_from_loads;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::search_loops::{scans_for_constants, search_of};

/// Loops of one function of the source, which may be inlined.
struct LoopsOfFunction<'a> {
    function: usize,
    name: String,
    list: Vec<(u32, &'a RepeatedLoop)>,
}

/// Loops without effects that load again what they loaded, and compute from that alone.
pub(super) fn repeated_loops(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let mut repeated: Vec<(usize, u32, &RepeatedLoop)> = Vec::new();
    let mut shares: Vec<f64> = Vec::new();
    for seen in &sites.observed.repeated_loops {
        let pure = seen.stores_outside <= MAX_CALLS_WITH_EFFECTS;
        if let (Some((function, index)), true) = (sites.loop_of_runs(seen), pure)
            && let Some((share, _)) = how_loop_repeats(seen)
        {
            repeated.push((function, index, seen));
            shares.push(share.low);
        }
    }
    let in_turn = sites.repeats_in_turn();
    let mut groups: Vec<LoopsOfFunction<'_>> = Vec::new();
    for (&(number, index, seen), share) in repeated.iter().zip(shares) {
        let function = &input.functions[number];
        let repeats = |at: usize| {
            let here = |index: u32| repeated.iter().any(|one| (one.0, one.1) == (number, index));
            function.loops_around(at).any(here) || sites.loads_one_value(number, at)
        };
        // What is in a nest of which most is a search is a search as well; one for delimiters takes the same bytes apart.
        let loops = 0..function.flow.loops().len() as u32;
        let inside = loops
            .filter(|&inner| function.is_innermost(inner) && function.is_loop_within(inner, index));
        let searching = inside
            .filter(|&inner| search_of(input, function, inner).is_some())
            .filter(|&inner| !scans_for_constants(function, inner))
            .map(|inner| function.loop_heat(inner));
        let search = searching.sum::<f64>() > MOST_OF_IT * function.loop_heat(index);
        let of_function = repeated.iter().filter(|one| one.0 == number);
        let indices: Vec<u32> = of_function.map(|one| one.1).collect();
        if !function.is_innermost(index) && are_all_of_loop_around(function, index, &indices) {
            continue;
        }
        let Some(runs) = entries(function, index).filter(|_| !search) else {
            continue;
        };
        // Where a delimiter is follows from what is read, and from where on. A program that takes the same texts apart
        // again and again, as benchmarks do, does so on purpose.
        let scans =
            search_of(input, function, index).is_some() && scans_for_constants(function, index);
        if scans && (in_turn || scans_with_all_around(&sites, (number, index), seen)) {
            continue;
        }
        // Each new value of what the loop is handed spoils one repetition: enough must be left.
        let changes = (share - MIN_REPEATED).max(SELDOM_EXECUTIONS) * runs as f64;
        if !scans && !computes_from_loads(function, index, changes, &repeats) {
            continue;
        }
        let head = function.loop_instructions(index)[0];
        let place = function
            .places
            .get(head)
            .and_then(|place| place.function.clone());
        let name = place.unwrap_or_else(|| function.function.clone());
        let same =
            |group: &&mut LoopsOfFunction<'_>| group.function == number && group.name == name;
        match groups.iter_mut().find(same) {
            Some(group) => group.list.push((index, seen)),
            None => groups.push(LoopsOfFunction {
                function: number,
                name,
                list: vec![(index, seen)],
            }),
        }
    }
    groups
        .iter()
        .filter_map(|group| group.candidate(&sites, all))
        .collect()
}

/// Whether the loop around one, which may be a caller's, does little else than what these loops repeat: then the program repeats its
/// work as a whole, as benchmarks do, which is meant so.
fn are_all_of_loop_around(function: &FunctionInput, index: u32, repeated: &[u32]) -> bool {
    let Some(around) = function.flow.loops()[index as usize].parent else {
        // The loop around is in a caller: all that the program does.
        return function.loop_heat(index) > MAX_PART_OF_LOOP_AROUND;
    };
    let whole = function.loop_instructions(around);
    let repeats = |at: &usize| {
        (function.loops_around(*at))
            .take_while(|&one| one != around)
            .any(|one| repeated.contains(&one))
    };
    let part = function.heat_of(whole.iter().copied().filter(repeats));
    part > MAX_PART_OF_LOOP_AROUND * function.heat_of(whole)
}

/// Whether what repeats is more than a scan: it scans the same as just before, or the outermost loop around it does the same
/// again.
fn scans_with_all_around(
    sites: &ObservedSites<'_>,
    (number, index): (usize, u32),
    seen: &RepeatedLoop,
) -> bool {
    let loops = sites.input.functions[number].flow.loops();
    let parent = |index: u32| loops[index as usize].parent;
    let outermost = std::iter::successors(parent(index), |&one| parent(one)).last();
    let again = |one: &RepeatedLoop| {
        let place = outermost.map(|outermost| (number, outermost));
        one.seen.share.value >= MIN_REPEATED && place.is_some() && sites.loop_of_runs(one) == place
    };
    seen.repeats_previous.share.value >= MIN_REPEATED
        || sites.observed.repeated_loops.iter().any(again)
}

impl LoopsOfFunction<'_> {
    fn candidate(&self, sites: &ObservedSites<'_>, all: f64) -> Option<Candidate> {
        let function = &sites.input.functions[self.function];
        let mut members: Vec<usize> = (self.list.iter())
            .flat_map(|one| function.loop_instructions(one.0))
            .collect();
        members.sort_unstable();
        members.dedup();
        let share = function.heat_of(members.iter().copied());
        let hottest = self
            .list
            .iter()
            .max_by(|a, b| function.loop_heat(a.0).total_cmp(&function.loop_heat(b.0)))?;
        let cost = function.loops.get(hottest.0 as usize)?.as_ref()?;
        let runs = entries(function, hottest.0)?;
        let each = share * all / runs as f64;
        let [value, low, high] = CYCLES_OF_KEPT_RESULT;
        if share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_OF_REPEATED_LOOP {
            return None;
        }
        let seen = hottest.1;
        let repeated = how_loop_repeats(seen)?.0;
        let fix = Fix::KeepResult {
            function: self.name.clone(),
        };
        let rest = rest_of_function(function, &self.name, &members);
        let rest_share = function.heat_of(rest.iter().copied());
        let all_share = share + rest_share;
        let of_loops = left(repeated, [value / each, low / each, high / each]);
        let mut one = Candidate::new(
            Cause::RedundantComputation,
            Some(self.function),
            members.clone(),
            fix,
        );
        one.affected = [members, rest].concat();
        one.affected.sort_unstable();
        one.share = Some(all_share);
        // Whether the rest follows from the same inputs was not observed: none of it may, or all.
        let residual =
            |of_loops: f64, saved: f64| (share * of_loops + rest_share * (1.0 - saved)) / all_share;
        one.residual_fraction = Estimate {
            value: residual(of_loops.value, 0.0),
            low: residual(of_loops.low, repeated.high),
            high: residual(of_loops.high, 0.0),
        };
        one.executions = Some(runs);
        one.cycles = Some(Estimate::exact(each));
        Some(
            one.fact(ObservedFact::RepeatedLoops {
                runs,
                share: repeated,
                distinct: seen.distinct_per_burst,
                bursts: seen.seen.bursts,
            })
            .fact(LoopFact::Time {
                share: Some(share),
                iterations: cost.iterations,
                cycles: function.loop_heat(hottest.0) * all / cost.iterations.max(1) as f64,
                trip_count: Some(cost.iterations as f64 / runs as f64),
            }),
        )
    }
}

/// What is executed of a function of the source beside its repeated loops: the same kept result spares
/// it, if it depends on nothing else. Nothing of a function that is called once: it makes no result again.
pub(super) fn rest_of_function(
    function: &FunctionInput,
    name: &str,
    loops: &[usize],
) -> Vec<usize> {
    let is_whole = name == function.function;
    if is_whole && function.calls.is_some_and(|calls| calls <= 1) {
        return Vec::new();
    }
    let of_source = |at: usize| {
        let place = function.places.get(at);
        is_whole || place.and_then(|one| one.function.as_deref()) == Some(name)
    };
    (0..function.code.len())
        .filter(|&at| of_source(at) && function.counts[at] > 0)
        .filter(|at| loops.binary_search(at).is_err())
        .collect()
}
