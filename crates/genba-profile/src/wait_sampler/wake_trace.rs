//! When threads are woken, from the scheduler's tracepoint `sched_wakeup`: root's, or that of who may trace.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use perf_event_open_sys::bindings::perf_event_attr;

use crate::event::EventSpec;
use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind};
use crate::sampler::host_description::online_cpus;
use crate::sampler::opened_events::{OpenedEvents, open_cpus};
use crate::sampler::ring_buffer::SampleCounts;
use crate::sampler::syscalls;

/// Pages of a ring buffer: 256 KiB have 3,600 records.
const RING_PAGES: usize = 64;

/// The open events, of all CPUs: a wake-up is an event of who wakes, which may be an interrupt or another program.
///
/// Of threads that were there at the start the kernel's account is read, which has their time after wake-ups. Their
/// wake-ups are not recorded, nor those of other programs that were there: a record takes 0.8 µs of who wakes, the
/// filter 0.3.
pub struct WakeTrace {
    opened: OpenedEvents,
    counts: SampleCounts,
}

impl WakeTrace {
    /// Opens and starts the tracepoint on all CPUs, of `first` and of threads that begin from now on; `None` where it
    /// is refused.
    pub fn open(first: Option<i32>) -> Option<Self> {
        let event = EventSpec::parse("sched:sched_wakeup").ok()?;
        let mut attr = perf_event_attr {
            type_: event.kind,
            config: event.config,
            sample_type: sample::TIME | sample::RAW,
            clockid: libc::CLOCK_MONOTONIC,
            ..Default::default()
        };
        attr.__bindgen_anon_1.sample_period = 1;
        attr.set_use_clockid(1);
        attr.set_watermark(1);
        // Who waits for switches reads these as well: no wake-ups of their own.
        attr.__bindgen_anon_2.wakeup_watermark = u32::MAX;
        attr.set_disabled(1);
        let opened = open_cpus(&online_cpus(), &mut attr, RING_PAGES).ok()?;
        let filter = newer_threads(first);
        for event in &opened.events {
            if let Some(filter) = &filter {
                // Without it there are only more records.
                let _ = syscalls::set_filter(event, filter);
            }
            syscalls::enable(event).ok()?;
        }
        Some(Self {
            opened,
            counts: SampleCounts::default(),
        })
    }

    /// Whether none was lost.
    pub fn is_complete(&self) -> bool {
        self.counts.lost == 0
    }

    /// Ends them.
    pub fn disable(&self) -> io::Result<()> {
        self.opened.events.iter().try_for_each(syscalls::disable)
    }

    /// The wake-ups since the last call: time and thread; those of one CPU are in order.
    pub fn drain(&mut self, take: &mut dyn FnMut(u64, i32)) -> io::Result<()> {
        self.opened.drain_records(&mut self.counts, &mut |raw| {
            if let Some((time, tid)) = woken(raw) {
                take(time, tid);
            }
        })
    }
}

/// The filter of `first` and of threads that begin from now on, by their numbers; `None` where numbers begin anew soon, or
/// are not those that the kernel records.
fn newer_threads(first: Option<i32>) -> Option<CString> {
    /// Inode of the first namespace of process ids (`PROC_PID_INIT_INO` of the kernel).
    const FIRST_NAMESPACE: u64 = 0xefff_fffc;
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?.ino();
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let most = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok()?;
    let filter = filter(&load, &most, first)?;
    (namespace == FIRST_NAMESPACE).then_some(filter)
}

/// The same from `/proc/loadavg`, which ends with the number that was given last, and the highest number.
fn filter(load: &str, most: &str, first: Option<i32>) -> Option<CString> {
    /// Then threads with low numbers begin: not within hours.
    const MIN_NUMBERS_LEFT: u32 = 1_000_000;
    let last: u32 = load.trim_end().rsplit_once(' ')?.1.parse().ok()?;
    let most: u32 = most.trim_end().parse().ok()?;
    let text = match first {
        Some(first) => format!("pid > {last} || pid == {first}"),
        None => format!("pid > {last}"),
    };
    (most.checked_sub(last)? > MIN_NUMBERS_LEFT).then(|| CString::new(text).ok())?
}

/// Time and woken thread of a record. Layout: perf_event_open(2); the tracepoint's fields are at these places since
/// Linux 2.6.37 (`events/sched/sched_wakeup/format`).
fn woken(raw: &Raw<'_>) -> Option<(u64, i32)> {
    /// Time, and the size of what the tracepoint wrote.
    const HEAD: usize = 12;
    /// In what it wrote: common fields, the thread's name.
    const THREAD: usize = 8 + 16;
    if raw.kind != kind::SAMPLE {
        return None;
    }
    let time = u64::from_le_bytes(*raw.body.first_chunk()?);
    let tid = raw.body.get(HEAD + THREAD..)?.first_chunk()?;
    Some((time, i32::from_le_bytes(*tid)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wake_up_names_the_woken_thread() {
        let mut body = 1234u64.to_le_bytes().to_vec();
        body.extend(36u32.to_le_bytes());
        body.extend([0; 8]);
        body.extend(*b"worker\0\0\0\0\0\0\0\0\0\0");
        body.extend(77i32.to_le_bytes());
        let record = |kind| Raw {
            kind,
            misc: 0,
            body: &body,
        };
        assert_eq!(woken(&record(kind::SAMPLE)), Some((1234, 77)));
        assert_eq!(woken(&record(kind::COMM)), None);
    }

    #[test]
    fn threads_that_were_there_are_filtered_out_unless_numbers_begin_anew_soon() {
        let of = |load, most, first| {
            let filter = filter(load, most, first);
            filter.map(|text| text.into_string().unwrap())
        };
        let load = "0.1 0.2 0.3 1/99 1234\n";
        assert_eq!(of(load, "4194304\n", None).unwrap(), "pid > 1234");
        let of_command = of(load, "4194304", Some(1230)).unwrap();
        assert_eq!(of_command, "pid > 1234 || pid == 1230");
        assert_eq!(of(load, "32768", None), None);
        assert_eq!(of("", "4194304", None), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = woken(&Raw { kind: kind::SAMPLE, misc: 0, body: &body });
        }
    }
}
