//! Sampling by timer signals, where the kernel refuses all perf events.
//!
//! A small library (`preload/timer.rs`) is loaded into the target with `LD_PRELOAD`. It gives
//! every thread a timer on its own CPU time. The signal handler writes the thread's instruction
//! pointer into a ring buffer in a shared file; the recorder turns the entries into the records
//! that the kernel would have written.
//!
//! **Limits.** User code only. The kernel checks such timers at its ticks (100 to 1000 per
//! second); time between ticks is in the sample's weight. The library cannot be preloaded into
//! static and setuid programs. Threads not created by `pthread_create` are not sampled.

#[path = "../../preload/layout.rs"]
mod layout;
mod preload_check;
mod ring_to_records;
mod shared_ring;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use genba_run::PrivateDirectory;
use perf_event_open_sys::bindings as b;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::TIMER_SIGNAL;
use crate::error::ProfileError;
use crate::perfdata::attr::sample;
use crate::perfdata::writer::{Writer, WrittenEvent};
use crate::sampler::{SampleCounts, describe, monotonic_ns, syscalls};
pub use preload_check::preload_obstacle;
use ring_to_records::Converter;
use shared_ring::SharedRing;

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgenba_timer.so"));

/// Interval at which the ring buffer is drained. It holds 4,096 samples; eight threads at 1,000
/// ticks per second fill a tenth of it in this time.
const DRAIN_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The unpacked library and its ring buffer, in a temporary directory that this value removes.
pub struct TimerSampler {
    _directory: PrivateDirectory,
    library: PathBuf,
    ring_path: PathBuf,
    ring: SharedRing,
    hz: u64,
    stacks: bool,
}

impl std::fmt::Debug for TimerSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimerSampler")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}

impl TimerSampler {
    /// Unpacks the library and creates the ring buffer.
    ///
    /// # Errors
    /// When no temporary directory can be written.
    pub fn new(hz: u64, stacks: bool) -> io::Result<Self> {
        let directory = PrivateDirectory::new("timer")?;
        let library = directory.path().join("libgenba_timer.so");
        let mut file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(&library)?;
        io::Write::write_all(&mut file, LIBRARY)?;
        let ring_path = directory.path().join("ring");
        let ring = SharedRing::create(&ring_path)?;
        Ok(Self {
            _directory: directory,
            library,
            ring_path,
            ring,
            hz: hz.clamp(1, 100_000),
            stacks,
        })
    }

    /// The library to put first in the target's `LD_PRELOAD`.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The other variables for the target's environment.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, std::ffi::OsString); 3] {
        let period = 1_000_000_000 / self.hz;
        [
            ("GENBA_TIMER_RING", self.ring_path.clone().into_os_string()),
            ("GENBA_TIMER_NS", period.to_string().into()),
            (
                "GENBA_TIMER_STACKS",
                u8::from(self.stacks).to_string().into(),
            ),
        ]
    }

    fn event(&self) -> WrittenEvent {
        let mut attr = b::perf_event_attr {
            type_: b::PERF_TYPE_SOFTWARE,
            config: b::PERF_COUNT_SW_CPU_CLOCK as u64,
            ..Default::default()
        };
        attr.set_freq(1);
        attr.__bindgen_anon_1.sample_freq = self.hz;
        attr.sample_type = sample::IP | sample::TID | sample::TIME | sample::CPU | sample::PERIOD;
        if self.stacks {
            attr.sample_type |= sample::CALLCHAIN;
        }
        attr.set_inherit(1);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        attr.set_mmap(1);
        attr.set_mmap2(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        attr.set_task(1);
        attr.set_sample_id_all(1);
        attr.set_use_clockid(1);
        attr.clockid = libc::CLOCK_MONOTONIC;
        WrittenEvent {
            attr: syscalls::attr_bytes(&attr),
            name: TIMER_SIGNAL.to_owned(),
            ids: Vec::new(),
        }
    }

    /// Moves samples into the file until `stop` becomes readable, then completes it. Returns the
    /// counts, the duration in nanoseconds, and whether the library was loaded.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn run(
        mut self,
        path: &Path,
        command: &[String],
        stop: BorrowedFd<'_>,
    ) -> Result<(SampleCounts, u64, bool), ProfileError> {
        let result = self.move_samples(path, command, stop);
        result.map_err(|source| ProfileError::Write {
            path: path.to_owned(),
            source,
        })
    }

    fn move_samples(
        &mut self,
        path: &Path,
        command: &[String],
        stop: BorrowedFd<'_>,
    ) -> io::Result<(SampleCounts, u64, bool)> {
        let began = monotonic_ns();
        let mut writer = Writer::create(path, self.event())?;
        let mut converter = Converter::new(self.stacks);
        let mut out = Vec::new();
        loop {
            let stop = stop.as_fd();
            let mut fds = [PollFd::new(&stop, PollFlags::IN)];
            let stopped = match poll(&mut fds, Some(&DRAIN_INTERVAL)) {
                Ok(n) => n > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(e) => return Err(e.into()),
            };
            out.clear();
            self.ring
                .drain(&mut |entry| converter.entry(entry, &mut out));
            if !out.is_empty() {
                writer.append(&out)?;
                writer.finish_round()?;
                writer.flush()?;
            }
            if stopped {
                break;
            }
        }
        let ended = monotonic_ns();
        let mut description = describe(command);
        description.kernel_build_id = None;
        description.sample_time = Some((began, ended));
        writer.finish(&description)?;
        let counts = SampleCounts {
            samples: converter.samples,
            lost: self.ring.lost(),
            throttled: 0,
        };
        Ok((counts, ended - began, converter.loaded))
    }
}
