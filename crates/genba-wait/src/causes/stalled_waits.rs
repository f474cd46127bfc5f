//! Waits for sockets that no thread ends: by a time limit, or by an acknowledgement that the kernel delays.

use std::collections::{BTreeMap, HashSet};

use genba_model::{WaitCause, WaitEnd, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::{Chain, Pair, SeenWait, StateIndex};

use super::Found;
use super::constants::{
    DELAYED_ACKNOWLEDGEMENT_NS, MANY_WAITS, MIN_ENDED_BY_OTHERS, MIN_SHARE_EXPIRED, MIN_SHARE_IDLE,
    MIN_WAITS_OF_OTHER_END, MIN_WAITS_WITHOUT_LIMIT, SAVED_OF_STALLS,
};
use super::input_output::{Group, groups};
use crate::grouped_waits::waits_of_states;
use crate::time_beside::share_beside;
use crate::view::View;

/// Everything here.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let counts = waits_of_states(view);
    let places = groups(view, &counts, &[WaitReason::Socket], false);
    let mut all = expired(view, &counts, WaitReason::Socket, &places);
    // Of several descriptors, and of a time: needless where the result is there before.
    let mut polls = groups(view, &counts, &[WaitReason::Poll], false);
    polls.retain(|place, group| has_the_result(view, place, group));
    all.extend(expired(view, &counts, WaitReason::Poll, &polls));
    let mut conditions = groups(view, &counts, &[WaitReason::Condition], false);
    conditions.retain(|place, group| loses_wake_ups(view, &counts, place, group));
    all.extend(expired(view, &counts, WaitReason::Condition, &conditions));
    all.extend(held_back(view, &counts, &places));
    all
}

/// Whether waits for a condition at a place are sometimes ended by others and else by their time limit, while another thread of
/// the process waits for a condition as well, and goes on about as often: what it signals comes before the wait begins. A timer is
/// never ended by others.
fn loses_wake_ups(view: &View<'_>, counts: &[f64], place: &WaitPlace, group: &Group) -> bool {
    let recording = view.recording;
    let limited = (0u32..).zip(&view.states).filter(|(index, state)| {
        state.reason == WaitReason::Condition && state.place == *place && is_limited(view, *index)
    });
    let expired: u64 = (limited.clone())
        .map(|(index, _)| recording.states[index as usize].expired)
        .sum();
    let waits: f64 = limited
        .clone()
        .map(|(index, _)| counts[index as usize])
        .sum();
    if waits < (1.0 + MIN_ENDED_BY_OTHERS) * expired as f64 {
        return false;
    }
    let waiting: HashSet<StateIndex> = limited.map(|(index, _)| index).collect();
    let pids: HashSet<i32> = (group.threads.keys())
        .map(|thread| recording.threads[*thread as usize].pid)
        .collect();
    let others = (0u32..).zip(&view.states).filter(|(index, state)| {
        let thread = recording.states[*index as usize].thread;
        state.reason == WaitReason::Condition
            && !is_limited(view, *index)
            && !group.threads.contains_key(&thread)
            && pids.contains(&recording.threads[thread as usize].pid)
            && counts[*index as usize] >= MIN_WAITS_OF_OTHER_END * expired as f64
    });
    let others: HashSet<StateIndex> = others.map(|(index, _)| index).collect();
    let meanwhile = share_beside(
        view,
        |state| waiting.contains(&state),
        |_, state| others.contains(&state),
    );
    meanwhile >= MIN_SHARE_EXPIRED
}

/// On the critical path, ns, and of it while nobody was on a CPU, through waits for this reason at these places: of two
/// ends that wait for each other the path ends at either.
fn through(view: &View<'_>, reason: WaitReason, places: &[&WaitPlace]) -> (f64, f64) {
    let passes = |chain: &&Chain| {
        let mut states = chain
            .states
            .iter()
            .map(|state| &view.states[*state as usize]);
        let waits_there = states
            .clone()
            .any(|state| state.reason == reason && places.contains(&&state.place));
        waits_there && states.all(|state| state.reason != WaitReason::Lock)
    };
    let chains = view.chains.iter().filter(passes);
    chains.fold((0.0, 0.0), |sum, chain| {
        (sum.0 + chain.ns, sum.1 + chain.idle_ns)
    })
}

/// `part` of the waits, whose time on the critical path and idle time are `path`.
fn found(
    cause: WaitCause,
    end: WaitEnd,
    (place, group): (&WaitPlace, &Group),
    path: (f64, f64),
    part: f64,
) -> Found {
    let (critical, idle) = path;
    Found {
        cause,
        waits_ns: critical * part,
        work_remains: true,
        saved_ns: (
            idle * part * SAVED_OF_STALLS.likely,
            idle * part * SAVED_OF_STALLS.least,
            idle,
        ),
        waiter: place.clone(),
        holder: group.holder(),
        object: group.object(),
        figures: WaitFigures {
            ended_by: Some(end),
            ..group.figures()
        },
    }
}

/// Whether other threads of the process have worked for each wait at a place by polling, and others wait for it meanwhile.
fn has_the_result(view: &View<'_>, place: &WaitPlace, group: &Group) -> bool {
    let recording = view.recording;
    let polls = |state: StateIndex| {
        let state = &view.states[state as usize];
        state.reason == WaitReason::Poll && state.place == *place
    };
    let awaited: f64 = (recording.pairs.iter())
        .filter(|pair| polls(pair.holder) && !polls(pair.waiter))
        .filter(|pair| {
            let (waiter, holder) = (view.thread(pair.waiter), view.thread(pair.holder));
            waiter.pid != holder.pid || view.states[pair.waiter as usize].reason == WaitReason::Join
        })
        .map(|pair| pair.ns)
        .sum();
    let pids: HashSet<i32> = (group.threads.keys())
        .map(|thread| recording.threads[*thread as usize].pid)
        .collect();
    let others = (0u32..)
        .zip(&recording.threads)
        .filter(|(index, thread)| pids.contains(&thread.pid) && !group.threads.contains_key(index));
    let slices: f64 = others.map(|(_, thread)| thread.slices as f64).sum();
    awaited >= MIN_SHARE_EXPIRED * group.ns && slices >= MIN_WAITS_OF_OTHER_END * group.waits
}

/// Whether a wait ends by a time limit if nothing comes before.
fn is_limited(view: &View<'_>, state: StateIndex) -> bool {
    let seen = &view.recording.states[state as usize];
    seen.expired > 0 || seen.wait.as_ref().is_some_and(|wait| wait.limited)
}

/// Whether threads wait by `epoll` in a process that accepts connections meanwhile: what it has promised to its clients or does at
/// times is due at its time limit, and no answer is missing.
fn serves(view: &View<'_>, group: &Group) -> bool {
    let recording = view.recording;
    let is_server = |pid: i32| {
        let mut processes = recording.processes.iter();
        processes.any(|process| process.pid == pid && process.serves)
    };
    let by_epoll = |thread: u32| {
        let mut states = recording.states.iter().filter(|seen| seen.thread == thread);
        states.any(|seen| seen.wait.as_ref().is_some_and(is_epoll))
    };
    let mut threads = group.threads.keys();
    threads.any(|thread| is_server(recording.threads[*thread as usize].pid) && by_epoll(*thread))
}

fn is_epoll(wait: &SeenWait) -> bool {
    matches!(
        wait.call,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2
    )
}

/// Whether `epoll` waits at a place without a time limit as well: an event loop has one only while a timer runs, and does at its
/// end what is due then. Who asks for one descriptor by `poll` may have a limit only for what should come at once.
fn is_of_event_loop(view: &View<'_>, counts: &[f64], place: &WaitPlace) -> bool {
    let (mut limited, mut unlimited) = (0.0, 0.0);
    for (index, (state, count)) in (0u32..).zip(view.states.iter().zip(counts)) {
        let wait = view.recording.states[index as usize].wait.as_ref();
        let by_epoll = wait.is_some_and(is_epoll);
        let for_others = matches!(state.reason, WaitReason::Socket | WaitReason::Poll);
        if by_epoll && for_others && state.place == *place {
            match is_limited(view, index) {
                true => limited += count,
                false => unlimited += count,
            }
        }
    }
    unlimited > 0.0 && unlimited >= MIN_WAITS_WITHOUT_LIMIT * limited
}

/// `polling-sleep`: what a place waits for, for this reason, does not come before its time limit.
fn expired(
    view: &View<'_>,
    counts: &[f64],
    reason: WaitReason,
    places: &BTreeMap<WaitPlace, Group>,
) -> Vec<Found> {
    let mut all = Vec::new();
    for (place, group) in places {
        if is_of_event_loop(view, counts, place) || serves(view, group) {
            continue;
        }
        let here = view.states.iter().zip(&view.recording.states);
        let here = here
            .filter(|(state, _)| state.reason == reason && state.place == *place)
            .map(|(_, seen)| seen);
        let (mut waits, mut limits, mut ns) = (0, 0.0, 0.0);
        for seen in here {
            waits += seen.expired;
            limits += seen.expired_ns as f64;
            ns += seen.ns;
        }
        let part = (limits / ns).min(1.0);
        if waits as f64 >= MANY_WAITS && part >= MIN_SHARE_EXPIRED {
            let seconds = limits / waits as f64 / 1e9;
            let end = WaitEnd::TimeLimit { seconds };
            let path = through(view, reason, &[place]);
            all.push(found(
                WaitCause::PollingSleep,
                end,
                (place, group),
                path,
                part,
            ));
        }
    }
    all
}

/// `round-trip-in-loop`: both ends of a connection read, and what one of them wrote is not sent before the other's kernel
/// acknowledges what it wrote before.
fn held_back(
    view: &View<'_>,
    counts: &[f64],
    places: &BTreeMap<WaitPlace, Group>,
) -> Option<Found> {
    let recording = view.recording;
    // Who polls may wait for others as well.
    let reads = |state: StateIndex| {
        let call = recording.states[state as usize].wait.as_ref();
        view.states[state as usize].reason == WaitReason::Socket
            && call.is_some_and(|wait| {
                matches!(
                    wait.call,
                    libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg
                )
            })
    };
    let mean =
        |state: StateIndex| recording.states[state as usize].ns / counts[state as usize].max(1.0);
    let stalls = |state: StateIndex| {
        counts[state as usize] >= MANY_WAITS && DELAYED_ACKNOWLEDGEMENT_NS.contains(&mean(state))
    };
    let both_read = |pair: &&Pair| reads(pair.waiter) && reads(pair.holder);
    let known: HashSet<(StateIndex, StateIndex)> = (recording.pairs.iter())
        .filter(both_read)
        .map(|pair| (pair.waiter, pair.holder))
        .collect();
    let mutual = recording
        .pairs
        .iter()
        .filter(both_read)
        .filter(|pair| stalls(pair.waiter) && known.contains(&(pair.holder, pair.waiter)));
    let longest = mutual.max_by(|a, b| a.ns.total_cmp(&b.ns))?;
    let ends = [longest.waiter, longest.holder].map(|state| &view.states[state as usize].place);
    let (place, group) = (ends.into_iter())
        .filter_map(|place| Some((place, places.get(place)?)))
        .max_by(|a, b| a.1.critical.total_cmp(&b.1.critical))?;
    // Work meanwhile, by whomever, may be what is awaited.
    let path = through(view, WaitReason::Socket, &ends);
    if path.1 < MIN_SHARE_IDLE * path.0 {
        return None;
    }
    let end = WaitEnd::DelayedAcknowledgement;
    Some(found(
        WaitCause::RoundTripInLoop,
        end,
        (place, group),
        path,
        1.0,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::findings;
    use crate::synthetic::SyntheticRecording;
    use genba_model::WaitFinding;

    /// A client asks for the 900 ms that are left of a second; so many of its waits end by their time limit of 60 ms.
    fn asks(expired: u64) -> Vec<WaitFinding> {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let answer = made.waits(0, WaitReason::Socket, &["poll", "ask"], (900.0, 15));
        let works = made.runs(0, 100.0);
        made.recording.states[answer as usize].expired = expired;
        made.recording.states[answer as usize].expired_ns = expired * 60_000_000;
        made.chain(&[answer], 900.0, 900.0, 0.0);
        made.chain(&[works], 100.0, 0.0, 100.0);
        made.view(findings)
    }

    #[test]
    fn waits_that_end_by_their_time_limit_are_found() {
        let found = asks(15);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, WaitCause::PollingSleep);
        assert_eq!(found[0].waiter.function, "ask");
        let Some(WaitEnd::TimeLimit { seconds }) = found[0].figures.ended_by else {
            panic!("not ended by a limit");
        };
        assert!((seconds - 0.06).abs() < 1e-9);
        assert!(found[0].predicted_speedup.value > 5.0);
        assert_eq!(asks(0), [], "answers that take as long");
        assert_eq!(asks(5), [], "few of them");
    }

    #[test]
    fn time_limit_of_an_event_loop_is_a_timer() {
        let asks = |call: i64, unlimited: u64, serves: bool| {
            let mut made = SyntheticRecording::new(1, 1000.0);
            made.recording.processes[0].serves = serves;
            let timers = made.waits(0, WaitReason::Socket, &["epoll", "run"], (800.0, 80));
            let events = made.waits(0, WaitReason::Socket, &["epoll", "run"], (100.0, unlimited));
            let works = made.runs(0, 100.0);
            for state in [timers, events] {
                let wait = made.recording.states[state as usize].wait.as_mut();
                wait.expect("it waits").call = call;
            }
            made.recording.states[timers as usize].expired = 80;
            made.recording.states[timers as usize].expired_ns = 800_000_000;
            made.chain(&[timers], 800.0, 800.0, 0.0);
            made.chain(&[events], 100.0, 100.0, 0.0);
            made.chain(&[works], 100.0, 0.0, 100.0);
            made.view(findings)
        };
        let epoll = libc::SYS_epoll_wait;
        assert_eq!(asks(epoll, 80, false), []);
        let found = asks(epoll, 4, false).len();
        assert_eq!(found, 1, "hardly any wait without a limit");
        assert_eq!(asks(epoll, 4, true), [], "a server");
        let found = asks(libc::SYS_poll, 80, true).len();
        assert_eq!(found, 1, "not an event loop");
    }

    /// A consumer waits for a producer by 60 ms at most, so often, while that waits for the consumer.
    fn hands_over(waits: u64, producer_waits: u64) -> Vec<WaitFinding> {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let filled = made.waits(0, WaitReason::Condition, &["wait", "take"], (900.0, waits));
        let emptied = (900.0, producer_waits);
        let emptied = made.waits(1, WaitReason::Condition, &["wait", "give"], emptied);
        let works = made.runs(0, 100.0);
        let seen = &mut made.recording.states[filled as usize];
        (seen.expired, seen.expired_ns) = (15, 900_000_000);
        made.chain(&[filled], 900.0, 900.0, 0.0);
        made.chain(&[works], 100.0, 0.0, 100.0);
        for (thread, state) in [(0, filled), (1, emptied)] {
            made.recording.threads[thread].timeline = vec![(0, 900_000_000, state)];
        }
        made.view(findings)
    }

    #[test]
    fn wake_ups_that_come_before_the_wait_are_found() {
        let found = hands_over(20, 20);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].cause, WaitCause::PollingSleep);
        assert_eq!(found[0].waiter.function, "take");
        assert_eq!(hands_over(15, 20), [], "a timer");
        assert_eq!(hands_over(20, 1), [], "one that waits for the end");
    }

    /// Clients wait for a server that polls by 20 ms, while its other thread has made the answer, `slices` times.
    fn polls(slices: u64, client_waits: bool) -> Vec<WaitFinding> {
        let mut made = SyntheticRecording::new(3, 1000.0);
        let polls = made.waits(0, WaitReason::Poll, &["poll", "talk"], (900.0, 45));
        let answer = made.waits(1, WaitReason::Socket, &["recv", "ask"], (900.0, 45));
        made.recording.threads[1].pid = 2;
        let works = made.runs(2, 100.0);
        made.recording.threads[2].slices = slices;
        made.recording.states[polls as usize].expired = 45;
        made.recording.states[polls as usize].expired_ns = 45 * 20_000_000;
        made.chain(&[polls], 900.0, 900.0, 0.0);
        made.chain(&[works], 100.0, 0.0, 100.0);
        if client_waits {
            made.recording.pairs.push(Pair {
                waiter: answer,
                holder: polls,
                ns: 900e6,
                snapshots: 450,
            });
        }
        made.view(findings)
    }

    #[test]
    fn polls_until_a_time_limit_are_found_where_the_result_is_there() {
        let found = polls(60, true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].cause, WaitCause::PollingSleep);
        assert_eq!(found[0].waiter.function, "talk");
        assert_eq!(polls(3, true), [], "nobody worked for it");
        assert_eq!(polls(60, false), [], "nobody waits");
    }

    /// A client asks by 60 ms at most for the 900 ms, and the server waits for the next question: the path ends at the server.
    #[test]
    fn the_end_that_the_path_does_not_end_at_is_found() {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let answer = made.waits(0, WaitReason::Socket, &["poll", "ask"], (900.0, 15));
        let question = made.waits(1, WaitReason::Socket, &["read", "serve"], (900.0, 15));
        let works = made.runs(0, 100.0);
        made.recording.states[answer as usize].expired = 15;
        made.recording.states[answer as usize].expired_ns = 15 * 60_000_000;
        made.chain(&[answer, question], 900.0, 900.0, 0.0);
        made.chain(&[works], 100.0, 0.0, 100.0);
        let found = made.view(findings);
        let limited = |one: &&WaitFinding| one.figures.ended_by.is_some();
        let found: Vec<&WaitFinding> = found.iter().filter(limited).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].waiter.function, "ask");
        assert!(found[0].predicted_speedup.value > 5.0);
    }

    /// A client and a server that both wait for each other's data, for so long each time.
    fn held_back(each: f64, call: i64, idle: f64) -> Vec<WaitFinding> {
        let waits = (900.0 / each) as u64;
        let mut made = SyntheticRecording::new(2, 1000.0);
        let answer = made.waits(0, WaitReason::Socket, &["read", "get"], (900.0, waits));
        let request = made.waits(1, WaitReason::Socket, &["read", "serve"], (900.0, waits));
        let works = made.runs(0, 100.0);
        for (state, call) in [(answer, libc::SYS_read), (request, call)] {
            let wait = made.recording.states[state as usize].wait.as_mut();
            wait.expect("it waits").call = call;
        }
        let (idle, alone) = (450.0 * idle, 450.0 * (1.0 - idle));
        made.chain(&[answer, request], 450.0, idle, alone);
        made.chain(&[answer, request, answer], 450.0, idle, alone);
        made.chain(&[works], 100.0, 0.0, 100.0);
        made.view(findings)
    }

    #[test]
    fn ends_that_wait_for_each_other_until_an_acknowledgement_are_found() {
        let found = held_back(44.0, libc::SYS_recvfrom, 1.0);
        let end = found.iter().map(|one| (one.cause, one.figures.ended_by));
        let delayed = (
            WaitCause::RoundTripInLoop,
            Some(WaitEnd::DelayedAcknowledgement),
        );
        assert!(end.clone().any(|one| one == delayed), "{found:?}");
        // Who polls may wait for a third; other times have other reasons; and a third one may work for them.
        for (each, call, idle) in [
            (44.0, libc::SYS_poll, 1.0),
            (12.0, libc::SYS_read, 1.0),
            (44.0, libc::SYS_read, 0.3),
        ] {
            let found = held_back(each, call, idle);
            assert!(found.iter().all(|one| one.figures.ended_by.is_none()));
        }
    }
}
