//! A sum of mostly the terms that the last one was made of, added up anew.
//!
//! **Signature.** Observed: most of what a loop loads the run before has loaded as well, from the same place with the same
//! value, though not all. The loop adds up what it loads, and does nothing else with it ([`plain_sum`]).
//!
//! **Near misses.** Products with a vector that is another one each time (the weights are the same); sums over
//! neighbours, of which each run has its own; runs that do the same as before altogether (`loops`).
//!
//! **Gain.** What has changed is subtracted and added, the rest of the loop's time goes.
//!
//! **Source.** A. Nistor et al., "Toddler: detecting performance problems via similar memory-access patterns", ICSE 2013;
//! R. Paige, S. Koenig, "Finite differencing of computable expressions", TOPLAS 4, 1982.

use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::RepeatedLoop;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::MIN_SEARCHES;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    MIN_REPEATED, MIN_SHARE_OF_REPEATED_WORK, MIN_TERMS_AGAIN, UPDATES_PER_CHANGED_TERM,
};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::time_of_runs;
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use crate::patterns::plain_sums::plain_sum;

/// Loops that add up mostly the same terms again, the outermost of a nest only.
pub(super) fn sums_again(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    if sites.repeats_as_a_whole() {
        return Vec::new();
    }
    let mut found: Vec<Candidate> = (sites.observed.repeated_loops.iter())
        .filter_map(|seen| candidate(&sites, seen, all))
        .collect();
    let share = |one: &Candidate| one.share.unwrap_or(0.0);
    found.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let mut outermost: Vec<Candidate> = Vec::new();
    for one in found {
        let inside = |other: &Candidate| {
            let around = other.affected();
            other.function == one.function && one.affected().iter().any(|at| around.contains(at))
        };
        if !outermost.iter().any(inside) {
            outermost.push(one);
        }
    }
    outermost
}

fn candidate(sites: &ObservedSites<'_>, seen: &RepeatedLoop, all: f64) -> Option<Candidate> {
    let again = (seen.loads_as_previous.as_ref())
        .filter(|one| is_enough(one) && one.share.low >= MIN_TERMS_AGAIN)?;
    let (number, index) = sites.loop_of_runs(seen)?;
    let function = &sites.input.functions[number];
    let members = function.loop_instructions(index);
    let share = function.heat_of(members.iter().copied());
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let runs = entries(function, index)?;
    if seen.repeats_previous.share.value >= MIN_REPEATED
        || !function.can_be_changed()
        || share < MIN_SHARE_OF_REPEATED_WORK
        || runs < MIN_SEARCHES
    {
        return None;
    }
    let sum = plain_sum(function, index, &members)?;
    let each = share * all / runs as f64;
    let changed = |share: f64| (UPDATES_PER_CHANGED_TERM * (1.0 - share)).min(MAX_RESIDUAL);
    let mut one = Candidate::new(
        Cause::RedundantComputation,
        Some(number),
        vec![sum],
        Fix::UpdateSum,
    );
    one.affected = members;
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: changed(again.share.value),
        low: 1.0 - again.share.high,
        high: (2.0 * changed(again.share.low)).min(MAX_RESIDUAL),
    };
    one.executions = Some(runs);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ObservedFact::SumsAgain {
            runs,
            share: again.share,
            bursts: again.bursts,
        })
        .fact(time_of_runs(share, all, cost.iterations, runs)),
    )
}
