//! The records of system calls and switches of a target's threads, from the kernel's tracepoints.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, perf_event_attr,
};

use super::request_log::{CallEvent, CallRecord};
use super::traced_calls::TracedCalls;
use super::tracepoint_search::close_later;
use super::unused_calls::{Change, UnusedCalls};
use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind, misc, task};
use crate::sampler::opened_events::{OpenedEvents, open_threads};
use crate::sampler::ring_buffer::SampleCounts;
use crate::sampler::{Target, syscalls};

/// Pages of a ring buffer: 4 MiB have 30,000 records, which a server of two CPUs makes in 100 ms.
const RING_PAGES: usize = 1024;

/// Most events: the kernel takes 1 to 2 KB for each.
const MAX_EVENTS: usize = 40_000;
/// Descriptors that are left for all else.
const OTHER_DESCRIPTORS: usize = 512;

/// The open events.
pub struct CallTrace {
    /// Switches and ends of threads, with the ring buffers.
    switches: OpenedEvents,
    /// Tracepoints of each call, into the same ring buffers.
    calls: Vec<Vec<OwnedFd>>,
    /// By a tracepoint's number: the index of its call, and whether it is the beginning.
    call_of: HashMap<u64, (usize, bool)>,
    /// Whether all calls are recorded, or some.
    pub of_all_calls: bool,
    unused: UnusedCalls,
    counts: SampleCounts,
}

impl CallTrace {
    /// Opens the tracepoints on a target's threads as `threads` lists them: those of all calls, or those that users
    /// may have.
    ///
    /// # Errors
    /// Why they cannot be had, with what allows it.
    pub fn open(target: Target, threads: &dyn Fn() -> Vec<i32>) -> Result<Self, String> {
        const ALLOW: &str = "\n  to allow it: run genba as the process's user with kernel.perf_event_paranoid at \
                             most 2, or as root";
        let all = TracedCalls::all().and_then(|calls| Self::open_calls(calls, target, threads));
        all.or_else(|_| {
            TracedCalls::listed().and_then(|calls| Self::open_calls(calls, target, threads))
        })
        .map_err(|why| format!("requests were not watched: {why}{ALLOW}"))
    }

    fn open_calls(
        mut calls: TracedCalls,
        target: Target,
        threads: &dyn Fn() -> Vec<i32>,
    ) -> Result<Self, String> {
        let for_users = !calls.of_all_calls;
        let base = |kind, config| {
            let mut attr = perf_event_attr {
                type_: kind,
                config,
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
            attr.set_exclude_kernel(for_users.into());
            attr.set_exclude_hv(for_users.into());
            attr
        };
        let (Target::BeforeExec(pid) | Target::Running(pid)) = target;
        let mut pages = RING_PAGES;
        let switches = loop {
            let mut attr = base(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY.into());
            attr.set_context_switch(1);
            attr.set_task(1);
            let half = (pages * rustix::param::page_size() / 2) as u32;
            attr.__bindgen_anon_2.wakeup_watermark = half;
            match open_threads(&[pid], threads, &mut attr, pages) {
                Ok(opened) => break opened,
                Err(_) if pages > 8 => pages /= 2,
                Err((_, error)) => return Err(error.to_string()),
            }
        };
        let places = switches.places.len();
        let room = MAX_EVENTS.min(syscalls::descriptor_limit().saturating_sub(OTHER_DESCRIPTORS));
        if !calls.limit(room / places) {
            return Err(format!(
                "{places} pairs of threads and CPUs need more events than the limit on open files or memory allows"
            ));
        }
        let mut opened = Vec::with_capacity(calls.events.len());
        let mut call_of = HashMap::new();
        for (index, pair) in calls.events.iter().enumerate() {
            let mut of_call = Vec::with_capacity(2 * places);
            for event in pair {
                let mut attr = base(PERF_TYPE_TRACEPOINT, event.id);
                open_at(&switches, &mut attr, &mut of_call).map_err(|error| error.to_string())?;
                call_of.insert(event.id, (index, event.is_entry));
            }
            opened.push(of_call);
        }
        Ok(Self {
            switches,
            unused: UnusedCalls::new(opened.len()),
            calls: opened,
            call_of,
            of_all_calls: calls.of_all_calls,
            counts: SampleCounts::default(),
        })
    }

    /// The events whose ring buffers fill, to poll.
    pub fn ring_events(&self) -> impl Iterator<Item = &OwnedFd> {
        let events = &self.switches.events;
        self.switches.ring_events.iter().map(|at| &events[*at])
    }

    /// Starts the records of a running target.
    pub fn enable(&self) -> io::Result<()> {
        self.switches.events.iter().try_for_each(syscalls::enable)?;
        let mut calls = self.calls.iter().flatten();
        calls.try_for_each(syscalls::enable)
    }

    /// Ends them.
    pub fn disable(&self) -> io::Result<()> {
        self.switches
            .events
            .iter()
            .try_for_each(syscalls::disable)?;
        let mut calls = self.calls.iter().flatten();
        calls.try_for_each(syscalls::disable)
    }

    /// Closes the events. Returns how many records the kernel had no room for, and whether all calls were recorded.
    pub fn finish(self) -> (u64, bool) {
        let Self {
            switches, calls, ..
        } = self;
        close_later((switches.events, switches.rings, calls));
        (self.counts.lost, self.of_all_calls)
    }

    /// The records since the last call; those of one CPU are in order.
    pub fn drain(&mut self, now: u64, take: &mut dyn FnMut(CallRecord)) -> io::Result<()> {
        let (call_of, unused) = (&self.call_of, &mut self.unused);
        self.switches.drain_records(&mut self.counts, &mut |raw| {
            let mut is_entry = |id: u64| {
                let (call, is_entry) = call_of.get(&id)?;
                unused.used(*call);
                Some(*is_entry)
            };
            if let Some(record) = parse(raw, &mut is_entry) {
                if record.event == CallEvent::In {
                    unused.switched();
                }
                take(record);
            }
        })?;
        match self.unused.step(now) {
            None => Ok(()),
            Some(Change::EnableAll) => self.enable(),
            Some(Change::Disable(calls)) => calls
                .iter()
                .flat_map(|call| &self.calls[*call])
                .try_for_each(syscalls::disable),
        }
    }
}

/// Opens an event of each thread and CPU that has switches, into the ring buffer of these.
fn open_at(
    switches: &OpenedEvents,
    attr: &mut perf_event_attr,
    opened: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    for ((tid, cpu), of_switches) in switches.places.iter().zip(&switches.events) {
        match syscalls::open(attr, *tid, *cpu) {
            Ok(event) => {
                syscalls::set_output(&event, of_switches)?;
                opened.push(event);
            }
            // The thread may have ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A record as what it says of a thread; `is_entry` knows the tracepoints. Layout: perf_event_open(2); the tracepoints' fields have been at
/// these places since Linux 2.6.37 (`events/raw_syscalls/*/format`, `events/syscalls/*/format`).
fn parse(raw: &Raw<'_>, is_entry: &mut dyn FnMut(u64) -> Option<bool>) -> Option<CallRecord> {
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
            // 32 bits in the tracepoints of one call.
            let number = i64::from(half(HEAD + 8)? as i32);
            let value = word(HEAD + 16)?;
            let event = match is_entry(id)? {
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
        kind::LOST => identity(body.len().checked_sub(16)?, CallEvent::Lost),
        kind::EXIT => {
            let gone = task(raw)?;
            Some(CallRecord {
                pid: gone.pid,
                tid: gone.tid,
                time: word(body.len().checked_sub(8)?)?,
                event: CallEvent::Ends,
            })
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
        let known = HashMap::from([(ENTRY, true), (ENTRY - 1, false)]);
        parse(&Raw { kind, misc, body }, &mut |id| known.get(&id).copied())
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
        // Process, parent, thread, its creator, time, trailer.
        let mut exit = Vec::new();
        exit.extend([7, 1, 9, 1].into_iter().flat_map(i32::to_le_bytes));
        exit.extend(1200u64.to_le_bytes());
        exit.extend(trailer);
        let ends = parsed(kind::EXIT, 0, &exit);
        assert_eq!(ends, Some(record(CallEvent::Ends)));
        // Id, how many, trailer.
        let mut lost = vec![0; 16];
        lost.extend(trailer);
        let lost = parsed(kind::LOST, 0, &lost);
        assert_eq!(lost, Some(record(CallEvent::Lost)));
        assert_eq!(parsed(kind::COMM, 0, trailer), None);
        // Another tracepoint's.
        assert_eq!(parsed(kind::SAMPLE, 0, &sample(7, 1, 0)), None);
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
