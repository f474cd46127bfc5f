//! Times in which too few threads work, or too many.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use super::constants::{
    MANY_READY_THREADS, MIN_SAMPLES, MIN_SHARE_OF_OWN_FUNCTION, MIN_SHARE_OF_WORKER, MOST_OF_HOLDS,
    SAVED_OF_QUOTA, SAVED_OF_UNEVEN_WORK, SWITCH_NS, UNKNOWN_KERNEL_SHARE,
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
    let workers = workers(view);
    let queued = queued_for_locks(view);
    let (mut serial, mut uneven) = (Alone::default(), Alone::default());
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
        let same_work = workers.get(&thread).copied().unwrap_or(1);
        let itself = usize::from(workers.contains_key(&thread));
        let others = workers.len().saturating_sub(itself);
        let Some(places) = view.alone_places.get(&index) else {
            continue;
        };
        let all: u64 = places.values().sum();
        for (place, samples) in places {
            let share = *samples as f64 / all as f64;
            let own = of_one_thread(view, &place.function)
                && !is_shared_work(view, &place.function, thread, &workers);
            let (sum, ns, able) = if same_work >= 2 && !own {
                // Whoever waits has ended or stands at a barrier.
                (&mut uneven, chain.others_done_ns * share, same_work as f64)
            } else if own && others >= 1 {
                (&mut serial, chain.awaited_ns * share, others as f64 + 1.0)
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
    workers: &HashMap<u32, usize>,
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
        let works = workers.contains_key(&seen.thread);
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

/// Threads that work, with how many of them begin in the same function.
fn workers(view: &View<'_>) -> HashMap<u32, usize> {
    let least = view.own_wall() * MIN_SHARE_OF_WORKER;
    let working: Vec<u32> = (0u32..)
        .zip(&view.recording.threads)
        .filter(|(_, thread)| thread.running as f64 >= least)
        .map(|(index, _)| index)
        .collect();
    let mut by_entry: HashMap<&str, usize> = HashMap::new();
    let entry = |index: &u32| view.entries.get(index).map(String::as_str);
    for name in working.iter().filter_map(entry) {
        *by_entry.entry(name).or_default() += 1;
    }
    working
        .iter()
        .map(|index| {
            let same = entry(index).and_then(|name| by_entry.get(name)).copied();
            (*index, same.unwrap_or(1))
        })
        .collect()
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

/// Whether another worker that begins in the same function as this thread spent most of its own time in a function: it had less
/// of the same to do.
fn is_shared_work(
    view: &View<'_>,
    function: &str,
    thread: u32,
    workers: &HashMap<u32, usize>,
) -> bool {
    let samples_in = |function: &str, thread: u32| {
        let threads = view.runs.get(function);
        threads.and_then(|threads| threads.get(&thread)).copied()
    };
    let entry = view.entries.get(&thread);
    let mut alike = workers
        .keys()
        .filter(|&&other| other != thread && entry.is_some() && view.entries.get(&other) == entry);
    alike.any(|&other| {
        let all: u64 = (view.runs.values())
            .filter_map(|threads| threads.get(&other))
            .sum();
        let here = samples_in(function, other).unwrap_or(0);
        here >= MIN_SAMPLES && here * 2 >= all
    })
}

/// More threads that want to run than CPUs. What it costs is the switching.
fn oversubscription(view: &View<'_>) -> Option<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    if view.runnable_threads() < MANY_READY_THREADS * cpus || workers(view).len() as f64 <= cpus {
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
            threads: workers(view).len() as u64,
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
