//! Snapshots of the last moments of what runs, on request, for slowness that is rare.

use std::io::PipeReader;
use std::os::fd::AsFd;
use std::time::Duration;

use genba_run::{Cancel, CommandSpec, Finished, Launcher, RunError};

use crate::attach::{Attach, chosen_cpus};
use crate::error::ProfileError;
use crate::record::{RecordOutcome, event_of, outcome, panicked, recording_thread, stop_pipe};
use crate::sampler::opened_events::Sampled;
use crate::sampler::snapshot_session::SnapshotSession;
use crate::sampler::{EventChoice, RecordOptions, SampleCounts, choose_event, monotonic_ns};
pub use crate::sampler::{Snapshot, SnapshotSink};

/// What snapshots are of.
pub enum Snapshotted<'a> {
    /// A command.
    Command(&'a mut Launcher, &'a CommandSpec),
    /// Processes that run already.
    Processes(Attach<'a>),
    /// All that runs on these CPUs, or on all if `None`.
    Cpus(Option<&'a [i32]>, Attach<'a>),
}

/// When snapshots are written, and of what time.
pub struct SnapshotPlan<'a> {
    /// How far back a snapshot reaches.
    pub window: Duration,
    /// A snapshot is written when bytes come.
    pub requests: PipeReader,
    /// Whether one more is written at the end. After Ctrl-C it is in any case: what the user waited for may be in it.
    pub at_end: bool,
    /// Gets the snapshots.
    pub sink: &'a mut dyn SnapshotSink,
}

/// Samples into ring buffers that are overwritten, and writes what they hold on request.
///
/// # Errors
/// When nothing can be sampled (there is no fallback to timer signals), the command cannot be started, or the
/// processes cannot be attached to.
pub fn record_snapshots(
    what: Snapshotted<'_>,
    plan: SnapshotPlan<'_>,
    options: &RecordOptions,
    cancel: &Cancel,
) -> Result<RecordOutcome, ProfileError> {
    // First of all, so that no number can be reused by another process unnoticed.
    let ends = match &what {
        Snapshotted::Processes(attach) => attach.open_processes()?,
        _ => Vec::new(),
    };
    let choice = choose_event(options)?;
    let open = |target| SnapshotSession::open(target, &choice, options, plan.window);
    match what {
        Snapshotted::Command(launcher, spec) => {
            let gated = launcher.prepare(spec)?;
            let session = open(Sampled::BeforeExec(gated.pid()))?;
            conduct(session, plan, &choice, cancel, |_| {
                Ok(gated
                    .release()
                    .and_then(|running| running.wait(cancel))
                    .map(Some))
            })
        }
        Snapshotted::Processes(attach) => {
            let session = open(Sampled::Running(attach.pids))?;
            conduct(session, plan, &choice, cancel, |recorded| {
                attach.wait(ends, cancel, recorded)
            })
        }
        Snapshotted::Cpus(cpus, attach) => {
            let cpus = chosen_cpus(cpus)?;
            let session = open(Sampled::Cpus(&cpus))?;
            conduct(session, plan, &choice, cancel, |recorded| {
                attach.wait(ends, cancel, recorded)
            })
        }
    }
}

/// The end of what is recorded, with the run of a command if there was one.
type Ended = Result<Result<Option<Finished>, RunError>, ProfileError>;

/// Serves requests until `wait`, which is told whether nothing is recorded any longer, returns.
fn conduct(
    mut session: SnapshotSession,
    plan: SnapshotPlan<'_>,
    choice: &EventChoice,
    cancel: &Cancel,
    wait: impl FnOnce(&dyn Fn() -> bool) -> Ended,
) -> Result<RecordOutcome, ProfileError> {
    let SnapshotPlan {
        mut requests,
        at_end,
        sink,
        ..
    } = plan;
    sink.begun();
    let began = monotonic_ns();
    let (stop, stopper) = stop_pipe()?;
    let last = || at_end || cancel.is_triggered();
    let serving = &mut session;
    let (run, served) = std::thread::scope(|scope| {
        let recorder = recording_thread(scope, move || {
            serving.run(stop.as_fd(), &mut requests, &last, sink)
        })?;
        let run = wait(&|| recorder.is_finished());
        drop(stopper);
        Ok::<_, ProfileError>((run?, recorder.join()))
    })?;
    let counts: SampleCounts = served.map_err(panicked)??;
    let runs = run?.into_iter().collect();
    let mut notes = choice.notes.clone();
    notes.append(&mut session.notes);
    Ok(outcome(
        event_of(choice),
        choice.reason.clone(),
        counts,
        monotonic_ns() - began,
        runs,
        notes,
    ))
}
