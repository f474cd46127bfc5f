//! Causes of needless waiting, and what the wall time would be without them.
//!
//! A gain is what remains of the wall time when the part of the critical path that waits for this
//! cause is taken out, but not less than the CPU time divided by the CPUs: what waited for
//! a lock still has to run.

mod input_output;
mod locks;
mod phases;
#[cfg(test)]
mod tests;

use genba_model::{Estimate, MIN_GAIN, WaitCause, WaitFigures, WaitFinding, WaitPlace};

use crate::critical_path::share_of_snapshots;
use crate::view::View;

/// Smallest share of the wall time that is worth a finding.
const MIN_SHARE: f64 = 0.05;

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
    /// Wall time in which threads took turns, ns.
    fn turns_ns(&self) -> f64 {
        match self.cause {
            WaitCause::WakeUpChain | WaitCause::RoundTripInLoop => self.waits_ns,
            _ => 0.0,
        }
    }
}

/// Everything that was found, largest gain first.
pub fn findings(view: &View<'_>) -> Vec<WaitFinding> {
    let wall = view.own_wall();
    if wall <= 0.0 {
        return Vec::new();
    }
    let mut all = locks::find(view);
    all.extend(input_output::find(view));
    // Threads that take turns work alone, too: not because the work is divided badly.
    let in_turns: f64 = all.iter().map(Found::turns_ns).fold(0.0, f64::max);
    all.extend(phases::find(view).into_iter().filter(|found| {
        let alone = matches!(found.cause, WaitCause::SerialSection | WaitCause::Imbalance);
        !alone || in_turns < 0.5 * found.waits_ns
    }));
    let floor = view.running() / f64::from(view.recording.cpus.max(1));
    let mut findings: Vec<WaitFinding> = all
        .into_iter()
        .filter(|found| found.waits_ns / wall >= MIN_SHARE)
        .map(|found| finding(view, found, floor))
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

/// How early the last thread could end if none waited, by when it began and how long it was on a CPU, ns.
fn longest_work(view: &View<'_>) -> f64 {
    let began = view.recording.began;
    let threads = view.recording.threads.iter();
    threads
        .map(|thread| (thread.began.saturating_sub(began) + thread.running) as f64)
        .fold(0.0, f64::max)
}

fn finding(view: &View<'_>, found: Found, floor: f64) -> WaitFinding {
    let wall = view.own_wall();
    let floor = match found.cause {
        // Work outside of a lock is still that thread's.
        WaitCause::LockContention | WaitCause::LockHeldOverIo => floor.max(longest_work(view)),
        _ if found.work_remains => floor,
        _ => 0.0,
    };
    let without = |saved: f64| wall / (wall - saved).max(floor).max(wall * 0.01).min(wall);
    let (value, low, high) = found.saved_ns;
    WaitFinding {
        cause: found.cause,
        wall_share: share_of_snapshots(view, found.waits_ns / wall),
        predicted_speedup: Estimate {
            value: without(value),
            low: without(low),
            high: without(high),
        },
        waiter: found.waiter,
        holder: found.holder,
        object: found.object,
        figures: WaitFigures {
            runnable_threads: view.runnable_threads(),
            cpus: view.recording.cpus,
            ..found.figures
        },
    }
}
