//! `round-trip-in-loop`: one question after the other to a process that answers each after a time.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{WaitCause, WaitPlace, WaitReason};
use genba_profile::wait_sampler::{Chain, StateIndex};

use super::Found;
use super::constants::{
    MANY_TURNS, MIN_SHARE_EXPIRED, MIN_SHARE_IDLE, MIN_WAITS_OF_OTHER_END, SAVED_OF_TURNS,
};
use super::input_output::{Group, groups};
use crate::grouped_waits::waits_of_states;
use crate::view::View;

/// Waits of the leading thread for what another process writes after a time: several questions on their way at once wait for it
/// together. Who serves waits in the same way while its clients pause, so it must not accept connections.
pub fn find(view: &View<'_>) -> Option<Found> {
    let counts = waits_of_states(view);
    let asks = |state: StateIndex| {
        let reason = view.states[state as usize].reason;
        matches!(reason, WaitReason::Socket | WaitReason::Pipe) && !passes_time(view, state)
    };
    let mut answered: BTreeMap<&WaitPlace, (f64, BTreeSet<u32>)> = BTreeMap::new();
    for pair in &view.recording.pairs {
        let other_process = view.thread(pair.waiter).pid != view.thread(pair.holder).pid;
        if other_process && asks(pair.waiter) && passes_time(view, pair.holder) {
            let place = &view.states[pair.waiter as usize].place;
            let (ns, threads) = answered.entry(place).or_default();
            *ns += pair.ns;
            threads.insert(view.recording.states[pair.holder as usize].thread);
        }
    }
    let places = groups(view, &counts, &[WaitReason::Socket, WaitReason::Pipe], true);
    let found = places.into_iter().filter_map(|(place, group)| {
        let (ns, threads) = answered.get(&place)?;
        let questions: f64 = (0u32..)
            .zip(&counts)
            .filter(|(state, _)| {
                let thread = view.recording.states[*state as usize].thread;
                asks(*state) && threads.contains(&thread)
            })
            .map(|(_, count)| count)
            .sum();
        let in_turn = group.threads.len() == 1 && group.waits >= MANY_TURNS;
        let after_a_time = *ns >= MIN_SHARE_EXPIRED * group.ns;
        // Who sends at times without being asked waits for no question.
        let is_asked = questions >= MIN_WAITS_OF_OTHER_END * group.waits;
        if !in_turn || !after_a_time || !is_asked || accepts(view, &group) {
            return None;
        }
        let chains = view.chains.iter();
        let path = chains.filter(|chain| begins_at(view, chain, &place) && chain.states.len() > 1);
        let (critical, idle) = path.fold((0.0, 0.0), |sum, chain| {
            (sum.0 + chain.ns, sum.1 + chain.idle_ns)
        });
        (idle >= MIN_SHARE_IDLE * critical).then(|| Found {
            cause: WaitCause::RoundTripInLoop,
            waits_ns: critical,
            work_remains: true,
            saved_ns: (
                idle * SAVED_OF_TURNS.likely,
                idle * SAVED_OF_TURNS.least,
                idle,
            ),
            holder: group.holder(),
            object: group.object(),
            figures: group.figures(),
            waiter: place,
        })
    });
    found.max_by(|a, b| a.waits_ns.total_cmp(&b.waits_ns))
}

/// Whether a thread lets a time pass: it sleeps, or waits for descriptors until a time limit.
fn passes_time(view: &View<'_>, state: StateIndex) -> bool {
    let seen = &view.recording.states[state as usize];
    match view.states[state as usize].reason {
        WaitReason::Sleep => true,
        WaitReason::Socket | WaitReason::Poll => {
            seen.expired_ns as f64 >= MIN_SHARE_EXPIRED * seen.ns
        }
        _ => false,
    }
}

fn begins_at(view: &View<'_>, chain: &Chain, place: &WaitPlace) -> bool {
    let first = &view.states[chain.states[0] as usize];
    matches!(first.reason, WaitReason::Socket | WaitReason::Pipe) && first.place == *place
}

/// Whether a process of those who wait in a group was seen to wait for connections.
fn accepts(view: &View<'_>, group: &Group) -> bool {
    let recording = view.recording;
    let pid = |thread: u32| recording.threads[thread as usize].pid;
    let pids: BTreeSet<i32> = group.threads.keys().map(|thread| pid(*thread)).collect();
    let mut processes = recording.processes.iter();
    if processes.any(|process| process.serves && pids.contains(&process.pid)) {
        return true;
    }
    recording.states.iter().any(|seen| {
        let call = seen.wait.as_ref().map(|wait| wait.call);
        matches!(call, Some(libc::SYS_accept | libc::SYS_accept4))
            && pids.contains(&pid(seen.thread))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::findings;
    use crate::synthetic::SyntheticRecording;

    /// The first thread asks; another process sleeps for each of `answers` answers, and reads `questions` questions.
    fn asks(answers: u64, questions: u64) -> SyntheticRecording {
        let mut made = SyntheticRecording::new(2, 1000.0);
        made.recording.threads[1].pid = 2;
        let answer = made.waits(0, WaitReason::Socket, &["read", "ask"], (940.0, answers));
        let sleeps = made.waits(1, WaitReason::Sleep, &["nap", "look_up"], (900.0, answers));
        made.waits(1, WaitReason::Socket, &["read", "serve"], (40.0, questions));
        let works = made.runs(0, 60.0);
        made.chain(&[answer, sleeps], 940.0, 940.0, 0.0);
        made.chain(&[works], 60.0, 0.0, 60.0);
        made
    }

    /// Where round trips are found.
    fn found(made: &SyntheticRecording) -> Vec<String> {
        let found = made.view(findings).into_iter();
        found
            .filter(|one| one.cause == WaitCause::RoundTripInLoop)
            .map(|one| one.waiter.function)
            .collect()
    }

    #[test]
    fn questions_to_a_process_that_answers_after_a_time_are_found() {
        let mut made = asks(300, 300);
        assert_eq!(found(&made), ["ask"]);
        assert_eq!(found(&asks(300, 20)), [""; 0], "it sends unasked");
        assert_eq!(found(&asks(50, 50)), [""; 0], "few questions");
        // An event loop has a time limit instead.
        let timer = &mut made.recording.states[1];
        (timer.expired, timer.expired_ns) = (300, 900_000_000);
        let wait = timer.wait.as_mut().expect("it waits");
        (wait.reason, wait.limited) = (WaitReason::Socket, true);
        assert_eq!(found(&made), ["ask"]);
        made.recording.states[1].expired_ns = 0;
        assert_eq!(found(&made), [""; 0], "the limit does not end it");
    }

    #[test]
    fn pauses_of_clients_are_not_round_trips_of_the_server() {
        let mut made = asks(300, 300);
        let accepts = made.waits(0, WaitReason::Socket, &["accept", "serve"], (1.0, 1));
        let wait = made.recording.states[accepts as usize].wait.as_mut();
        wait.expect("it waits").call = libc::SYS_accept;
        assert_eq!(found(&made), [""; 0]);
        let mut made = asks(300, 300);
        made.recording.processes[0].serves = true;
        assert_eq!(found(&made), [""; 0]);
    }

    #[test]
    fn several_who_ask_at_once_are_not_in_turn() {
        let mut made = asks(300, 300);
        let threads = &mut made.recording.threads;
        let more = threads[0].clone();
        threads.push(more);
        made.waits(2, WaitReason::Socket, &["read", "ask"], (940.0, 300));
        assert_eq!(found(&made), [""; 0]);
    }
}
