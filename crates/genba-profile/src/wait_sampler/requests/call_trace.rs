//! The records of system calls and switches of a target's threads, from the kernel's tracepoints.

use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::perf_event_attr;

use super::request_log::{CallEvent, CallRecord};
use crate::event::EventSpec;
use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind, misc};
use crate::sampler::opened_events::{OpenedEvents, open_threads};
use crate::sampler::ring_buffer::SampleCounts;
use crate::sampler::{Target, syscalls};

/// Pages of a ring buffer: 4 MiB have 30,000 records, which a server of two CPUs makes in 100 ms.
const RING_PAGES: usize = 1024;

/// The open events.
pub struct CallTrace {
    /// Ends of system calls, and switches.
    exits: OpenedEvents,
    /// Beginnings, into the same ring buffers.
    entries: Vec<OwnedFd>,
    /// Number of the tracepoint `sys_enter`, which its records begin with.
    entry_id: u64,
    counts: SampleCounts,
}

impl CallTrace {
    /// Opens the tracepoints on a target's threads as `threads` lists them.
    ///
    /// # Errors
    /// Why they cannot be had, with what allows it.
    pub fn open(target: Target, threads: &dyn Fn() -> Vec<i32>) -> Result<Self, String> {
        const ALLOW: &str = "\n  to allow it: run genba as root, or give it CAP_PERFMON and the right to read tracefs \
                             (sudo mount -t tracefs nodev /sys/kernel/tracing)";
        let refused = |why: String| format!("requests were not watched: {why}{ALLOW}");
        let event = |name: &str| EventSpec::parse(name).map_err(|error| refused(error.to_string()));
        let (enter, exit) = (
            event("raw_syscalls:sys_enter")?,
            event("raw_syscalls:sys_exit")?,
        );
        let plan = |event: &EventSpec| {
            let mut attr = perf_event_attr {
                type_: event.kind,
                config: event.config,
                sample_type: sample::TID | sample::TIME | sample::RAW,
                clockid: libc::CLOCK_MONOTONIC,
                ..Default::default()
            };
            attr.__bindgen_anon_1.sample_period = 1;
            attr.set_disabled(1);
            attr.set_enable_on_exec(matches!(target, Target::BeforeExec(_)).into());
            attr.set_inherit(1);
            attr.set_sample_id_all(1);
            attr.set_use_clockid(1);
            attr.set_watermark(1);
            attr
        };
        let (Target::BeforeExec(pid) | Target::Running(pid)) = target;
        let mut pages = RING_PAGES;
        let (exits, mut of_entries) = loop {
            let mut attr = plan(&exit);
            attr.set_context_switch(1);
            let half = (pages * rustix::param::page_size() / 2) as u32;
            attr.__bindgen_anon_2.wakeup_watermark = half;
            match open_threads(&[pid], threads, &mut attr, pages) {
                Ok(opened) => break (opened, plan(&enter)),
                Err(_) if pages > 8 => pages /= 2,
                Err((_, error)) => return Err(refused(error.to_string())),
            }
        };
        let mut entries = Vec::with_capacity(exits.events.len());
        for (event, (tid, cpu)) in exits.events.iter().zip(&exits.places) {
            // A thread may have ended meanwhile.
            if let Ok(entry) = syscalls::open(&mut of_entries, *tid, *cpu)
                && syscalls::set_output(&entry, event).is_ok()
            {
                entries.push(entry);
            }
        }
        Ok(Self {
            exits,
            entries,
            entry_id: enter.config,
            counts: SampleCounts::default(),
        })
    }

    /// The events whose ring buffers fill, to poll.
    pub fn ring_events(&self) -> impl Iterator<Item = &OwnedFd> {
        let events = &self.exits.events;
        self.exits.ring_events.iter().map(|at| &events[*at])
    }

    /// Starts the records of a running target.
    pub fn enable(&self) -> io::Result<()> {
        self.exits.events.iter().try_for_each(syscalls::enable)?;
        self.entries.iter().try_for_each(syscalls::enable)
    }

    /// Ends them.
    pub fn disable(&self) -> io::Result<()> {
        self.exits.events.iter().try_for_each(syscalls::disable)?;
        self.entries.iter().try_for_each(syscalls::disable)
    }

    /// Records that the kernel had no room for.
    pub fn lost(&self) -> u64 {
        self.counts.lost
    }

    /// The records since the last call; those of one CPU are in order.
    pub fn drain(&mut self, take: &mut dyn FnMut(CallRecord)) -> io::Result<()> {
        let entry_id = self.entry_id;
        self.exits.drain_records(&mut self.counts, &mut |raw| {
            if let Some(record) = parse(raw, entry_id) {
                take(record);
            }
        })
    }
}

/// A record as what it says of a thread. Layout: perf_event_open(2); the tracepoints' fields have been at
/// these places since Linux 2.6.37 (`events/raw_syscalls/*/format`).
fn parse(raw: &Raw<'_>, entry_id: u64) -> Option<CallRecord> {
    /// Of a sample: process, thread, time, size of what the tracepoint wrote.
    const HEAD: usize = 20;
    let body = raw.body;
    let word = |at: usize| Some(u64::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let identity = |at: usize, event| {
        Some(CallRecord {
            pid: half(at)? as i32,
            tid: half(at + 4)? as i32,
            time: word(at + 8)?,
            event,
        })
    };
    match raw.kind {
        kind::SAMPLE => {
            let id = u64::from(u16::from_le_bytes(*body.get(HEAD..)?.first_chunk()?));
            let number = word(HEAD + 8)? as i64;
            let value = word(HEAD + 16)?;
            let event = match id == entry_id {
                true => CallEvent::Enter {
                    number,
                    first: value,
                },
                false => CallEvent::Exit {
                    number,
                    result: value as i64,
                },
            };
            identity(0, event)
        }
        kind::SWITCH => {
            let event = match raw.misc & (misc::SWITCH_OUT | misc::SWITCH_OUT_PREEMPT) {
                0 => CallEvent::In,
                misc::SWITCH_OUT => CallEvent::Blocks,
                _ => CallEvent::Preempted,
            };
            identity(body.len().checked_sub(16)?, event)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRY: u64 = 443;

    fn sample(id: u16, number: i64, value: u64) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(7u32.to_le_bytes());
        body.extend(9u32.to_le_bytes());
        body.extend(1234u64.to_le_bytes());
        body.extend(28u32.to_le_bytes());
        body.extend(id.to_le_bytes());
        body.extend([0; 6]);
        body.extend(number.to_le_bytes());
        body.extend(value.to_le_bytes());
        body
    }

    fn parsed(kind: u32, misc: u16, body: &[u8]) -> Option<CallRecord> {
        parse(&Raw { kind, misc, body }, ENTRY)
    }

    #[test]
    fn entries_exits_and_switches_are_told_apart() {
        let record = |event| CallRecord {
            pid: 7,
            tid: 9,
            time: 1234,
            event,
        };
        let entry = parsed(kind::SAMPLE, 0, &sample(ENTRY as u16, 0, 5));
        let event = CallEvent::Enter {
            number: 0,
            first: 5,
        };
        assert_eq!(entry, Some(record(event)));
        let exit = parsed(kind::SAMPLE, 0, &sample(442, 1, -11i64 as u64));
        let event = CallEvent::Exit {
            number: 1,
            result: -11,
        };
        assert_eq!(exit, Some(record(event)));
        let trailer = &sample(0, 0, 0)[..16];
        let blocks = parsed(kind::SWITCH, misc::SWITCH_OUT, trailer);
        assert_eq!(blocks, Some(record(CallEvent::Blocks)));
        let preempted = misc::SWITCH_OUT | misc::SWITCH_OUT_PREEMPT;
        let preempted = parsed(kind::SWITCH, preempted, trailer);
        assert_eq!(preempted, Some(record(CallEvent::Preempted)));
        assert_eq!(
            parsed(kind::SWITCH, 0, trailer),
            Some(record(CallEvent::In))
        );
        assert_eq!(parsed(kind::COMM, 0, trailer), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            kind in 0u32..20,
            misc in any::<u16>(),
            body in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let _ = parsed(kind, misc, &body);
        }
    }
}
