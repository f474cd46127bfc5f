//! What slow requests did that fast ones did not.

use std::collections::HashMap;

use genba_model::{RequestPart, Requests, SlowRequest, WaitReason};
use genba_profile::wait_sampler::{PartKind, SeenPart, SeenRequest};
use genba_stats::quantile;

use crate::view::View;

/// Least and most requests that are called slow.
const SLOW: (u64, u64) = (10, 1_000);
/// Most parts, and slowest requests, that are listed.
const MAX_LISTED: usize = 20;
/// Share of a slow or fast request's time below which a part is not listed.
const MIN_SHARE: f64 = 0.005;

/// What the same is: kind and system call.
type Key = (PartKind, i64);

/// Where snapshots saw threads, by state.
type States = HashMap<u32, u64>;

#[derive(Default)]
struct Sum {
    ns: u64,
    requests: u64,
    states: States,
}

/// The requests, if any were recorded.
pub fn requests(view: &View<'_>) -> Option<Requests> {
    let seen = view.recording.requests.as_ref()?;
    let times: Vec<f64> = seen.times.iter().map(|ns| *ns as f64 / 1e9).collect();
    // Without requests there are no times.
    let at = |share: f64| quantile(&times, share).unwrap_or_default();
    let median = at(0.5);
    let number = (seen.count / 100).clamp(SLOW.0, SLOW.1).min(seen.count / 2);
    let slow = &seen.slowest[..seen.slowest.len().min(number as usize)];
    let fast: Vec<&SeenRequest> = seen
        .drawn
        .iter()
        .filter(|one| one.ns as f64 / 1e9 <= median)
        .collect();
    let of_slow = sums(slow.iter());
    let of_fast = sums(fast.iter().copied());
    let mean = |sums: &HashMap<Key, Sum>, key: &Key, of: usize| {
        sums.get(key).map_or(0.0, |sum| sum.ns as f64 / 1e9) / of.max(1) as f64
    };
    let row = |key: &Key| RequestPart {
        slow_seconds: mean(&of_slow, key, slow.len()),
        fast_seconds: mean(&of_fast, key, fast.len()),
        slow_requests: of_slow.get(key).map_or(0, |sum| sum.requests),
        ..part(view, *key, of_slow.get(key).map(|sum| &sum.states))
    };
    let mut keys: Vec<&Key> = of_slow.keys().chain(of_fast.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut parts: Vec<RequestPart> = keys.into_iter().map(row).collect();
    let whole = |of: fn(&RequestPart) -> f64| parts.iter().map(of).sum::<f64>() * MIN_SHARE;
    let (least_slow, least_fast) = (whole(|one| one.slow_seconds), whole(|one| one.fast_seconds));
    parts.retain(|one| one.slow_seconds > least_slow || one.fast_seconds > least_fast);
    parts.sort_by(|a, b| {
        let difference = |one: &RequestPart| one.slow_seconds - one.fast_seconds;
        difference(b).total_cmp(&difference(a))
    });
    parts.truncate(MAX_LISTED);
    let slowest = seen.slowest.iter().take(MAX_LISTED);
    let slowest = slowest.filter_map(|one| slow_request(view, one)).collect();
    Some(Requests {
        count: seen.count,
        connections: seen.connections,
        lost_records: seen.lost,
        median,
        p90: at(0.9),
        p99: at(0.99),
        longest: seen.slowest.first().map_or(0.0, |one| one.ns as f64 / 1e9),
        slow: slow.len() as u64,
        slow_from: slow.last().map_or(0.0, |one| one.ns as f64 / 1e9),
        fast: fast.len() as u64,
        parts,
        slowest,
    })
}

fn sums<'a>(all: impl Iterator<Item = &'a SeenRequest>) -> HashMap<Key, Sum> {
    let mut sums: HashMap<Key, Sum> = HashMap::new();
    for one in all {
        let mut counted: Vec<Key> = Vec::new();
        for part in &one.parts {
            let key = key(part);
            let sum = sums.entry(key).or_default();
            sum.ns += part.ns;
            if !counted.contains(&key) {
                counted.push(key);
                sum.requests += 1;
            }
            if let Some(state) = part.state {
                *sum.states.entry(state).or_default() += part.ns;
            }
        }
    }
    sums
}

/// Where a thread lost its CPU does not matter.
fn key(part: &SeenPart) -> Key {
    match part.kind {
        PartKind::Preempted => (part.kind, -1),
        kind => (kind, part.call),
    }
}

/// A part with its names, without times.
fn part(view: &View<'_>, (kind, call): Key, states: Option<&States>) -> RequestPart {
    let most = states.and_then(|states| {
        let mut states: Vec<(&u32, &u64)> = states.iter().collect();
        states.sort_unstable();
        let most = states.into_iter().max_by_key(|(_, ns)| **ns);
        most.and_then(|(state, _)| view.states.get(*state as usize))
    });
    RequestPart {
        state: match kind {
            PartKind::Running | PartKind::OtherRequests => WaitReason::Running,
            PartKind::Preempted => WaitReason::RunQueue,
            PartKind::Blocked => most.map_or_else(|| reason_of(call), |state| state.reason),
            PartKind::Unknown => WaitReason::Unknown,
        },
        others: kind == PartKind::OtherRequests,
        call: (call >= 0).then(|| call_name(call)),
        slow_seconds: 0.0,
        fast_seconds: 0.0,
        slow_requests: 0,
        place: most.map(|state| state.place.clone()),
        object: most.and_then(|state| state.object.clone()),
    }
}

/// What a call waits for where no snapshot saw it: most calls tell only with their descriptor.
fn reason_of(call: i64) -> WaitReason {
    match call {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => WaitReason::Sleep,
        libc::SYS_fsync | libc::SYS_fdatasync => WaitReason::Fsync,
        libc::SYS_wait4 | libc::SYS_waitid => WaitReason::Child,
        _ => WaitReason::Unknown,
    }
}

fn slow_request(view: &View<'_>, one: &SeenRequest) -> Option<SlowRequest> {
    let sums = sums(std::iter::once(one));
    let (key, sum) = sums
        .iter()
        .max_by(|a, b| a.1.ns.cmp(&b.1.ns).then(b.0.cmp(a.0)))?;
    Some(SlowRequest {
        at: one.began.saturating_sub(view.recording.began) as f64 / 1e9,
        seconds: one.ns as f64 / 1e9,
        tid: one.tid,
        handed_over: one.handed_over,
        most: RequestPart {
            slow_seconds: sum.ns as f64 / 1e9,
            slow_requests: 1,
            ..part(view, *key, Some(&sum.states))
        },
    })
}

fn call_name(number: i64) -> String {
    match usize::try_from(number).ok().and_then(syscalls::Sysno::new) {
        Some(call) => call.name().to_owned(),
        None => format!("system call {number}"),
    }
}

#[cfg(test)]
mod tests {
    use genba_profile::wait_sampler::SeenRequests;

    use super::*;
    use crate::synthetic::SyntheticRecording;

    fn running(ns: u64) -> SeenPart {
        SeenPart {
            kind: PartKind::Running,
            call: -1,
            ns,
            state: None,
        }
    }

    fn in_fsync(ns: u64) -> SeenPart {
        SeenPart {
            kind: PartKind::Blocked,
            call: libc::SYS_fsync,
            ns,
            state: None,
        }
    }

    fn request(began: u64, parts: Vec<SeenPart>) -> SeenRequest {
        SeenRequest {
            began,
            ns: parts.iter().map(|part| part.ns).sum(),
            tid: 1,
            handed_over: false,
            parts,
        }
    }

    #[test]
    fn what_slow_requests_wait_for_comes_first() {
        let fast = |at: u64| request(at * 1_000_000, vec![running(100_000)]);
        let slow = |at: u64| {
            let parts = vec![
                running(120_000),
                in_fsync(4_000_000 + at),
                in_fsync(1_000_000),
            ];
            request(at * 1_000_000, parts)
        };
        let all: Vec<SeenRequest> = (0..1900).map(fast).chain((0..20).map(slow)).collect();
        let mut slowest: Vec<SeenRequest> = all[1900..].to_vec();
        slowest.reverse();
        slowest.extend_from_slice(&all[..200]);
        let mut recording = SyntheticRecording::new(1, 1000.0);
        recording.recording.requests = Some(SeenRequests {
            of_all_calls: true,
            count: all.len() as u64,
            connections: 2,
            lost: 0,
            times: all.iter().map(|one| one.ns).collect(),
            slowest,
            drawn: all,
        });
        let found = recording.view(requests).unwrap();
        assert_eq!((found.count, found.slow), (1920, 19));
        assert!((found.median - 1e-4).abs() < 1e-9 && found.p99 > 4e-3);
        let first = &found.parts[0];
        assert_eq!(first.call.as_deref(), Some("fsync"));
        assert!((first.slow_seconds - 5e-3).abs() < 1e-4 && first.fast_seconds == 0.0);
        assert_eq!(first.slow_requests, 19);
        assert_eq!(found.parts[1].state, WaitReason::Running);
        assert!((found.parts[1].fast_seconds - 1e-4).abs() < 1e-9);
        assert_eq!(found.slowest[0].most.call.as_deref(), Some("fsync"));
    }

    #[test]
    fn few_requests_or_none_have_no_invented_figures() {
        let mut recording = SyntheticRecording::new(1, 1000.0);
        assert!(recording.view(requests).is_none());
        recording.recording.requests = Some(SeenRequests::default());
        let none = recording.view(requests).unwrap();
        assert_eq!((none.count, none.slow, none.parts.len()), (0, 0, 0));
        let one = request(5, vec![running(10)]);
        recording.recording.requests = Some(SeenRequests {
            of_all_calls: true,
            count: 1,
            connections: 1,
            lost: 0,
            times: vec![10],
            slowest: vec![one.clone()],
            drawn: vec![one],
        });
        let single = recording.view(requests).unwrap();
        assert_eq!((single.count, single.slow, single.fast), (1, 0, 1));
        assert_eq!(single.slowest.len(), 1);
    }
}
