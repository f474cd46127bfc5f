//! Causes of needless waiting, and what the wall time would be without them.
//!
//! A gain is what remains of the wall time when the part of the critical path that waits for this
//! cause is taken out, but not less than the CPU time divided by the CPUs: what waited for
//! a lock still has to run.

mod child_processes;
mod constants;
mod input_output;
#[cfg(test)]
mod lock_tests;
mod locks;
mod parallelism_phases;
mod small_io;
mod stalled_waits;
#[cfg(test)]
mod tests;
mod timed_answers;

use std::collections::HashMap;

use genba_model::{Estimate, MIN_GAIN, WaitCause, WaitFigures, WaitFinding, WaitPlace};

pub(crate) use constants::MIN_SHARE_EXPIRED;
use constants::MIN_TURNS_OF_WORK_ALONE;

use crate::critical_path::share_of_snapshots;
use crate::view::View;

/// Smallest share of the wall time that is worth a finding.
const MIN_SHARE: f64 = 0.05;
/// Measured gain of a fix ÷ the gain (speedup minus one) if all its waits were removed, as most: fixes remove work as well. The
/// conformal quantile of 11 fixes of `corpus/` (its half `train`; `corpus/check --wait --measure` on an idle machine).
const GAIN_BEYOND_WAITS: f64 = 1.18;

/// What a detector found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    cause: WaitCause,
    /// Wall time that waits for it, ns.
    waits_ns: f64,
    /// Wall time that a fix saves, ns: what is likely, and between which bounds.
    saved_ns: (f64, f64, f64),
    /// Whether all work remains, which the CPUs then limit: it only no longer waits.
    work_remains: bool,
    waiter: WaitPlace,
    holder: Option<WaitPlace>,
    object: Option<String>,
    figures: WaitFigures,
}

impl Found {
    /// Whether both are about the same waits. Who holds a lock while other programs have the CPUs, computes as it seems.
    fn is_same(&self, other: &Self) -> bool {
        let kind = |found: &Self| match found.cause {
            WaitCause::LockContention => WaitCause::LockHeldOverIo,
            cause => cause,
        };
        (kind(self), &self.waiter, &self.object) == (kind(other), &other.waiter, &other.object)
    }

    /// Wall time in which threads took turns, ns.
    fn turns_ns(&self) -> f64 {
        match self.cause {
            WaitCause::WakeUpChain | WaitCause::RoundTripInLoop => self.waits_ns,
            _ => 0.0,
        }
    }
}

/// Everything that was found, largest gain first: with the load of the machine as it was, and without that
/// of other programs as well. The interval of the gain has both.
pub fn findings(view: &View<'_>) -> Vec<WaitFinding> {
    let seen_view = view.as_seen();
    let mut seen = found(&seen_view);
    let mut findings: Vec<WaitFinding> = found(view)
        .into_iter()
        .filter_map(|quiet| {
            let same = seen.iter().position(|other| other.is_same(&quiet))?;
            // A queue for the CPUs makes many waits longer; under a lock it is the lock's, whoever fills it.
            let lock = matches!(
                quiet.cause,
                WaitCause::LockContention | WaitCause::LockHeldOverIo
            );
            let floor = floor(view, &quiet, 1.0, Work::Kept);
            if !lock && gain(view, quiet.saved_ns.0, floor) < 1.0 + MIN_GAIN {
                return None;
            }
            Some(finding(view, &seen_view, quiet, &seen.swap_remove(same)))
        })
        .filter(|finding| finding.predicted_speedup.value >= 1.0 + MIN_GAIN)
        .collect();
    findings.sort_by(|a, b| {
        b.predicted_speedup
            .value
            .total_cmp(&a.predicted_speedup.value)
            .then(a.cause.cmp(&b.cause))
            .then_with(|| a.waiter.cmp(&b.waiter))
    });
    findings
}

/// What takes enough of the wall time of these chains to be worth a finding.
fn found(view: &View<'_>) -> Vec<Found> {
    let wall = view.own_wall();
    if wall <= 0.0 {
        return Vec::new();
    }
    let mut all = locks::find(view);
    all.extend(input_output::find(view));
    all.extend(stalled_waits::find(view));
    all.extend(timed_answers::find(view));
    all.extend(child_processes::find(view));
    // Threads that take turns work alone, too: not because the work is divided badly.
    let in_turns: f64 = all.iter().map(Found::turns_ns).fold(0.0, f64::max);
    all.extend(parallelism_phases::find(view).into_iter().filter(|found| {
        let alone = matches!(found.cause, WaitCause::SerialSection | WaitCause::Imbalance);
        !alone || in_turns < MIN_TURNS_OF_WORK_ALONE * found.waits_ns
    }));
    all.retain(|found| found.waits_ns / wall >= MIN_SHARE);
    all
}

/// What becomes of work when threads no longer wait.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// Each thread keeps its own.
    Kept,
    /// Those that begin in one function share theirs: who gets a lock gets the next piece.
    Shared,
}

/// How early the last thread could end if none waited, by when it began and how long it was at work, ns.
fn longest_work(view: &View<'_>, share: f64, work: Work) -> f64 {
    let began = view.recording.began;
    let threads = || (0u32..).zip(&view.recording.threads);
    let mut alike: HashMap<&str, (f64, f64)> = HashMap::new();
    for (index, thread) in threads().filter(|_| work == Work::Shared) {
        if let Some(entry) = view.entries.get(&index) {
            let (sum, count) = alike.entry(entry).or_default();
            *sum += thread.running as f64;
            *count += 1.0;
        }
    }
    let at_work = |index: u32, own: f64| {
        let entry = view.entries.get(&index).map(String::as_str);
        let shared = entry.and_then(|entry| alike.get(entry));
        shared.map_or(own, |(sum, count)| sum / count)
    };
    threads()
        .map(|(index, thread)| {
            let late = thread.began.saturating_sub(began) as f64;
            late + at_work(index, thread.running as f64) * share
        })
        .fold(0.0, f64::max)
}

/// The wall time that the work of all threads takes if none waits for this cause, ns; `share` of their work remains.
fn floor(view: &View<'_>, found: &Found, share: f64, work: Work) -> f64 {
    let on_all_cpus = view.running() * share / f64::from(view.recording.cpus.max(1));
    match found.cause {
        // Work outside of a lock is still that thread's.
        WaitCause::LockContention | WaitCause::LockHeldOverIo => {
            on_all_cpus.max(longest_work(view, share, work))
        }
        _ if found.work_remains => on_all_cpus,
        _ => 0.0,
    }
}

/// The wall time ÷ what it is when so much of it is saved, but no less than the `floor`.
fn gain(view: &View<'_>, saved: f64, floor: f64) -> f64 {
    let wall = view.own_wall();
    wall / (wall - saved).max(floor).max(wall * 0.01).min(wall)
}

/// The finding of what was found `quiet`, without other programs, and `seen` with them.
fn finding(view: &View<'_>, seen_view: &View<'_>, quiet: Found, seen: &Found) -> WaitFinding {
    let bounds = [(view, &quiet), (seen_view, seen)].map(|(view, found)| {
        let (_, low, high) = found.saved_ns;
        let wall = view.own_wall();
        let sampled = |saved: f64| share_of_snapshots(view, saved / wall);
        (
            gain(
                view,
                sampled(low).low * wall,
                floor(view, found, 1.0, Work::Kept),
            ),
            // What the kernel does for waits may go with them.
            gain(
                view,
                sampled(high).high * wall,
                floor(view, found, 1.0 - view.kernel_share(), Work::Shared),
            ),
        )
    });
    let values = [(view, &quiet), (seen_view, seen)].map(|(view, found)| {
        gain(
            view,
            found.saved_ns.0,
            floor(view, found, 1.0, Work::Shared),
        )
    });
    let value = match quiet.cause {
        // Whose turn it is waits longer for a CPU that other programs have: not the turns' fault.
        WaitCause::WakeUpChain | WaitCause::RoundTripInLoop => values[0].min(values[1]),
        _ => values[1],
    };
    WaitFinding {
        cause: quiet.cause,
        wall_share: share_of_snapshots(view, seen.waits_ns / seen_view.own_wall()),
        predicted_speedup: Estimate {
            value,
            low: bounds[0].0.min(bounds[1].0),
            high: 1.0 + (bounds[0].1.max(bounds[1].1) - 1.0) * GAIN_BEYOND_WAITS,
        },
        waiter: quiet.waiter,
        holder: quiet.holder,
        object: quiet.object,
        figures: WaitFigures {
            runnable_threads: view.runnable_threads(),
            cpus: view.recording.cpus,
            ..quiet.figures
        },
    }
}
