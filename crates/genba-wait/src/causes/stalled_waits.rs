//! Waits for sockets that no thread ends: by a time limit, or by an acknowledgement that the kernel delays.

use std::collections::BTreeMap;

use genba_model::{WaitCause, WaitEnd, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::StateIndex;

use super::Found;
use super::constants::{
    DELAYED_ACKNOWLEDGEMENT_NS, MANY_WAITS, MIN_SHARE_EXPIRED, SAVED_OF_STALLS,
};
use super::input_output::{Group, groups};
use crate::grouped_waits::waits_of_states;
use crate::view::View;

/// Everything here.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let counts = waits_of_states(view);
    let places = groups(view, &counts, &[WaitReason::Socket], false);
    let mut all = expired(view, &places);
    all.extend(held_back(view, &counts, &places));
    all
}

fn found(cause: WaitCause, end: WaitEnd, place: &WaitPlace, group: &Group, part: f64) -> Found {
    Found {
        cause,
        waits_ns: group.critical * part,
        work_remains: true,
        saved_ns: (
            group.idle * part * SAVED_OF_STALLS.likely,
            group.idle * part * SAVED_OF_STALLS.least,
            group.idle,
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

/// `polling-sleep`: what a place waits for does not come before its time limit.
fn expired(view: &View<'_>, places: &BTreeMap<WaitPlace, Group>) -> Vec<Found> {
    let mut all = Vec::new();
    for (place, group) in places {
        let here = view.states.iter().zip(&view.recording.states);
        let here = here
            .filter(|(state, _)| state.reason == WaitReason::Socket && state.place == *place)
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
            all.push(found(WaitCause::PollingSleep, end, place, group, part));
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
    let both = recording.pairs.iter().filter(|pair| {
        let back = |other: &&genba_profile::wait_sampler::Pair| {
            (other.waiter, other.holder) == (pair.holder, pair.waiter)
        };
        reads(pair.waiter)
            && reads(pair.holder)
            && stalls(pair.waiter)
            && recording.pairs.iter().any(|other| back(&other))
    });
    let longest = both.max_by(|a, b| a.ns.total_cmp(&b.ns))?;
    let ends = [longest.waiter, longest.holder].map(|state| &view.states[state as usize].place);
    let group = |place: &&WaitPlace| places.get(*place).map(|group| group.critical);
    let place = (ends.into_iter()).max_by(|a, b| {
        let critical = |place| group(&place).unwrap_or(0.0);
        critical(*a).total_cmp(&critical(*b))
    })?;
    let end = WaitEnd::DelayedAcknowledgement;
    let one = places.get(place)?;
    Some(found(WaitCause::RoundTripInLoop, end, place, one, 1.0))
}
