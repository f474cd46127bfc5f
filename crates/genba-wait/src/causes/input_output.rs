//! Waits for the disk, for the other end of a pipe or socket, for a signal of another thread, for a
//! time.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::{Chain, MIN_WORK_OF_TICK_NS, StateIndex};

use super::child_processes::overlap;
use super::constants::{
    FEW_SLEEPS, MANY_TURNS, MANY_WAITS, MAX_BESIDE_OTHERS, MAX_UNDER_LOCK, MIN_SHARE_OF_FEW_SLEEPS,
    MIN_SHARE_OF_SECOND, MIN_WAITS_OF_OTHER_END, MIN_WORKLESS_SLEEPS, SAVED_OF_FORCED_WRITES,
    SAVED_OF_PAGE_FAULTS, SAVED_OF_SLEEPS, SAVED_OF_TURNS, SHORT_TURN_NS, UNKNOWN_KERNEL_SHARE,
};
use super::{Found, small_io};
use crate::grouped_waits::waits_of_states;
use crate::time_beside::share_beside;
use crate::view::{Places, View, most};

/// Everything here.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let counts = waits_of_states(view);
    let mut all = synchronous_writes(view, &counts);
    all.extend(by_reason(
        view,
        &counts,
        WaitReason::PageFault,
        WaitCause::PageFaultIo,
    ));
    all.extend(polling(view, &counts));
    all.extend(turns(view, &counts));
    all.extend(small_io::find(view, &counts));
    all
}

/// Waits of one reason at one place.
#[derive(Default)]
pub(super) struct Group {
    /// On the critical path, ns.
    pub(super) critical: f64,
    /// Of it while nobody was on a CPU, and while one was.
    pub(super) idle: f64,
    alone: f64,
    pub(super) ns: f64,
    pub(super) snapshots: u64,
    pub(super) waits: f64,
    /// Times that it was seen to begin, and of them after hardly any work.
    entries: u64,
    workless_entries: u64,
    /// Waits by thread.
    pub(super) threads: BTreeMap<u32, f64>,
    objects: BTreeMap<String, f64>,
    holder_places: Places,
    holder_waits: BTreeMap<WaitPlace, f64>,
}

impl Group {
    pub(super) fn figures(&self) -> WaitFigures {
        WaitFigures {
            snapshots: self.snapshots,
            seconds: self.ns / 1e9,
            waits: self.waits.round() as u64,
            threads: self.threads.len() as u64,
            ..WaitFigures::default()
        }
    }

    pub(super) fn object(&self) -> Option<String> {
        let longest = self.objects.iter().max_by(|a, b| a.1.total_cmp(b.1));
        longest.map(|(name, _)| name.clone())
    }

    pub(super) fn holder(&self) -> Option<WaitPlace> {
        let running = most(&self.holder_places).map(|(place, _)| place.clone());
        let longest = self.holder_waits.iter().max_by(|a, b| a.1.total_cmp(b.1));
        running.or_else(|| longest.map(|(place, _)| place.clone()))
    }
}

/// Waits for these reasons by place. On the critical path is what ends a chain, or with `inside` what
/// is anywhere on it.
pub(super) fn groups(
    view: &View<'_>,
    counts: &[f64],
    reasons: &[WaitReason],
    inside: bool,
) -> BTreeMap<WaitPlace, Group> {
    let recording = view.recording;
    let mut groups: BTreeMap<WaitPlace, Group> = BTreeMap::new();
    let wanted = |state: u32| reasons.contains(&view.states[state as usize].reason);
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&recording.states)) {
        if !wanted(index) {
            continue;
        }
        let group = groups.entry(state.place.clone()).or_default();
        group.ns += seen.ns;
        group.snapshots += seen.snapshots;
        group.waits += counts[index as usize];
        group.entries += seen.entries;
        group.workless_entries += seen.workless_entries;
        *group.threads.entry(seen.thread).or_default() += counts[index as usize];
        if let Some(object) = &state.object {
            *group.objects.entry(object.clone()).or_default() += seen.ns;
        }
        for (place, samples) in view.holder_places.get(&index).into_iter().flatten() {
            *group.holder_places.entry(place.clone()).or_default() += samples;
        }
    }
    for pair in &recording.pairs {
        if !wanted(pair.waiter) {
            continue;
        }
        let holder = &view.states[pair.holder as usize];
        if let Some(group) = groups.get_mut(&view.states[pair.waiter as usize].place)
            && holder.reason != WaitReason::Running
        {
            *group.holder_waits.entry(holder.place.clone()).or_default() += pair.ns;
        }
    }
    for chain in &view.chains {
        let place = match inside {
            false => ends(view, chain, reasons),
            true => chain
                .states
                .iter()
                .find(|state| wanted(**state))
                .map(|state| &view.states[*state as usize].place),
        };
        if let Some(group) = place.and_then(|place| groups.get_mut(place)) {
            group.critical += chain.ns;
            group.idle += chain.idle_ns;
            group.alone += chain.alone_ns;
        }
    }
    groups
}

/// The place at the end of a chain, if it is for these reasons. Where a lock was waited for on the way,
/// that is the cause.
fn ends<'a>(view: &'a View<'_>, chain: &Chain, reasons: &[WaitReason]) -> Option<&'a WaitPlace> {
    let mut states = chain.states.iter();
    if states.any(|state| view.states[*state as usize].reason == WaitReason::Lock) {
        return None;
    }
    let end = &view.states[chain.states[chain.states.len() - 1] as usize];
    reasons.contains(&end.reason).then_some(&end.place)
}

/// `synchronous-write`: the disk is waited for again and again. What a thread forces at several places it forces for the same
/// records: the place with most of it stands for all of them, and a fix of that place alone saves least.
fn synchronous_writes(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    let groups = groups(view, counts, &[WaitReason::Fsync], false);
    let mut groups: Vec<(WaitPlace, Group)> = groups
        .into_iter()
        .filter(|(_, group)| group.waits >= MANY_WAITS)
        .collect();
    groups.sort_by(|a, b| b.1.critical.total_cmp(&a.1.critical));
    let mut all = Vec::new();
    while !groups.is_empty() {
        let (place, group) = groups.remove(0);
        let shares_thread = |other: &mut (WaitPlace, Group)| {
            let mut threads = other.1.threads.keys();
            threads.any(|thread| group.threads.contains_key(thread))
        };
        let others: Vec<(WaitPlace, Group)> = groups.extract_if(.., shares_thread).collect();
        let waits = group.critical + others.iter().map(|other| other.1.critical).sum::<f64>();
        // Records that are forced together: one wait for tens of them. What the kernel does for
        // each goes with it, and so do the queues for a CPU after it.
        let is_asked =
            |asked: &WaitPlace| *asked == place || others.iter().any(|(other, _)| asked == other);
        let kernel = view.on_path(&view.chain_kernel_places, is_asked);
        let mut by_thread = group.threads.clone();
        for (thread, waits) in others.iter().flat_map(|other| &other.1.threads) {
            *by_thread.entry(*thread).or_default() += waits;
        }
        let saved = waits + kernel + view.queued_after(&by_thread);
        // What the same function waits for files besides is done for each record as well.
        let (files, by_thread) = waits_for_files(view, counts, &place, by_thread);
        let with_files = waits + files + kernel + view.queued_after(&by_thread);
        all.push(Found {
            cause: WaitCause::SynchronousWrite,
            waits_ns: saved,
            saved_ns: (
                saved * SAVED_OF_FORCED_WRITES.likely,
                group.critical * SAVED_OF_FORCED_WRITES.least,
                with_files,
            ),
            work_remains: false,
            holder: None,
            object: group.object(),
            figures: group.figures(),
            waiter: place,
        });
    }
    all
}

/// Waits for files in the function of a place, on the critical path, ns; and how often each thread waits, with these.
fn waits_for_files(
    view: &View<'_>,
    counts: &[f64],
    place: &WaitPlace,
    mut by_thread: BTreeMap<u32, f64>,
) -> (f64, BTreeMap<u32, f64>) {
    let mut ns = 0.0;
    for (other, group) in groups(view, counts, &[WaitReason::File], false) {
        if (&other.function, &other.file) == (&place.function, &place.file) {
            ns += group.critical;
            for (thread, waits) in group.threads {
                *by_thread.entry(thread).or_default() += waits;
            }
        }
    }
    (ns, by_thread)
}

fn by_reason(view: &View<'_>, counts: &[f64], reason: WaitReason, cause: WaitCause) -> Vec<Found> {
    groups(view, counts, &[reason], false)
        .into_iter()
        .filter(|(_, group)| group.waits >= MANY_WAITS)
        .map(|(place, group)| {
            let all = group.critical + view.queued_after(&group.threads);
            Found {
                cause,
                waits_ns: all,
                work_remains: false,
                saved_ns: (
                    all * SAVED_OF_PAGE_FAULTS.likely,
                    group.critical * SAVED_OF_PAGE_FAULTS.least,
                    all,
                ),
                holder: group.holder(),
                object: group.object(),
                figures: group.figures(),
                waiter: place,
            }
        })
        .collect()
}

/// Time in which threads waited for a lock while its holder slept in this place, ns.
fn slept_under_lock(view: &View<'_>, place: &WaitPlace) -> f64 {
    let pairs = view.recording.pairs.iter().filter(|pair| {
        let holder = &view.states[pair.holder as usize];
        view.states[pair.waiter as usize].reason == WaitReason::Lock
            && holder.reason == WaitReason::Sleep
            && holder.place == *place
    });
    pairs.map(|pair| pair.ns).sum()
}

/// Waits of a place's threads that are no sleeps.
fn other_waits(view: &View<'_>, counts: &[f64], group: &Group) -> f64 {
    let states = view.states.iter().zip(&view.recording.states).zip(counts);
    let others = states.filter(|((state, seen), _)| {
        !matches!(state.reason, WaitReason::Running | WaitReason::Sleep)
            && group.threads.contains_key(&seen.thread)
    });
    others.map(|(_, count)| count).sum()
}

/// `polling-sleep`: sleeps between short looks, while nobody works.
fn polling(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    let recording = view.recording;
    groups(view, counts, &[WaitReason::Sleep], false)
        .into_iter()
        .filter(|(_, group)| {
            let threads = || {
                group
                    .threads
                    .keys()
                    .map(|at| &recording.threads[*at as usize])
            };
            let running: f64 = threads().map(|thread| thread.running as f64).sum();
            let again = match group.critical >= MIN_SHARE_OF_FEW_SLEEPS * view.wall() {
                true => FEW_SLEEPS,
                false => MANY_WAITS,
            };
            // Who does a piece of work at each tick is on time, not polling.
            let workless =
                group.workless_entries as f64 >= MIN_WORKLESS_SLEEPS * group.entries.max(1) as f64;
            let is_idle = workless || running / group.waits < MIN_WORK_OF_TICK_NS as f64;
            group.waits >= again && (is_idle || looks_for_children(view, group))
        })
        // Who waits for something else after each sleep serves requests with it: it looks for nothing.
        .filter(|(_, group)| {
            let serves = other_waits(view, counts, group) >= MIN_WAITS_OF_OTHER_END * group.waits;
            !serves || looks_for_children(view, group)
        })
        // A clock is waited for where the time itself matters.
        .filter(|(_, group)| {
            let object = group.object();
            object.is_none_or(|object| !object.starts_with("anon_inode:[timerfd]"))
        })
        // Who sleeps under a lock keeps others from work: that is the lock's.
        .filter(|(place, group)| slept_under_lock(view, place) < MAX_UNDER_LOCK * group.ns)
        // What another thread waits for takes its time, however soon somebody hears of it.
        .map(|(place, group)| {
            let beside = share_beside_others(view, &place, &group);
            (place, group, beside)
        })
        .filter(|(.., beside)| *beside < MAX_BESIDE_OTHERS)
        .map(|(place, group, beside)| {
            let queued = view.queued_after(&group.threads);
            let idle = group.idle * (1.0 - beside);
            let late = idle + late_starts(view, &group);
            Found {
                cause: WaitCause::PollingSleep,
                waits_ns: group.critical,
                work_remains: true,
                saved_ns: (
                    late * SAVED_OF_SLEEPS.likely + queued,
                    idle * SAVED_OF_SLEEPS.least,
                    late + queued,
                ),
                holder: group.holder(),
                object: group.object(),
                figures: group.figures(),
                waiter: place,
            }
        })
        .collect()
}

/// Share of the time of sleeps at a place in which another thread, which ends before the last of them does, waits for a time or
/// the disk as well: that is looked for, or takes as long.
fn share_beside_others(view: &View<'_>, place: &WaitPlace, group: &Group) -> f64 {
    let sleeps = |state: StateIndex| {
        let state = &view.states[state as usize];
        state.reason == WaitReason::Sleep && state.place == *place
    };
    let last = (group.threads.keys())
        .flat_map(|thread| &view.recording.threads[*thread as usize].timeline)
        .filter(|span| sleeps(span.2))
        .map(|span| span.1)
        .max();
    share_beside(view, sleeps, |thread, state| {
        let ends_before =
            last.is_some_and(|last| view.recording.threads[thread as usize].ended < last);
        let reason = view.states[state as usize].reason;
        let passes = matches!(
            reason,
            WaitReason::Sleep | WaitReason::File | WaitReason::Fsync
        );
        passes && ends_before && !group.threads.contains_key(&thread)
    })
}

/// Whether about as many child processes of those who sleep at a place end meanwhile: they look whether one has.
fn looks_for_children(view: &View<'_>, group: &Group) -> bool {
    let ended = ended_children(view, group).len() as f64;
    ended >= FEW_SLEEPS.max(MIN_WAITS_OF_OTHER_END * group.waits)
}

/// The lives of child processes of those who sleep at a place that have ended.
fn ended_children(view: &View<'_>, group: &Group) -> Vec<(u64, u64)> {
    let recording = view.recording;
    let waiting: BTreeSet<i32> = (group.threads.keys())
        .map(|at| recording.threads[*at as usize].pid)
        .collect();
    let children: BTreeSet<i32> = (recording.processes.iter())
        .filter(|process| waiting.contains(&process.parent))
        .map(|process| process.pid)
        .collect();
    let ended = recording.threads.iter().filter(|thread| {
        let first = thread.tid == thread.pid;
        first && children.contains(&thread.pid) && thread.ended < recording.ended
    });
    ended.map(|thread| (thread.began, thread.ended)).collect()
}

/// Time of sleeps in which one child works, ns, so far as another could at the same time: who runs several at once and sees late
/// that one has ended starts the next one late.
fn late_starts(view: &View<'_>, group: &Group) -> f64 {
    let at_once = looks_for_children(view, group) && overlap(ended_children(view, group));
    let cpus = f64::from(view.recording.cpus.max(1));
    match at_once {
        true => group.alone * (1.0 - 1.0 / cpus),
        false => 0.0,
    }
}

/// `round-trip-in-loop` and `wake-up-chain`: two threads or processes that wait for one another in
/// turns, many times, so that only one of them ever works.
fn turns(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    let chains = &view.chains;
    let idle: f64 = chains.iter().map(|chain| chain.idle_ns).sum();
    let alone: f64 = chains.iter().map(|chain| chain.alone_ns).sum();
    if !takes_turns(view) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (cause, reasons) in [
        (
            WaitCause::RoundTripInLoop,
            &[WaitReason::Pipe, WaitReason::Socket][..],
        ),
        (WaitCause::WakeUpChain, &[WaitReason::Condition][..]),
    ] {
        let groups = groups(view, counts, reasons, true);
        // Turns are taken: those who wait so in other places, or other threads here, wait about as
        // often.
        let is_turn =
            |group: &Group| group.waits >= MANY_TURNS && group.ns / group.waits <= SHORT_TURN_NS;
        let total: f64 = groups
            .values()
            .filter(|group| is_turn(group))
            .map(|group| group.waits)
            .sum();
        let mut turns_of_threads = BTreeMap::new();
        for group in groups.values().filter(|group| is_turn(group)) {
            for (thread, waits) in &group.threads {
                *turns_of_threads.entry(*thread).or_default() += waits;
            }
        }
        let queued = view.queued_after(&turns_of_threads);
        let turn_places: BTreeSet<WaitPlace> = groups
            .iter()
            .filter(|(_, group)| is_turn(group))
            .map(|(place, _)| place.clone())
            .collect();
        let first = groups
            .into_iter()
            .filter(|(_, group)| {
                let others = total - group.waits;
                is_turn(group)
                    && (others >= group.waits * MIN_WAITS_OF_OTHER_END || group.threads.len() >= 2)
            })
            .max_by(|a, b| {
                let key = |group: &Group| (group.critical, group.ns);
                key(&a.1).partial_cmp(&key(&b.1)).expect("sums are numbers")
            });
        let Some((place, group)) = first else {
            continue;
        };
        // Several may wait for the one whose turn it is.
        let in_turns = group.ns.min(alone + idle);
        let part = in_turns / (alone + idle).max(1.0);
        // While both wait the switch to the other is lost; while one works alone, that is lost only
        // as far as it is the passing on itself.
        let passing = passing_share(view, reasons);
        // The calls themselves are passing on, whoever makes them; queues spin in theirs before they wait.
        let calls = match cause {
            WaitCause::RoundTripInLoop => view
                .io
                .iter()
                .map(|io| view.on_path(&io.chain_places, |_| true))
                .sum(),
            _ => view.on_path(&view.chain_places, |at| turn_places.contains(at)),
        };
        let saved = match cause {
            WaitCause::RoundTripInLoop => part * (idle + alone * passing).max(idle + calls),
            _ => part * idle + (part * alone * passing).max(calls),
        };
        // Without turns they might even work at the same time.
        let able = f64::from(view.recording.cpus.clamp(1, 2));
        let most_saved = (part * (idle + alone * passing.max(1.0 - 1.0 / able))).max(saved);
        all.push(Found {
            cause,
            waits_ns: in_turns,
            work_remains: false,
            // Turns at a barrier queue for CPUs as well, whoever is awaited.
            saved_ns: (
                saved * SAVED_OF_TURNS.likely,
                saved * SAVED_OF_TURNS.least,
                most_saved + queued,
            ),
            holder: group.holder(),
            object: group.object(),
            figures: WaitFigures {
                holder_on_cpu: part * alone / in_turns.max(1.0),
                ..group.figures()
            },
            waiter: place,
        });
    }
    all
}

/// Whether at least two threads work alone, one while the others wait.
fn takes_turns(view: &View<'_>) -> bool {
    let mut by_thread: BTreeMap<u32, f64> = BTreeMap::new();
    for chain in &view.chains {
        let last = chain.states[chain.states.len() - 1];
        let thread = view.recording.states[last as usize].thread;
        *by_thread.entry(thread).or_default() += chain.alone_ns;
    }
    let all: f64 = by_thread.values().sum();
    let most = by_thread.into_values().fold(0.0, f64::max);
    all - most >= MIN_SHARE_OF_SECOND * all && all > 0.0
}

/// Share of the samples at ends of chains through these waits that were in the kernel: passing on
/// is the kernel's work. A half where the kernel is not sampled, and towards it where few samples tell
/// (Laplace's rule of succession). Threads that meet at a barrier wait for the other's work, which stays.
fn passing_share(view: &View<'_>, reasons: &[WaitReason]) -> f64 {
    let mut sums = (0, 0);
    for (index, chain) in (0u32..).zip(&view.chains) {
        let mut states = chain.states.iter();
        if states.any(|state| reasons.contains(&view.states[*state as usize].reason))
            && let Some(places) = view.chain_places.get(&index)
        {
            let kernel = view.chain_kernel_places.get(&index);
            sums.0 += kernel.map_or(0, |places| places.values().sum::<u64>());
            sums.1 += places.values().sum::<u64>();
        }
    }
    match view.kernel_samples {
        0 => UNKNOWN_KERNEL_SHARE,
        _ => (sums.0 as f64 + 1.0) / (sums.1 as f64 + 2.0),
    }
}
