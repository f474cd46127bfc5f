//! `general-case-first`: the common case is decided last, after tests for what hardly ever holds.
//!
//! **Signature.** Tests of one value (a byte, bits of one word of flags, a string compared by calls),
//! each reached only when those before it have not decided, with nothing done between them. One
//! outcome is the usual one, and at least two tests are executed before it that another order, or
//! one test for the usual case in front, would spare. Tests of two values (a mode and a letter) may alternate
//! where each nearly always has the same outcome. The ways may part and meet again between them: rules that are asked one after
//! the other. Or a search of a few elements for what is
//! hardly ever among them ([`super::rare_finds`]). Or comparisons by calls that nearly always find a difference
//! ([`super::unequal_comparisons`]). Or a state machine that stays in one state for long runs
//! ([`super::staying_states`]).
//!
//! **Confirmation.** The usual case in front.
//!
//! **Gain.** The measured time of the tests behind the first, in proportion to those that are spared;
//! no more than some cycles for each, because mispredictions among them stay.
//!
//! **Source.** M. Yang, G. Uh and D. Whalley, "Improving performance by branch reordering", PLDI
//! 1998; mruby 5d1373335202 (`OP_ENTER` tests for the plain case first).

use std::cmp::Reverse;

use genba_model::{Cause, Estimate, Fix, PathFact};

use crate::candidate::Candidate;
use crate::causes::rare_finds::rare_finds;
use crate::causes::staying_states::staying_states;
use crate::causes::unequal_comparisons::unequal_comparisons;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, MIN_PART_OF_COMMON_CASE, MIN_TESTS_SPARED};
use crate::constants::gains::{
    COMPARISONS_SPARED_RANGE, FIRST_COMPARISON_SAVED, MAX_RESIDUAL, TESTS_SPARED_RANGE,
};
use crate::constants::processor::MAX_CYCLES_OF_TEST;
use crate::constants::time_shares::MIN_SHARE_OF_TESTS;
use crate::finding_site::of_all_of_them;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::decision_chains::{DecisionChain, Test, decision_chains};
use crate::patterns::decision_regions::decision_regions;
use crate::patterns::observed_sites::share_of_target;

/// Finds chains of tests of one value whose usual outcome comes last.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let own = input.functions.iter().enumerate().filter(|one| one.1.own);
    let mut found = Vec::new();
    for (index, function) in own {
        let of = |chain: &DecisionChain| candidate(input, index, function, chain, all);
        let regions = decision_regions(input, function);
        let mut chains = decision_chains(input, function);
        // A chain may be a part of what was found around it.
        chains.retain(|chain| {
            let covers = |region: &&DecisionChain| {
                let has = |test: &Test| region.tests.iter().any(|one| one.branch == test.branch);
                region.tests.len() > chain.tests.len() && chain.tests.iter().any(has)
            };
            !regions
                .iter()
                .filter(covers)
                .any(|region| of(region).is_some())
        });
        let first = found.len();
        found.extend(chains.iter().filter_map(of));
        let known: Vec<usize> = found[first..]
            .iter()
            .flat_map(|one: &Candidate| one.site.clone())
            .collect();
        let is_new =
            |region: &&DecisionChain| !region.tests.iter().any(|test| known.contains(&test.branch));
        found.extend(regions.iter().filter(is_new).filter_map(of));
    }
    // Where one outcome is the usual one, to test for it first spares more.
    let mut unequal = unequal_comparisons(input);
    unequal.retain(|one| {
        let mut of_function = found.iter().filter(|chain| chain.function == one.function);
        !of_function.any(|chain| one.site.iter().any(|at| chain.affected().contains(at)))
    });
    found.extend(unequal);
    found.extend(rare_finds(input));
    found.extend(staying_states(input));
    found
}

fn candidate(
    input: &AnalysisInput,
    index: usize,
    function: &FunctionInput,
    chain: &DecisionChain,
    all: f64,
) -> Option<Candidate> {
    let entered = chain.entered();
    let (mean, best) = (chain.mean(), chain.best_mean());
    let (common, &times) = chain
        .exits
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))?;
    let part = times / entered.max(1) as f64;
    let spared = mean - best;
    if entered < MIN_CALLS_IN_HOT_CODE
        || part < MIN_PART_OF_COMMON_CASE
        || spared < MIN_TESTS_SPARED
    {
        return None;
    }
    // The first test waits for the value, in whatever order.
    let behind = &chain.tests[1..];
    let share = behind
        .iter()
        .map(|test| share_of(input, index, function, test, all))
        .sum::<f64>()
        .min(1.0);
    let executions: u64 = behind.iter().map(|test| test.executions).sum();
    if share < MIN_SHARE_OF_TESTS || executions == 0 {
        return None;
    }
    let removed = (spared / (mean - 1.0)).clamp(0.0, 1.0);
    // One condition may tell of both values, or of the one that most tests look at.
    let of_main = (chain.of_main_value - 1) as f64 / (chain.tests.len() - 1) as f64;
    let (most, least) = (removed, removed * of_main.min(1.0));
    let removed = (most + least) / 2.0;
    let tests = chain.tests.len();
    let strings = chain.tests.iter().any(|test| test.call.is_some());
    let mut site: Vec<usize> = chain.tests.iter().map(|test| test.branch).collect();
    // Where most of the tests stand, of those that were inlined there.
    let stands = |at: &usize| {
        function
            .places
            .get(*at)
            .and_then(|one| one.function.clone())
    };
    let all_stand: Vec<_> = site.iter().map(stands).collect();
    let beside = |at: &usize| all_stand.iter().filter(|one| **one == stands(at)).count();
    site.sort_by_key(|at| Reverse(beside(at)));
    // Rules of several functions are asked by the one that they are inlined into.
    if site
        .first()
        .is_some_and(|first| 2 * beside(first) <= site.len())
    {
        let members = chain
            .tests
            .iter()
            .flat_map(|test| test.instructions.clone());
        let asks = of_all_of_them(function, site.iter().copied(), members, site[0]);
        site.splice(..1, asks);
    }
    let fix = Fix::CommonCaseFirst { strings };
    let mut one = Candidate::new(Cause::GeneralCaseFirst, Some(index), site, fix);
    one.affected = behind
        .iter()
        .flat_map(|test| test.instructions.clone())
        .collect();
    let (value, low, high) = match strings {
        true => COMPARISONS_SPARED_RANGE,
        false => TESTS_SPARED_RANGE,
    };
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: 1.0 - value * removed,
        low: 1.0 - high * most,
        high: (1.0 - low * least).min(MAX_RESIDUAL),
    };
    if strings {
        // A switch over a letter needs no comparison at all.
        let first = share_of(input, index, function, &chain.tests[0], all);
        one.saves(&[
            SavedTime::of(share, (value * removed, low * least, high * most)),
            SavedTime::of(first, FIRST_COMPARISON_SAVED),
        ]);
    }
    one.executions = Some(entered);
    one.cycles = Some(Estimate::exact(share * all / entered as f64));
    Some(
        one.fact(PathFact::TestChain {
            tests,
            strings,
            values: chain.values,
            executions: entered,
            common: part,
            after: common + 1,
        })
        .fact(PathFact::MeanTests { mean, best })
        .fact(PathFact::TestTime {
            share,
            cycles: share * all / executions as f64,
        }),
    )
}

/// Share of all time in a test, of a comparing call with the callee; at most some cycles for each
/// execution of what is not a call.
fn share_of(
    input: &AnalysisInput,
    index: usize,
    function: &FunctionInput,
    test: &Test,
    all: f64,
) -> f64 {
    let here = function.heat_of(test.instructions.clone());
    let bound = MAX_CYCLES_OF_TEST * test.executions as f64 / all;
    let Some(call) = test.call else {
        return here.min(bound);
    };
    let site = function.call_sites.iter().find(|site| site.at == call);
    let targets = site.into_iter().flat_map(|site| &site.targets);
    let inside = targets.map(|target| share_of_target(input, index, target));
    here + inside.sum::<f64>()
}
