//! The wall time of every thread.

use genba_model::{ThreadSpan, ThreadTime, WaitReason};
use genba_profile::wait_sampler::WatchedThread;

use crate::view::View;

/// Most threads that are listed.
const MAX_LISTED: usize = 200;
/// Most pieces of all timelines together.
const MAX_SPANS: usize = 40_000;

/// The threads with most wall time, and how many others there are.
pub fn thread_times(view: &View<'_>) -> (Vec<ThreadTime>, u64) {
    let recording = view.recording;
    let mut unknown = vec![0.0; recording.threads.len()];
    let mut seen = vec![0.0; recording.threads.len()];
    for (state, seen_state) in view.states.iter().zip(&recording.states) {
        let thread = seen_state.thread as usize;
        if state.reason != WaitReason::Running {
            seen[thread] += seen_state.ns;
        }
        if state.reason == WaitReason::Unknown {
            unknown[thread] += seen_state.ns;
        }
    }
    let mut order: Vec<usize> = (0..recording.threads.len()).collect();
    let wall = |at: usize| {
        let thread = &recording.threads[at];
        thread.ended.saturating_sub(thread.began)
    };
    order.sort_by_key(|at| std::cmp::Reverse(wall(*at)));
    let more = order.len().saturating_sub(MAX_LISTED) as u64;
    order.truncate(MAX_LISTED);
    let room = MAX_SPANS / order.len().max(1);
    let threads = order
        .into_iter()
        .map(|at| {
            let thread = &recording.threads[at];
            let Division {
                wall,
                running,
                runnable,
                rest,
            } = division(thread);
            // What is left was blocked; known as far as snapshots saw it and could say for what.
            let known = match seen[at] > 0.0 {
                true => rest * (1.0 - unknown[at] / seen[at]),
                // A thread that was never seen blocked and has hardly any time left.
                false => 0.0,
            };
            ThreadTime {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                began: seconds(thread.began.saturating_sub(recording.began)),
                wall: wall / 1e9,
                running: running / 1e9,
                runnable: runnable / 1e9,
                blocked: known / 1e9,
                unknown: (rest - known) / 1e9,
                switches: thread.slices,
                timeline: timeline(view, at, room),
            }
        })
        .collect();
    (threads, more)
}

/// The wall time of a thread by the kernel's account, ns.
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
