//! A run in progress: blocked before `execve`, or running.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::embedded_launcher::Process;
use crate::output::Reader;
use crate::protocol::{Reply, reply, request};
use crate::run_account::finished;
use crate::{Cancel, CommandSpec, Finished, Launcher, OutputInfo, RunError, start_error};

/// Bytes read from a pipe before the other descriptors are polled again.
const MAX_BYTES_PER_POLL: u64 = 4 << 20;
/// Size of the read buffer.
const BUFFER_BYTES: usize = 256 << 10;
/// Maximum bytes read after the run's end: a process that may stay could write forever. More than
/// a pipe holds.
const MAX_BYTES_AFTER_END: u64 = 4 << 20;

/// Longest grace period after Ctrl-C, whatever the command's own: the user waits.
const MAX_GRACE_AFTER_CANCEL: Duration = Duration::from_millis(1000);

/// The command, for error messages.
pub struct Context {
    pub spec: CommandSpec,
    pub program: PathBuf,
    pub bytes: usize,
}

/// Shared by [`Gated`] and [`Running`]. Dropping it before its end ends the run at once.
pub struct Session<'a> {
    launcher: &'a mut Launcher,
    /// `None` once given back.
    process: Option<Process>,
    readers: [Option<Reader>; 2],
    context: Context,
    retire: bool,
    pid: i32,
    ended: Option<Reply>,
    end_sent: bool,
}

impl<'a> Session<'a> {
    pub fn new(
        launcher: &'a mut Launcher,
        process: Process,
        readers: [Option<Reader>; 2],
        context: Context,
        retire: bool,
    ) -> Self {
        let process = Some(process);
        let (pid, ended, end_sent) = (0, None, false);
        Self {
            launcher,
            process,
            readers,
            context,
            retire,
            pid,
            ended,
            end_sent,
        }
    }

    fn process(&self) -> Result<&Process, RunError> {
        self.process.as_ref().ok_or(RunError::LauncherDied)
    }

    /// Reads one reply; an error if the child failed to start.
    fn receive(&mut self) -> Result<(), RunError> {
        let received = self.process()?.channel()?.receive();
        let answer = match received {
            Ok(answer) => answer,
            Err(error) => {
                // The connection is unusable.
                self.process = None;
                return Err(error);
            }
        };
        match answer.kind {
            reply::STARTED => {
                self.pid = answer.pid as i32;
                Ok(())
            }
            reply::ENDED => {
                self.pid = answer.pid as i32;
                self.ended = Some(answer);
                Ok(())
            }
            reply::FAILED => {
                self.give_back(0, true);
                let Context {
                    spec,
                    program,
                    bytes,
                } = &self.context;
                Err(start_error::failure(
                    spec,
                    program,
                    *bytes,
                    answer.stage,
                    answer.errno,
                ))
            }
            _ => {
                self.process = None;
                Err(RunError::Protocol)
            }
        }
    }

    pub fn expect_started(&mut self) -> Result<(), RunError> {
        self.receive()
    }

    fn give_back(&mut self, kept: u64, healthy: bool) {
        if let Some(process) = self.process.take() {
            let keep = self.context.spec.leave_running;
            self.launcher
                .give_back(process, keep, kept, healthy && !self.retire);
        }
    }

    /// Asks the launcher to end the run; SIGKILL follows after `grace`.
    fn end(&mut self, grace: Duration) -> Result<(), RunError> {
        self.end_sent = true;
        let grace = u64::try_from(grace.as_nanos())
            .unwrap_or(u64::MAX)
            .min(u64::MAX / 2);
        self.process()?
            .channel()?
            .request(request::END, &grace.to_le_bytes())
    }

    fn pump_outputs(&mut self, most: u64) -> Result<(), RunError> {
        if self
            .readers
            .iter()
            .flatten()
            .any(|reader| reader.pipe().is_some())
        {
            self.launcher.buffer.resize(BUFFER_BYTES, 0);
        }
        for reader in self.readers.iter_mut().flatten() {
            reader.pump(&mut self.launcher.buffer, most)?;
        }
        Ok(())
    }

    fn fds(&self) -> Result<Vec<BorrowedFd<'_>>, RunError> {
        let pipes = self
            .readers
            .iter()
            .flatten()
            .filter_map(Reader::pipe)
            .map(AsFd::as_fd);
        Ok([self.process()?.channel()?.as_fd()]
            .into_iter()
            .chain(pipes)
            .collect())
    }

    /// Polls the launcher, the pipes and the cancel token; returns whether the launcher replied.
    fn poll(&self, cancel: Option<&Cancel>, timeout: Option<&Timespec>) -> Result<bool, RunError> {
        let fds = self.fds()?;
        let mut fds: Vec<_> = fds
            .iter()
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        fds.extend(cancel.map(|cancel| PollFd::new(cancel, PollFlags::IN)));
        match poll(&mut fds, timeout) {
            Ok(_) => Ok(fds
                .first()
                .is_some_and(|socket| !socket.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(RunError::io("wait for the target", errno)),
        }
    }

    fn wait(&mut self, cancel: Option<&Cancel>) -> Result<(), RunError> {
        while self.ended.is_none() {
            let watch = cancel.filter(|_| !self.end_sent);
            let answered = self.poll(watch, None)?;
            if answered {
                self.receive()?;
            }
            if watch.is_some_and(Cancel::is_triggered) && self.ended.is_none() {
                self.end(self.context.spec.grace.min(MAX_GRACE_AFTER_CANCEL))?;
            }
            self.pump_outputs(MAX_BYTES_PER_POLL)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Finished, RunError> {
        let answer = self.ended.ok_or(RunError::Protocol)?;
        self.pump_outputs(MAX_BYTES_AFTER_END)?;
        let [stdout, stderr] = std::mem::take(&mut self.readers)
            .map(|reader| reader.map_or_else(OutputInfo::default, Reader::finish));
        self.give_back(answer.left, answer.survivors == 0);
        Ok(finished(&answer, stdout, stderr))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if self.process.is_none() {
            return;
        }
        // After an error the process is gone already; errors here have no receiver.
        if self.ended.is_none() && self.end(Duration::ZERO).is_ok() {
            let _ = self.wait(None);
        }
        let ended = self.ended;
        self.give_back(0, ended.is_some_and(|answer| answer.survivors == 0));
    }
}

/// A process that waits just before `execve`. Dropping it ends it.
pub struct Gated<'a> {
    session: Session<'a>,
}

impl<'a> Gated<'a> {
    pub(crate) fn new(session: Session<'a>) -> Self {
        Self { session }
    }

    /// Its process id, which it keeps as the target.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.session.pid
    }

    /// Lets it execute the target.
    ///
    /// # Errors
    /// `execve` failed, or the process was killed.
    pub fn release(mut self) -> Result<Running<'a>, RunError> {
        self.session
            .process()?
            .channel()?
            .request(request::RELEASE, &[])?;
        self.session.receive()?;
        Ok(Running::new(self.session))
    }
}

/// A running target. Dropping it ends its process tree at once.
pub struct Running<'a> {
    session: Session<'a>,
}

impl<'a> Running<'a> {
    pub(crate) fn new(session: Session<'a>) -> Self {
        Self { session }
    }

    /// The target's process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.session.pid
    }

    /// Descriptors to poll: the first is readable when the run is over, the others when the target
    /// has written. Poll all of them and call [`Self::pump`], or the target blocks on a full pipe.
    ///
    /// # Errors
    /// If the launcher died.
    pub fn fds(&self) -> Result<Vec<BorrowedFd<'_>>, RunError> {
        self.session.fds()
    }

    /// Reads the target's output without waiting; returns whether the run is over, so that
    /// [`Self::wait`] returns at once.
    ///
    /// # Errors
    /// If the launcher died.
    pub fn pump(&mut self) -> Result<bool, RunError> {
        if self.session.ended.is_none() {
            if self.session.poll(None, Some(&Timespec::default()))? {
                self.session.receive()?;
            }
            self.session.pump_outputs(MAX_BYTES_PER_POLL)?;
        }
        Ok(self.session.ended.is_some())
    }

    /// Ends the run: SIGTERM to the process tree, SIGKILL after the grace period.
    ///
    /// # Errors
    /// If the launcher died.
    pub fn end(&mut self) -> Result<(), RunError> {
        if self.session.ended.is_some() {
            return Ok(());
        }
        self.session.end(self.session.context.spec.grace)
    }

    /// Waits for the end of the run, or ends it when `cancel` is triggered.
    ///
    /// # Errors
    /// If the launcher died.
    pub fn wait(mut self, cancel: &Cancel) -> Result<Finished, RunError> {
        self.session.wait(Some(cancel))?;
        self.session.finish()
    }
}

impl AsFd for Running<'_> {
    /// Readable when the run is over. After the launcher died, a number that `poll` ignores; `pump`
    /// and `wait` return the error.
    fn as_fd(&self) -> BorrowedFd<'_> {
        let channel = self.session.process().and_then(Process::channel);
        channel.map_or(rustix::fs::CWD, AsFd::as_fd)
    }
}
