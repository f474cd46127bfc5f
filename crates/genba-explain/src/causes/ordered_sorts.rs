//! Sorts of what is in order already: part of `redundant-computation`.
//!
//! **Signature.** A sort that divides and calls itself (by its name and its calls), of which every
//! branch on a comparison goes the way of the execution before nearly always, as bursts show it: what
//! comes is in order, in reverse order, or equal. Of elements without order about every second
//! comparison goes the other way. Sorts that do without branches, and those that look for ordered
//! runs and stop at one, have no such branch or do not call themselves.
//!
//! **Gain.** One pass over the elements in place of as many as the sort has levels: the calls of one
//! sort are at least a binary tree.
//!
//! **Source.** V. Estivill-Castro, D. Wood, "A survey of adaptive sorting algorithms", ACM Computing
//! Surveys 1992.

use genba_code::{Flow, Opaque, STACK_POINTER};
use genba_model::{Cause, Estimate, Fix, ObservedFact};
use genba_observe::Seen;

use crate::candidate::Candidate;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    LEVELS_WITHOUT_CALLS, MIN_CALLS_OF_SORT, MIN_ORDERED, MIN_ORDERED_LOW,
    MIN_SHARE_OF_REPEATED_WORK, SELDOM_BRANCH,
};
use crate::constants::registers::FLAGS;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::input::values::{Origin, Value};
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_with_callees};

/// Finds sorts whose comparisons show that there is nothing to sort.
pub(crate) fn ordered_sorts(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(sites) = ObservedSites::of(input) else {
        return Vec::new();
    };
    let all = 0..input.functions.len();
    all.filter_map(|index| ordered(&sites, index)).collect()
}

fn ordered(sites: &ObservedSites<'_>, index: usize) -> Option<Candidate> {
    let input = sites.input;
    let function = &input.functions[index];
    if !is_sort(&function.function)
        || !function.counted
        || function.counts.len() != function.code.len()
    {
        return None;
    }
    let all = function.calls? as f64;
    let itself = (function.call_sites.iter().flat_map(|site| &site.targets))
        .filter(|target| target.function == function.function && target.module == function.module);
    let itself: f64 = itself.map(|target| target.count as f64).sum();
    let sorts = (all - itself).max(1.0);
    if itself <= 0.0 || all / sorts < MIN_CALLS_OF_SORT {
        return None;
    }
    let (at, seen) = comparisons(sites, index)?;
    let share = share_with_callees(input, index);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    // As many levels as the tree of calls has; few elements are sorted without another call.
    let levels = (all / sorts).log2();
    let [likely, most] = LEVELS_WITHOUT_CALLS.map(|more| levels + more);
    let mut one = Candidate::new(
        Cause::RedundantComputation,
        Some(index),
        vec![at],
        Fix::TestOrder,
    );
    if !function.own {
        let user = function.user_callers.first()?;
        let site = site_of(&user.function, &user.module, user.address, &user.place);
        one.at = Some(site);
    }
    one.share = Some(share);
    one.residual_fraction = Estimate {
        value: (1.0 / likely).min(MAX_RESIDUAL),
        low: 1.0 / most,
        high: (2.0 / levels).min(MAX_RESIDUAL),
    };
    one.executions = Some(function.counts[at]);
    Some(one.fact(ObservedFact::OrderedSort {
        function: function.function.clone(),
        sorts: sorts as u64,
        comparisons: function.counts[at],
        share: seen.share,
        bursts: seen.bursts,
    }))
}

/// The most frequent branch on a comparison of elements with the share of its executions that go the
/// way of the one before; `None` unless it is one of the sort's most frequent branches, and all such
/// branches nearly always repeat.
fn comparisons<'a>(sites: &ObservedSites<'a>, index: usize) -> Option<(usize, &'a Seen)> {
    let function = &sites.input.functions[index];
    let branches = || {
        let is_branch = |at: &usize| matches!(function.code[*at].flow, Flow::CondJump(_));
        (0..function.code.len()).filter(is_branch)
    };
    let count = |at: usize| function.counts[at];
    let most = branches().map(count).max()? as f64;
    let mut first: Option<(usize, &Seen)> = None;
    for at in branches() {
        if (count(at) as f64) < SELDOM_BRANCH * most || !is_on_elements(function, at) {
            continue;
        }
        let point = sites.point(index, at)?;
        let seen = sites.observed.branches.iter().find(|one| one.at == point)?;
        let seen = seen.repeated.as_ref().filter(|seen| is_enough(seen))?;
        if seen.share.value < MIN_ORDERED || seen.share.low < MIN_ORDERED_LOW {
            return None;
        }
        if first.is_none_or(|(before, _)| count(at) > count(before)) {
            first = Some((at, seen));
        }
    }
    first.filter(|&(at, _)| count(at) as f64 >= MOST_OF_IT * most)
}

/// Whether a branch is on a comparison of two values of which memory brought one, or on what a call returned. Bounds that
/// lie in the frame and values that are held against constants are no elements.
fn is_on_elements(function: &FunctionInput, at: usize) -> bool {
    let made = |value: Value| match function.values.origin(value) {
        Origin::Instruction(by) => Some(by as usize),
        _ => None,
    };
    let is_returned = |by: usize| function.data[by].opaque == Some(Opaque::Call);
    let is_loaded = |by: usize| {
        let mut accesses = function.data[by].memory.iter();
        accesses.any(|one| one.reads && one.base != Some(STACK_POINTER))
    };
    let flags = function.values.reads(at).iter();
    let tests = flags.filter(|one| one.0 >= FLAGS);
    tests.filter_map(|one| made(one.1)).any(|test| {
        let operands = function.values.reads(test).iter();
        let operands = (operands.filter(|one| one.0 < FLAGS)).filter_map(|one| made(one.1));
        let form = function.data[test].form.as_str();
        let has_two = !form.starts_with("test ") && !form.ends_with(", i");
        let brought = |by| is_returned(by) || has_two && is_loaded(by);
        has_two && is_loaded(test) || operands.into_iter().any(brought)
    })
}

/// Whether a function sorts by its name: `sort`, `msort_with_tmp`, `__introsort_loop`.
fn is_sort(name: &str) -> bool {
    let mut depth = 0u32;
    let mut bare = String::new();
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    // Copies that compilers make have something behind the name.
    let bare = bare.split(" [").next().unwrap_or_default();
    let last = bare.rsplit("::").find(|part| !part.is_empty());
    let last = last.unwrap_or_default().to_ascii_lowercase();
    last.contains("sort") && !last.contains("sorted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_known_by_their_names() {
        for name in [
            "msort_with_tmp",
            "std::__introsort_loop<int*, long>",
            "app::(anonymous namespace)::sort<app::node*, app::less> [clone .isra.0]",
            "void app::sort<app::node*>",
            "core::slice::sort::unstable::quicksort::quicksort",
        ] {
            assert!(is_sort(name), "{name}");
        }
        for name in [
            "insert_sorted",
            "is_sorted<int*>",
            "walk<sort_key>",
            "list::push",
        ] {
            assert!(!is_sort(name), "{name}");
        }
    }
}
