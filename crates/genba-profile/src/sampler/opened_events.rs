//! Opens the events of a target, one for each thread and CPU, with a ring buffer for each CPU.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::{PERF_TYPE_SOFTWARE, perf_event_attr};

use super::event_attr::{self, AttrPlan, build};
use super::event_choice::EventChoice;
use super::host_description::online_cpus;
use super::record_options::{CallGraph, RecordOptions};
use super::ring_buffer::{RingBuffer, SampleCounts};
use super::{initial_records, syscalls};
use crate::error::ProfileError;
use crate::perfdata::record::Raw;
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
    pub(super) fn pid(self) -> i32 {
        match self {
            Self::BeforeExec(pid) | Self::Running(pid) => pid,
        }
    }
}

/// What is sampled: one target, processes that run with those that they started, or CPUs.
#[derive(Clone, Copy)]
pub(crate) enum Sampled<'a> {
    BeforeExec(i32),
    Running(&'a [i32]),
    /// All that runs on these CPUs.
    Cpus(&'a [i32]),
}

/// What the ring buffers of an event are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingUse {
    /// All records, each of which is read.
    Drained,
    /// The newest samples: older ones are overwritten.
    Overwritten,
    /// All records but samples, each of which is read.
    SideRecords,
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
    /// The records since the last call; those of one CPU are in order.
    pub(crate) fn drain_records(
        &mut self,
        counts: &mut SampleCounts,
        take: &mut dyn FnMut(&Raw<'_>),
    ) -> io::Result<()> {
        self.drain_bytes(counts, &mut |record| {
            if let Some((raw, _)) = Raw::parse(record) {
                take(&raw);
            }
        })
    }

    /// The same as bytes with their headers.
    pub(crate) fn drain_bytes(
        &mut self,
        counts: &mut SampleCounts,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        for ring in &mut self.rings {
            ring.drain(counts, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
        }
        let mut at = 0;
        while let Some((_, size)) = Raw::parse(&bytes[at..]) {
            take(&bytes[at..at + size]);
            at += size;
        }
        Ok(())
    }

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

/// Pages of a CPU's ring buffer: half a megabyte as perf has, and more for stack copies, which
/// fill it 200 times as fast.
fn default_pages(call_graph: CallGraph) -> usize {
    let bytes = match call_graph {
        CallGraph::Dwarf(_) => 8 << 20,
        _ => 512 << 10,
    };
    bytes / rustix::param::page_size()
}

/// Opens the chosen event for all that is sampled, with smaller ring buffers where memory is limited.
pub(super) fn open_all(
    target: Sampled<'_>,
    choice: &EventChoice,
    options: &RecordOptions,
    ring: RingUse,
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
        if options.data {
            event_attr::with_data(&mut attr);
        }
        match ring {
            RingUse::Drained => {}
            RingUse::Overwritten => event_attr::overwrite(&mut attr),
            RingUse::SideRecords => event_attr::without_samples(&mut attr),
        }
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
                    let effect = match ring {
                        RingUse::Overwritten => "snapshots reach back less far",
                        RingUse::Drained | RingUse::SideRecords => "samples may be lost",
                    };
                    notes.push(format!(
                        "ring buffers have {} instead of {} KiB per CPU ({effect}): the \
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
pub(crate) fn open_cpus(
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

/// Maps the ring buffer of an event as its attribute says that it is written.
fn map_ring(fd: &OwnedFd, attr: &perf_event_attr, pages: usize) -> io::Result<RingBuffer> {
    match attr.write_backward() {
        0 => RingBuffer::map(fd, pages),
        _ => RingBuffer::map_overwritten(fd, pages),
    }
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
                    .push(map_ring(&fd, attr, pages).map_err(|e| (OpenStep::Ring, e))?);
                out.ring_events.push(out.events.len());
                *ring_of = Some(out.events.len());
            }
        }
        out.events.push(fd);
        out.places.push((tid, cpu));
    }
    Ok(())
}
