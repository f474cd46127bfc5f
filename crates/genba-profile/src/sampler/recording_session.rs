//! A recording in progress: events attached to a target, ring buffers, and the file.

use std::collections::HashSet;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use perf_event_open_sys::bindings::{PERF_TYPE_SOFTWARE, perf_event_attr};
use rustix::event::{PollFd, PollFlags, poll};

use super::event_attr::{AttrPlan, build};
use super::event_choice::EventChoice;
use super::host_description::{describe, monotonic_ns, online_cpus};
use super::record_options::{CallGraph, RecordOptions};
use super::ring_buffer::{RingBuffer, SampleCounts};
use super::{initial_records, syscalls};
use crate::error::ProfileError;
use crate::perfdata::writer::{Description, Writer, WrittenEvent};
use crate::permission;
use crate::wait_sampler::process_tree;

/// The process to attach to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process that waits just before `execve`: sampling begins there.
    BeforeExec(i32),
    /// A running process with all its threads: sampling begins at once.
    Running(i32),
}

impl Target {
    fn pid(self) -> i32 {
        match self {
            Self::BeforeExec(pid) | Self::Running(pid) => pid,
        }
    }
}

/// What is sampled: one target, processes that run with those that they started, or CPUs.
#[derive(Clone, Copy)]
enum Sampled<'a> {
    BeforeExec(i32),
    Running(&'a [i32]),
    /// All that runs on these CPUs.
    Cpus(&'a [i32]),
}

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

/// The events of a target, opened on every CPU.
pub(crate) struct OpenedEvents {
    /// One event per thread and CPU.
    pub(crate) events: Vec<OwnedFd>,
    /// Thread and CPU of each event.
    pub(crate) places: Vec<(i32, i32)>,
    /// One ring buffer per CPU.
    pub(crate) rings: Vec<RingBuffer>,
    /// For each ring buffer the index of its event.
    pub(crate) ring_events: Vec<usize>,
    /// The attribute as the kernel accepted it.
    pub(crate) attr: perf_event_attr,
}

impl OpenedEvents {
    fn none(attr: &perf_event_attr) -> Self {
        Self {
            events: Vec::new(),
            places: Vec::new(),
            rings: Vec::new(),
            ring_events: Vec::new(),
            attr: *attr,
        }
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
        let opened = open_all(target, choice, options, &mut notes)?;
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
        let opened = open_all(target, choice, options, &mut Vec::new())?;
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

/// Pages of a CPU's ring buffer: half a megabyte as perf has, and more for stack copies, which
/// fill it 200 times as fast.
fn default_pages(call_graph: CallGraph) -> usize {
    let bytes = match call_graph {
        CallGraph::Dwarf(_) => 8 << 20,
        _ => 512 << 10,
    };
    bytes / rustix::param::page_size()
}

fn open_all(
    target: Sampled<'_>,
    choice: &EventChoice,
    options: &RecordOptions,
    notes: &mut Vec<String>,
) -> Result<OpenedEvents, ProfileError> {
    let failed = |what, source| ProfileError::Perf {
        event: choice.name(),
        what,
        source,
    };
    let wanted = options
        .ring_pages
        .unwrap_or_else(|| default_pages(options.call_graph));
    let wanted = wanted.max(1).next_power_of_two();
    let mut pages = wanted;
    let mut build_ids = true;
    loop {
        let plan = AttrPlan {
            event: choice.event.clone(),
            rate: choice.rate,
            call_graph: options.call_graph,
            precise_ip: choice.precise_ip,
            exclude_kernel: !choice.kernel,
            on_exec: matches!(target, Sampled::BeforeExec(_)),
            build_ids,
            switches: options.switches,
            watermark: (pages * rustix::param::page_size() / 2) as u32,
        };
        let mut attr = build(&plan);
        let opened = match target {
            Sampled::BeforeExec(pid) => open_events(Target::BeforeExec(pid), &mut attr, pages),
            Sampled::Running(pids) => {
                let threads = || {
                    let processes = process_tree::trees(pids);
                    let pids = processes.into_iter().map(|(pid, _)| pid);
                    pids.flat_map(initial_records::threads).collect()
                };
                open_threads(pids, &threads, &mut attr, pages)
            }
            Sampled::Cpus(cpus) => open_cpus(cpus, &mut attr, pages),
        };
        match opened {
            Ok(opened) => {
                if pages < wanted {
                    notes.push(format!(
                        "ring buffers have {} instead of {} KiB per CPU (samples may be lost): the \
                         limit on locked memory is reached\n  to allow more: sudo sysctl \
                         kernel.perf_event_mlock_kb={}",
                        pages * rustix::param::page_size() / 1024,
                        wanted * rustix::param::page_size() / 1024,
                        (wanted + 1) * rustix::param::page_size() / 1024
                    ));
                }
                return Ok(opened);
            }
            // Locked memory is accounted to the user over all ring buffers.
            Err((OpenStep::Ring, e))
                if pages > 1 && matches!(e.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) =>
            {
                pages /= 2;
            }
            // Kernels before 5.12 do not know build ids in map records.
            Err((OpenStep::Open, e)) if build_ids && e.raw_os_error() == Some(libc::EINVAL) => {
                build_ids = false;
            }
            Err((OpenStep::Open, e))
                if matches!(target, Sampled::Cpus(_))
                    && matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM)) =>
            {
                return Err(ProfileError::SystemWide(permission::paranoid()));
            }
            Err((OpenStep::Open, e))
                if e.raw_os_error() == Some(libc::ESRCH)
                    || (matches!(target, Sampled::Running(_))
                        && matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM))) =>
            {
                let pid = match target {
                    Sampled::BeforeExec(pid) => pid,
                    Sampled::Running(pids) => refused_process(pids),
                    Sampled::Cpus(_) => 0,
                };
                let why = if e.raw_os_error() == Some(libc::ESRCH) {
                    "there is no such process".to_owned()
                } else {
                    format!("{e}: it belongs to another user; run genba as that user or as root")
                };
                return Err(ProfileError::Attach { pid, why });
            }
            Err((OpenStep::Open, e)) => return Err(failed("perf_event_open", e)),
            Err((OpenStep::Ring, e)) => return Err(failed("mapping its ring buffer", e)),
        }
    }
}

/// The process that is to blame for a refusal: one that has ended or belongs to another user.
fn refused_process(pids: &[i32]) -> i32 {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let foreign = |pid: &&i32| {
        std::fs::metadata(format!("/proc/{pid}")).map_or(true, |status| status.uid() != own)
    };
    let first = pids.iter().find(foreign).or(pids.first());
    first.copied().unwrap_or_default()
}

/// The step at which opening the events failed.
#[derive(Debug)]
pub(crate) enum OpenStep {
    Open,
    Ring,
}

/// Opens one event per CPU and thread: inherited events may share a ring buffer only per CPU.
pub(crate) fn open_events(
    target: Target,
    attr: &mut perf_event_attr,
    pages: usize,
) -> Result<OpenedEvents, (OpenStep, io::Error)> {
    let threads = || match target {
        Target::BeforeExec(pid) => vec![pid],
        Target::Running(pid) => initial_records::threads(pid),
    };
    open_threads(&[target.pid()], &threads, attr, pages)
}

/// Opens one event per CPU for all that runs there.
fn open_cpus(
    cpus: &[i32],
    attr: &mut perf_event_attr,
    pages: usize,
) -> Result<OpenedEvents, (OpenStep, io::Error)> {
    const ALL_THREADS: i32 = -1;
    // The idle task would have most samples of a clock.
    attr.set_exclude_idle(u64::from(attr.type_ == PERF_TYPE_SOFTWARE));
    let mut out = OpenedEvents::none(attr);
    for &cpu in cpus {
        open_thread(
            ALL_THREADS,
            true,
            &[cpu],
            attr,
            pages,
            &mut [None],
            &mut out,
        )?;
    }
    out.attr = *attr;
    Ok(out)
}

/// The same for whatever `threads` lists, until it lists nothing new. `required` must be among them.
pub(crate) fn open_threads(
    required: &[i32],
    threads: &dyn Fn() -> Vec<i32>,
    attr: &mut perf_event_attr,
    pages: usize,
) -> Result<OpenedEvents, (OpenStep, io::Error)> {
    let mut out = OpenedEvents::none(attr);
    let cpus = online_cpus();
    let mut rings_of: Vec<Option<usize>> = vec![None; cpus.len()];
    let mut known = HashSet::new();
    loop {
        let new: Vec<i32> = threads()
            .into_iter()
            .filter(|tid| !known.contains(tid))
            .collect();
        if new.is_empty() {
            break;
        }
        for tid in new {
            known.insert(tid);
            open_thread(
                tid,
                required.contains(&tid),
                &cpus,
                attr,
                pages,
                &mut rings_of,
                &mut out,
            )?;
        }
    }
    if out.events.is_empty() {
        return Err((OpenStep::Open, io::Error::from_raw_os_error(libc::ESRCH)));
    }
    out.attr = *attr;
    Ok(out)
}

fn open_thread(
    tid: i32,
    required: bool,
    cpus: &[i32],
    attr: &mut perf_event_attr,
    pages: usize,
    rings_of: &mut [Option<usize>],
    out: &mut OpenedEvents,
) -> Result<(), (OpenStep, io::Error)> {
    for (&cpu, ring_of) in cpus.iter().zip(rings_of) {
        let fd = match syscalls::open(attr, tid, cpu) {
            Ok(fd) => fd,
            // The CPU went offline, or this thread has just ended.
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) && cpus.len() > 1 => continue,
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) && !required => return Ok(()),
            // A child that has become another user's.
            Err(e) if matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM)) && !required => {
                return Ok(());
            }
            Err(e) => return Err((OpenStep::Open, e)),
        };
        match ring_of {
            Some(event) => {
                syscalls::set_output(&fd, &out.events[*event]).map_err(|e| (OpenStep::Ring, e))?;
            }
            None => {
                out.rings
                    .push(RingBuffer::map(&fd, pages).map_err(|e| (OpenStep::Ring, e))?);
                out.ring_events.push(out.events.len());
                *ring_of = Some(out.events.len());
            }
        }
        out.events.push(fd);
        out.places.push((tid, cpu));
    }
    Ok(())
}
