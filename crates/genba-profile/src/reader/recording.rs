//! A recording: the file, and the host, command and events that it describes.

use std::fs::File;
use std::path::Path;

use genba_model::{Event, Precision};
use memmap2::{Mmap, UncheckedAdvice};

use super::sample_tables::{Sample, Samples, Tables};
use super::scan::{self, ReadOptions};
use crate::error::ReadError;
use crate::event;
use crate::jit::JitArtifacts;
use crate::perfdata::attr::{flag, sample};
use crate::perfdata::feature_sections::FileEvent;
use crate::perfdata::file_header::{self, Structure};

/// An event of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct EventInfo {
    /// perf's name of the event.
    pub name: String,
    /// Whether a hardware counter counts the event.
    pub hardware: bool,
    /// Whether weights are nanoseconds (`cpu-clock`, `task-clock`, `timer-signal`).
    pub clock: bool,
    /// Requested samples per second; 0 if the period was fixed.
    pub frequency_hz: u64,
    /// Requested `precise_ip`, 0…3.
    pub precise_ip: u8,
    /// Whether kernel code was sampled, too.
    pub kernel: bool,
    /// Whether samples carry call chains or stack copies.
    pub stacks: bool,
}

impl EventInfo {
    fn new(e: &FileEvent) -> Self {
        let a = &e.attr;
        let name = e.name.clone().unwrap_or_else(|| a.guess_name());
        let freq = a.has(flag::FREQ);
        let timer = name == crate::TIMER_SIGNAL;
        Self {
            hardware: event::is_hardware(a.kind) && !timer,
            clock: event::is_clock(a.kind, a.config) || timer,
            frequency_hz: if freq { a.period_or_freq } else { 0 },
            precise_ip: a.precise_ip(),
            kernel: !a.has(flag::EXCLUDE_KERNEL),
            stacks: a.sample_type & (sample::CALLCHAIN | sample::STACK_USER) != 0,
            name,
        }
    }

    /// The event as the documents of genba describe it.
    #[must_use]
    pub fn event(&self) -> Event {
        Event {
            name: self.name.clone(),
            hardware: self.hardware,
            frequency_hz: self.frequency_hz,
            kernel: self.kernel,
            precision: if self.hardware && self.precise_ip > 0 {
                Precision::Precise
            } else {
                Precision::Skid
            },
        }
    }
}

/// The description in a recording: host, recorder and events.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingInfo {
    /// Kernel release of that machine.
    pub os_release: Option<String>,
    /// The recorder's command line (`perf record …`, `genba record …`).
    pub command: Vec<String>,
    /// The events, at least one.
    pub events: Vec<EventInfo>,
    /// Why the end of the file is missing, if it is.
    pub cut_short: Option<String>,
}

enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Lets the system take the memory of the first bytes back; they can still be read, from the file.
    fn release(&self, bytes: usize) {
        if let Self::Mapped(map) = self {
            // SAFETY: the mapping is of a file and never written to: its pages are read again as they were.
            let released =
                unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, 0, bytes) };
            // Without it the pages remain in memory, which is not an error.
            let _ = released;
        }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// An opened recording.
pub struct Recording {
    bytes: Bytes,
    name: String,
    structure: Structure,
    info: RecordingInfo,
    artifacts: JitArtifacts,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("name", &self.name)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl Recording {
    /// Opens a `perf.data` file of genba or perf.
    ///
    /// The file is mapped: it must not be truncated while it is in use (the system would end this
    /// process with SIGBUS).
    ///
    /// # Errors
    /// When it cannot be read, is not a recording, or describes no event. A file whose end is
    /// missing is not an error: see [`RecordingInfo::cut_short`].
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        let bytes = if meta.is_file() && meta.len() > 0 {
            // SAFETY: the mapping is private and read-only; the caller ensures that the file is not
            // truncated meanwhile, as documented.
            Bytes::Mapped(unsafe { Mmap::map(&file) }.map_err(io)?)
        } else if meta.is_dir() {
            return Err(io(std::io::Error::from_raw_os_error(libc::EISDIR)));
        } else {
            Bytes::Owned(Vec::new())
        };
        let mut recording = Self::new(bytes, path.display().to_string())?;
        recording.artifacts = JitArtifacts::of(path);
        Ok(recording)
    }

    /// Opens the bytes of a recording; `name` is for messages.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Self, ReadError> {
        Self::new(Bytes::Owned(bytes), name.to_owned())
    }

    fn new(bytes: Bytes, name: String) -> Result<Self, ReadError> {
        let mut structure = file_header::parse(&bytes, &name)?;
        let f = &mut structure.features;
        let info = RecordingInfo {
            os_release: f.os_release.clone(),
            command: std::mem::take(&mut f.command),
            events: structure.events.iter().map(EventInfo::new).collect(),
            cut_short: structure.cut_short.clone(),
        };
        Ok(Self {
            bytes,
            name,
            structure,
            info,
            artifacts: JitArtifacts::default(),
        })
    }

    /// The file's description of host, recorder and events.
    #[must_use]
    pub fn info(&self) -> &RecordingInfo {
        &self.info
    }

    /// The index of an event by name (`cycles` also finds `cycles:u`) or by number from 0.
    ///
    /// # Errors
    /// When the recording has no such event.
    pub fn find_event(&self, wanted: &str) -> Result<usize, ReadError> {
        let events = &self.info.events;
        let base = |name: &str| name.split(':').next().unwrap_or("").to_owned();
        events
            .iter()
            .position(|e| e.name == wanted)
            .or_else(|| events.iter().position(|e| base(&e.name) == wanted))
            .or_else(|| wanted.parse().ok().filter(|&n: &usize| n < events.len()))
            .ok_or_else(|| ReadError::NoSuchEvent {
                name: self.name.clone(),
                event: wanted.to_owned(),
                known: events
                    .iter()
                    .map(|e| e.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    /// Reads the records once in time order and passes every sample of the chosen event to `sink`,
    /// with the tables as far as they have grown. Memory is bounded by the number of distinct
    /// locations and stacks, not by the number of samples.
    ///
    /// # Errors
    /// When the event does not exist, or the records are compressed or describe too many mappings.
    /// Single damaged records are skipped and counted in [`super::Totals::damaged`].
    pub fn scan(
        &self,
        options: &ReadOptions,
        sink: &mut dyn FnMut(&Sample, &Tables),
    ) -> Result<Tables, ReadError> {
        let source = scan::Source {
            records: &self.bytes[self.structure.data.clone()],
            event: match &options.event {
                Some(event) => self.find_event(event)?,
                None => 0,
            },
            structure: &self.structure,
            name: &self.name,
            artifacts: &self.artifacts,
            passed: &|bytes| self.bytes.release(self.structure.data.start + bytes),
        };
        scan::scan(&source, options.stacks, sink)
    }

    /// Reads all samples of one event into memory.
    ///
    /// # Errors
    /// As [`Recording::scan`].
    pub fn load(&self, options: &ReadOptions) -> Result<Samples, ReadError> {
        let mut samples = Vec::new();
        let tables = self.scan(options, &mut |sample, _| samples.push(*sample))?;
        Ok(Samples { samples, tables })
    }
}
