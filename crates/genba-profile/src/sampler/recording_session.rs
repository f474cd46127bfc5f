//! A recording in progress: events attached to a target, ring buffers, and the file.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};

use super::event_choice::EventChoice;
use super::host_description::{describe, monotonic_ns};
use super::opened_events::{RingUse, Sampled, Target, open_all};
use super::record_options::RecordOptions;
use super::ring_buffer::{RingBuffer, SampleCounts};
use super::{initial_records, syscalls};
use crate::error::ProfileError;
use crate::perfdata::writer::{Description, Writer, WrittenEvent};
use crate::wait_sampler::process_tree;

/// The open events of a target, their ring buffers, and the file for their records.
pub struct RecordingSession {
    events: Vec<OwnedFd>,
    rings: Vec<RingBuffer>,
    /// For each ring buffer the index of its event in `events`.
    ring_events: Vec<usize>,
    writer: Writer,
    path: PathBuf,
    description: Description,
    counts: SampleCounts,
    began: u64,
    ended: u64,
    /// What was requested and cannot be had, each with the command that allows it.
    pub notes: Vec<String>,
}

impl std::fmt::Debug for RecordingSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("path", &self.path)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl RecordingSession {
    /// Attaches to `target` and creates the file. A target before its `execve` may be released
    /// after this: all of it is recorded.
    ///
    /// # Errors
    /// When the kernel refuses the events or the file cannot be written.
    pub fn open(
        target: Target,
        choice: &EventChoice,
        options: &RecordOptions,
        path: &Path,
    ) -> Result<Self, ProfileError> {
        match target {
            Target::BeforeExec(pid) => {
                Self::open_sampled(Sampled::BeforeExec(pid), choice, options, path)
            }
            Target::Running(pid) => Self::open_processes(&[pid], choice, options, path),
        }
    }

    /// Attaches to running processes and all that they started, and creates the file. Sampling
    /// begins at once.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_processes(
        pids: &[i32],
        choice: &EventChoice,
        options: &RecordOptions,
        path: &Path,
    ) -> Result<Self, ProfileError> {
        Self::open_sampled(Sampled::Running(pids), choice, options, path)
    }

    /// Attaches to all that runs on these CPUs, and creates the file. Sampling begins at once.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_cpus(
        cpus: &[i32],
        choice: &EventChoice,
        options: &RecordOptions,
        path: &Path,
    ) -> Result<Self, ProfileError> {
        Self::open_sampled(Sampled::Cpus(cpus), choice, options, path)
    }

    fn open_sampled(
        target: Sampled<'_>,
        choice: &EventChoice,
        options: &RecordOptions,
        path: &Path,
    ) -> Result<Self, ProfileError> {
        let mut notes = Vec::new();
        syscalls::raise_descriptor_limit();
        let opened = open_all(target, choice, options, RingUse::Drained, &mut notes)?;
        let io = |source| ProfileError::Write {
            path: path.to_owned(),
            source,
        };
        let ids = opened
            .events
            .iter()
            .map(syscalls::id)
            .collect::<Result<_, _>>();
        let event = WrittenEvent {
            attr: syscalls::attr_bytes(&opened.attr),
            name: choice.name(),
            ids: ids.map_err(io)?,
        };
        let mut session = Self {
            events: opened.events,
            rings: opened.rings,
            ring_events: opened.ring_events,
            writer: Writer::create(path, event).map_err(io)?,
            path: path.to_owned(),
            description: describe(&options.command_line),
            counts: SampleCounts::default(),
            began: monotonic_ns(),
            ended: 0,
            notes,
        };
        session.write_initial_records(target, choice).map_err(io)?;
        Ok(session)
    }

    /// Writes the records of what existed before, and starts sampling a running target.
    fn write_initial_records(
        &mut self,
        target: Sampled<'_>,
        choice: &EventChoice,
    ) -> io::Result<()> {
        if choice.kernel {
            for record in initial_records::kernel_maps() {
                self.writer.append(&record)?;
            }
        } else {
            self.description.kernel_build_id = None;
        }
        self.begin(target)
    }

    /// Writes the target's name and mappings, and starts sampling one that runs.
    fn begin(&mut self, target: Sampled<'_>) -> io::Result<()> {
        match target {
            Sampled::BeforeExec(pid) => self
                .writer
                .append(&initial_records::thread_name(pid, pid))?,
            Sampled::Running(pids) => {
                let pids = || process_tree::trees(pids).into_iter().map(|(pid, _)| pid);
                self.begin_running(&mut || pids().collect())?;
            }
            Sampled::Cpus(_) => self.begin_running(&mut process_tree::all)?,
        }
        self.writer.flush()
    }

    fn begin_running(&mut self, pids: &mut dyn FnMut() -> Vec<i32>) -> io::Result<()> {
        // Enabled before mappings are read: what is mapped in between is recorded, too.
        for event in &self.events {
            syscalls::enable(event)?;
        }
        for pid in pids() {
            for record in initial_records::running_process(pid) {
                self.writer.append(&record)?;
            }
        }
        Ok(())
    }

    /// Moves records into the file until `stop` becomes readable, then disables the events and
    /// writes the remaining records. Returns the counts over all targets so far.
    ///
    /// # Errors
    /// When the file cannot be written. Records written before can be read.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> Result<SampleCounts, ProfileError> {
        let result = self.move_records(stop);
        result.map_err(|source| self.cannot_write(source))
    }

    /// Attaches to another target, whose records are appended to the same file.
    ///
    /// # Errors
    /// As [`RecordingSession::open`].
    pub fn attach_next(
        &mut self,
        target: Target,
        choice: &EventChoice,
        options: &RecordOptions,
    ) -> Result<(), ProfileError> {
        let pid = [target.pid()];
        let target = match target {
            Target::BeforeExec(pid) => Sampled::BeforeExec(pid),
            Target::Running(_) => Sampled::Running(&pid),
        };
        // The last target's ring buffers hold locked memory, so they are unmapped first.
        self.rings.clear();
        self.events.clear();
        let opened = open_all(target, choice, options, RingUse::Drained, &mut Vec::new())?;
        self.events = opened.events;
        self.rings = opened.rings;
        self.ring_events = opened.ring_events;
        self.begin(target)
            .map_err(|source| self.cannot_write(source))
    }

    /// Completes the file. Returns the nanoseconds from the start of the first target's recording
    /// to the end of the last one's.
    ///
    /// # Errors
    /// When the file cannot be written. Records written before can be read.
    pub fn close(mut self) -> Result<u64, ProfileError> {
        self.description.sample_time = Some((self.began, self.ended));
        let result = self.writer.finish(&self.description);
        result.map_err(|source| self.cannot_write(source))?;
        Ok(self.ended - self.began)
    }

    fn cannot_write(&self, source: io::Error) -> ProfileError {
        ProfileError::Write {
            path: self.path.clone(),
            source,
        }
    }

    fn move_records(&mut self, stop: BorrowedFd<'_>) -> io::Result<SampleCounts> {
        // Ring buffers that fill slowly are emptied all the same, so that a recorder that is killed
        // loses one second at most.
        const MAX_INTERVAL: rustix::event::Timespec = rustix::event::Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let mut live = self.ring_events.clone();
        loop {
            let mut fds = vec![PollFd::new(&stop, PollFlags::IN)];
            fds.extend(
                live.iter()
                    .map(|&e| PollFd::new(&self.events[e], PollFlags::IN)),
            );
            match poll(&mut fds, Some(&MAX_INTERVAL)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            let stopped = !fds[0].revents().is_empty();
            // An event whose threads have all ended stays hung up: poll would return at once.
            let gone = PollFlags::HUP | PollFlags::ERR;
            let alive: Vec<usize> = live
                .iter()
                .zip(&fds[1..])
                .filter(|(_, fd)| !fd.revents().intersects(gone))
                .map(|(&e, _)| e)
                .collect();
            drop(fds);
            live = alive;
            if stopped {
                break;
            }
            self.drain_rings()?;
        }
        for event in &self.events {
            syscalls::disable(event)?;
        }
        self.ended = monotonic_ns();
        self.drain_rings()?;
        Ok(self.counts)
    }

    fn drain_rings(&mut self) -> io::Result<()> {
        let before = self.writer.written();
        for ring in &mut self.rings {
            let writer = &mut self.writer;
            ring.drain(&mut self.counts, &mut |bytes| writer.append(bytes))?;
        }
        if self.writer.written() > before {
            self.writer.finish_round()?;
            self.writer.flush()?;
        }
        Ok(())
    }
}
