//! Times in which too few threads or processes work, or too many.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use crate::stacks::unknown_place;
use crate::view::{Places, View, most};

/// Share of the wall time that a thread must have been on a CPU to count as one that works.
const MIN_WORK: f64 = 0.02;

/// `serial-section`, `imbalance`, `child-process`, `oversubscription` and `cpu-quota`.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let mut all = alone(view);
    all.extend(children(view));
    all.extend(oversubscription(view));
    all.extend(quota(view));
    all
}

#[derive(Default)]
struct Alone {
    waits: f64,
    saved: f64,
    places: Places,
    waiters: BTreeMap<WaitPlace, f64>,
    moments: u64,
    threads: HashSet<u32>,
}

/// One thread works while others wait for it: always the same code that only one thread ever runs
/// (a serial section), or what the others did, too, but were done with earlier (imbalance).
fn alone(view: &View<'_>) -> Vec<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let workers = workers(view);
    let runners = threads_by_function(view);
    let (mut serial, mut uneven) = (Alone::default(), Alone::default());
    for (index, chain) in (0u32..).zip(&recording.chains) {
        let end = view.end(chain);
        if end.reason != WaitReason::Running || passes(view, chain, &[WaitReason::Lock]) {
            continue;
        }
        let last = chain.states[chain.states.len() - 1];
        let thread = recording.states[last as usize].thread;
        let places = view.chain_places.get(&index);
        let function = places
            .and_then(most)
            .map(|(place, _)| place.function.clone());
        let same_work = workers.get(&thread).copied().unwrap_or(1);
        let shared = function
            .as_ref()
            .and_then(|function| runners.get(function))
            .is_some_and(|threads| threads.len() >= 2);
        let others = workers
            .len()
            .saturating_sub(usize::from(workers.contains_key(&thread)));
        let (sum, ns, able) = if same_work >= 2 && shared {
            // Whoever waits has ended or stands at a barrier.
            (&mut uneven, chain.alone_ns, same_work as f64)
        } else if others >= 2 {
            (&mut serial, chain.awaited_ns, others as f64 + 1.0)
        } else {
            continue;
        };
        sum.waits += ns;
        sum.saved += ns * (1.0 - 1.0 / able.min(cpus));
        sum.moments += chain.moments;
        sum.threads.insert(thread);
        for (place, samples) in places.into_iter().flatten() {
            *sum.places.entry(place.clone()).or_default() += samples;
        }
        for state in &chain.states[..chain.states.len() - 1] {
            let waiter = view.states[*state as usize].place.clone();
            *sum.waiters.entry(waiter).or_default() += ns;
        }
    }
    let mut all = Vec::new();
    for (cause, sum) in [
        (WaitCause::SerialSection, serial),
        (WaitCause::Imbalance, uneven),
    ] {
        let holder = most(&sum.places).map(|(place, _)| place.clone());
        let waiter = longest_waiter(view, &sum.waiters);
        all.push(Found {
            cause,
            waits_ns: sum.waits,
            saved_ns: (sum.saved * 0.9, sum.saved * 0.5, sum.saved),
            waiter,
            holder,
            object: None,
            figures: WaitFigures {
                moments: sum.moments,
                seconds: sum.waits / 1e9,
                threads: sum.threads.len() as u64,
                holder_on_cpu: 1.0,
                ..WaitFigures::default()
            },
        });
    }
    all
}

/// Who waited longest on these chains; else the place where threads waited longest for others.
fn longest_waiter(view: &View<'_>, waiters: &BTreeMap<WaitPlace, f64>) -> WaitPlace {
    if let Some((place, _)) = waiters.iter().max_by(|a, b| a.1.total_cmp(b.1)) {
        return place.clone();
    }
    let states = view.states.iter().zip(&view.recording.states);
    states
        .filter(|(state, _)| matches!(state.reason, WaitReason::Condition | WaitReason::Join))
        .max_by(|a, b| a.1.ns.total_cmp(&b.1.ns))
        .map_or_else(unknown_place, |(state, _)| state.place.clone())
}

fn passes(view: &View<'_>, chain: &Chain, reasons: &[WaitReason]) -> bool {
    let mut states = chain.states.iter();
    states.any(|state| reasons.contains(&view.states[*state as usize].reason))
}

/// Threads that work, with how many of them begin in the same function.
fn workers(view: &View<'_>) -> HashMap<u32, usize> {
    let least = view.wall() * MIN_WORK;
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

/// For each function where a thread was last on a CPU in the user's code: the threads.
fn threads_by_function(view: &View<'_>) -> HashMap<String, HashSet<u32>> {
    let mut all: HashMap<String, HashSet<u32>> = HashMap::new();
    for (function, thread) in &view.runs {
        all.entry(function.clone()).or_default().insert(*thread);
    }
    all
}

/// Children that are waited for one after the other while CPUs are free.
fn children(view: &View<'_>) -> Option<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let mut parents: HashMap<i32, usize> = HashMap::new();
    for process in &recording.processes {
        *parents.entry(process.parent).or_default() += 1;
    }
    let mut waits = 0.0;
    let mut saved = 0.0;
    let mut moments = 0;
    let mut waiters: BTreeMap<WaitPlace, f64> = BTreeMap::new();
    let mut places = Places::new();
    let mut names: BTreeMap<String, f64> = BTreeMap::new();
    let mut count = 0;
    for (index, chain) in (0u32..).zip(&recording.chains) {
        let waiting = chain
            .states
            .iter()
            .find(|state| view.states[**state as usize].reason == WaitReason::Child);
        let Some(waiting) = waiting else { continue };
        let children = parents
            .get(&view.thread(*waiting).pid)
            .copied()
            .unwrap_or(0);
        if children < 2 {
            continue;
        }
        count = count.max(children);
        let ns = chain.alone_ns + chain.idle_ns;
        waits += ns;
        // Work overlaps on the CPUs; what waits itself overlaps without them.
        let able = children as f64;
        saved += chain.alone_ns * (1.0 - 1.0 / able.min(cpus)) + chain.idle_ns * (1.0 - 1.0 / able);
        moments += chain.moments;
        let state = &view.states[*waiting as usize];
        *waiters.entry(state.place.clone()).or_default() += ns;
        let last = chain.states[chain.states.len() - 1];
        *names.entry(view.thread(last).name.clone()).or_default() += ns;
        for (place, samples) in view.chain_places.get(&index).into_iter().flatten() {
            *places.entry(place.clone()).or_default() += samples;
        }
    }
    let waiter = waiters.iter().max_by(|a, b| a.1.total_cmp(b.1))?.0.clone();
    Some(Found {
        cause: WaitCause::ChildProcess,
        waits_ns: waits,
        saved_ns: (saved * 0.9, saved * 0.3, saved),
        waiter,
        holder: most(&places).map(|(place, _)| place.clone()),
        object: names
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(name, _)| name),
        figures: WaitFigures {
            moments,
            seconds: waits / 1e9,
            waits: count as u64,
            ..WaitFigures::default()
        },
    })
}

/// More threads that want to run than CPUs. What it costs is the switching.
fn oversubscription(view: &View<'_>) -> Option<Found> {
    /// Direct and indirect cost of a switch, ns (Li, Ding, Shen, "Quantifying the cost of context
    /// switch", ExpCS 2007: a few µs, more with caches to fill again).
    const SWITCH_NS: (f64, f64, f64) = (5_000.0, 1_000.0, 30_000.0);
    /// Ready threads for each CPU from which on there are too many.
    const MANY: f64 = 1.5;
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    if view.ready_threads() < MANY * cpus || workers(view).len() as f64 <= cpus {
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
    let saved = |ns: f64| switches * ns / cpus;
    let mut places = Places::new();
    for found in view.chain_places.values() {
        for (place, samples) in found {
            *places.entry(place.clone()).or_default() += samples;
        }
    }
    Some(Found {
        cause: WaitCause::Oversubscription,
        waits_ns: view.wall() * runnable / ready.max(1.0),
        saved_ns: (saved(SWITCH_NS.0), saved(SWITCH_NS.1), saved(SWITCH_NS.2)),
        waiter: most(&places).map_or_else(unknown_place, |(place, _)| place.clone()),
        holder: None,
        object: None,
        figures: WaitFigures {
            moments: recording.moments,
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
    let waits = (throttled / view.ready_threads().max(1.0)).min(view.wall());
    Some(Found {
        cause: WaitCause::CpuQuota,
        waits_ns: waits,
        saved_ns: (waits * 0.9, waits * 0.5, waits),
        waiter: unknown_place(),
        holder: None,
        object: Some("the control group's cpu.max".to_owned()),
        figures: WaitFigures {
            seconds: throttled / 1e9,
            ..WaitFigures::default()
        },
    })
}
