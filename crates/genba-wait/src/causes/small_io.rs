//! `small-io`: many reads or writes of few bytes each, waited for or not.

use std::cmp::Ordering;

use genba_model::{WaitCause, WaitFigures, WaitPlace, WaitReason};
use genba_profile::wait_sampler::WatchedProcess;

use super::Found;
use super::constants::{
    CALL_NS, COPY_NS, LARGE_BYTES, MANY_CALLS, MIN_SAMPLES, MIN_SAVED_OVERHEAD, MIN_WAITING_CALLS,
    SAVED_OF_SMALL_CALLS, SWITCH_NS,
};
use super::input_output::groups;
use crate::io_samples::IoSamples;
use crate::view::View;

/// Everything here.
pub fn find(view: &View<'_>, counts: &[f64]) -> Option<Found> {
    of_files(view, counts).or_else(|| of_receives(view, counts))
}

/// Whether a process reads or writes one file after the other: then the files are small, and no buffer makes
/// fewer calls. Of a short run with one or two looks that is not known, and nothing is said.
fn goes_through_files(process: &WatchedProcess) -> bool {
    process.file_looks > 0 && 2 * process.new_file_looks >= process.file_looks
}

/// Share of the samples in reads, or writes, that are not messages to several connections.
fn not_served(view: &View<'_>, writes: bool) -> f64 {
    let io = &view.io[usize::from(writes)];
    let others: u64 = io.places.values().sum();
    match io.served.values().sum::<u64>() {
        0 => 1.0,
        served => others as f64 / (others + served) as f64,
    }
}

/// What the kernel's account of a process has.
fn of_files(view: &View<'_>, counts: &[f64]) -> Option<Found> {
    let recording = view.recording;
    let process = recording.processes.iter().max_by_key(|process| {
        (
            process.reads + process.writes,
            std::cmp::Reverse(process.pid),
        )
    })?;
    let waits = groups(view, counts, &[WaitReason::File], false)
        .into_iter()
        .filter(|(_, group)| group.waits >= MANY_CALLS)
        .max_by(|a, b| a.1.critical.total_cmp(&b.1.critical));
    // What is waited for, else what is done more often.
    let at_waits = |io: &IoSamples| {
        let (place, _) = waits.as_ref()?;
        io.places.get(place).copied()
    };
    let [read, written] = [&view.io[0], &view.io[1]].map(at_waits);
    let reads = match read.cmp(&written) {
        Ordering::Equal => process.reads > process.writes,
        order => order == Ordering::Greater,
    };
    let (calls, bytes) = if reads {
        (process.reads as f64, process.read_bytes as f64)
    } else {
        (process.writes as f64, process.written_bytes as f64)
    };
    let size = bytes / calls.max(1.0);
    let calls = calls * not_served(view, !reads);
    if calls < MANY_CALLS || size >= LARGE_BYTES || goes_through_files(process) {
        return None;
    }
    let waited = waits.as_ref().map_or(0.0, |(_, group)| {
        group.critical + view.queued_after(&group.threads)
    });
    // Entering and leaving the kernel goes, copying stays. Where most calls wait for a device, so does what
    // is done to ask it each time.
    // Who passes data on makes as many calls of either kind.
    let io = match waits {
        Some(_) => &view.io[usize::from(!reads)..=usize::from(!reads)],
        None => &view.io[..],
    };
    let places = io.iter().flat_map(|io| &io.places);
    let samples: u64 = places.clone().map(|(_, samples)| samples).sum();
    let copies: u64 = io.iter().flat_map(|io| io.copies.values()).sum();
    let not_copied = 1.0 - copies as f64 / samples.max(1) as f64;
    let each_waits = waits
        .as_ref()
        .is_some_and(|(_, group)| group.waits >= MIN_WAITING_CALLS * calls);
    let overhead = match each_waits {
        true => not_copied,
        false => not_copied.min(1.0 / (1.0 + size * COPY_NS / CALL_NS.0)),
    };
    let on_cpu = if view.kernel_samples > 0 && samples > 0 {
        let times = io.iter().map(|io| view.on_path(&io.chain_places, |_| true));
        let ns: f64 = times.sum();
        let with_queue = io
            .iter()
            .map(|io| view.on_path_with_queue(&io.chain_places));
        let queued: f64 = with_queue.sum();
        (
            queued * overhead,
            ns * overhead * MIN_SAVED_OVERHEAD,
            queued,
        )
    } else {
        (calls * CALL_NS.0, calls * CALL_NS.1, calls * CALL_NS.2)
    };
    let waiter = match &waits {
        Some((place, _)) => place.clone(),
        None => places
            .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)))?
            .0
            .clone(),
    };
    Some(Found {
        cause: WaitCause::SmallIo,
        waits_ns: on_cpu.0 + waited,
        work_remains: false,
        saved_ns: (
            on_cpu.0 + waited * SAVED_OF_SMALL_CALLS.likely,
            on_cpu.1 + waited * SAVED_OF_SMALL_CALLS.least,
            on_cpu.2 + waited,
        ),
        waiter,
        holder: None,
        object: waits.as_ref().and_then(|(_, group)| group.object()),
        figures: WaitFigures {
            snapshots: samples + waits.as_ref().map_or(0, |(_, group)| group.snapshots),
            seconds: (on_cpu.0 + waited) / 1e9,
            bytes_per_call: Some(size),
            calls: Some(calls as u64),
            ..WaitFigures::default()
        },
    })
}

/// Calls of `recv` for few bytes that are there already. The kernel's account of a process leaves `recv` out, so how many there
/// are is estimated: what their samples take on the path goes, but for the copies.
fn of_receives(view: &View<'_>, counts: &[f64]) -> Option<Found> {
    let small = &view.small_receives;
    let order = |a: &(&WaitPlace, &u64), b: &(&WaitPlace, &u64)| a.1.cmp(b.1).then(b.0.cmp(a.0));
    let (waiter, _) = small.places.iter().max_by(order)?;
    let samples: u64 = small.places.values().sum();
    // Where most calls wait for the other end, that has no more to send yet.
    let waits = groups(view, counts, &[WaitReason::Socket], false);
    let here = waits
        .iter()
        .filter(|(place, _)| small.places.contains_key(place));
    let waits: f64 = here.map(|(_, group)| group.waits).sum();
    let on_cpu = view.running() * samples as f64 / view.samples.max(1) as f64;
    // One that waits costs a switch as well.
    let waiting = waits * SWITCH_NS.0;
    if samples < MIN_SAMPLES
        || on_cpu < MANY_CALLS * CALL_NS.0
        || waiting > MIN_WAITING_CALLS * on_cpu
    {
        return None;
    }
    let size = small.bytes as f64 / samples as f64;
    let copies: u64 = small.copies.values().sum();
    let overhead = 1.0 - copies as f64 / samples as f64;
    let ns = view.on_path(&small.chain_places, |_| true);
    let queued = view.on_path_with_queue(&small.chain_places);
    Some(Found {
        cause: WaitCause::SmallIo,
        waits_ns: queued,
        work_remains: false,
        saved_ns: (
            queued * overhead,
            ns * overhead * MIN_SAVED_OVERHEAD,
            queued,
        ),
        waiter: waiter.clone(),
        holder: None,
        object: None,
        figures: WaitFigures {
            snapshots: samples,
            seconds: ns / 1e9,
            bytes_per_call: Some(size),
            ..WaitFigures::default()
        },
    })
}
