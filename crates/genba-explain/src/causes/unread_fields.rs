//! Part of `discarded-work`: a function makes a result of several fields, of which its caller reads some only.
//!
//! **Signature.** Observed: of the stores by which a function hands its result over, nearly all executions of some are
//! overwritten by the next call unread, and those of others, in the same object, are read. Most calls come from one
//! place, in a loop: who else calls it may read the rest.
//!
//! **Near misses.** Results of which nothing is read: that may lie in the input, or in a benchmark.
//!
//! **Gain.** The work that feeds nothing but the unread stores goes at least; at most nearly the whole call, where
//! what is read can be had without it, with what waits for it in the loop around.

use genba_code::STACK_POINTER;
use genba_model::{CallFact, Cause, Fix, ObservedFact};
use genba_observe::DeadStore;

use crate::candidate::Candidate;
use crate::causes::dead_store::is_overwritten;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, MIN_RESULTS_OF_WORK};
use crate::constants::observations::{
    MIN_SHARE_OF_REPEATED_WORK, MIN_WORK_FOR_UNREAD_FIELDS, SAME_TIMES_TOLERANCE,
    UNREAD_FIELDS_SAVED, WAITING_FOR_FIELDS_SAVED,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{CallTarget, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::needed_code::needed_for_only;
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};

/// Calls of a function of the user's own, of whose result most callers read some fields only.
pub(crate) fn candidate(sites: &ObservedSites<'_>, number: usize) -> Option<Candidate> {
    let input = sites.input;
    let function = &input.functions[number];
    let calls = function
        .calls
        .filter(|calls| *calls >= MIN_CALLS_IN_HOT_CODE)?;
    if !function.can_be_changed() || function.counts.len() != function.code.len() {
        return None;
    }
    let (unread, read) = stores(sites, number, calls);
    let dead = unread.first()?.1;
    if unread.len() < MIN_RESULTS_OF_WORK || read.is_empty() {
        return None;
    }
    let list: Vec<usize> = unread.iter().map(|one| one.0).collect();
    let work = needed_for_only(function, &list);
    // Samples stand where instructions wait, whatever is of use: instructions are divided by their number.
    let executions = |list: &mut dyn Iterator<Item = usize>| -> f64 {
        list.map(|at| function.counts[at] as f64).sum()
    };
    let inside = executions(&mut work.iter().copied()) / executions(&mut (0..function.code.len()));
    let (caller, at, targets) = usual_caller(sites, number, calls)?;
    let shares = targets
        .iter()
        .map(|one| share_of_target(input, caller, one));
    let share = shares.sum::<f64>().min(1.0);
    let called = (function
        .call_sites
        .iter()
        .filter(|site| work.contains(&site.at)))
    .flat_map(|site| &site.targets)
    .map(|callee| share_of_target(input, number, callee))
    .sum::<f64>();
    let part = ((called + inside * function.share.value) / share.max(f64::MIN_POSITIVE)).min(1.0);
    if part < MIN_WORK_FOR_UNREAD_FIELDS || share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let (likely, least, most) = UNREAD_FIELDS_SAVED;
    let around = &input.functions[caller];
    let index = around.flow.loop_of_instruction(at)?;
    let fix = Fix::MakeOnlyWhatIsRead;
    let mut found = Candidate::new(Cause::DiscardedWork, Some(caller), vec![at], fix);
    let least = least.max(part).min(likely);
    found.saves(&[
        SavedTime::of(share, (likely.max(part), least, most)),
        SavedTime::of(around.loop_heat(index), WAITING_FOR_FIELDS_SAVED),
    ]);
    let count: u64 = targets.iter().map(|one| one.count).sum();
    found.executions = Some(count);
    Some(
        found
            .fact(ObservedFact::UnreadFields {
                function: function.function.clone(),
                stores: unread.len() as u32,
                of: (unread.len() + read.len()) as u32,
                share: dead.seen.share,
                bursts: dead.seen.bursts,
            })
            .fact(CallFact::Time {
                function: Some(function.function.clone()),
                share,
                cycles: share * cycles_of_all(input)? / count.max(1) as f64,
            }),
    )
}

/// The stores to the object to which most unread ones go, of each call: the unread ones, and those that are read.
fn stores<'a>(
    sites: &ObservedSites<'a>,
    number: usize,
    calls: u64,
) -> (Vec<(usize, &'a DeadStore)>, Vec<usize>) {
    let function = &sites.input.functions[number];
    let base = |at: usize| {
        let accesses = function.data[at].memory.iter();
        let mut written = accesses.zip(function.values.addresses(at)).filter(|one| {
            // What is in its own frame is not for the caller.
            one.0.writes && !one.0.stack && one.0.base != Some(STACK_POINTER)
        });
        Some(written.next()?.1.as_ref()?.base.number)
    };
    // A sum that a loop keeps in memory is stored many times in each call, and read after the last.
    let of_each_call = |at: &usize| {
        let per_call = function.counts[*at] as f64 / calls as f64;
        (per_call - 1.0).abs() <= SAME_TIMES_TOLERANCE
    };
    let all: Vec<usize> = (0..function.code.len())
        .filter(of_each_call)
        .filter(|at| base(*at).is_some())
        .collect();
    let known = |at: usize| {
        let mut dead = sites.observed.dead_stores.iter();
        dead.find(|one| sites.site(one.at) == Some((number, at)))
    };
    let is_unread = |one: &DeadStore| {
        let by = sites.site(one.overwritten_by);
        is_enough(&one.seen)
            && is_overwritten(one.seen.share)
            && by.is_some_and(|site| site.0 == number)
    };
    let unread: Vec<(usize, &DeadStore)> = (all.iter())
        .filter_map(|&at| Some((at, known(at).filter(|one| is_unread(one))?)))
        .collect();
    let object = unread.first().and_then(|one| base(one.0));
    let of_object = |at: usize| base(at) == object;
    let read = (all.iter().copied())
        .filter(|&at| of_object(at))
        .filter(|&at| known(at).is_none_or(|one| one.seen.share.value < 1.0 - MOST_OF_IT))
        .collect();
    let unread = unread.into_iter().filter(|one| of_object(one.0)).collect();
    (unread, read)
}

/// The function from whose loops nearly all calls of another come, the call with most of them, and all of them: a
/// compiler may have laid down the loop's body several times.
fn usual_caller<'a>(
    sites: &ObservedSites<'a>,
    number: usize,
    calls: u64,
) -> Option<(usize, usize, Vec<&'a CallTarget>)> {
    let functions = &sites.input.functions;
    let callee = &functions[number];
    let most = (1.0 - SAME_TIMES_TOLERANCE) * calls as f64;
    let usual = |one: &'a FunctionInput| {
        let in_loop = |at: usize| one.flow.loop_of_instruction(at).is_some();
        let of_callee: Vec<(usize, &CallTarget)> = (one.call_sites.iter())
            .filter(|site| in_loop(site.at))
            .flat_map(|site| site.targets.iter().map(move |target| (site.at, target)))
            .filter(|(_, target)| {
                (&target.function, &target.module) == (&callee.function, &callee.module)
            })
            .collect();
        let all: u64 = of_callee.iter().map(|one| one.1.count).sum();
        let at = of_callee.iter().max_by_key(|one| one.1.count)?.0;
        let targets = of_callee.iter().map(|one| one.1).collect();
        (all as f64 >= most).then_some((at, targets))
    };
    let changeable =
        |one: &FunctionInput| one.can_be_changed() && one.counts.len() == one.code.len();
    (functions.iter().enumerate())
        .filter(|(caller, one)| *caller != number && changeable(one))
        .find_map(|(caller, one)| usual(one).map(|(at, targets)| (caller, at, targets)))
}
