//! A list that is walked again and again, and nothing comes of it.
//!
//! **Signature.** A loop that follows hundreds of links for each of many items, and leaves nothing behind but where it
//! ended: what it and what it calls store outside of their frames is there already (as observed), what it stores in its
//! own frame it does not read again, and what iterations hand on is the link. The tests on the way decide only what else
//! is not done. Bursts cannot compare whole walks: those that matter are longer than a burst.
//!
//! **Near misses.** Walks that sum up or choose, that change or mark their elements, that call what has an effect, that
//! compare with a key ([`super::search`]), that go on where the last one stopped; short lists.
//!
//! **Gain.** Without the walk.
//!
//! **Source.** K. Lepak and M. Lipasti, "On the value locality of store instructions", ISCA 2000 (silent stores).

use genba_model::{Fix, QuadraticFact};

use super::effects::Effects;
use super::list_links::links_from;
use super::list_walk::{is_link, walks_candidate};
use super::rescan::{carries_positions_only, keeps_in_frame};
use super::sweep::compares_with_key;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES, SELDOM_EXECUTIONS};
use crate::input::analysis_input::AnalysisInput;
use crate::input::value_uses::Uses;
use crate::input::values::Value;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::share_of_target;

/// A walk along a list without effect, for each of many items.
pub(super) fn idle_walk(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (iterations, walks) = (found.trips?, found.cost.entries?);
    if !function.own || iterations < MIN_ELEMENTS_PER_SEARCH || walks < MIN_SEARCHES {
        return None;
    }
    let uses = Uses::of(function);
    let links: Vec<Value> = (found.members.iter())
        .flat_map(|&at| function.values.addresses(at).iter().flatten())
        .filter(|from| from.index.is_none() && !links_from(found, from.base).is_empty())
        .map(|from| from.base)
        .collect();
    let is_position = |value: Value| links.iter().any(|link| link.number == value.number);
    let usual = || {
        let members = found.members.iter().copied();
        members.filter(|&at| found.times(at) > SELDOM_EXECUTIONS)
    };
    let link = usual().find(|&at| function.data[at].loads() && is_link(found, &uses, at))?;
    let effects = Effects::of(input, found.cost.iterations, SELDOM_EXECUTIONS);
    let idle = |at: usize| effects.has_none((found.function, at));
    // This iteration's, or the next one's.
    let is_link_itself = |value: Value| {
        let mut next = links.iter().flat_map(|&link| function.values.met(link));
        is_position(value) || next.any(|one| one.number == value.number)
    };
    let reads_link = |at: usize| {
        let reads = function.values.reads(at).iter();
        let of_data = reads.filter(|one| function.data[at].data_reads & (1 << one.0) != 0);
        of_data.into_iter().any(|one| is_link_itself(one.1))
    };
    // What is found depends on what is looked for.
    if usual().any(|at| compares_with_key(found, at) && !reads_link(at)) {
        return None;
    }
    if !usual().all(idle) || keeps_in_frame(found) || !carries_positions_only(found, is_position) {
        return None;
    }
    let called = (function.call_sites.iter())
        .filter(|site| found.members.binary_search(&site.at).is_ok())
        .flat_map(|site| &site.targets)
        .map(|target| share_of_target(input, found.function, target));
    let share = (found.share + called.sum::<f64>()).min(1.0);
    let one = walks_candidate(input, found, link, share, Fix::SkipWalk)?;
    Some(match effects.stored_again() {
        true => one.fact(QuadraticFact::WalksStoreAgain),
        false => one,
    })
}
