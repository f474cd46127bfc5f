//! Waits by what for, where, and on what; with what the threads that were waited for did meanwhile.

use std::collections::{HashMap, HashSet};

use genba_model::{Wait, WaitPlace, WaitReason};
use genba_profile::wait_sampler::SeenState;

use crate::causes::MIN_SHARE_EXPIRED;
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
    let of_short = |seen: &SeenState| seen.entries.saturating_sub(seen.long_entries) as f64;
    let mut others: Vec<f64> = (0..recording.threads.len())
        .map(|at| (recording.threads[at].waits() - long[at]).max(short[at]))
        .collect();
    // A longer wait is seen more often than a short one. Those whose time is known are no more than fit.
    let mut known = vec![None; recording.states.len()];
    for (known, seen) in known.iter_mut().zip(&recording.states) {
        let Some(most) = most_sleeps(seen) else {
            continue;
        };
        let thread = seen.thread as usize;
        let short_ones = of_short(seen);
        let fit = (most - seen.long_entries as f64).max(short_ones);
        if short_ones > 0.0 && others[thread] * short_ones / short[thread] > fit {
            *known = Some(seen.long_entries as f64 + fit);
            others[thread] -= fit;
            short[thread] -= short_ones;
        }
    }
    let of_state = |seen: &SeenState| {
        if seen.wait.is_none() {
            return 0.0;
        }
        let thread = seen.thread as usize;
        let share = match short[thread] > 0.0 {
            true => of_short(seen) / short[thread],
            false => 0.0,
        };
        seen.long_entries as f64 + others[thread] * share
    };
    let states = recording.states.iter().zip(known);
    states
        .map(|(seen, known)| known.unwrap_or_else(|| of_state(seen)))
        .collect()
}

/// How many sleeps of a known time, or waits that end by their time limit, fit into the time of a state.
fn most_sleeps(seen: &SeenState) -> Option<f64> {
    let expires = seen.expired_ns as f64 >= MIN_SHARE_EXPIRED * seen.ns;
    let (times, ns) = match seen.timed_entries {
        0 if expires => (seen.expired, seen.expired_ns),
        entries => (entries, seen.timed_ns),
    };
    let mean = ns as f64 / times.max(1) as f64;
    (mean > 0.0).then(|| seen.ns / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::SyntheticRecording;

    #[test]
    fn sleeps_of_a_known_time_are_no_more_than_fit() {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let naps = made.waits(0, WaitReason::Sleep, &["nap"], (800.0, 100)) as usize;
        let answers = made.waits(0, WaitReason::Socket, &["ask"], (40.0, 10)) as usize;
        for state in &mut made.recording.states {
            state.long_entries = 0;
        }
        made.recording.threads[0].slices = 440;
        let counts = made.view(waits_of_states);
        assert!(counts[naps] > 390.0 && counts[answers] < 50.0, "{counts:?}");
        (
            made.recording.states[naps].timed_entries,
            made.recording.states[naps].timed_ns,
        ) = (100, 400_000_000);
        let counts = made.view(waits_of_states);
        assert!((counts[naps] - 200.0).abs() < 1.0, "{counts:?}");
        assert!((counts[answers] - 240.0).abs() < 1.0, "{counts:?}");
        // The same of waits that end by their time limit.
        let state = &mut made.recording.states[naps];
        (state.timed_entries, state.timed_ns) = (0, 0);
        (state.expired, state.expired_ns) = (120, 480_000_000);
        let counts = made.view(waits_of_states);
        assert!((counts[naps] - 200.0).abs() < 1.0, "{counts:?}");
        made.recording.states[naps].timed_entries = 100;
        // As many as were seen there were, however long they should have been.
        made.recording.states[naps].timed_ns = 4_000_000_000;
        let counts = made.view(waits_of_states);
        assert!((counts[naps] - 100.0).abs() < 1.0, "{counts:?}");
    }
}
