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

use std::cell::Cell;

use genba_code::Opaque;
use genba_model::{Fix, QuadraticFact};

use super::list_links::links_from;
use super::list_walk::{is_link, walks_candidate};
use super::rescan::{carries_positions_only, is_in_frame, keeps_in_frame};
use super::sweep::compares_with_key;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES, SELDOM_EXECUTIONS};
use crate::constants::observations::MIN_WITHOUT_EFFECT;
use crate::input::analysis_input::{AnalysisInput, CallTarget};
use crate::input::value_uses::Uses;
use crate::input::values::Value;
use crate::patterns::calls::index_of;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};

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
    let effects = Effects {
        input,
        sites: ObservedSites::of(input),
        seldom: SELDOM_EXECUTIONS * found.cost.iterations as f64,
        stored_again: Cell::new(false),
    };
    let depth = MAX_DEPTH_OF_CALLEES;
    let idle = |at: usize| effects.has_none((found.function, at), depth);
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
    Some(match effects.stored_again.get() {
        true => one.fact(QuadraticFact::WalksStoreAgain),
        false => one,
    })
}

/// Callees that are looked at, one in the other.
const MAX_DEPTH_OF_CALLEES: u32 = 3;

/// What instructions leave behind.
struct Effects<'a> {
    input: &'a AnalysisInput,
    sites: Option<ObservedSites<'a>>,
    /// Executions up to which an instruction does not matter.
    seldom: f64,
    /// Whether any of them stored what was there.
    stored_again: Cell<bool>,
}

impl Effects<'_> {
    /// Whether an instruction changes nothing outside of the frame, itself or by what it calls.
    fn has_none(&self, (number, at): (usize, usize), depth: u32) -> bool {
        let function = &self.input.functions[number];
        let data = &function.data[at];
        match data.opaque {
            None => {
                let mut writes = data.memory.iter().filter(|one| one.writes);
                writes.all(is_in_frame) || self.stores_again(number, at)
            }
            Some(Opaque::Call) => {
                let site = function.call_sites.iter().find(|site| site.at == at);
                site.is_some_and(|site| {
                    !site.targets.is_empty()
                        && (site.targets.iter()).all(|target| self.callee_has_none(target, depth))
                })
            }
            Some(Opaque::Exit) => true,
            Some(_) => false,
        }
    }

    fn callee_has_none(&self, target: &CallTarget, depth: u32) -> bool {
        let (Some(depth), Some(callee)) = (
            depth.checked_sub(1),
            index_of(self.input, &target.function, &target.module),
        ) else {
            return false;
        };
        let function = &self.input.functions[callee];
        let known = function.counted && function.counts.len() == function.code.len();
        let mut executed =
            (0..function.code.len()).filter(|&at| function.counts[at] as f64 > self.seldom);
        known && executed.all(|at| self.has_none((callee, at), depth))
    }

    /// Whether what a store stores is there already, as observed.
    fn stores_again(&self, function: usize, at: usize) -> bool {
        let point = |sites: &ObservedSites<'_>| sites.point(function, at);
        let again = self.sites.as_ref().is_some_and(|sites| {
            let mut silent = sites.observed.silent_stores.iter();
            silent.any(|one| {
                Some(one.at) == point(sites)
                    && is_enough(&one.seen)
                    && one.seen.share.low >= MIN_WITHOUT_EFFECT
                    && one.seen.share.value > 1.0 - SELDOM_EXECUTIONS
            })
        });
        self.stored_again.set(self.stored_again.get() || again);
        again
    }
}
