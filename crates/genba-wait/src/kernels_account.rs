//! Times of states as the kernel accounts for them.
//!
//! A look at a thread takes microseconds. One that blocks for as short a time is often gone when it is
//! looked at, and counts as running: snapshots say who waited for whom, but too little of short
//! waits. The kernel's account of each thread is exact, so the times of its states are scaled to it.

use genba_profile::wait_sampler::WaitRecording;

use crate::alike_threads::{self, Pools};

/// Limits of the factor by which a time is scaled: beyond them snapshots saw too little to scale.
const FACTORS: (f64, f64) = (0.1, 10.0);

/// The recording with the times of states, pairs and chains scaled to the accounts of their threads, those of
/// threads that were seen seldom to the accounts of all that are alike.
pub fn scaled(recording: &WaitRecording) -> WaitRecording {
    let mut out = recording.clone();
    let pools = Pools::of(recording);
    alike_threads::divide(&mut out, &pools);
    let mut seen: Vec<(f64, f64)> = pools.each();
    for state in &recording.states {
        let sums = &mut seen[pools.pool(state.thread as usize)];
        match state.wait {
            None => sums.0 += state.ns,
            Some(_) => sums.1 += state.ns,
        }
    }
    let mut exact: Vec<(f64, f64)> = pools.each();
    for (at, thread) in out.threads.iter().enumerate() {
        let life = thread.ended.saturating_sub(thread.began) as f64;
        let ready = ((thread.running + thread.runnable) as f64).min(life);
        let sums = &mut exact[pools.pool(at)];
        sums.0 += ready;
        sums.1 += life - ready;
    }
    let factors: Vec<(f64, f64)> = exact
        .iter()
        .zip(&seen)
        .map(|(exact, seen)| (factor(exact.0, seen.0), factor(exact.1, seen.1)))
        .collect();
    let of_state = |state: u32| {
        let state = &recording.states[state as usize];
        let (ready, waiting) = factors[pools.pool(state.thread as usize)];
        if state.wait.is_some() { waiting } else { ready }
    };
    for (index, state) in (0u32..).zip(&mut out.states) {
        state.ns *= of_state(index);
    }
    for pair in &mut out.pairs {
        pair.ns *= of_state(pair.waiter);
    }
    // What a chain ends in is what took its time; all together they remain the wall time.
    let before: f64 = recording.chains.iter().map(|chain| chain.ns).sum();
    let ends: Vec<f64> = recording
        .chains
        .iter()
        .map(|chain| of_state(chain.states[chain.states.len() - 1]))
        .collect();
    let chains = recording.chains.iter().zip(&ends);
    let after: f64 = chains.map(|(chain, factor)| chain.ns * factor).sum();
    if after > 0.0 {
        for (chain, factor) in out.chains.iter_mut().zip(&ends) {
            let factor = factor * before / after;
            for ns in [
                &mut chain.ns,
                &mut chain.idle_ns,
                &mut chain.alone_ns,
                &mut chain.others_done_ns,
                &mut chain.awaited_ns,
            ] {
                *ns *= factor;
            }
        }
    }
    out
}

fn factor(exact: f64, seen: f64) -> f64 {
    match seen > 0.0 {
        true => (exact / seen).clamp(FACTORS.0, FACTORS.1),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::WaitReason;
    use genba_profile::wait_sampler::{Chain, SeenState, SeenWait, WaitObject, WatchedThread};

    #[test]
    fn short_waits_get_the_time_that_the_kernel_accounts_for() {
        let state = |wait: bool, ns| SeenState {
            thread: 0,
            wait: wait.then_some(SeenWait {
                reason: WaitReason::File,
                call: 0,
                object: WaitObject::Nothing,
                limited: false,
                stack: (1, 1),
            }),
            ns,
            snapshots: 10,
            entries: 10,
            ..SeenState::default()
        };
        let chain = |state, ns: f64| Chain {
            states: vec![state],
            ns,
            snapshots: 10,
            idle_ns: if state == 1 { ns } else { 0.0 },
            alone_ns: if state == 0 { ns } else { 0.0 },
            others_done_ns: 0.0,
            awaited_ns: 0.0,
        };
        let recording = WaitRecording {
            threads: vec![WatchedThread {
                ended: 1000,
                running: 400,
                ..WatchedThread::default()
            }],
            states: vec![state(false, 800.0), state(true, 200.0)],
            chains: vec![chain(0, 800.0), chain(1, 200.0)],
            ..WaitRecording::default()
        };
        let found = scaled(&recording);
        assert!((found.states[0].ns - 400.0).abs() < 1e-9);
        assert!((found.states[1].ns - 600.0).abs() < 1e-9);
        assert!((found.chains[1].idle_ns - 600.0).abs() < 1e-9);
        let sum: f64 = found.chains.iter().map(|chain| chain.ns).sum();
        assert!((sum - 1000.0).abs() < 1e-9);
    }
}
