//! Where the wall time of the whole went: along who waits for whom, from the leading thread on.

use std::collections::HashMap;

use genba_model::{Estimate, PathStep, WaitPlace, WaitReason};
use genba_profile::wait_sampler::WatchedThread;
use genba_stats::wilson;

use crate::stacks::unknown_place;
use crate::view::View;

/// Most steps that are listed; the document says so.
const MAX_LISTED: usize = 50;
/// Level of the intervals.
const LEVEL: f64 = 0.95;

type Key = (WaitReason, WaitPlace, String, Option<String>, Vec<String>);

/// The steps, longest first.
pub fn critical_path(view: &View<'_>) -> Vec<PathStep> {
    let chained = view.chained();
    if chained <= 0.0 {
        return Vec::new();
    }
    let mut steps: HashMap<Key, f64> = HashMap::new();
    for (index, chain) in (0u32..).zip(&view.recording.chains) {
        let last = chain.states[chain.states.len() - 1];
        let end = view.end(chain);
        let thread = view.thread(last);
        let through: Vec<String> = chain.states[..chain.states.len() - 1]
            .iter()
            .map(|state| view.states[*state as usize].place.function.clone())
            .collect();
        let mut add = |reason, place: WaitPlace, ns| {
            let key = (
                reason,
                place,
                thread.name.clone(),
                end.object.clone(),
                through.clone(),
            );
            *steps.entry(key).or_default() += ns;
        };
        if end.reason != WaitReason::Running {
            add(end.reason, end.place.clone(), chain.ns);
            continue;
        }
        let waits_for_cpu = share_without_cpu(thread);
        let places = view.chain_places.get(&index);
        let all: u64 = places.map_or(0, |places| places.values().sum());
        let on_cpu = chain.ns * (1.0 - waits_for_cpu);
        match places {
            Some(places) if all > 0 => {
                for (place, samples) in places {
                    add(
                        WaitReason::Running,
                        place.clone(),
                        on_cpu * *samples as f64 / all as f64,
                    );
                }
            }
            _ => add(WaitReason::Running, unknown_place(), on_cpu),
        }
        if waits_for_cpu > 0.0 {
            add(
                WaitReason::RunQueue,
                unknown_place(),
                chain.ns * waits_for_cpu,
            );
        }
    }
    let mut path: Vec<PathStep> = steps
        .into_iter()
        .map(|((state, place, thread, object, through), ns)| PathStep {
            share: share_of_snapshots(view, ns / chained),
            seconds: ns / chained * view.wall() / 1e9,
            state,
            place,
            thread,
            object,
            through,
        })
        .collect();
    path.sort_by(|a, b| {
        b.seconds
            .total_cmp(&a.seconds)
            .then_with(|| a.place.cmp(&b.place))
            .then_with(|| a.through.cmp(&b.through))
    });
    path.truncate(MAX_LISTED);
    path
}

/// Wall time in which the thread at the end of the chain was on a CPU, ns.
pub fn on_cpu(view: &View<'_>) -> f64 {
    let chains = view.recording.chains.iter();
    chains
        .filter(|chain| view.end(chain).reason == WaitReason::Running)
        .map(|chain| {
            let last = chain.states[chain.states.len() - 1];
            chain.ns * (1.0 - share_without_cpu(view.thread(last)))
        })
        .sum()
}

/// Share of its runnable time in which a thread had no CPU. Snapshots cannot tell running from runnable: the
/// kernel's account of the thread does.
fn share_without_cpu(thread: &WatchedThread) -> f64 {
    let ready = (thread.running + thread.runnable) as f64;
    match ready > 0.0 {
        true => thread.runnable as f64 / ready,
        false => 0.0,
    }
}

/// A share of the wall time with the interval of the snapshots that it rests on.
pub fn share_of_snapshots(view: &View<'_>, share: f64) -> Estimate {
    let snapshots = (view.recording.snapshots as f64).max(1.0);
    // A sum of nothing is a negative zero.
    let share = (share + 0.0).clamp(0.0, 1.0);
    wilson(share * snapshots, snapshots, LEVEL).unwrap_or(Estimate {
        value: share,
        low: 0.0,
        high: 1.0,
    })
}
