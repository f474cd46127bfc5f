//! The numbers of the tracepoints `syscalls:sys_enter_NAME` and `sys_exit_NAME` for users who cannot read tracefs.
//!
//! The kernel lets every user record these tracepoints of his own threads (`TRACE_EVENT_FL_CAP_ANY`), but says their
//! numbers in tracefs only, which root alone may read. So they are found by trying: numbers are opened for the
//! calling thread, which then makes each call with an argument that the kernel refuses. A record has the
//! tracepoint's number and the call's.
//!
//! Others than those of system calls are refused, and the two of a call follow one another, so half of the others'
//! need not be opened. Closing one takes the kernel some 10 to 40 ms (it waits until no CPU uses it any more), which
//! is left to a thread.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::{PERF_TYPE_TRACEPOINT, perf_event_attr};

use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind};
use crate::sampler::ring_buffer::{RingBuffer, SampleCounts};
use crate::sampler::syscalls;

/// Numbers of tracepoints are 16 bits in records.
const MAX_ID: u64 = u16::MAX as u64;
/// A number that every kernel with tracepoints of system calls has: it has hundreds of others before these.
const LOW_ID: u64 = 64;
/// Most tracepoints that are opened in vain.
const MAX_OPENED: usize = 500;
/// First argument of the calls: neither a descriptor nor an address that is aligned.
const REFUSED_ARGUMENT: u64 = 0x7fff_fff1;
/// Pages of the ring buffer: the records of a call of each kind have room.
const RING_PAGES: usize = 8;

/// Beginning and end of each call that was found, by the call's number.
pub type Found = HashMap<i64, (u64, u64)>;

/// Finds the tracepoints of some calls, as a user without capabilities: to root every tracepoint opens, so those of
/// system calls would not stand out.
///
/// # Errors
/// Why none can be opened, or that this kernel has none for users.
pub fn find(calls: &[i64]) -> Result<Found, String> {
    let search = || {
        drop_capabilities().map_err(|error| format!("capabilities cannot be dropped: {error}"))?;
        find_as_user(calls)
    };
    std::thread::scope(|scope| scope.spawn(search).join())
        .unwrap_or_else(|_| Err("the search for tracepoints ended".to_owned()))
}

/// Gives up the effective capabilities of the calling thread but that of locking memory: ring buffers of other
/// measurements of the same user count as well, and those that root makes exceed a user's limit.
fn drop_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`, of the calling thread.
    const HEAD: [u32; 2] = [0x2008_0522, 0];
    const IPC_LOCK: u32 = 1 << 14;
    let mut head = HEAD;
    // Effective, permitted and inheritable, twice.
    let mut sets = [0u32; 6];
    // SAFETY: the kernel reads the head, and writes the six words only (and to the head where it does not know the version).
    let got = unsafe { libc::syscall(libc::SYS_capget, head.as_mut_ptr(), sets.as_mut_ptr()) };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    let kept = [sets[0] & IPC_LOCK, sets[1] & IPC_LOCK, 0, 0, 0, 0];
    // SAFETY: the kernel reads the two words and the six only.
    match unsafe { libc::syscall(libc::SYS_capset, HEAD.as_ptr(), kept.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn find_as_user(calls: &[i64]) -> Result<Found, String> {
    let mut search = Search::default();
    let highest = highest_id(&mut |id| open(id).err().and_then(|e| e.raw_os_error()));
    let result = search.run(highest, calls);
    let Search { found, opened, .. } = search;
    close_later(opened);
    result.map(|()| found)
}

/// Closes events of tracepoints in a thread of its own, or here where none can be started.
pub fn close_later(events: impl Send + 'static) {
    let thread = std::thread::Builder::new().name("genba-close".to_owned());
    let _ = thread.spawn(move || drop(events));
}

/// The highest number in use, or the last one before a gap that modules have left: `refusal` has the error of opening.
fn highest_id(refusal: &mut dyn FnMut(u64) -> Option<i32>) -> u64 {
    let (mut used, mut unused) = (LOW_ID, MAX_ID + 1);
    while unused - used > 1 {
        let middle = u64::midpoint(used, unused);
        match refusal(middle) {
            Some(libc::EINVAL | libc::ENOENT) => unused = middle,
            _ => used = middle,
        }
    }
    used
}

#[derive(Default)]
struct Search {
    /// The first has the ring buffer.
    opened: Vec<OwnedFd>,
    ring: Option<RingBuffer>,
    found: Found,
}

impl Search {
    fn run(&mut self, highest: u64, calls: &[i64]) -> Result<(), String> {
        let mut id = highest;
        let mut refused = None;
        while id > 1 && self.found.len() < calls.len() {
            match open(id) {
                Err(error) => {
                    refused = Some(error);
                    id -= 1;
                }
                Ok(event) => {
                    let is_entry = self
                        .identify(id, event, calls)
                        .map_err(|error| format!("tracepoints cannot be read: {error}"))?;
                    // Downwards the beginning of a call is before its end.
                    id -= if is_entry == Some(false) { 1 } else { 2 };
                    if self.opened.len() - self.found.len() > MAX_OPENED {
                        break;
                    }
                }
            }
        }
        match (self.found.is_empty(), refused) {
            (true, Some(error)) => Err(format!(
                "the kernel has no tracepoints of system calls for this user ({error})"
            )),
            _ => Ok(()),
        }
    }

    /// Makes the calls that are not found yet. Whether the record of one says that this is a beginning.
    fn identify(&mut self, id: u64, event: OwnedFd, calls: &[i64]) -> io::Result<Option<bool>> {
        match self.opened.first() {
            Some(first) => syscalls::set_output(&event, first)?,
            None => self.ring = Some(map(&event)?),
        }
        self.opened.push(event);
        self.records()?;
        for call in calls.iter().filter(|call| !self.found.contains_key(call)) {
            make_refused_call(*call);
        }
        let of_this = self.records()?.into_iter().find(|record| record.0 == id);
        Ok(of_this.map(|(_, call, value)| {
            let is_entry = value == REFUSED_ARGUMENT;
            let pair = match is_entry {
                true => (id, id - 1),
                false => (id + 1, id),
            };
            if calls.contains(&call) {
                self.found.insert(call, pair);
            }
            is_entry
        }))
    }

    /// The records since the last time: number of the tracepoint, of the call, and its first argument or result.
    fn records(&mut self) -> io::Result<Vec<(u64, i64, u64)>> {
        let mut bytes = Vec::new();
        if let Some(ring) = &mut self.ring {
            ring.drain(&mut SampleCounts::default(), &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
        }
        let mut records = Vec::new();
        let mut at = 0;
        while let Some((raw, size)) = Raw::parse(&bytes[at..]) {
            at += size;
            records.extend(parse(&raw));
        }
        Ok(records)
    }
}

/// Maps a ring buffer, a smaller one where a user's others leave no room.
fn map(event: &OwnedFd) -> io::Result<RingBuffer> {
    let mut pages = RING_PAGES;
    loop {
        match RingBuffer::map(event, pages) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) && pages > 1 => pages /= 2,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                return Err(io::Error::other(
                    "other measurements of this user have taken all memory for them (kernel.perf_event_mlock_kb)",
                ));
            }
            result => return result,
        }
    }
}

/// Of a record with nothing but what the tracepoint wrote: its number, the call, argument or result.
fn parse(raw: &Raw<'_>) -> Option<(u64, i64, u64)> {
    /// The size of what the tracepoint wrote.
    const HEAD: usize = 4;
    if raw.kind != kind::SAMPLE {
        return None;
    }
    let written = raw.body.get(HEAD..)?;
    let id = u16::from_le_bytes(*written.first_chunk()?);
    let call = i32::from_le_bytes(*written.get(8..)?.first_chunk()?);
    let value = u64::from_le_bytes(*written.get(16..)?.first_chunk()?);
    Some((u64::from(id), i64::from(call), value))
}

/// Opens a tracepoint for the calling thread.
fn open(id: u64) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr {
        type_: PERF_TYPE_TRACEPOINT,
        config: id,
        sample_type: sample::RAW,
        ..Default::default()
    };
    attr.__bindgen_anon_1.sample_period = 1;
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    syscalls::open(&mut attr, 0, -1)
}

/// Makes a call that the kernel refuses, or that has nothing to wait for.
fn make_refused_call(number: i64) {
    let first = REFUSED_ARGUMENT;
    // More structures than a process may have descriptors.
    let too_many = u64::from(u32::MAX);
    let mut no_time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let no_time = (&raw mut no_time) as u64;
    let [second, third, fourth, fifth] = match number {
        libc::SYS_poll | libc::SYS_ppoll => [too_many, 0, 0, 0],
        // Sets that are empty; `timeval` has the same layout as `timespec`.
        libc::SYS_select | libc::SYS_pselect6 => [0, 0, 0, no_time],
        libc::SYS_sendfile => [first, 0, 0, 0],
        _ => [0, 0, 0, 0],
    };
    // SAFETY: no call has an address that it may write to, except for what the kernel refuses before: the first
    // argument is not a descriptor, futex's is not aligned, clock_nanosleep's is not a clock, and the structures of poll
    // are too many. Sets of select are empty, and the time, into which it writes what is left, lives on here.
    unsafe { libc::syscall(number, first, second, third, fourth, fifth, 0u64) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn highest_number_is_found_below_a_gap_or_above_it() {
        let highest = |used: &dyn Fn(u64) -> bool| {
            highest_id(&mut |id| {
                if used(id) {
                    Some(libc::EPERM)
                } else {
                    Some(libc::EINVAL)
                }
            })
        };
        assert_eq!(highest(&|id| id <= 2525), 2525);
        assert!([2525, 2700].contains(&highest(&|id| id <= 2525 || (2600..=2700).contains(&id))));
        assert_eq!(highest(&|_| true), MAX_ID);
        assert_eq!(highest(&|_| false), LOW_ID);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&Raw { kind: kind::SAMPLE, misc: 0, body: &body });
        }
    }
}
