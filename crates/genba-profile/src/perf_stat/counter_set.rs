//! Counters attached to a process and the processes that it starts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use genba_model::CounterState;
use perf_event_open_sys::bindings as b;

use crate::event::EventSpec;
use crate::permission;
use crate::sampler::syscalls;

/// The value of one counter at the end of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Event name with modifiers (`cycles:u`).
    pub name: String,
    /// The event.
    pub event: EventSpec,
    /// Whether there is a value.
    pub state: CounterState,
    /// The count, scaled to the whole run if the counter was multiplexed.
    pub value: f64,
    /// Share of the run for which it was on the hardware.
    pub running_share: f64,
}

struct Slot {
    event: EventSpec,
    counter: Result<OwnedFd, CounterState>,
}

/// Counters attached to a process.
pub struct CounterSet {
    slots: Vec<Slot>,
    /// What was requested and cannot be had, each with the command that allows it.
    pub notes: Vec<String>,
}

/// Whether the event happens only in the kernel: without the kernel it would count zero, which is
/// not a measurement.
fn happens_in_kernel(event: &EventSpec) -> bool {
    event.kind == b::PERF_TYPE_SOFTWARE
        && (event.config == b::PERF_COUNT_SW_CONTEXT_SWITCHES as u64
            || event.config == b::PERF_COUNT_SW_CPU_MIGRATIONS as u64)
}

fn open_one(event: &EventSpec, pid: i32, exclude_kernel: bool) -> io::Result<OwnedFd> {
    let mut attr = b::perf_event_attr {
        type_: event.kind,
        config: event.config,
        // Time enabled and time running, for multiplexing.
        read_format: 3,
        ..Default::default()
    };
    attr.set_disabled(1);
    attr.set_enable_on_exec(1);
    attr.set_inherit(1);
    attr.set_exclude_user(event.exclude_user.into());
    attr.set_exclude_kernel(exclude_kernel.into());
    attr.set_exclude_hv(exclude_kernel.into());
    syscalls::open(&mut attr, pid, -1)
}

/// Attaches counters to a process that waits before `execve`; they count from there on, over all
/// threads and children. An event that cannot be counted is not an error: its reading says why.
#[must_use]
pub fn open(pid: i32, events: &[EventSpec]) -> CounterSet {
    syscalls::raise_descriptor_limit();
    let mut kernel_refused = false;
    let mut all_refused = None;
    let mut slots = Vec::new();
    for event in events {
        let mut event = event.clone();
        let mut result = open_one(&event, pid, event.exclude_kernel);
        let forbidden =
            |e: &io::Error| matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM));
        if result.as_ref().is_err_and(&forbidden) && !event.exclude_kernel && !event.exclude_user {
            kernel_refused = true;
            if !happens_in_kernel(&event) {
                event.exclude_kernel = true;
                result = open_one(&event, pid, true);
            }
        }
        let counter = result.map_err(|e| {
            if forbidden(&e) || e.raw_os_error() == Some(libc::ENOSYS) {
                if !happens_in_kernel(&event) {
                    all_refused.get_or_insert(e);
                }
                CounterState::Forbidden
            } else {
                CounterState::NotSupported
            }
        });
        slots.push(Slot { event, counter });
    }
    let mut notes = Vec::new();
    if let Some(error) = all_refused {
        notes.push(permission::all_refused(permission::paranoid(), &error).to_string());
    } else if kernel_refused {
        notes.push(permission::kernel_refused(permission::paranoid()).to_string());
    }
    CounterSet { slots, notes }
}

impl CounterSet {
    /// Returns the readings of all counters in the order of the events.
    #[must_use]
    pub fn read(&self) -> Vec<Reading> {
        self.slots.iter().map(read_slot).collect()
    }
}

fn read_slot(slot: &Slot) -> Reading {
    let mut reading = Reading {
        name: slot.event.full_name(),
        event: slot.event.clone(),
        state: CounterState::NotCounted,
        value: 0.0,
        running_share: 0.0,
    };
    match &slot.counter {
        Err(state) => reading.state = *state,
        Ok(fd) => {
            let mut raw = [0u64; 3];
            // SAFETY: reads at most the 24 bytes that `raw` has.
            let n = unsafe { libc::read(fd.as_raw_fd(), raw.as_mut_ptr().cast(), 24) };
            if n == 24
                && let Some((value, share)) = scaled(raw[0], raw[1], raw[2])
            {
                reading.state = CounterState::Counted;
                reading.value = value;
                reading.running_share = share;
            }
        }
    }
    reading
}

/// The count scaled to the whole run, and the share of the run that was counted; `None` if the
/// counter never ran. Formula: `perf_event_open(2)`, "read_format".
fn scaled(count: u64, enabled: u64, running: u64) -> Option<(f64, f64)> {
    if running == 0 {
        return None;
    }
    let share = (running as f64 / enabled.max(running) as f64).min(1.0);
    Some((count as f64 / share, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplexed_counts_are_scaled() {
        assert_eq!(scaled(10, 100, 100), Some((10.0, 1.0)));
        assert_eq!(scaled(10, 100, 25), Some((40.0, 0.25)));
        assert_eq!(scaled(0, 100, 0), None);
    }

    #[test]
    fn refused_and_unsupported_events_have_different_states() {
        let events = super::super::detailed();
        for (errno, state) in [
            (libc::EACCES, CounterState::Forbidden),
            (libc::ENOENT, CounterState::NotSupported),
        ] {
            syscalls::REFUSE.set(Some(errno));
            let set = open(1, &events);
            syscalls::REFUSE.set(None);
            assert!(set.read().iter().all(|r| r.state == state));
            assert_eq!(set.notes.is_empty(), errno == libc::ENOENT);
        }
    }
}
