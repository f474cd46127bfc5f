//! Recording processes that run already, from end to end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use genba_run::{Cancel, CommandSpec, Finished, Launcher, RunError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::ProfileError;
use crate::jit::JitArtifactRecorder;
use crate::record::{
    Companion, RecordOutcome, event_of, outcome, panicked, recording_thread, stop_pipe,
};
use crate::sampler::{RecordOptions, RecordingSession, Target, choose_event, online_cpus};
use crate::wait_sampler::process_tree;

/// Longest interval between two looks at the recorder, which may have failed to write.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// What is attached to, and until when at the latest.
pub struct Attach<'a> {
    /// The processes; those that they started belong to them. None: whatever runs, until another end.
    pub pids: &'a [i32],
    /// Longest recording; without it until all processes have ended.
    pub timeout: Option<Duration>,
    /// A command that runs meanwhile and ends the recording with its end. It is ended with the
    /// recording.
    pub command: Option<(&'a mut Launcher, &'a CommandSpec)>,
}

impl Attach<'_> {
    /// Descriptors that become readable at the ends of the processes.
    pub(crate) fn open_processes(&self) -> Result<Vec<OwnedFd>, ProfileError> {
        self.pids.iter().map(|&pid| open_process(pid)).collect()
    }

    /// Returns when the processes or the command have ended, the time is up, `cancel` is triggered, or
    /// nothing is recorded any longer; with the run of the command.
    pub(crate) fn wait(
        self,
        ends: Vec<OwnedFd>,
        cancel: &Cancel,
        recorded: &dyn Fn() -> bool,
    ) -> Result<Result<Option<Finished>, RunError>, ProfileError> {
        let Some((launcher, spec)) = self.command else {
            wait(ends, None, self.timeout, cancel, recorded);
            return Ok(Ok(None));
        };
        std::thread::scope(|scope| {
            let ended = Cancel::new()?;
            let (until, done) = stop_pipe()?;
            let end = ended.clone();
            let command = recording_thread(scope, move || {
                let finished = launcher.run(spec, &end);
                drop(done);
                finished
            })?;
            wait(ends, Some(&until), self.timeout, cancel, recorded);
            ended.trigger();
            Ok(command.join().map_err(panicked)?.map(Some))
        })
    }
}

/// Records a running process with its threads and the processes that it started or starts, until it
/// ends or `cancel` is triggered.
///
/// # Errors
/// When there is no such process, it belongs to another user, nothing can be sampled, or the file
/// cannot be written. Timer signals cannot be used in a process that runs already.
pub fn attach(
    pid: i32,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
) -> Result<RecordOutcome, ProfileError> {
    let attach = Attach {
        pids: &[pid],
        timeout: None,
        command: None,
    };
    attach_with(attach, options, path, cancel, &mut ())
}

/// As [`attach`], of several processes, with a companion of the first and an end other than theirs.
///
/// # Errors
/// As [`attach`], and when the command cannot be started.
pub fn attach_with(
    what: Attach<'_>,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
    companion: &mut dyn Companion,
) -> Result<RecordOutcome, ProfileError> {
    let pids = what.pids;
    // First of all, so that no number can be reused by another process unnoticed.
    let ends = what.open_processes()?;
    let choice = choose_event(options)?;
    JitArtifactRecorder::remove_old(path);
    let mut session = RecordingSession::open_processes(pids, &choice, options, path)?;
    let jit_recorder = JitArtifactRecorder::start(pids, path, false);
    if let Some(&pid) = pids.first() {
        companion.begin(Target::Running(pid));
    }
    let started = process_tree::trees(pids).len().saturating_sub(pids.len());
    let mut notes = choice.notes.clone();
    notes.append(&mut session.notes);
    let (stop, stopper) = stop_pipe()?;
    let waited = std::thread::scope(|scope| {
        let recording = &mut session;
        let recorder = recording_thread(scope, move || recording.run(stop.as_fd()))?;
        let run = what.wait(ends, cancel, &|| recorder.is_finished())?;
        drop(stopper);
        Ok::<_, ProfileError>((run, recorder.join()))
    });
    notes.extend(jit_recorder.and_then(JitArtifactRecorder::finish));
    notes.extend(companion.end());
    let (run, recorded): (Result<Option<Finished>, RunError>, _) = waited?;
    let counts = recorded.map_err(panicked)??;
    let duration = session.close()?;
    if started > 0 {
        let whose = match pids {
            [pid] => format!("process {pid}"),
            _ => "these processes".to_owned(),
        };
        notes.push(match started {
            1 => format!("1 process that {whose} had started is recorded as well"),
            _ => format!("{started} processes that {whose} had started are recorded as well"),
        });
    }
    let runs = run?.into_iter().collect();
    let event = event_of(&choice);
    Ok(outcome(event, choice.reason, counts, duration, runs, notes))
}

/// Records all that runs on these CPUs (all, if `None`) but the idle task; `what` has no processes, and says
/// until when.
///
/// # Errors
/// When the user may not, there is no such CPU, the command cannot be started, or the file cannot be written.
pub fn record_cpus(
    cpus: Option<&[i32]>,
    what: Attach<'_>,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
) -> Result<RecordOutcome, ProfileError> {
    let cpus = chosen_cpus(cpus)?;
    let choice = choose_event(options)?;
    JitArtifactRecorder::remove_old(path);
    let mut session = RecordingSession::open_cpus(&cpus, &choice, options, path)?;
    let mut notes = choice.notes.clone();
    notes.append(&mut session.notes);
    let (stop, stopper) = stop_pipe()?;
    let (run, recorded) = std::thread::scope(|scope| {
        let recording = &mut session;
        let recorder = recording_thread(scope, move || recording.run(stop.as_fd()))?;
        let run = what.wait(Vec::new(), cancel, &|| recorder.is_finished())?;
        drop(stopper);
        Ok::<_, ProfileError>((run, recorder.join()))
    })?;
    let counts = recorded.map_err(panicked)??;
    let duration = session.close()?;
    let runs = run?.into_iter().collect();
    let event = event_of(&choice);
    Ok(outcome(event, choice.reason, counts, duration, runs, notes))
}

/// These CPUs, or all that are online.
///
/// # Errors
/// When one of them is not.
pub(crate) fn chosen_cpus(cpus: Option<&[i32]>) -> Result<Vec<i32>, ProfileError> {
    let online = online_cpus();
    let chosen = cpus.map_or(online.clone(), <[i32]>::to_vec);
    match chosen.iter().find(|cpu| !online.contains(cpu)) {
        Some(missing) => Err(ProfileError::NoSuchCpu(*missing)),
        None => Ok(chosen),
    }
}

/// A descriptor that becomes readable at the end of the process.
fn open_process(pid: i32) -> Result<OwnedFd, ProfileError> {
    let gone = || ProfileError::Attach {
        pid,
        why: "there is no such process".to_owned(),
    };
    if pid <= 0 {
        return Err(gone());
    }
    let process = Pid::from_raw(pid).ok_or_else(gone)?;
    pidfd_open(process, PidfdFlags::empty()).map_err(|error| match error {
        rustix::io::Errno::SRCH => gone(),
        other => ProfileError::Attach {
            pid,
            why: other.to_string(),
        },
    })
}

/// Returns when all processes have ended, `until` is closed, the time is up, `cancel` is triggered, or
/// nothing is recorded any longer.
fn wait(
    mut ends: Vec<OwnedFd>,
    until: Option<&io::PipeReader>,
    timeout: Option<Duration>,
    cancel: &Cancel,
    recorded: &dyn Fn() -> bool,
) {
    let began = Instant::now();
    // Of all that runs on a CPU nothing's end is awaited.
    let until_ends = !ends.is_empty();
    while !recorded() && (!until_ends || !ends.is_empty()) {
        let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let interval = left.map_or(MAX_INTERVAL, |left| left.min(MAX_INTERVAL));
        let Ok(interval) = interval.try_into() else {
            return;
        };
        let mut fds: Vec<PollFd<'_>> = ends
            .iter()
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        fds.push(PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN));
        fds.extend(until.map(|until| PollFd::new(until, PollFlags::IN)));
        match poll(&mut fds, Some(&interval)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready[ends.len()..].contains(&true) {
            return;
        }
        let mut ready = ready.into_iter();
        ends.retain(|_| !ready.next().unwrap_or(false));
    }
}
