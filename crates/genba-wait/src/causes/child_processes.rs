//! `child-process`: children that are waited for while CPUs are free, one after the other, or so many short
//! ones that starting them is the work.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use super::constants::{
    MIN_OVERLAP_OF_LIVES, SAVED_OF_CHILDREN_IN_TURN, SAVED_OF_STARTS, SHORT_LIFE_NS, SavedPart,
};
use crate::grouped_waits::waits_of_states;
use crate::view::{Places, View, most};

/// Process, reason and place of a wait.
type WaitKey<'a> = (i32, WaitReason, &'a WaitPlace);

/// Waits of a process for its children.
#[derive(Default)]
struct ChildWaits<'a> {
    /// On the critical path, ns.
    ns: f64,
    /// Of it while one thread was on a CPU, and while none was.
    alone: f64,
    idle: f64,
    snapshots: u64,
    /// Snapshots by place of the wait, by who waits, and by name of the child.
    waiters: BTreeMap<WaitPlace, u64>,
    parents: BTreeMap<i32, u64>,
    names: BTreeMap<String, u64>,
    /// What children did meanwhile, samples.
    places: Places,
    /// Where children are waited for.
    known: HashSet<WaitKey<'a>>,
}

/// Children that are waited for.
pub fn find(view: &View<'_>) -> Option<Found> {
    let parents: HashMap<i32, i32> = (view.recording.processes.iter())
        .map(|process| (process.pid, process.parent))
        .collect();
    let waits = child_waits(view, &parents);
    let (waiter, _) = (waits.waiters.iter()).max_by_key(|(_, snapshots)| **snapshots)?;
    let (parent, _) = (waits.parents.iter()).max_by_key(|(_, snapshots)| **snapshots)?;
    let lives: Vec<(u64, u64)> = (view.recording.threads.iter())
        .filter(|thread| thread.pid == thread.tid && parents.get(&thread.pid) == Some(parent))
        .map(|thread| (thread.began, thread.ended.max(thread.began)))
        .collect();
    if lives.len() < 2 || overlap(lives.clone()) {
        return None;
    }
    let total: f64 = lives.iter().map(|life| (life.1 - life.0) as f64).sum();
    let is_short = total / (lives.len() as f64) < SHORT_LIFE_NS;
    // A child is waited for no longer than it lives: what was waited for longer at the same places was something else.
    let of_children = (total / waits.ns.max(1.0)).min(1.0);
    let [ns, alone, idle] = [waits.ns, waits.alone, waits.idle].map(|ns| ns * of_children);
    Some(Found {
        cause: WaitCause::ChildProcess,
        waits_ns: match is_short {
            true => ns,
            false => alone + idle,
        },
        saved_ns: match is_short {
            true => saved_starts(view, waiter, &waits.known, ns),
            false => saved_side_by_side(view, &lives, alone, idle),
        },
        work_remains: !is_short,
        waiter: waiter.clone(),
        holder: most(&waits.places).map(|(place, _)| place.clone()),
        object: (waits.names.iter())
            .max_by_key(|(_, snapshots)| **snapshots)
            .map(|(name, _)| name.clone()),
        figures: WaitFigures {
            snapshots: waits.snapshots,
            seconds: ns / 1e9,
            waits: lives.len() as u64,
            ..WaitFigures::default()
        },
    })
}

fn key<'a>(view: &'a View<'_>, state: u32) -> WaitKey<'a> {
    let seen = &view.states[state as usize];
    (view.thread(state).pid, seen.reason, &seen.place)
}

fn child_waits<'a>(view: &'a View<'_>, parents: &HashMap<i32, i32>) -> ChildWaits<'a> {
    let for_child = |chain: &Chain| waits_for_child(view, parents, chain);
    let states = view.chains.iter().filter_map(for_child);
    let mut all = ChildWaits {
        known: states.map(|state| key(view, state)).collect(),
        ..ChildWaits::default()
    };
    for (index, chain) in (0u32..).zip(&view.chains) {
        // A child that has just begun or ended is not seen at the other end of its pipe. What is waited
        // for at the same place is a child's, too.
        let Some(&last) = chain.states.last() else {
            continue;
        };
        let for_unseen_child = || all.known.contains(&key(view, last)).then_some(last);
        let Some(waiting) = for_child(chain).or_else(for_unseen_child) else {
            continue;
        };
        all.ns += chain.ns;
        all.alone += chain.alone_ns;
        all.idle += chain.idle_ns;
        all.snapshots += chain.snapshots;
        // Whatever other programs took: the same place with and without that.
        let place = view.states[waiting as usize].place.clone();
        *all.waiters.entry(place).or_default() += chain.snapshots;
        let parent = view.thread(waiting).pid;
        *all.parents.entry(parent).or_default() += chain.snapshots;
        let name = view.thread(last).name.clone();
        *all.names.entry(name).or_default() += chain.snapshots;
        for (place, samples) in view.chain_places.get(&index).into_iter().flatten() {
            *all.places.entry(place.clone()).or_default() += samples;
        }
    }
    all
}

/// The state of a chain that waits for a child's end, or for what it writes.
fn waits_for_child(view: &View<'_>, parents: &HashMap<i32, i32>, chain: &Chain) -> Option<u32> {
    let waiting = chain.states.iter().enumerate().find(|(at, state)| {
        let reason = view.states[**state as usize].reason;
        let pid = view.thread(**state).pid;
        let next = chain.states.get(at + 1).map(|next| view.thread(*next).pid);
        reason == WaitReason::Child
            || matches!(reason, WaitReason::Pipe | WaitReason::Socket)
                && next.is_some_and(|next| parents.get(&next) == Some(&pid))
    });
    waiting.map(|(_, state)| *state)
}

/// What is saved where one process does the work of short-lived ones, ns: likely, least, most. Starting them is
/// the kernel's work in the parent, too, and it queues for a CPU after each.
fn saved_starts(
    view: &View<'_>,
    waiter: &WaitPlace,
    known: &HashSet<WaitKey<'_>>,
    waits: f64,
) -> (f64, f64, f64) {
    let mut waits_of_threads = BTreeMap::new();
    let waits_of_states = (0u32..).zip(waits_of_states(view));
    for (state, count) in waits_of_states.filter(|(state, _)| known.contains(&key(view, *state))) {
        let thread = view.recording.states[state as usize].thread;
        *waits_of_threads.entry(thread).or_default() += count;
    }
    let starts = view.on_path(&view.chain_kernel_places, |asked| {
        asked.function == waiter.function
    });
    let all = waits + starts + view.queued_after(&waits_of_threads);
    let SavedPart { likely, least } = SAVED_OF_STARTS;
    (all * likely, waits * least, all)
}

/// What is saved where children run side by side, ns: likely, least, most. Work overlaps on the CPUs; what waits
/// itself overlaps without them. The longest life stays.
fn saved_side_by_side(
    view: &View<'_>,
    lives: &[(u64, u64)],
    alone: f64,
    idle: f64,
) -> (f64, f64, f64) {
    let cpus = f64::from(view.recording.cpus.max(1));
    let able = lives.len() as f64;
    let longest = lives.iter().map(|life| life.1 - life.0).max().unwrap_or(0) as f64;
    let total: f64 = lives.iter().map(|life| (life.1 - life.0) as f64).sum();
    let most = 1.0 - longest / total.max(1.0);
    let saved =
        alone * (1.0 - 1.0 / able.min(cpus)).min(most) + idle * (1.0 - 1.0 / able).min(most);
    let SavedPart { likely, least } = SAVED_OF_CHILDREN_IN_TURN;
    (saved * likely, saved * least, saved)
}

/// Whether processes lived at the same time rather than one after the other: those of a pipe do, and so do those of a pool of
/// which one has most of the work.
pub(super) fn overlap(mut lives: Vec<(u64, u64)>) -> bool {
    let begins_early_in = |one: &(u64, u64), other: &(u64, u64)| {
        one != other && one.0 >= other.0 && one.0 - other.0 < (other.1 - other.0) / 2
    };
    let early = lives
        .iter()
        .filter(|one| lives.iter().any(|other| begins_early_in(one, other)));
    if early.count() >= lives.len().div_ceil(2) {
        return !lives.is_empty();
    }
    lives.sort_unstable();
    let total: u64 = lives.iter().map(|life| life.1 - life.0).sum();
    let mut covered = 0;
    let mut until = 0;
    for (began, ended) in lives {
        covered += ended.saturating_sub(began.max(until));
        until = until.max(ended);
    }
    total as f64 > MIN_OVERLAP_OF_LIVES * covered as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_pipe_overlap_and_those_of_a_script_do_not() {
        assert!(overlap(vec![(0, 100), (1, 100), (2, 101)]));
        assert!(!overlap(vec![(50, 100), (0, 50), (100, 140)]));
        assert!(!overlap(vec![(0, 50), (45, 100)]));
        assert!(overlap(vec![(0, 100), (1, 8)]));
        assert!(!overlap(vec![(0, 60), (1, 8), (60, 100), (100, 200)]));
        assert!(!overlap(vec![]));
    }
}
