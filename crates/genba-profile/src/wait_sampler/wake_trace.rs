//! When threads are woken, from the scheduler's tracepoint `sched_wakeup`: root's, or that of who may trace.

use std::io;

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
pub struct WakeTrace {
    opened: OpenedEvents,
    counts: SampleCounts,
}

impl WakeTrace {
    /// Opens and starts the tracepoint on all CPUs; `None` where it is refused.
    pub fn open() -> Option<Self> {
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
        let opened = open_cpus(&online_cpus(), &mut attr, RING_PAGES).ok()?;
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

    proptest! {
        #[test]
        fn any_bytes_are_survived(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = woken(&Raw { kind: kind::SAMPLE, misc: 0, body: &body });
        }
    }
}
