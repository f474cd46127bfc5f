//! Waits by what for, where, and on what; with what the threads that were waited for did meanwhile.

use std::collections::{HashMap, HashSet};

use genba_model::{Wait, WaitPlace, WaitReason};

use crate::view::{Places, View, most};

/// Most waits that are listed.
const MAX_LISTED: usize = 100;

/// What waits are grouped by.
type Key = (WaitReason, WaitPlace, Option<String>);

#[derive(Default)]
struct Group {
    ns: f64,
    snapshots: u64,
    count: f64,
    threads: HashSet<u32>,
    stack: Vec<String>,
    /// Time by what the holder waited for in turn; on a CPU without a place.
    holders: HashMap<(WaitReason, WaitPlace), f64>,
    running: f64,
    places: Places,
    critical: f64,
}

/// All waits, longest first.
pub fn grouped_waits(view: &View<'_>) -> Vec<Wait> {
    let recording = view.recording;
    let mut groups: HashMap<Key, Group> = HashMap::new();
    let counts = waits_of_states(view);
    let key = |state: u32| {
        let state = &view.states[state as usize];
        (state.reason, state.place.clone(), state.object.clone())
    };
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&recording.states)) {
        if state.reason == WaitReason::Running || seen.snapshots == 0 {
            continue;
        }
        let group = groups.entry(key(index)).or_default();
        group.ns += seen.ns;
        group.snapshots += seen.snapshots;
        group.count += counts[index as usize];
        group.threads.insert(seen.thread);
        if group.stack.is_empty() {
            group.stack.clone_from(&state.stack);
        }
        for (place, samples) in view.holder_places.get(&index).into_iter().flatten() {
            *group.places.entry(place.clone()).or_default() += samples;
        }
    }
    for pair in &recording.pairs {
        let holder = &view.states[pair.holder as usize];
        if let Some(group) = groups.get_mut(&key(pair.waiter)) {
            match holder.reason {
                WaitReason::Running => group.running += pair.ns,
                reason => {
                    *group
                        .holders
                        .entry((reason, holder.place.clone()))
                        .or_default() += pair.ns;
                }
            }
        }
    }
    let chained = view.chained();
    for chain in &recording.chains {
        let mut passed = HashSet::new();
        for state in &chain.states {
            let key = key(*state);
            if let Some(group) = groups.get_mut(&key)
                && passed.insert(key)
            {
                group.critical += chain.ns;
            }
        }
    }
    let mut waits: Vec<Wait> = groups
        .into_iter()
        .map(|((reason, waiter, object), group)| {
            let blocked = group
                .holders
                .iter()
                .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
            let blocked_ns = blocked.map_or(0.0, |(_, ns)| *ns);
            let (holder, holder_reason, holder_ns) = if group.running >= blocked_ns {
                let place = most(&group.places);
                let share = place.map_or(1.0, |(_, share)| share);
                (
                    place.map(|(place, _)| place.clone()),
                    WaitReason::Running,
                    group.running * share,
                )
            } else {
                let found = blocked.map(|(key, _)| key.clone());
                let (reason, place) = found
                    .map_or((WaitReason::Unknown, None), |(reason, place)| {
                        (reason, Some(place))
                    });
                (place, reason, blocked_ns)
            };
            Wait {
                reason,
                seconds: group.ns / 1e9,
                snapshots: group.snapshots,
                count: group.count.round() as u64,
                threads: group.threads.len() as u64,
                waiter,
                stack: group.stack,
                holder_reason: holder
                    .as_ref()
                    .filter(|_| holder_reason != WaitReason::Running)
                    .map(|_| holder_reason),
                holder,
                holder_share: share(holder_ns, group.ns),
                object,
                critical_share: share(group.critical, chained),
            }
        })
        .collect();
    waits.sort_by(|a, b| {
        b.seconds
            .total_cmp(&a.seconds)
            .then_with(|| a.waiter.cmp(&b.waiter))
    });
    waits.truncate(MAX_LISTED);
    waits
}

fn share(part: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => (part / whole).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// How many waits each state stands for. Those that lasted until the next snapshot were all seen; how
/// often a thread got a CPU after it had given one up says how many others there were, and they divide by how often
/// each was seen.
pub fn waits_of_states(view: &View<'_>) -> Vec<f64> {
    let recording = view.recording;
    let mut long = vec![0.0; recording.threads.len()];
    let mut short = vec![0.0; recording.threads.len()];
    for seen in recording.states.iter().filter(|seen| seen.wait.is_some()) {
        let thread = seen.thread as usize;
        long[thread] += seen.long_entries as f64;
        short[thread] += seen.entries.saturating_sub(seen.long_entries) as f64;
    }
    recording
        .states
        .iter()
        .map(|seen| {
            if seen.wait.is_none() {
                return 0.0;
            }
            let thread = seen.thread as usize;
            let of_short = seen.entries.saturating_sub(seen.long_entries) as f64;
            let others = (recording.threads[thread].waits() - long[thread]).max(short[thread]);
            let share = match short[thread] > 0.0 {
                true => of_short / short[thread],
                false => 0.0,
            };
            seen.long_entries as f64 + others * share
        })
        .collect()
}
