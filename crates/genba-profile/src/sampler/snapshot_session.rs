//! Sampling into ring buffers that are overwritten, and writing what they hold on request.

use std::io::{self, PipeReader, Read};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::event_choice::EventChoice;
use super::host_description::{describe, monotonic_ns, online_cpus};
use super::opened_events::{OpenedEvents, RingUse, Sampled, open_all};
use super::overwritten::{self, Overwritten};
use super::record_options::RecordOptions;
use super::ring_buffer::{self, RingBuffer, SampleCounts};
use super::snapshot_size::ring_pages;
use super::{initial_records, syscalls};
use crate::error::ProfileError;
use crate::perfdata::attr::Attr;
use crate::perfdata::record::{Layout, Raw};
use crate::perfdata::writer::{Description, Writer, WrittenEvent};
use crate::side_records::{SideRecords, word};
use crate::wait_sampler::process_tree;

/// A snapshot that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The recording.
    pub path: PathBuf,
    /// Its samples.
    pub samples: u64,
    /// Samples that the kernel reports as lost.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
    /// How far back all of its ring buffers reach, seconds; at most the time that was wanted.
    pub seconds: f64,
    /// Whether samples of the wanted time were overwritten already.
    pub overwritten: bool,
}

/// Says where snapshots go, and gets those that were written.
pub trait SnapshotSink: Send {
    /// Sampling has begun: from now on requests find samples.
    fn begun(&mut self);

    /// The file of the next snapshot.
    ///
    /// # Errors
    /// A sentence, when there can be none.
    fn next_file(&mut self) -> Result<PathBuf, String>;

    /// Takes the snapshot for which [`Self::next_file`] was called last, or why there is none.
    fn take(&mut self, snapshot: Result<Snapshot, ProfileError>);
}

/// Pages of the ring buffers of records other than samples.
const SIDE_RING_PAGES: usize = 16;

/// Bytes of records other than samples from which on those that no snapshot needs are discarded. Chosen: some ten
/// thousand processes or mappings.
const MAX_SIDE_BYTES: usize = 8 << 20;

/// The open events of a target with their ring buffers.
pub(crate) struct SnapshotSession {
    samples: OpenedEvents,
    side: OpenedEvents,
    side_records: SideRecords,
    /// Bytes of `side_records` at which they are cleared up next.
    side_limit: usize,
    event: WrittenEvent,
    layout: Layout,
    description: Description,
    /// How far back a snapshot reaches, ns.
    window: u64,
    began: u64,
    /// What was requested and cannot be had, each with the command that allows it.
    pub(crate) notes: Vec<String>,
}

impl SnapshotSession {
    /// Attaches to what is sampled. A target before its `execve` may be released after this; others are sampled
    /// at once.
    ///
    /// # Errors
    /// When the kernel refuses the events.
    pub(crate) fn open(
        target: Sampled<'_>,
        choice: &EventChoice,
        options: &RecordOptions,
        window: Duration,
    ) -> Result<Self, ProfileError> {
        let mut notes = Vec::new();
        syscalls::raise_descriptor_limit();
        let cpus = match target {
            Sampled::Cpus(cpus) => cpus.len(),
            _ => online_cpus().len(),
        };
        let with_pages = |pages| RecordOptions {
            ring_pages: Some(pages),
            ..options.clone()
        };
        let side = open_all(
            target,
            choice,
            &with_pages(SIDE_RING_PAGES),
            RingUse::SideRecords,
            &mut notes,
        )?;
        let pages = ring_pages(
            window,
            choice.rate,
            options.call_graph,
            cpus,
            rustix::param::page_size(),
        );
        let samples = open_all(
            target,
            choice,
            &with_pages(pages),
            RingUse::Overwritten,
            &mut notes,
        )?;
        let internal = |error: io::Error| ProfileError::Internal(error.to_string());
        let ids: io::Result<Vec<u64>> = samples.events.iter().map(syscalls::id).collect();
        let event = WrittenEvent {
            attr: syscalls::attr_bytes(&samples.attr),
            name: choice.name(),
            ids: ids.map_err(internal)?,
        };
        let attr = Attr::parse(&event.attr)
            .ok_or_else(|| ProfileError::Internal("the attribute is too short".to_owned()))?;
        let mut session = Self {
            samples,
            side,
            side_records: SideRecords::default(),
            side_limit: MAX_SIDE_BYTES,
            event,
            layout: Layout::new(&attr),
            description: describe(&options.command_line),
            window: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
            began: 0,
            notes,
        };
        session.begin(target, choice.kernel).map_err(internal)?;
        Ok(session)
    }

    /// Retains the records of what exists already, and starts sampling what runs.
    fn begin(&mut self, target: Sampled<'_>, kernel: bool) -> io::Result<()> {
        if kernel {
            self.add_all(initial_records::kernel_maps());
        } else {
            self.description.kernel_build_id = None;
        }
        let running = match target {
            Sampled::BeforeExec(pid) => {
                self.add_all(vec![initial_records::thread_name(pid, pid)]);
                None
            }
            Sampled::Running(pids) => Some(pids),
            Sampled::Cpus(_) => Some(&[][..]),
        };
        if let Some(pids) = running {
            // Enabled before mappings are read: what is mapped in between is recorded, too.
            for event in self.side.events.iter().chain(&self.samples.events) {
                syscalls::enable(event)?;
            }
            let processes = match target {
                Sampled::Cpus(_) => process_tree::all(),
                _ => {
                    let trees = process_tree::trees(pids);
                    trees.into_iter().map(|(pid, _)| pid).collect()
                }
            };
            for pid in processes {
                self.add_all(initial_records::running_process(pid));
            }
        }
        self.began = monotonic_ns();
        Ok(())
    }

    fn add_all(&mut self, records: Vec<Vec<u8>>) {
        for record in records {
            self.side_records.add(&record, 0);
        }
    }

    /// Writes a snapshot for each byte, or each few that come at once, of `requests`, until `stop` becomes readable;
    /// then one more if `last` says so. Returns the total of all samples written.
    ///
    /// # Errors
    /// When waiting fails or ring buffers cannot be read. A snapshot that cannot be written is the sink's to tell.
    pub(crate) fn run(
        &mut self,
        stop: BorrowedFd<'_>,
        requests: &mut PipeReader,
        last: &dyn Fn() -> bool,
        sink: &mut dyn SnapshotSink,
    ) -> Result<SampleCounts, ProfileError> {
        let mut counts = SampleCounts::default();
        self.serve(stop, requests, last, sink, &mut counts)
            .map_err(|error| ProfileError::Internal(format!("waiting for snapshots: {error}")))?;
        Ok(counts)
    }

    fn serve(
        &mut self,
        stop: BorrowedFd<'_>,
        requests: &mut PipeReader,
        last: &dyn Fn() -> bool,
        sink: &mut dyn SnapshotSink,
        counts: &mut SampleCounts,
    ) -> io::Result<()> {
        // Ring buffers of other records that fill slowly are emptied all the same.
        const MAX_INTERVAL: rustix::event::Timespec = rustix::event::Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let mut live = self.side.ring_events.clone();
        loop {
            let mut fds = vec![
                PollFd::new(&stop, PollFlags::IN),
                PollFd::new(&*requests, PollFlags::IN),
            ];
            fds.extend(
                live.iter()
                    .map(|&e| PollFd::new(&self.side.events[e], PollFlags::IN)),
            );
            match poll(&mut fds, Some(&MAX_INTERVAL)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let stopped = !fds[0].revents().is_empty();
            let requested = fds[1].revents().contains(PollFlags::IN);
            // An event whose threads have all ended stays hung up: poll would return at once.
            let gone = PollFlags::HUP | PollFlags::ERR;
            let alive: Vec<usize> = live
                .iter()
                .zip(&fds[2..])
                .filter(|(_, fd)| !fd.revents().intersects(gone))
                .map(|(&e, _)| e)
                .collect();
            drop(fds);
            live = alive;
            if requested {
                // Requests that came at once ask for the same.
                let mut some = [0; 64];
                let _ = requests.read(&mut some)?;
                self.write_to(sink, counts);
            }
            if stopped {
                if !requested && last() {
                    self.write_to(sink, counts);
                }
                return Ok(());
            }
            self.drain_side()?;
        }
    }

    fn write_to(&mut self, sink: &mut dyn SnapshotSink, counts: &mut SampleCounts) {
        let at = monotonic_ns();
        let written = match sink.next_file() {
            Ok(path) => self
                .write(at, &path)
                .map_err(|source| ProfileError::Write { path, source }),
            Err(why) => Err(ProfileError::Internal(why)),
        };
        if let Ok(snapshot) = &written {
            counts.samples += snapshot.samples;
            counts.lost += snapshot.lost;
            counts.throttled += snapshot.throttled;
        }
        sink.take(written);
    }

    /// Writes what the ring buffers hold of the window before `at`.
    fn write(&mut self, at: u64, path: &Path) -> io::Result<Snapshot> {
        self.drain_side()?;
        let wanted_from = at.saturating_sub(self.window).max(self.began);
        let mut writer = Writer::create(path, self.event.clone())?;
        for record in self.side_records.iter() {
            writer.append(record)?;
        }
        let rings = self.copy_rings()?;
        let reach = rings.iter().filter_map(|ring| self.reaches_back_to(ring));
        // Samples of all CPUs from when the ring buffer of the busiest one begins: shares of threads are of the same time.
        let from = reach.fold(wanted_from, u64::max);
        let mut counts = SampleCounts::default();
        for (bytes, found) in &rings {
            for range in found.records.iter().rev() {
                let record = &bytes[range.clone()];
                if (from..=at).contains(&self.time(record)) {
                    ring_buffer::count(record, &[], &mut counts);
                    writer.append(record)?;
                }
            }
        }
        let description = Description {
            sample_time: Some((from, at)),
            ..self.description.clone()
        };
        writer.finish(&description)?;
        Ok(Snapshot {
            path: path.to_owned(),
            samples: counts.samples,
            lost: counts.lost,
            throttled: counts.throttled,
            seconds: at.saturating_sub(from) as f64 / 1e9,
            overwritten: from > wanted_from,
        })
    }

    /// The bytes of all ring buffers with the records in them; what happens meanwhile is lost.
    fn copy_rings(&self) -> io::Result<Vec<(Vec<u8>, Overwritten)>> {
        let owners = self.samples.ring_events.iter();
        let owners: Vec<_> = owners.map(|&event| &self.samples.events[event]).collect();
        for event in &owners {
            syscalls::pause_output(event, true)?;
        }
        let copies: Vec<Vec<u8>> = (self.samples.rings.iter())
            .map(RingBuffer::copy_overwritten)
            .collect();
        for event in &owners {
            syscalls::pause_output(event, false)?;
        }
        let with_records = |bytes: Vec<u8>| {
            let found = overwritten::records(&bytes);
            (bytes, found)
        };
        Ok(copies.into_iter().map(with_records).collect())
    }

    /// The time of the oldest record of a ring buffer, if older ones were overwritten.
    fn reaches_back_to(&self, (bytes, found): &(Vec<u8>, Overwritten)) -> Option<u64> {
        let oldest = found.records.last().filter(|_| found.full)?;
        Some(self.time(&bytes[oldest.clone()]))
    }

    /// The time of a record with its header; 0 if it has none.
    fn time(&self, record: &[u8]) -> u64 {
        let time = Raw::parse(record).and_then(|(raw, _)| self.layout.time(&raw));
        time.unwrap_or(0)
    }

    /// Moves the records other than samples to where they are retained.
    fn drain_side(&mut self) -> io::Result<()> {
        let side_records = &mut self.side_records;
        let mut counts = SampleCounts::default();
        self.side.drain_bytes(&mut counts, &mut |record| {
            // Behind it there are process and thread, time, CPU.
            let time = word(record, record.len().saturating_sub(16));
            side_records.add(record, time.unwrap_or(0));
        })?;
        if self.side_records.bytes() > self.side_limit {
            let oldest = monotonic_ns().saturating_sub(self.window);
            self.side_records.discard_ended(oldest);
            if self.side_records.bytes() > MAX_SIDE_BYTES / 2 {
                self.side_records
                    .renew(oldest, &initial_records::running_process);
            }
            self.side_limit = MAX_SIDE_BYTES.max(2 * self.side_records.bytes());
        }
        Ok(())
    }
}
