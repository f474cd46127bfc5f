//! Times in which too few threads work, or too many.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use super::constants::{
    MANY_READY_THREADS, MAX_COMPARED_WORKERS, MIN_SAMPLES, MIN_SHARE_OF_OWN_FUNCTION,
    MIN_SHARE_OF_SAME_WORK, MIN_SHARE_OF_WORKER, MOST_OF_HOLDS, SAVED_OF_QUOTA,
    SAVED_OF_UNEVEN_WORK, SWITCH_NS, UNKNOWN_KERNEL_SHARE,
};
use crate::stacks::unknown_place;
use crate::view::{Places, View, most};

/// `serial-section`, `imbalance`, `oversubscription` and `cpu-quota`.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let mut all = alone(view);
    all.extend(oversubscription(view));
    all.extend(quota(view));
    all
}

#[derive(Default)]
struct Alone {
    waits: f64,
    saved: f64,
    places: Places,
    snapshots: u64,
    threads: HashSet<u32>,
}

/// One thread works while others wait for it: in code that only one thread ever runs (a serial
/// section), or in what the others did, too, but were done with earlier (imbalance).
fn alone(view: &View<'_>) -> Vec<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let workers = Workers::of(view);
    let queued = queued_for_locks(view);
    let (mut serial, mut uneven) = (Alone::default(), Alone::default());
    // Of many chains few threads and functions are at the end.
    let mut owned: HashMap<(u32, &str), bool> = HashMap::new();
    for (index, chain) in (0u32..).zip(&view.chains) {
        let end = view.end(chain);
        if end.reason != WaitReason::Running || passes(view, chain, &[WaitReason::Lock]) {
            continue;
        }
        let last = chain.states[chain.states.len() - 1];
        // Those that wait for a lock that it holds are not done, and have work.
        if queued.get(&last).copied().unwrap_or(0.0) > MOST_OF_HOLDS * chain.ns {
            continue;
        }
        let thread = recording.states[last as usize].thread;
        let same_work = workers.alike.get(&thread).copied().unwrap_or(1);
        let itself = usize::from(workers.alike.contains_key(&thread));
        let others = workers.alike.len().saturating_sub(itself);
        let Some(places) = view.alone_places.get(&index) else {
            continue;
        };
        let all: u64 = places.values().sum();
        for (place, samples) in places {
            let share = *samples as f64 / all as f64;
            let own = *owned.entry((thread, &place.function)).or_insert_with(|| {
                of_one_thread(view, &place.function)
                    && !workers.share_work_in(view, &place.function, thread)
            });
            let (sum, ns, able) = if same_work >= 2 && !own {
                // Whoever waits has ended or stands at a barrier.
                (&mut uneven, chain.others_done_ns * share, same_work as f64)
            } else if own && others >= 1 {
                // One that does the same otherwise has nothing else to do meanwhile; another kind may wait for what is made.
                let ns = match same_work >= 2 {
                    true => chain.others_done_ns.max(chain.awaited_ns),
                    false => chain.awaited_ns,
                };
                (&mut serial, ns * share, others as f64 + 1.0)
            } else {
                continue;
            };
            sum.waits += ns;
            sum.saved += ns * (1.0 - 1.0 / able.min(cpus));
            sum.snapshots += (chain.snapshots as f64 * share).round() as u64;
            sum.threads.insert(thread);
            *sum.places.entry(place.clone()).or_default() += samples;
        }
    }
    let mut all = Vec::new();
    for (cause, sum) in [
        (WaitCause::SerialSection, serial),
        (WaitCause::Imbalance, uneven),
    ] {
        // Where nobody was seen waiting for it, who works alone keeps nobody from work; nor does it those that never work, such
        // as a server's threads for jobs that do not come.
        let only_workers = cause == WaitCause::SerialSection;
        let Some(waiter) = who_waits_for(view, &sum, &workers, only_workers) else {
            continue;
        };
        let holder = most(&sum.places).map(|(place, _)| place.clone());
        all.push(Found {
            cause,
            waits_ns: sum.waits,
            work_remains: true,
            saved_ns: (
                sum.saved * SAVED_OF_UNEVEN_WORK.likely,
                sum.saved * SAVED_OF_UNEVEN_WORK.least,
                sum.saved,
            ),
            waiter,
            holder,
            object: None,
            figures: WaitFigures {
                snapshots: sum.snapshots,
                seconds: sum.waits / 1e9,
                threads: sum.threads.len() as u64,
                holder_on_cpu: 1.0,
                ..WaitFigures::default()
            },
        });
    }
    all
}

/// By state: how long threads waited for a lock that its thread held meanwhile, added up over threads, ns.
fn queued_for_locks(view: &View<'_>) -> HashMap<u32, f64> {
    let mut queued = HashMap::new();
    for pair in &view.recording.pairs {
        if view.states[pair.waiter as usize].reason == WaitReason::Lock {
            *queued.entry(pair.holder).or_default() += pair.ns;
        }
    }
    queued
}

/// Where threads waited longest for those that worked alone there: such as work themselves rather
/// than the one that only waits for all of them, which does not count if only workers do.
fn who_waits_for(
    view: &View<'_>,
    sum: &Alone,
    workers: &Workers<'_>,
    only_workers: bool,
) -> Option<WaitPlace> {
    let recording = view.recording;
    let mut places: BTreeMap<(bool, &WaitPlace), f64> = BTreeMap::new();
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&recording.states)) {
        let waits = match state.reason {
            WaitReason::Condition | WaitReason::Join => true,
            WaitReason::Pipe | WaitReason::Child => {
                let pid = recording.threads[seen.thread as usize].pid;
                !only_workers && (sum.threads.iter()).any(|&runs| is_forked_by(view, runs, pid))
            }
            _ => false,
        };
        if !waits {
            continue;
        }
        // As often as it was seen waiting for somebody in those places.
        let held = view.holder_places.get(&index);
        let samples: u64 = held
            .into_iter()
            .flatten()
            .filter(|(place, _)| sum.places.contains_key(place))
            .map(|(_, samples)| samples)
            .sum();
        let works = workers.alike.contains_key(&seen.thread);
        *places.entry((works, own_place(view, index))).or_default() += samples as f64;
    }
    places.retain(|place, samples| *samples > 0.0 && (place.0 || !only_workers));
    places
        .into_iter()
        .max_by(|a, b| a.0.0.cmp(&b.0.0).then(a.1.total_cmp(&b.1)))
        .map(|((_, place), _)| place.clone())
}

/// Where a thread waits; of one that a library started, such as a pool's own, where the user's code waits for that thread.
fn own_place<'v>(view: &'v View<'_>, state: u32) -> &'v WaitPlace {
    let of_user = |state: u32| view.states[state as usize].entry.is_some();
    let waiters = view.recording.pairs.iter();
    let behind = waiters
        .filter(|pair| pair.holder == state && !of_user(state) && of_user(pair.waiter))
        .max_by(|a, b| a.ns.total_cmp(&b.ns));
    &view.states[behind.map_or(state, |pair| pair.waiter) as usize].place
}

/// Whether a thread is of a process that another one started for a part of its own work: of one that runs another program it
/// waits for what that does.
fn is_forked_by(view: &View<'_>, thread: u32, parent: i32) -> bool {
    let pid = view.recording.threads[thread as usize].pid;
    let mut processes = view.recording.processes.iter();
    processes.any(|one| one.pid == pid && one.parent == parent && !one.executed)
}

fn passes(view: &View<'_>, chain: &Chain, reasons: &[WaitReason]) -> bool {
    let mut states = chain.states.iter();
    states.any(|state| reasons.contains(&view.states[*state as usize].reason))
}

/// Threads that work.
struct Workers<'a> {
    /// With how many of them do work of the same kind.
    alike: HashMap<u32, usize>,
    /// By thread: its samples by function, and all of them.
    profiles: HashMap<u32, (HashMap<&'a str, u64>, u64)>,
}

impl<'a> Workers<'a> {
    fn of(view: &'a View<'_>) -> Self {
        let least = view.own_wall() * MIN_SHARE_OF_WORKER;
        let working: Vec<u32> = (0u32..)
            .zip(&view.recording.threads)
            .filter(|(_, thread)| thread.running as f64 >= least)
            .map(|(index, _)| index)
            .collect();
        let mut profiles: HashMap<u32, (HashMap<&str, u64>, u64)> = HashMap::new();
        for (function, threads) in &view.runs {
            for (thread, samples) in threads {
                let (functions, all) = profiles.entry(*thread).or_default();
                functions.insert(function, *samples);
                *all += samples;
            }
        }
        let mut workers = Self {
            alike: working.iter().map(|&index| (index, 1)).collect(),
            profiles,
        };
        for (at, &one) in working.iter().enumerate().take(MAX_COMPARED_WORKERS) {
            for &other in &working[at + 1..] {
                if workers.are_alike(view, one, other) {
                    for thread in [one, other] {
                        *workers.alike.entry(thread).or_default() += 1;
                    }
                }
            }
        }
        workers
    }

    /// Whether two threads that live at the same time begin in the same function, or one spends most of its time in what the
    /// other does as well.
    fn are_alike(&self, view: &View<'_>, one: u32, other: u32) -> bool {
        let lives = [one, other].map(|index| &view.recording.threads[index as usize]);
        let begins = lives[0].began.max(lives[1].began);
        let together = lives[0].ended.min(lives[1].ended).saturating_sub(begins);
        let shorter = lives.map(|one| one.ended.saturating_sub(one.began));
        if together == 0 || 2 * together < shorter[0].min(shorter[1]) {
            return false;
        }
        let entry = view.entries.get(&one);
        if entry.is_some() && entry == view.entries.get(&other) {
            return true;
        }
        let in_both = |one: u32, other: u32| -> f64 {
            let functions = self
                .profiles
                .get(&one)
                .into_iter()
                .flat_map(|found| &found.0);
            let of_both =
                functions.filter(|(function, _)| self.samples(other, function) >= MIN_SAMPLES);
            of_both.map(|(function, _)| self.share(one, function)).sum()
        };
        in_both(one, other).max(in_both(other, one)) >= MIN_SHARE_OF_SAME_WORK
    }

    fn samples(&self, thread: u32, function: &str) -> u64 {
        let found = self
            .profiles
            .get(&thread)
            .and_then(|one| one.0.get(function));
        found.copied().unwrap_or(0)
    }

    /// Share of a thread's samples that are in a function.
    fn share(&self, thread: u32, function: &str) -> f64 {
        let all = self.profiles.get(&thread).map_or(0, |one| one.1);
        self.samples(thread, function) as f64 / all.max(1) as f64
    }

    /// Whether a thread like this one spent about as much of its own time in a function: it had less of the same to do.
    fn share_work_in(&self, view: &View<'_>, function: &str, thread: u32) -> bool {
        let least = self.share(thread, function) / 2.0;
        let mut others = self.alike.keys().filter(|&&other| other != thread);
        others.any(|&other| {
            let here = self.samples(other, function);
            let all = self.profiles.get(&other).map_or(0, |one| one.1);
            // Of one that was hardly ever seen: most of it.
            (here >= MIN_SAMPLES || here > 0 && 2 * here >= all)
                && self.share(other, function) >= least
                && self.are_alike(view, thread, other)
        })
    }
}

/// Whether hardly any thread but one runs this function.
fn of_one_thread(view: &View<'_>, function: &str) -> bool {
    let Some(threads) = view.runs.get(function) else {
        return false;
    };
    let all: u64 = threads.values().sum();
    let most = threads.values().copied().max().unwrap_or(0);
    most as f64 >= MIN_SHARE_OF_OWN_FUNCTION * all as f64
}

/// More threads that want to run than CPUs. What it costs is the switching.
fn oversubscription(view: &View<'_>) -> Option<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let workers = Workers::of(view).alike.len();
    if view.runnable_threads() < MANY_READY_THREADS * cpus || workers as f64 <= cpus {
        return None;
    }
    let runnable: f64 = recording
        .threads
        .iter()
        .map(|thread| thread.runnable as f64)
        .sum();
    let ready = view.running() + runnable;
    let switches: f64 = recording
        .threads
        .iter()
        .map(|thread| thread.slices as f64)
        .sum();
    // Switching is the kernel's work.
    let switching = match view.kernel_samples {
        0 => UNKNOWN_KERNEL_SHARE,
        _ => view.kernel_share(),
    };
    let at_most = view.running() * switching / cpus;
    let saved = |ns: f64| (switches * ns / cpus).min(at_most);
    let mut places = Places::new();
    for found in view.chain_places.values() {
        for (place, samples) in found {
            *places.entry(place.clone()).or_default() += samples;
        }
    }
    Some(Found {
        cause: WaitCause::Oversubscription,
        waits_ns: view.own_wall() * runnable / ready.max(1.0),
        work_remains: true,
        saved_ns: (saved(SWITCH_NS.0), saved(SWITCH_NS.1), saved(SWITCH_NS.2)),
        waiter: most(&places).map_or_else(unknown_place, |(place, _)| place.clone()),
        holder: None,
        object: None,
        figures: WaitFigures {
            snapshots: recording.snapshots,
            seconds: runnable / 1e9,
            waits: switches as u64,
            threads: workers as u64,
            ..WaitFigures::default()
        },
    })
}

/// The control group's limit of CPU time.
fn quota(view: &View<'_>) -> Option<Found> {
    let throttled = view.recording.throttled as f64;
    if throttled <= 0.0 {
        return None;
    }
    // The account adds up over CPUs.
    let waits = (throttled / view.runnable_threads().max(1.0)).min(view.own_wall());
    Some(Found {
        cause: WaitCause::CpuQuota,
        waits_ns: waits,
        work_remains: true,
        saved_ns: (
            waits * SAVED_OF_QUOTA.likely,
            waits * SAVED_OF_QUOTA.least,
            waits,
        ),
        waiter: unknown_place(),
        holder: None,
        object: Some("the control group's cpu.max".to_owned()),
        figures: WaitFigures {
            seconds: throttled / 1e9,
            ..WaitFigures::default()
        },
    })
}
