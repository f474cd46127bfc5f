//! Starts the process of a command through the launcher.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;

use crate::embedded_launcher::Process;
use crate::protocol::{Start, flag};
use crate::run_in_progress::{Context, Gated, Running, Session};
use crate::start_request::start_request;
use crate::target_streams::Streams;
use crate::{Cancel, CommandSpec, Finished, RunError, Stdin, private_directory, resolve_program};

/// A larger request grows the launcher's memory, so the launcher is replaced afterwards.
const LARGE_REQUEST: usize = 256 << 10;

/// Runs commands, one at a time. It takes a process of some 100 KiB; concurrent runs need one each.
pub struct Launcher {
    /// Started when needed, and restarted after it died.
    pub(crate) process: Option<Process>,
    /// Launchers whose runs left processes running.
    pub(crate) keepers: Vec<Process>,
    /// Buffer for reading pipes.
    pub(crate) buffer: Vec<u8>,
    frame: Vec<u8>,
}

impl Launcher {
    /// Starts the launcher, and removes temporary files of processes that were killed.
    ///
    /// # Errors
    /// [`RunError::Launcher`] where neither memory nor any directory may be executed from.
    pub fn new() -> Result<Self, RunError> {
        private_directory::remove_left();
        Ok(Self {
            process: Some(Process::start()?),
            keepers: Vec::new(),
            buffer: Vec::new(),
            frame: Vec::new(),
        })
    }

    /// Process id of the launcher, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// If it cannot be started, or `cancel` was triggered before. A target that fails, is cancelled
    /// or times out is not an error.
    pub fn run(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        if cancel.is_triggered() {
            return Err(RunError::Cancelled);
        }
        Running::new(self.begin(spec, 0)?).wait(cancel)
    }

    /// Starts a command and returns once it runs.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&mut self, spec: &CommandSpec) -> Result<Running<'_>, RunError> {
        let mut session = self.begin(spec, flag::ANNOUNCE)?;
        session.expect_started()?;
        Ok(Running::new(session))
    }

    /// Creates the process with its streams, directory and CPUs, blocked just before `execve`.
    ///
    /// # Errors
    /// If it cannot be created. Errors of `execve` are returned by [`Gated::release`].
    pub fn prepare(&mut self, spec: &CommandSpec) -> Result<Gated<'_>, RunError> {
        let mut session = self.begin(spec, flag::ANNOUNCE | flag::GATED)?;
        session.expect_started()?;
        Ok(Gated::new(session))
    }

    fn begin(&mut self, spec: &CommandSpec, flags: u32) -> Result<Session<'_>, RunError> {
        let name = spec.argv.first().ok_or(RunError::EmptyCommand)?;
        let path = spec.environment.get(OsStr::new("PATH"));
        let here = std::env::current_dir().ok();
        let directory = match (&spec.directory, &here) {
            (Some(directory), Some(here)) => Some(here.join(directory)),
            (directory, _) => directory.clone(),
        };
        if let Some(path) = &spec.directory {
            std::fs::read_dir(path)
                .map(drop)
                .or_else(|error| match error.kind() {
                    // It may be entered without being listed.
                    std::io::ErrorKind::PermissionDenied => Ok(()),
                    _ => Err(error),
                })
                .map_err(|source| RunError::Directory {
                    path: path.clone(),
                    source,
                })?;
        }
        let program = resolve_program(name, path.as_deref(), directory.as_deref())?;
        let streams = Streams::open(spec)?;

        // What is to stay running needs a launcher of its own: the next run's account and end
        // must not be mixed up with it.
        let process = match self.process.take() {
            Some(process) if !spec.leave_running => process,
            other => {
                self.process = other;
                Process::start()?
            }
        };
        let directory = directory
            .or(here)
            .filter(|path| Some(path) != process.directory.as_ref());
        let sent = self.send(
            &process,
            spec,
            &program,
            directory.as_deref(),
            flags,
            &streams,
        );
        match sent {
            Ok(bytes) => {
                let context = Context {
                    spec: spec.clone(),
                    program,
                    bytes,
                };
                let retire = bytes > LARGE_REQUEST;
                Ok(Session::new(
                    self,
                    process,
                    streams.into_readers(),
                    context,
                    retire,
                ))
            }
            Err(error) => {
                // Refused before a byte was sent, unless the launcher has gone.
                let gone = matches!(error, RunError::LauncherDied | RunError::Io { .. });
                if !gone && !spec.leave_running {
                    self.process = Some(process);
                }
                Err(error)
            }
        }
    }

    fn send(
        &mut self,
        process: &Process,
        spec: &CommandSpec,
        program: &Path,
        directory: Option<&Path>,
        mut flags: u32,
        streams: &Streams,
    ) -> Result<usize, RunError> {
        if spec.leave_running {
            flags |= flag::KEEP;
        }
        if matches!(spec.stdin, Stdin::Inherit) && std::io::stdin().is_terminal() {
            flags |= flag::FOREGROUND;
        }
        let group = rustix::process::getpgrp().as_raw_nonzero().get() as u32;
        let start = Start {
            flags,
            streams: streams.kinds,
            group,
            ..Start::default()
        };
        let bytes = start_request(&mut self.frame, spec, program, directory, start)?;
        process
            .channel()?
            .send(&self.frame, &streams.descriptors())?;
        if self.frame.capacity() > LARGE_REQUEST {
            self.frame = Vec::new();
        }
        Ok(bytes)
    }

    /// Takes a launcher back after a run.
    pub(crate) fn give_back(&mut self, process: Process, keep: bool, kept: u64, reusable: bool) {
        if keep {
            if kept > 0 {
                self.keepers.push(process);
            }
        } else if reusable {
            self.process = Some(process);
        }
        // Otherwise it ends here, and the next run starts another.
    }
}
