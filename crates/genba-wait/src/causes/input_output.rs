//! Waits for the disk, for the other end of a pipe or socket, for a signal of another thread, for a
//! time.

use std::collections::{BTreeMap, HashSet};

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::Chain;

use super::Found;
use crate::grouped_waits::waits_of_states;
use crate::view::{Places, View, most};

/// Waits from which on something is done again and again.
const MANY: f64 = 10.0;
/// Waits in turns from which on their own cost counts.
const MANY_TURNS: f64 = 200.0;
/// Longest average wait that is mostly switching between threads, ns.
const SHORT_TURN_NS: f64 = 2e6;
/// Least CPU time between two sleeps that is work rather than a look, ns.
const WORK_NS: f64 = 200_000.0;
/// Bytes of a read or write below which calls are small: a page.
const SMALL_BYTES: f64 = 1024.0;
/// What a small read or write costs at least, ns: entering and leaving the kernel.
const CALL_NS: (f64, f64, f64) = (400.0, 150.0, 1500.0);

/// Everything here.
pub fn find(view: &View<'_>) -> Vec<Found> {
    let counts = waits_of_states(view);
    let mut all = synchronous_writes(view, &counts);
    all.extend(by_reason(
        view,
        &counts,
        WaitReason::PageFault,
        WaitCause::PageFaultIo,
    ));
    all.extend(polling(view, &counts));
    all.extend(turns(view, &counts));
    all.extend(small_io(view));
    all
}

/// Waits of one reason at one place.
#[derive(Default)]
struct Group {
    /// On the critical path, ns.
    critical: f64,
    /// Of it while nobody was on a CPU, and while one was.
    idle: f64,
    alone: f64,
    ns: f64,
    moments: u64,
    waits: f64,
    threads: HashSet<u32>,
    objects: BTreeMap<String, f64>,
    holder_places: Places,
    holder_waits: BTreeMap<WaitPlace, f64>,
    /// Of the time with a known holder, that in which it waited, too, in the same way.
    answered: f64,
}

impl Group {
    fn figures(&self) -> WaitFigures {
        WaitFigures {
            moments: self.moments,
            seconds: self.ns / 1e9,
            waits: self.waits.round() as u64,
            threads: self.threads.len() as u64,
            ..WaitFigures::default()
        }
    }

    fn object(&self) -> Option<String> {
        let longest = self.objects.iter().max_by(|a, b| a.1.total_cmp(b.1));
        longest.map(|(name, _)| name.clone())
    }

    fn holder(&self) -> Option<WaitPlace> {
        let running = most(&self.holder_places).map(|(place, _)| place.clone());
        let longest = self.holder_waits.iter().max_by(|a, b| a.1.total_cmp(b.1));
        running.or_else(|| longest.map(|(place, _)| place.clone()))
    }
}

/// Waits for these reasons by place. On the critical path is what ends a chain, or with `inside` what
/// is anywhere on it.
fn groups(
    view: &View<'_>,
    counts: &[f64],
    reasons: &[WaitReason],
    inside: bool,
) -> BTreeMap<WaitPlace, Group> {
    let recording = view.recording;
    let mut groups: BTreeMap<WaitPlace, Group> = BTreeMap::new();
    let wanted = |state: u32| reasons.contains(&view.states[state as usize].reason);
    for (index, (state, seen)) in (0u32..).zip(view.states.iter().zip(&recording.states)) {
        if !wanted(index) {
            continue;
        }
        let group = groups.entry(state.place.clone()).or_default();
        group.ns += seen.ns;
        group.moments += seen.moments;
        group.waits += counts[index as usize];
        group.threads.insert(seen.thread);
        if let Some(object) = &state.object {
            *group.objects.entry(object.clone()).or_default() += seen.ns;
        }
        for (place, samples) in view.holder_places.get(&index).into_iter().flatten() {
            *group.holder_places.entry(place.clone()).or_default() += samples;
        }
    }
    for pair in &recording.pairs {
        if !wanted(pair.waiter) {
            continue;
        }
        let holder = &view.states[pair.holder as usize];
        if let Some(group) = groups.get_mut(&view.states[pair.waiter as usize].place)
            && holder.reason != WaitReason::Running
        {
            *group.holder_waits.entry(holder.place.clone()).or_default() += pair.ns;
            if reasons.contains(&holder.reason) {
                group.answered += pair.ns;
            }
        }
    }
    for chain in &recording.chains {
        let place = match inside {
            false => ends(view, chain, reasons),
            true => chain
                .states
                .iter()
                .find(|state| wanted(**state))
                .map(|state| &view.states[*state as usize].place),
        };
        if let Some(group) = place.and_then(|place| groups.get_mut(place)) {
            group.critical += chain.ns;
            group.idle += chain.idle_ns;
            group.alone += chain.alone_ns;
        }
    }
    groups
}

fn ends<'a>(view: &'a View<'_>, chain: &Chain, reasons: &[WaitReason]) -> Option<&'a WaitPlace> {
    let end = &view.states[chain.states[chain.states.len() - 1] as usize];
    reasons.contains(&end.reason).then_some(&end.place)
}

/// Whether a lock was waited for on the way to these waits: then the lock is the cause.
fn behind_lock(view: &View<'_>, place: &WaitPlace, reasons: &[WaitReason]) -> f64 {
    let chains = view.recording.chains.iter();
    chains
        .filter(|chain| {
            ends(view, chain, reasons) == Some(place)
                && chain
                    .states
                    .iter()
                    .any(|state| view.states[*state as usize].reason == WaitReason::Lock)
        })
        .map(|chain| chain.ns)
        .sum()
}

/// `synchronous-write`: the disk is waited for again and again.
fn synchronous_writes(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    groups(view, counts, &[WaitReason::Fsync], false)
        .into_iter()
        .filter(|(_, group)| group.waits >= MANY)
        .map(|(place, group)| Found {
            cause: WaitCause::SynchronousWrite,
            waits_ns: group.critical - behind_lock(view, &place, &[WaitReason::Fsync]),
            // Records that are forced together: one wait for tens of them.
            saved_ns: (group.critical * 0.95, group.critical * 0.7, group.critical),
            holder: None,
            object: group.object(),
            figures: group.figures(),
            waiter: place,
        })
        .collect()
}

fn by_reason(view: &View<'_>, counts: &[f64], reason: WaitReason, cause: WaitCause) -> Vec<Found> {
    groups(view, counts, &[reason], false)
        .into_iter()
        .filter(|(_, group)| group.waits >= MANY)
        .map(|(place, group)| Found {
            cause,
            waits_ns: group.critical,
            saved_ns: (group.critical * 0.8, group.critical * 0.4, group.critical),
            holder: group.holder(),
            object: group.object(),
            figures: group.figures(),
            waiter: place,
        })
        .collect()
}

/// `polling-sleep`: sleeps between short looks, while nobody works.
fn polling(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    let recording = view.recording;
    groups(view, counts, &[WaitReason::Sleep], false)
        .into_iter()
        .filter(|(_, group)| {
            let threads = || {
                group
                    .threads
                    .iter()
                    .map(|at| &recording.threads[*at as usize])
            };
            let running: f64 = threads().map(|thread| thread.running as f64).sum();
            // Who does a piece of work at each tick is on time, not polling.
            group.waits >= MANY && running / group.waits < WORK_NS
        })
        .map(|(place, group)| Found {
            cause: WaitCause::PollingSleep,
            waits_ns: group.critical,
            saved_ns: (group.idle * 0.9, group.idle * 0.4, group.idle),
            holder: group.holder(),
            object: group.object(),
            figures: group.figures(),
            waiter: place,
        })
        .collect()
}

/// `round-trip-in-loop` and `wake-up-chain`: two threads or processes that wait for one another in
/// turns, many times, so that only one of them ever works.
fn turns(view: &View<'_>, counts: &[f64]) -> Vec<Found> {
    let mut all = Vec::new();
    for (cause, reasons) in [
        (
            WaitCause::RoundTripInLoop,
            &[WaitReason::Pipe, WaitReason::Socket][..],
        ),
        (WaitCause::WakeUpChain, &[WaitReason::Condition][..]),
    ] {
        let groups = groups(view, counts, reasons, true);
        // Turns are taken: those who wait so in other places, or other threads here, wait about as
        // often.
        let total: f64 = groups.values().map(|group| group.waits).sum();
        let longest = groups
            .into_iter()
            .filter(|(_, group)| {
                let others = total - group.waits;
                let among_themselves = group.threads.len() >= 2;
                group.waits >= MANY_TURNS
                    && group.ns / group.waits <= SHORT_TURN_NS
                    && (others >= group.waits * 0.5 || among_themselves)
            })
            .max_by(|a, b| a.1.critical.total_cmp(&b.1.critical));
        let Some((place, group)) = longest else {
            continue;
        };
        // While both wait, or one works alone, the switch to the other is lost; what the one
        // that works does is lost only as far as it is the passing on itself.
        let in_turns = group.idle + group.alone;
        let passing = passing_share(view, reasons);
        let saved = group.idle + group.alone * passing;
        all.push(Found {
            cause,
            waits_ns: in_turns,
            saved_ns: (saved * 0.9, saved * 0.4, in_turns * 0.97),
            holder: group.holder(),
            object: group.object(),
            figures: WaitFigures {
                holder_on_cpu: group.alone / in_turns.max(1.0),
                ..group.figures()
            },
            waiter: place,
        });
    }
    all
}

/// Share of the samples at ends of chains through these waits that were in the kernel: passing on
/// is the kernel's work. A half where the kernel is not sampled.
fn passing_share(view: &View<'_>, reasons: &[WaitReason]) -> f64 {
    let mut sums = (0, 0);
    for (index, chain) in (0u32..).zip(&view.recording.chains) {
        let mut states = chain.states.iter();
        if states.any(|state| reasons.contains(&view.states[*state as usize].reason))
            && let Some(of_chain) = view.chain_kernel.get(&index)
        {
            sums.0 += of_chain.0;
            sums.1 += of_chain.1;
        }
    }
    match sums {
        (0, _) | (_, 0) => 0.5,
        (kernel, all) => kernel as f64 / all as f64,
    }
}

/// `small-io`: reads and writes of few bytes each.
fn small_io(view: &View<'_>) -> Option<Found> {
    let recording = view.recording;
    let process = recording.processes.iter().max_by_key(|process| {
        (
            process.reads + process.writes,
            std::cmp::Reverse(process.pid),
        )
    })?;
    let (calls, bytes) = if process.reads > process.writes {
        (process.reads as f64, process.read_bytes as f64)
    } else {
        (process.writes as f64, process.written_bytes as f64)
    };
    if calls < 1.0 || bytes / calls >= SMALL_BYTES {
        return None;
    }
    let places = &view.io_places;
    let samples: u64 = places.values().sum();
    let all: u64 = view.samples.max(1);
    // By samples in these calls where the kernel is sampled, else by what a call costs at least.
    let by_cost = (calls * CALL_NS.0, calls * CALL_NS.1, calls * CALL_NS.2);
    let kept = 1.0 - (bytes / calls / (16.0 * SMALL_BYTES)).min(1.0);
    let saved = if view.kernel_samples > 0 && samples > 0 {
        let share = samples as f64 / all as f64;
        let ns = view.running() * share * kept;
        (ns * 0.95, ns * 0.7, ns * 1.1)
    } else {
        by_cost
    };
    let (waiter, _) = most(places)?;
    Some(Found {
        cause: WaitCause::SmallIo,
        waits_ns: saved.0,
        saved_ns: saved,
        waiter: waiter.clone(),
        holder: None,
        object: None,
        figures: WaitFigures {
            moments: samples,
            seconds: saved.0 / 1e9,
            bytes_per_call: Some(bytes / calls),
            calls: Some(calls as u64),
            ..WaitFigures::default()
        },
    })
}
