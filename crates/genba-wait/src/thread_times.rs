//! The wall time of every thread.

use genba_model::{ThreadSpan, ThreadTime, ThreadTotals, WaitReason};
use genba_profile::wait_sampler::WatchedThread;

use crate::alike_threads::Pools;
use crate::view::View;

/// Most threads that are listed.
const MAX_LISTED: usize = 200;
/// Most pieces of all timelines together.
const MAX_SPANS: usize = 40_000;

/// What is told of threads.
pub struct ListedThreads {
    /// Those with most wall time.
    pub threads: Vec<ThreadTime>,
    /// How many others there are.
    pub more_threads: u64,
    /// The time of all of them.
    pub all_threads: ThreadTotals,
}

/// The threads with most wall time, and the time of all.
pub fn thread_times(view: &View<'_>) -> ListedThreads {
    let recording = view.recording;
    let unknown = unknown_shares(view);
    let mut all_threads = ThreadTotals::default();
    let mut divided: Vec<(Division, f64)> = Vec::with_capacity(recording.threads.len());
    for (thread, unknown) in recording.threads.iter().zip(unknown) {
        let time = division(thread);
        all_threads.threads += 1;
        all_threads.wall += time.wall / 1e9;
        all_threads.running += time.running / 1e9;
        all_threads.runnable += time.runnable / 1e9;
        all_threads.blocked += time.rest * (1.0 - unknown) / 1e9;
        all_threads.unknown += time.rest * unknown / 1e9;
        divided.push((time, unknown));
    }
    let mut order: Vec<usize> = (0..recording.threads.len()).collect();
    order.sort_by(|a, b| divided[*b].0.wall.total_cmp(&divided[*a].0.wall));
    let more_threads = order.len().saturating_sub(MAX_LISTED) as u64;
    order.truncate(MAX_LISTED);
    let room = MAX_SPANS / order.len().max(1);
    let threads = order
        .into_iter()
        .map(|at| {
            let thread = &recording.threads[at];
            let (time, unknown) = &divided[at];
            ThreadTime {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                began: seconds(thread.began.saturating_sub(recording.began)),
                wall: time.wall / 1e9,
                running: time.running / 1e9,
                runnable: time.runnable / 1e9,
                blocked: time.rest * (1.0 - unknown) / 1e9,
                unknown: time.rest * unknown / 1e9,
                switches: thread.slices,
                timeline: timeline(view, at, room),
            }
        })
        .collect();
    ListedThreads {
        threads,
        more_threads,
        all_threads,
    }
}

/// By thread: the share of the time blocked of which snapshots could not say for what. Of a thread that was seen
/// blocked seldom it is that of all which are alike; of those that never were, all of it.
fn unknown_shares(view: &View<'_>) -> Vec<f64> {
    let recording = view.recording;
    let pools = Pools::of(recording);
    let mut seen: Vec<(f64, f64)> = pools.each();
    for (state, seen_state) in view.states.iter().zip(&recording.states) {
        if state.reason == WaitReason::Running {
            continue;
        }
        let sums = &mut seen[pools.pool(seen_state.thread as usize)];
        sums.0 += seen_state.ns;
        if state.reason == WaitReason::Unknown {
            sums.1 += seen_state.ns;
        }
    }
    let share = |at: usize| match seen[pools.pool(at)] {
        (all, unknown) if all > 0.0 => unknown / all,
        _ => 1.0,
    };
    (0..recording.threads.len()).map(share).collect()
}

/// The wall time of a thread, or of several, by the kernel's account, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Division {
    /// From its start to its end.
    pub wall: f64,
    /// On a CPU.
    pub running: f64,
    /// Runnable without a CPU.
    pub runnable: f64,
    /// What is left: blocked.
    pub rest: f64,
}

impl Division {
    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.wall += other.wall;
        self.running += other.running;
        self.runnable += other.runnable;
        self.rest += other.rest;
    }
}

/// How the wall time of a thread divides.
pub fn division(thread: &WatchedThread) -> Division {
    let wall = thread.ended.saturating_sub(thread.began) as f64;
    let running = (thread.running as f64).min(wall);
    let runnable = (thread.runnable as f64).min(wall - running);
    Division {
        wall,
        running,
        runnable,
        rest: wall - running - runnable,
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The pieces of a thread's time, neighbours of one reason merged, at most `room`.
fn timeline(view: &View<'_>, thread: usize, room: usize) -> Vec<ThreadSpan> {
    let began = view.recording.began;
    let mut spans: Vec<ThreadSpan> = Vec::new();
    for (from, to, state) in &view.recording.threads[thread].timeline {
        let state = view.states[*state as usize].reason;
        let (from, to) = (
            seconds(from.saturating_sub(began)),
            seconds(to.saturating_sub(began)),
        );
        match spans.last_mut() {
            Some(last) if last.state == state => last.to = to,
            _ => spans.push(ThreadSpan { from, to, state }),
        }
    }
    while spans.len() > room.max(1) {
        spans = spans
            .chunks(2)
            .map(|pair| {
                let longer = pair
                    .iter()
                    .max_by(|a, b| (a.to - a.from).total_cmp(&(b.to - b.from)));
                ThreadSpan {
                    from: pair[0].from,
                    to: pair[pair.len() - 1].to,
                    state: longer.map_or(pair[0].state, |span| span.state),
                }
            })
            .collect();
    }
    spans
}
