//! Times in which too few threads or processes work, or too many.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use crate::grouped_waits::waits_of_states;
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
    snapshots: u64,
    threads: HashSet<u32>,
}

/// One thread works while others wait for it: in code that only one thread ever runs (a serial
/// section), or in what the others did, too, but were done with earlier (imbalance).
fn alone(view: &View<'_>) -> Vec<Found> {
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let workers = workers(view);
    let (mut serial, mut uneven) = (Alone::default(), Alone::default());
    for (index, chain) in (0u32..).zip(&view.chains) {
        let end = view.end(chain);
        if end.reason != WaitReason::Running || passes(view, chain, &[WaitReason::Lock]) {
            continue;
        }
        let last = chain.states[chain.states.len() - 1];
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
            let own = of_one_thread(view, &place.function);
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
        // Where nobody was seen waiting for it, who works alone keeps nobody from work.
        let Some(waiter) = who_waits_for(view, &sum, &workers) else {
            continue;
        };
        let holder = most(&sum.places).map(|(place, _)| place.clone());
        all.push(Found {
            cause,
            waits_ns: sum.waits,
            work_remains: true,
            // Pieces are seldom of one size.
            saved_ns: (sum.saved * 0.8, sum.saved * 0.35, sum.saved),
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

/// Where threads waited longest for those that worked alone there: such as work themselves rather
/// than the one that only waits for all of them.
fn who_waits_for(view: &View<'_>, sum: &Alone, workers: &HashMap<u32, usize>) -> Option<WaitPlace> {
    let mut places: BTreeMap<(bool, &WaitPlace), f64> = BTreeMap::new();
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&view.recording.states)) {
        if !matches!(state.reason, WaitReason::Condition | WaitReason::Join) {
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
        *places.entry((works, &state.place)).or_default() += samples as f64;
    }
    places.retain(|_, samples| *samples > 0.0);
    places
        .into_iter()
        .max_by(|a, b| a.0.0.cmp(&b.0.0).then(a.1.total_cmp(&b.1)))
        .map(|((_, place), _)| place.clone())
}

fn passes(view: &View<'_>, chain: &Chain, reasons: &[WaitReason]) -> bool {
    let mut states = chain.states.iter();
    states.any(|state| reasons.contains(&view.states[*state as usize].reason))
}

/// Threads that work, with how many of them begin in the same function.
fn workers(view: &View<'_>) -> HashMap<u32, usize> {
    let least = view.own_wall() * MIN_WORK;
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
    /// Share of a function's samples that one thread has if it is that thread's own.
    const NEARLY_ALL: f64 = 0.9;
    let Some(threads) = view.runs.get(function) else {
        return false;
    };
    let all: u64 = threads.values().sum();
    let most = threads.values().copied().max().unwrap_or(0);
    most as f64 >= NEARLY_ALL * all as f64
}

/// Children that are waited for while CPUs are free: one after the other, or so many short ones that
/// starting them is the work.
fn children(view: &View<'_>) -> Option<Found> {
    /// Life of a process below which most of it is its start and end, ns: loading, linking and
    /// clearing up take about a millisecond.
    const SHORT_LIFE_NS: f64 = 10e6;
    let recording = view.recording;
    let cpus = f64::from(recording.cpus.max(1));
    let parents: HashMap<i32, i32> = recording
        .processes
        .iter()
        .map(|process| (process.pid, process.parent))
        .collect();
    let mut waits = 0.0;
    let (mut alone, mut idle) = (0.0, 0.0);
    let mut snapshots = 0;
    let mut waiters: BTreeMap<WaitPlace, u64> = BTreeMap::new();
    let mut places = Places::new();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    let mut parent = 0;
    // For a child's end, or for what it writes.
    let for_child = |chain: &Chain| {
        let waiting = chain.states.iter().enumerate().find(|(at, state)| {
            let reason = view.states[**state as usize].reason;
            let pid = view.thread(**state).pid;
            let next = chain.states.get(at + 1).map(|next| view.thread(*next).pid);
            reason == WaitReason::Child
                || matches!(reason, WaitReason::Pipe | WaitReason::Socket)
                    && next.is_some_and(|next| parents.get(&next) == Some(&pid))
        });
        waiting.map(|(_, state)| *state)
    };
    let place = |state: u32| {
        let seen = &view.states[state as usize];
        (view.thread(state).pid, seen.reason, &seen.place)
    };
    let known: HashSet<_> = view
        .chains
        .iter()
        .filter_map(for_child)
        .map(place)
        .collect();
    // A child that has just begun or ended is not seen at the other end of its pipe. What is waited
    // for at the same place is a child's, too.
    let for_unseen_child = |chain: &Chain| {
        let last = *chain.states.last()?;
        known.contains(&place(last)).then_some(last)
    };
    for (index, chain) in (0u32..).zip(&view.chains) {
        let Some(waiting) = for_child(chain).or_else(|| for_unseen_child(chain)) else {
            continue;
        };
        parent = view.thread(waiting).pid;
        waits += chain.ns;
        alone += chain.alone_ns;
        idle += chain.idle_ns;
        snapshots += chain.snapshots;
        let state = &view.states[waiting as usize];
        // Whatever other programs took: the same place with and without that.
        *waiters.entry(state.place.clone()).or_default() += chain.snapshots;
        let last = chain.states[chain.states.len() - 1];
        *names.entry(view.thread(last).name.clone()).or_default() += chain.snapshots;
        for (place, samples) in view.chain_places.get(&index).into_iter().flatten() {
            *places.entry(place.clone()).or_default() += samples;
        }
    }
    let waiter = waiters
        .iter()
        .max_by_key(|(_, snapshots)| **snapshots)?
        .0
        .clone();
    let lives: Vec<(u64, u64)> = recording
        .threads
        .iter()
        .filter(|thread| thread.pid == thread.tid && parents.get(&thread.pid) == Some(&parent))
        .map(|thread| (thread.began, thread.ended.max(thread.began)))
        .collect();
    let count = lives.len();
    if count < 2 || overlap(lives.clone()) {
        return None;
    }
    let total: f64 = lives.iter().map(|life| (life.1 - life.0) as f64).sum();
    let life = total / count as f64;
    // A child is waited for no longer than it lives: what was waited for longer at the same places was something else.
    let of_children = (total / waits.max(1.0)).min(1.0);
    let (waits, alone, idle) = (waits * of_children, alone * of_children, idle * of_children);
    let saved_ns = if life < SHORT_LIFE_NS {
        // Starting them is the kernel's work in the parent, too, and it queues for a CPU after each.
        let mut waits_of_threads = BTreeMap::new();
        let waits_of_states = (0u32..).zip(waits_of_states(view));
        for (state, count) in waits_of_states.filter(|(state, _)| known.contains(&place(*state))) {
            let thread = recording.states[state as usize].thread;
            *waits_of_threads.entry(thread).or_default() += count;
        }
        let starts = view.on_path(&view.chain_kernel_places, |asked| {
            asked.function == waiter.function
        });
        let all = waits + starts + view.queued_after(&waits_of_threads);
        (all * 0.9, waits * 0.4, all)
    } else {
        // Work overlaps on the CPUs; what waits itself overlaps without them. The longest life stays.
        let able = count as f64;
        let longest = lives.iter().map(|life| life.1 - life.0).max().unwrap_or(0) as f64;
        let most = 1.0 - longest / total.max(1.0);
        let saved =
            alone * (1.0 - 1.0 / able.min(cpus)).min(most) + idle * (1.0 - 1.0 / able).min(most);
        (saved * 0.9, saved * 0.3, saved)
    };
    Some(Found {
        cause: WaitCause::ChildProcess,
        waits_ns: if life < SHORT_LIFE_NS {
            waits
        } else {
            alone + idle
        },
        saved_ns,
        work_remains: life >= SHORT_LIFE_NS,
        waiter,
        holder: most(&places).map(|(place, _)| place.clone()),
        object: names
            .into_iter()
            .max_by_key(|(_, snapshots)| *snapshots)
            .map(|(name, _)| name),
        figures: WaitFigures {
            snapshots,
            seconds: waits / 1e9,
            waits: count as u64,
            ..WaitFigures::default()
        },
    })
}

/// Whether processes lived at the same time rather than one after the other: those of a pipe do.
fn overlap(mut lives: Vec<(u64, u64)>) -> bool {
    /// Time of all lives ÷ time in which any of them lived, from which on they overlap.
    const MIN_OVERLAP: f64 = 1.3;
    lives.sort_unstable();
    let total: u64 = lives.iter().map(|life| life.1 - life.0).sum();
    let mut covered = 0;
    let mut until = 0;
    for (began, ended) in lives {
        covered += ended.saturating_sub(began.max(until));
        until = until.max(ended);
    }
    total as f64 > MIN_OVERLAP * covered as f64
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
    if view.runnable_threads() < MANY * cpus || workers(view).len() as f64 <= cpus {
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
        0 => 0.5,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_pipe_overlap_and_those_of_a_script_do_not() {
        assert!(overlap(vec![(0, 100), (1, 100), (2, 101)]));
        assert!(!overlap(vec![(50, 100), (0, 50), (100, 140)]));
        assert!(!overlap(vec![(0, 50), (45, 100)]));
        assert!(!overlap(vec![]));
    }
}
