//! Branches anywhere that are mispredicted, whose choice is short enough for a select: `unpredictable-branch`
//! beyond small loops.
//!
//! **Signature.** A branch that bursts saw mispredicted often, and time right behind it that so many
//! restarts explain. Its sides are some instructions without effects, or it is the first of two conditions
//! with the same way out, which together are mostly decided alike: in range, and then equal.
//!
//! **Gain.** The mispredictions times the host's penalty, without those that stay (of two conditions: those of
//! both together), and without the instructions that then always run.
//!
//! **Source.** T. Ball and J. Larus, "Branch prediction for free", PLDI 1993 (what compilers guess); zstd
//! e8fce38954ef (selects an address that is always valid).

use genba_loop_model::misprediction_penalty;
use genba_model::{Cause, Confirmation, Estimate, Fix, ObservedFact};
use genba_observe::BranchSite;

use crate::candidate::Candidate;
use crate::constants::counts::MIN_CALLS_HABITUAL;
use crate::constants::gains::{CHOICE_CYCLES_SAVED, MAX_RESIDUAL};
use crate::constants::model_fit::MIN_MODELLED_MISPREDICTION_FIT;
use crate::constants::observations::MIN_MISPREDICTED;
use crate::constants::processor::INSTRUCTIONS_AFTER_BRANCH;
use crate::constants::search_limits::MAX_REPORTED_BRANCHES;
use crate::constants::time_shares::MIN_SHARE_OF_BRANCH_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::{cycles_of_all, slot};
use crate::patterns::observed_sites::{ObservedSites, is_enough};
use crate::patterns::short_choices::{Choice, short_choice};

/// A branch with what its mispredictions cost.
struct Mispredicted<'a> {
    at: usize,
    site: &'a BranchSite,
    share: Estimate,
    choice: Choice,
    /// Share of all time: what is lost, and what the extra instructions of a select take.
    lost: f64,
    added: f64,
    /// Where that time stands.
    behind: Vec<usize>,
}

/// A function, and its innermost loop.
type Around = (usize, Option<u32>);

/// Finds them, those of one innermost loop, or of a function outside of loops, together.
pub(crate) fn choices(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let mut groups: Vec<(Around, Vec<Mispredicted<'_>>)> = Vec::new();
    for branch in &sites.observed.branches {
        let Some((number, at)) = sites.users_site(branch.at) else {
            continue;
        };
        let function = &input.functions[number];
        let Some(found) = mispredicted(input, &sites, (number, at), branch, all) else {
            continue;
        };
        let key = (number, function.flow.loop_of_instruction(at));
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(found),
            None => groups.push((key, vec![found])),
        }
    }
    let candidates = groups.into_iter();
    candidates
        .filter_map(|((number, _), list)| candidate(input, number, list, all))
        .collect()
}

fn mispredicted<'a>(
    input: &AnalysisInput,
    sites: &ObservedSites<'a>,
    (number, at): (usize, usize),
    site: &'a BranchSite,
    all: f64,
) -> Option<Mispredicted<'a>> {
    let function = &input.functions[number];
    let seen = site.mispredicted.as_ref().filter(|seen| is_enough(seen))?;
    let library = function.of_library.get(at).copied().unwrap_or(false);
    if seen.share.low < MIN_MISPREDICTED || function.counts[at] < MIN_CALLS_HABITUAL || library {
        return None;
    }
    let times = function.counts[at] as f64;
    let penalty = misprediction_penalty(&input.program.costs).value;
    if seen.share.value * times * penalty < MIN_SHARE_OF_BRANCH_LOOP / 2.0 * all {
        return None;
    }
    let choice = short_choice(function, at)?;
    let mut behind = after(function, at);
    let mut before = seen.share.value * times;
    let mut stay = 0.0;
    if let Some((second, pass)) = choice.second {
        let address = function.code[second].address;
        let same = |one: &&BranchSite| one.at.module == site.at.module && one.at.address == address;
        let of_second = sites.observed.branches.iter().find(same);
        let missed = of_second.and_then(|one| one.mispredicted.as_ref());
        before += missed.map_or(0.0, |one| one.share.value * function.counts[second] as f64);
        stay = pass.min(times - pass).max(0.0);
        behind.extend(after(function, second));
    }
    behind.push(at);
    behind.sort_unstable();
    behind.dedup();
    let here = function.heat_of(behind.iter().copied());
    let lost = (before - stay).max(0.0) * penalty / all;
    let mut affected = choice.pieces.clone();
    affected.extend(&behind);
    affected.sort_unstable();
    affected.dedup();
    // The processor predicts what the model of a predictor does not, or something else waits meanwhile.
    if here < MIN_MODELLED_MISPREDICTION_FIT * before * penalty / all {
        return None;
    }
    Some(Mispredicted {
        at,
        site,
        share: seen.share,
        lost: lost.min(function.heat_of(affected)),
        added: choice.added * slot(input) / all,
        choice,
        behind,
    })
}

/// The first instructions on either side of a branch.
fn after(function: &FunctionInput, at: usize) -> Vec<usize> {
    let block = function.flow.block_of(at);
    let successors = block.map(|block| &function.flow.blocks()[block as usize].successors);
    (successors.into_iter().flatten())
        .flat_map(|&next| {
            let range = &function.flow.blocks()[next as usize].instructions;
            (range.start as usize..range.end as usize).take(INSTRUCTIONS_AFTER_BRANCH)
        })
        .collect()
}

fn candidate(
    input: &AnalysisInput,
    number: usize,
    mut list: Vec<Mispredicted<'_>>,
    all: f64,
) -> Option<Candidate> {
    let function = &input.functions[number];
    list.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    let lost: f64 = list.iter().map(|one| one.lost).sum();
    let added: f64 = list.iter().map(|one| one.added).sum();
    let saved = |part: f64| (lost * part - added).max(0.0);
    let [likely, least, most] = CHOICE_CYCLES_SAVED;
    if lost < MIN_SHARE_OF_BRANCH_LOOP || saved(likely) <= 0.0 {
        return None;
    }
    let site = list.iter().map(|one| one.at).collect();
    let fix = Fix::Branchless;
    let mut one = Candidate::new(Cause::UnpredictableBranch, Some(number), site, fix);
    let pieces = list
        .iter()
        .flat_map(|one| one.choice.pieces.iter().copied());
    let behind = list.iter().flat_map(|one| one.behind.iter().copied());
    one.affected = pieces.chain(behind).collect();
    one.affected.sort_unstable();
    one.affected.dedup();
    let share = function.heat_of(one.affected.iter().copied()).max(1e-9);
    let left = |part: f64| (1.0 - saved(part) / share).clamp(0.0, 1.0);
    one.residual_fraction = Estimate {
        value: left(likely),
        low: left(most),
        high: left(least).min(MAX_RESIDUAL),
    };
    let first = list.first()?;
    let executions = function.counts[first.at];
    one.executions = Some(executions);
    let each = share * all / executions as f64;
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::Mispredictions { counted: false };
    let penalty = misprediction_penalty(&input.program.costs).value;
    let facts =
        list.iter()
            .take(MAX_REPORTED_BRANCHES)
            .map(|one| ObservedFact::MispredictedBranch {
                line: function.places.get(one.at).and_then(|place| place.line),
                executions: function.counts[one.at],
                share: one.share,
                penalty_cycles: penalty,
                time: one.share.value * function.counts[one.at] as f64 * penalty / all,
                bursts: one.site.mispredicted.as_ref().map_or(0, |seen| seen.bursts),
            });
    Some(one.facts(facts))
}
