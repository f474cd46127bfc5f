//! Stacks on CPUs and off, on one scale: the wall time of the threads.

use std::collections::HashMap;

use genba_model::{WaitReason, WallStack};

use crate::alike_threads::Pools;
use crate::stacks::{NamedFrame, own_frame};
use crate::thread_times::{Division, division};
use crate::view::View;

/// Most stacks that are retained; the time of the others is that of their threads without a stack.
const MAX_STACKS: usize = 2_000;

/// State, object, number of the stack.
type Key<'a> = (WaitReason, Option<&'a str>, Option<u32>);
/// Thread, state, object, names of the frames.
type Names<'a> = (&'a str, WaitReason, Option<&'a str>, Vec<&'a str>);
/// Time, ns, and the snapshots behind it.
type Sum = (f64, u64);

/// All stacks, longest first. The time of threads is that of the kernel's account: on a CPU it
/// divides by samples, blocked by the times of the states that snapshots saw. Where a thread waited
/// for a CPU is not known.
pub fn wall_stacks(view: &View<'_>) -> Vec<WallStack> {
    let recording = view.recording;
    let pools = Pools::of(recording);
    let mut of_pools: Vec<HashMap<Key<'_>, Sum>> = pools.each();
    for (state, seen) in view.states.iter().zip(&recording.states) {
        let Some(wait) = seen.wait.as_ref().filter(|_| seen.ns > 0.0) else {
            continue;
        };
        let key = (
            state.reason,
            state.object.as_deref(),
            view.stacks.number(wait.stack),
        );
        let sum = of_pools[pools.pool(seen.thread as usize)]
            .entry(key)
            .or_default();
        sum.0 += seen.ns;
        sum.1 += seen.snapshots;
    }
    // Threads of a pool have one name.
    let mut times: Vec<(&str, Division)> = pools.each();
    for (at, thread) in recording.threads.iter().enumerate() {
        let (name, sum) = &mut times[pools.pool(at)];
        *name = &thread.name;
        sum.add(&division(thread));
    }
    let mut samples = samples_of_pools(view, &pools);
    let mut named: HashMap<(&str, Key<'_>), Sum> = HashMap::new();
    for (at, ((name, times), states)) in times.iter().zip(of_pools).enumerate() {
        for (key, sum) in divided(times, states, samples.remove(&at).unwrap_or_default()) {
            let all = named.entry((name, key)).or_default();
            all.0 += sum.0;
            all.1 += sum.1;
        }
    }
    bounded(merged(view, named))
}

/// Samples on a CPU by pool and stack.
fn samples_of_pools(view: &View<'_>, pools: &Pools) -> HashMap<usize, HashMap<Option<u32>, u64>> {
    let threads = view.recording.threads.iter().enumerate();
    let of_tid: HashMap<i32, usize> = threads.map(|(at, thread)| (thread.tid, at)).collect();
    let mut samples: HashMap<usize, HashMap<Option<u32>, u64>> = HashMap::new();
    for snapshot in &view.recording.cpu_snapshots {
        if let Some(at) = of_tid.get(&snapshot.tid) {
            let stack = view.stacks.number((snapshot.tid, snapshot.time));
            *samples
                .entry(pools.pool(*at))
                .or_default()
                .entry(stack)
                .or_default() += snapshot.weight;
        }
    }
    samples
}

/// Divides the time of threads that are judged together.
fn divided<'a>(
    times: &Division,
    states: HashMap<Key<'a>, Sum>,
    samples: HashMap<Option<u32>, u64>,
) -> Vec<(Key<'a>, Sum)> {
    let mut out = vec![((WaitReason::RunQueue, None, None), (times.runnable, 0))];
    let sampled: u64 = samples.values().sum();
    if sampled == 0 {
        out.push(((WaitReason::Running, None, None), (times.running, 0)));
    }
    for (stack, count) in samples {
        let ns = times.running * count as f64 / sampled as f64;
        out.push(((WaitReason::Running, None, stack), (ns, count)));
    }
    let seen: f64 = states.values().map(|sum| sum.0).sum();
    if states.is_empty() {
        out.push(((WaitReason::Unknown, None, None), (times.rest, 0)));
    }
    for (key, (ns, snapshots)) in states {
        out.push((key, (times.rest * ns / seen, snapshots)));
    }
    out.retain(|(_, sum)| sum.0 > 0.0);
    out
}

/// Stacks whose frames have the same names are one.
fn merged(view: &View<'_>, named: HashMap<(&str, Key<'_>), Sum>) -> Vec<WallStack> {
    let mut merged: HashMap<Names<'_>, WallStack> = HashMap::new();
    for ((thread, (state, object, number)), (ns, snapshots)) in named {
        let stack = view.stacks.numbered(number);
        let frames: Vec<&str> = stack.iter().rev().map(name).collect();
        let one = merged
            .entry((thread, state, object, frames))
            .or_insert_with_key(|(.., frames)| WallStack {
                thread: thread.to_owned(),
                state,
                object: object.map(str::to_owned),
                frames: frames.iter().map(|name| (*name).to_owned()).collect(),
                own: own_index(stack),
                seconds: 0.0,
                snapshots: 0,
            });
        one.seconds += ns / 1e9;
        one.snapshots += snapshots;
    }
    let mut stacks: Vec<WallStack> = merged.into_values().collect();
    sort(&mut stacks);
    stacks
}

fn name(frame: &NamedFrame) -> &str {
    &frame.place.function
}

/// Index, from the outermost frame, of the innermost frame of the user's code.
fn own_index(stack: &[NamedFrame]) -> Option<u32> {
    let own = own_frame(stack)?;
    let at = stack.iter().position(|frame| frame == own)?;
    u32::try_from(stack.len() - 1 - at).ok()
}

fn sort(stacks: &mut [WallStack]) {
    stacks.sort_by(|a, b| {
        b.seconds
            .total_cmp(&a.seconds)
            .then_with(|| a.thread.cmp(&b.thread))
            .then_with(|| a.frames.cmp(&b.frames))
            .then_with(|| a.object.cmp(&b.object))
    });
}

/// The longest stacks; the time of the others remains with thread and state.
fn bounded(mut stacks: Vec<WallStack>) -> Vec<WallStack> {
    if stacks.len() <= MAX_STACKS {
        return stacks;
    }
    let mut rest: HashMap<(String, WaitReason), Sum> = HashMap::new();
    for one in stacks.drain(MAX_STACKS..) {
        let sum = rest.entry((one.thread, one.state)).or_default();
        sum.0 += one.seconds;
        sum.1 += one.snapshots;
    }
    stacks.extend(
        rest.into_iter()
            .map(|((thread, state), (seconds, snapshots))| WallStack {
                thread,
                state,
                object: None,
                frames: vec!["[other stacks]".to_owned()],
                own: None,
                seconds,
                snapshots,
            }),
    );
    sort(&mut stacks);
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::SyntheticRecording;
    use proptest::prelude::*;

    #[test]
    fn stacks_have_the_time_that_the_kernel_accounts_for() {
        let mut all = SyntheticRecording::new(2, 1000.0);
        let joins = all.waits(
            0,
            WaitReason::Join,
            &["pthread_join", "finish"],
            (1000.0, 1),
        );
        let runs = all.runs(1, 300.0);
        // Snapshots saw less of the lock than the account leaves.
        all.waits(
            1,
            WaitReason::Lock,
            &["pthread_mutex_lock", "work"],
            (350.0, 9),
        );
        let chain = all.chain(&[joins, runs], 1000.0, 0.0, 1000.0);
        all.sampled(chain, &["inner", "work"], 3);
        all.sampled(chain, &["other", "work"], 1);
        let found = all.view(wall_stacks);
        let sum: f64 = found.iter().map(|one| one.seconds).sum();
        assert!((sum - 2.0).abs() < 1e-9, "{found:?}");
        let of = |frames: &[&str]| {
            let one = found.iter().find(|one| one.frames == frames).unwrap();
            ((one.seconds * 1000.0).round(), one.state, one.own)
        };
        assert_eq!(
            of(&["main", "finish", "pthread_join"]),
            (1000.0, WaitReason::Join, Some(1))
        );
        assert_eq!(
            of(&["run", "work", "pthread_mutex_lock"]),
            (700.0, WaitReason::Lock, Some(1))
        );
        assert_eq!(
            of(&["run", "work", "inner"]),
            (225.0, WaitReason::Running, Some(1))
        );
        assert_eq!(of(&["run", "work", "other"]).0, 75.0);
    }

    #[test]
    fn thread_that_was_never_seen_blocked_is_unknown_not_running() {
        let mut all = SyntheticRecording::new(1, 100.0);
        all.runs(0, 10.0);
        all.recording.threads[0].runnable = 20_000_000;
        let found = all.view(wall_stacks);
        let of = |state| {
            let one = found.iter().find(|one| one.state == state).unwrap();
            (one.seconds * 1000.0).round()
        };
        assert_eq!(of(WaitReason::Running), 10.0);
        assert_eq!(of(WaitReason::RunQueue), 20.0);
        assert_eq!(of(WaitReason::Unknown), 70.0);
    }

    proptest! {
        #[test]
        fn bounding_keeps_the_time(seconds in prop::collection::vec(0.001f64..9.0, 0..5000)) {
            let stacks: Vec<WallStack> = seconds.iter().enumerate().map(|(at, seconds)| WallStack {
                thread: format!("t{}", at % 3),
                state: WaitReason::Lock,
                object: None,
                frames: vec![at.to_string()],
                own: None,
                seconds: *seconds,
                snapshots: 1,
            }).collect();
            let found = bounded(stacks);
            prop_assert!(found.len() <= MAX_STACKS + 3);
            let sum: f64 = found.iter().map(|one| one.seconds).sum();
            prop_assert!((sum - seconds.iter().sum::<f64>()).abs() < 1e-6);
        }
    }
}
