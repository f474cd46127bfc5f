//! Locks that threads wait for.

use std::collections::{BTreeMap, HashMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use super::constants::{MIN_PART_ON_PATH, MOST_OF_HOLDS, SAVED_OF_LOCKS, SAVED_SIDE_BY_SIDE};
use crate::grouped_waits::waits_of_states;
use crate::view::{Places, View, most};

#[derive(Default)]
struct Lock {
    /// Wall time with this lock on the critical path while its holder ran, and while that waited.
    computing: f64,
    waiting: f64,
    /// Of `computing` what the holder had a CPU for.
    on_cpu: f64,
    ns: f64,
    snapshots: u64,
    waits: f64,
    /// Waits by thread.
    threads: BTreeMap<u32, f64>,
    waiters: BTreeMap<WaitPlace, f64>,
    holder_places: Places,
    /// Where holders waited, with time.
    holder_waits: BTreeMap<WaitPlace, f64>,
    /// Time of waits whose holder is known, and did not wait for a lock or for work itself.
    held: f64,
    /// Time of waits whose holder waited to be told: who queues for the lock has nothing to do.
    idle: f64,
}

impl Lock {
    /// Part of the time in which holders waited themselves, of that in which they had a CPU or waited for no CPU; where the lock is hardly on the path, of all waits for it. `None` where no
    /// holder is known.
    fn waiting_part(&self) -> Option<f64> {
        let on_path = self.computing + self.waiting;
        let all_waits: f64 = self.holder_waits.values().sum();
        let seen = self.held + self.idle;
        let (waiting, all) = match on_path > MIN_PART_ON_PATH * seen {
            true => (self.waiting, self.on_cpu + self.waiting),
            false => (all_waits, seen),
        };
        (all > 0.0).then(|| waiting / all)
    }
}

/// `lock-contention` and `lock-held-over-io`.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let recording = view.recording;
    let counts = waits_of_states(view);
    let mut locks: BTreeMap<Option<String>, Lock> = BTreeMap::new();
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&recording.states)) {
        if state.reason != WaitReason::Lock {
            continue;
        }
        let lock = locks.entry(state.object.clone()).or_default();
        lock.ns += seen.ns;
        lock.snapshots += seen.snapshots;
        lock.waits += counts[index as usize];
        *lock.threads.entry(seen.thread).or_default() += counts[index as usize];
        *lock.waiters.entry(state.place.clone()).or_default() += seen.ns;
        for (place, samples) in view.holder_places.get(&index).into_iter().flatten() {
            *lock.holder_places.entry(place.clone()).or_default() += samples;
        }
    }
    for pair in &recording.pairs {
        let (waiter, holder) = (
            &view.states[pair.waiter as usize],
            &view.states[pair.holder as usize],
        );
        if waiter.reason == WaitReason::Lock
            && holder.reason != WaitReason::Lock
            && let Some(lock) = locks.get_mut(&waiter.object)
        {
            match holder.reason {
                WaitReason::Condition => lock.idle += pair.ns,
                WaitReason::Running => lock.held += pair.ns * with_cpu(view, pair.holder),
                _ => lock.held += pair.ns,
            }
            if holder.reason != WaitReason::Running {
                *lock.holder_waits.entry(holder.place.clone()).or_default() += pair.ns;
            }
        }
    }
    for chain in &view.chains {
        // The last lock before the end is the one whose holder the end is.
        let Some(object) = last_lock(view, chain) else {
            continue;
        };
        let Some(lock) = locks.get_mut(&object) else {
            continue;
        };
        match view.end(chain).reason {
            WaitReason::Running => {
                lock.computing += chain.ns;
                let last = chain.states[chain.states.len() - 1];
                lock.on_cpu += chain.ns * with_cpu(view, last);
            }
            WaitReason::Lock => {}
            _ => lock.waiting += chain.ns,
        }
    }
    if recording.chains.is_empty() {
        without_leader(view, &mut locks);
    }
    let outside = places_of_waits_outside(view);
    let mut all = Vec::new();
    for (object, mut lock) in locks {
        // The call itself takes CPU time, too, before and after it waits.
        let in_call = share_in(&lock.holder_places, &outside);
        lock.waiting += lock.computing * in_call;
        lock.computing *= 1.0 - in_call;
        lock.on_cpu *= 1.0 - in_call;
        let most_waiter = lock.waiters.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((waiter, _)) = most_waiter else {
            continue;
        };
        let on_path = lock.computing + lock.waiting;
        let figures = WaitFigures {
            snapshots: lock.snapshots,
            seconds: lock.ns / 1e9,
            waits: lock.waits.round() as u64,
            threads: lock.threads.len() as u64,
            holder_on_cpu: lock.waiting_part().map_or(0.0, |waiting| 1.0 - waiting),
            ..WaitFigures::default()
        };
        let over_io = (lock.waiting_part()).is_some_and(|waiting| waiting > MOST_OF_HOLDS);
        let holder = if over_io {
            let longest = lock.holder_waits.iter().max_by(|a, b| a.1.total_cmp(b.1));
            let running = most(&lock.holder_places).map(|(place, _)| place);
            longest.map(|(place, _)| place).or(running).cloned()
        } else {
            most(&lock.holder_places).map(|(place, _)| place.clone())
        };
        let queued = view.queued_after(&lock.threads);
        // Other programs queue a thread for longer, and as often where it never waited.
        let own = queued * view.own_part_of_queue();
        // Threads that end one after the other wait for the lock while the others are waited for.
        let walls = walls_side_by_side(view, object.as_ref());
        // Behind a holder that nobody saw may be the waker's own short section.
        let [shared, least] = walls.map(|wall| match lock.held > lock.idle {
            true => (view.own_wall() - wall).clamp(0.0, lock.held),
            false => 0.0,
        });
        let saved = on_path.max(shared);
        all.push(Found {
            cause: match over_io {
                true => WaitCause::LockHeldOverIo,
                false => WaitCause::LockContention,
            },
            waits_ns: saved,
            work_remains: true,
            saved_ns: (
                saved * SAVED_OF_LOCKS.likely + own,
                (on_path * SAVED_OF_LOCKS.least).max(least * SAVED_SIDE_BY_SIDE),
                saved + queued,
            ),
            waiter: waiter.clone(),
            holder,
            object,
            figures,
        });
    }
    all
}

/// The wall time if those who waited for a lock, and who held it then, had worked side by side, ns: what other threads are
/// waited for in the end, and how long these live but for their waits for others; the CPUs must suffice for all work. If those that
/// begin in one function share what they do, and if each keeps what it did: who gets the lock gets the next piece of work.
fn walls_side_by_side(view: &View<'_>, object: Option<&String>) -> [f64; 2] {
    let states = &view.recording.states;
    let wants = |state: u32| {
        let state = &view.states[state as usize];
        state.reason == WaitReason::Lock && state.object.as_ref() == object
    };
    let holding: HashSet<u32> = (view.recording.pairs.iter())
        .filter(|pair| wants(pair.waiter))
        .map(|pair| pair.holder)
        .collect();
    let waiters = (0u32..).take(states.len()).filter(|state| wants(*state));
    let threads: HashSet<u32> = waiters.map(|state| states[state as usize].thread).collect();
    // What a holder waits for in turn, at the other end of a connection, is theirs as well; what the first of a chain waits for
    // elsewhere is not, though it may be one of them.
    let leads_to_them = |chain: &&Chain| {
        let behind = chain.states.len().min(2) - 1;
        chain.states[behind..].iter().any(|state| {
            holding.contains(state) || threads.contains(&states[*state as usize].thread)
        })
    };
    let with_them: f64 = (view.chains.iter())
        .filter(leads_to_them)
        .map(|chain| chain.ns)
        .sum();
    let holders = holding.iter().map(|state| states[*state as usize].thread);
    let threads: HashSet<u32> = holders.chain(threads.iter().copied()).collect();
    let mut alone: HashMap<u32, f64> = (threads.iter())
        .map(|index| {
            let thread = &view.recording.threads[*index as usize];
            (*index, thread.ended.saturating_sub(thread.began) as f64)
        })
        .collect();
    for (state, seen) in view.states.iter().zip(states) {
        let for_others = matches!(
            state.reason,
            WaitReason::Lock | WaitReason::Condition | WaitReason::Join
        );
        if let Some(alone) = alone.get_mut(&seen.thread).filter(|_| for_others) {
            *alone -= seen.ns;
        }
    }
    let rest = 1.0 - with_them / view.chained().max(1.0);
    let work = view.running() / f64::from(view.recording.cpus.max(1));
    let longest = alone.values().copied().fold(0.0, f64::max);
    let mut alike: BTreeMap<Result<&String, u32>, (f64, f64)> = BTreeMap::new();
    for (thread, alone) in alone {
        let begins_in = view.entries.get(&thread).ok_or(thread);
        let (sum, threads) = alike.entry(begins_in).or_default();
        *sum += alone;
        *threads += 1.0;
    }
    let shared = (alike.values().map(|(sum, threads)| sum / threads)).fold(0.0, f64::max);
    [shared, longest].map(|alone| (rest * view.own_wall() + alone).max(work))
}

/// Share of its runnable time in which the thread of a state had a CPU: without one it does not compute.
fn with_cpu(view: &View<'_>, state: u32) -> f64 {
    let thread = view.thread(state);
    match thread.running + thread.runnable {
        0 => 1.0,
        ready => thread.running as f64 / ready as f64,
    }
}

/// Where threads wait for the world outside: files, the disk, other processes, a time.
fn places_of_waits_outside<'a>(view: &'a View<'_>) -> HashSet<&'a WaitPlace> {
    let waits = view.states.iter().filter(|state| {
        matches!(
            state.reason,
            WaitReason::File
                | WaitReason::Fsync
                | WaitReason::Pipe
                | WaitReason::Socket
                | WaitReason::Child
                | WaitReason::Sleep
                | WaitReason::Terminal
        )
    });
    waits.map(|state| &state.place).collect()
}

/// Share of the samples at these places.
fn share_in(samples: &Places, places: &HashSet<&WaitPlace>) -> f64 {
    let all: u64 = samples.values().sum();
    let there = samples.iter().filter(|(place, _)| places.contains(place));
    let there: u64 = there.map(|(_, samples)| samples).sum();
    there as f64 / all.max(1) as f64
}

/// The object of the last lock on a chain.
#[allow(clippy::option_option)]
fn last_lock(view: &View<'_>, chain: &Chain) -> Option<Option<String>> {
    let states = chain.states.iter().rev();
    states
        .map(|state| &view.states[*state as usize])
        .find(|state| state.reason == WaitReason::Lock)
        .map(|state| state.object.clone())
}

/// Where no chain of waits is known a lock counts by its share of the time of those threads that wait for it.
fn without_leader(view: &View<'_>, locks: &mut BTreeMap<Option<String>, Lock>) {
    for lock in locks.values_mut() {
        let threads = lock.threads.len().max(1) as f64;
        let io: f64 = lock.holder_waits.values().sum();
        let share = (io / lock.ns.max(1.0)).clamp(0.0, 1.0);
        let of_wall = (lock.ns / threads).min(view.own_wall());
        lock.waiting = of_wall * share;
        lock.computing = of_wall * (1.0 - share);
        lock.on_cpu = lock.computing;
    }
}
