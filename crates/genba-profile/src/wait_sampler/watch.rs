//! Watching a command or a running process from end to end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use genba_run::{Cancel, CommandSpec, Finished, Launcher};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Scripts, WaitRecording, WaitSampler};
use crate::error::ProfileError;
use crate::jit::JitArtifactRecorder;
use crate::sampler::Target;

fn internal(error: impl std::fmt::Display) -> ProfileError {
    ProfileError::Internal(error.to_string())
}

/// Runs a command once and watches what its threads wait for. Stacks are recorded into `path`;
/// `command_line` is genba's own, for that file; `scripts` reads the frames of interpreters; `requests` asks
/// for those that it serves.
///
/// # Errors
/// When the command cannot be started or the file cannot be written.
pub fn watch_command(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    path: &Path,
    command_line: &[String],
    scripts: &mut dyn Scripts,
    requests: bool,
    cancel: &Cancel,
) -> Result<(WaitRecording, Finished), ProfileError> {
    let gated = launcher.prepare(spec)?;
    let pid = gated.pid();
    let mut sampler = WaitSampler::open(
        Target::BeforeExec(pid),
        path,
        command_line,
        scripts,
        requests,
    )?;
    JitArtifactRecorder::remove_old(path);
    let jit = JitArtifactRecorder::start(&[pid], path, true);
    let (stop, stopper) = io::pipe().map_err(internal)?;
    let watching = &mut sampler;
    let (finished, watched) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("genba-wait".to_owned())
            .spawn_scoped(scope, move || watching.run(stop.as_fd()))
            .map_err(internal)?;
        let finished = gated.release().and_then(|running| running.wait(cancel));
        drop(stopper);
        Ok::<_, ProfileError>((finished, thread.join()))
    })?;
    let notes = jit.and_then(JitArtifactRecorder::finish);
    let finished = finished?;
    ended(watched, path)?;
    let mut recording = sampler.finish();
    recording.notes.extend(notes);
    recording.notes.extend(finished.note());
    Ok((recording, finished))
}

/// Watches a running process with all its threads and the processes that it starts, for a time or
/// until it ends or `cancel` is triggered.
///
/// # Errors
/// When there is no such process or the file cannot be written.
pub fn watch_process(
    pid: i32,
    duration: Option<Duration>,
    path: &Path,
    command_line: &[String],
    scripts: &mut dyn Scripts,
    requests: bool,
    cancel: &Cancel,
) -> Result<WaitRecording, ProfileError> {
    let failed = |why: String| ProfileError::Attach { pid, why };
    let process = (pid > 0)
        .then(|| Pid::from_raw(pid))
        .flatten()
        .ok_or_else(|| failed("there is no such process".to_owned()))?;
    let end: OwnedFd = pidfd_open(process, PidfdFlags::empty()).map_err(|error| match error {
        rustix::io::Errno::SRCH => failed("there is no such process".to_owned()),
        other => failed(other.to_string()),
    })?;
    let mut sampler =
        WaitSampler::open(Target::Running(pid), path, command_line, scripts, requests)?;
    JitArtifactRecorder::remove_old(path);
    let jit = JitArtifactRecorder::start(&[pid], path, false);
    let (stop, stopper) = io::pipe().map_err(internal)?;
    let until = duration.map(|duration| Instant::now() + duration);
    let watching = &mut sampler;
    let watched = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("genba-wait".to_owned())
            .spawn_scoped(scope, move || watching.run(stop.as_fd()))
            .map_err(internal)?;
        while !thread.is_finished() {
            // Once a second the watching thread is checked: it may have failed to write.
            let left = until.map_or(Duration::from_secs(1), |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                break;
            }
            let left = left.min(Duration::from_secs(1));
            let timeout = rustix::event::Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut fds = [
                PollFd::new(&end, PollFlags::IN),
                PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN),
            ];
            if !matches!(
                poll(&mut fds, Some(&timeout)),
                Ok(0) | Err(rustix::io::Errno::INTR)
            ) {
                break;
            }
        }
        drop(stopper);
        Ok::<_, ProfileError>(thread.join())
    })?;
    let notes = jit.and_then(JitArtifactRecorder::finish);
    ended(watched, path)?;
    let mut recording = sampler.finish();
    recording.notes.extend(notes);
    Ok(recording)
}

fn ended(watched: std::thread::Result<io::Result<()>>, path: &Path) -> Result<(), ProfileError> {
    let watched = watched.map_err(|_| internal("the watching thread ended unexpectedly"))?;
    watched.map_err(|source| ProfileError::Write {
        path: path.to_owned(),
        source,
    })
}
