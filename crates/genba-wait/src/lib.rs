//! What the wall clock waits for: from what the wait sampler saw to the document of `genba wait`.
//!
//! **Scope.** Names for stacks, locks and threads; the wall time of every thread; waits by
//! place and object with what the thread that was waited for did meanwhile; the critical path
//! through threads and processes; causes of needless waiting with what a fix would gain.
//!
//! **Not here.** Watching ([`genba_profile::wait_sampler`]), sentences and pages.
//!
//! **Method.** At random times all threads were looked at together (a snapshot), which gives a graph of who
//! waits for whom (wPerf, OSDI 2018). From the leading thread its edges lead to a thread that runs,
//! or waits for the world outside: that is where the wall time of this snapshot went. Waiting and
//! running are on one scale, as blocked samples (BCOZ, OSDI 2024) are.

mod alike_threads;
mod causes;
mod critical_path;
mod futex_reasons;
mod grouped_waits;
mod io_samples;
mod kernels_account;
mod many_files;
mod object_names;
mod off_cpu;
mod requests;
mod runtime_locks;
mod stacks;
#[cfg(test)]
mod synthetic;
mod thread_times;
mod time_beside;
mod view;
mod wake_ups;
mod wall_stacks;

use std::collections::HashSet;

use genba_model::{Wait, Waits};
use genba_profile::wait_sampler::WaitRecording;
use genba_profile::{ReadError, Recording};

pub use crate::off_cpu::off_cpu;

use crate::object_names::ObjectNames;
use crate::stacks::Stacks;
use crate::thread_times::ListedThreads;
use crate::view::View;

/// The document of a recording. `stacks` is the file that was recorded with it.
///
/// # Errors
/// When the file cannot be read.
pub fn waits(recording: &WaitRecording, stacks: &Recording) -> Result<Waits, ReadError> {
    let recording = &kernels_account::scaled(recording);
    let waiting = recording.states.iter().filter_map(|state| {
        let wait = state.wait.as_ref()?;
        Some(wait.stack)
    });
    let running = recording
        .cpu_snapshots
        .iter()
        .map(|snapshot| (snapshot.tid, snapshot.time));
    let wanted: HashSet<(i32, u64)> = waiting.chain(running).collect();
    let stacks = Stacks::read(stacks, &wanted, &recording.scripts)?;
    Ok(of_view(&View::new(
        recording,
        &stacks,
        &mut ObjectNames::default(),
    )))
}

fn of_view(view: &View<'_>) -> Waits {
    let recording = view.recording;
    let ListedThreads {
        threads,
        more_threads,
        all_threads,
    } = thread_times::thread_times(view);
    let chained = view.chained();
    let share = match chained > 0.0 {
        true => critical_path::on_cpu(view) / chained,
        false => (view.runnable_threads()).min(1.0),
    };
    let mut sources = vec!["times: /proc/TID/schedstat".to_owned()];
    if recording.wake_ups_recorded {
        sources.push("wake-ups: tracepoint sched:sched_wakeup".to_owned());
    }
    if recording.calls_readable {
        sources.push("waits: /proc/TID/syscall in snapshots at random times".to_owned());
    }
    if recording.cpu_sampled {
        sources.push("on a CPU: perf event cpu-clock".to_owned());
    }
    if let Some(requests) = &recording.requests {
        let tracepoints = match requests.of_all_calls {
            true => "tracepoints raw_syscalls:sys_enter and sys_exit",
            false => {
                "tracepoints syscalls:* of reads, writes, polls, futex and fsync (those of all calls need root and tracefs)"
            }
        };
        sources.push(format!("requests: {tracepoints}, switches"));
    }
    let mut notes = recording.notes.clone();
    notes.extend(busy_machine(view));
    let waits = grouped_waits::grouped_waits(view);
    notes.extend(waits_of_goroutines(&waits));
    Waits {
        command: Vec::new(),
        pid: None,
        wall_seconds: view.wall() / 1e9,
        snapshots: recording.snapshots,
        on_cpu: critical_path::share_of_snapshots(view, share),
        sources,
        threads,
        more_threads: more_threads + recording.unwatched_threads,
        all_threads,
        waits,
        critical_path: critical_path::critical_path(view),
        findings: causes::findings(view),
        stacks: wall_stacks::wall_stacks(view),
        wake_ups: wake_ups::wake_ups(view),
        requests: requests::requests(view),
        notes,
    }
}

/// A note on what is not seen of a Go program: its goroutines are not threads.
fn waits_of_goroutines(waits: &[Wait]) -> Option<String> {
    let is_go = |wait: &Wait| wait.waiter.function.starts_with("runtime.futex");
    waits.iter().any(is_go).then(|| {
        "a Go program: goroutines that wait for a channel or a sync.Mutex have no thread, so what they wait for is not \
         seen; its own block and mutex profiles say it (runtime.SetBlockProfileRate; genba report FILE reads them)"
            .to_owned()
    })
}

/// A note where other programs took the CPUs.
fn busy_machine(view: &View<'_>) -> Option<String> {
    /// Share of runnable time without a CPU above which it is said.
    const MUCH: f64 = 0.2;
    let threads = &view.recording.threads;
    let runnable: f64 = threads.iter().map(|thread| thread.runnable as f64).sum();
    let share = runnable / (runnable + view.running()).max(1.0);
    let foreign = share * view.foreign_share();
    (foreign > MUCH).then(|| {
        format!(
            "other programs kept the CPUs busy: for {:.0} % of the time in which threads were runnable \
             these had none (taken out of the gains); measure again on a quiet machine",
            foreign * 100.0
        )
    })
}
