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

/// A task (-1 is any) on a CPU (-1 is any).
pub(super) type Place = (i32, i32);

/// Count, time enabled and time running of a counter.
pub(super) type Raw = [u64; 3];

struct Slot {
    event: EventSpec,
    /// For each place that the counters were attached to, if its task has not ended meanwhile.
    counters: Result<Vec<Option<OwnedFd>>, CounterState>,
}

/// When counters begin to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// At the `execve` of the process.
    AtExec,
    /// At once.
    Now,
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

fn open_one(
    event: &EventSpec,
    (task, cpu): Place,
    begin: Begin,
    exclude_kernel: bool,
    leader: Option<&OwnedFd>,
) -> io::Result<OwnedFd> {
    let mut attr = b::perf_event_attr {
        type_: event.kind,
        config: event.config,
        // Time enabled and time running, for multiplexing.
        read_format: 3,
        ..Default::default()
    };
    attr.__bindgen_anon_3.config1 = event.more_config[0];
    attr.__bindgen_anon_4.config2 = event.more_config[1];
    // The others of a group begin with their leader.
    let waits = begin == Begin::AtExec && leader.is_none();
    attr.set_disabled(waits.into());
    attr.set_enable_on_exec(waits.into());
    attr.set_inherit((task >= 0).into());
    attr.set_exclude_user(event.exclude_user.into());
    attr.set_exclude_kernel(exclude_kernel.into());
    attr.set_exclude_hv(exclude_kernel.into());
    syscalls::open_in_group(&mut attr, task, cpu, leader)
}

/// Opens an event at all places. A task that has ended meanwhile is left out.
fn open_all(
    event: &EventSpec,
    places: &[Place],
    begin: Begin,
    exclude_kernel: bool,
    leaders: Option<&[Option<OwnedFd>]>,
) -> io::Result<Vec<Option<OwnedFd>>> {
    let mut opened = Vec::with_capacity(places.len());
    let mut gone = None;
    for (index, &place) in places.iter().enumerate() {
        let leader = leaders.map(|leaders| leaders[index].as_ref());
        let counter = match leader {
            Some(None) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            leader => open_one(event, place, begin, exclude_kernel, leader.flatten()),
        };
        match counter {
            Ok(counter) => opened.push(Some(counter)),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                opened.push(None);
                gone = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match gone {
        Some(error) if opened.iter().all(Option::is_none) => Err(error),
        _ => Ok(opened),
    }
}

/// Attaches counters to a process that waits before `execve`; they count from there on, over all
/// threads and children. An event that cannot be counted is not an error: its reading says why.
#[must_use]
pub fn open(pid: i32, events: &[EventSpec]) -> CounterSet {
    open_places(&[(pid, -1)], Begin::AtExec, events)
}

/// Attaches counters to threads that run already, and to all that they start from now on.
#[must_use]
pub fn open_running(threads: &[i32], events: &[EventSpec]) -> CounterSet {
    let places: Vec<Place> = threads.iter().map(|&thread| (thread, -1)).collect();
    open_places(&places, Begin::Now, events)
}

/// Opens counters of all that runs on these CPUs.
#[must_use]
pub fn open_cpus(cpus: &[i32], events: &[EventSpec]) -> CounterSet {
    let places: Vec<Place> = cpus.iter().map(|&cpu| (-1, cpu)).collect();
    open_places(&places, Begin::Now, events)
}

fn open_places(places: &[Place], begin: Begin, events: &[EventSpec]) -> CounterSet {
    syscalls::raise_descriptor_limit();
    let mut kernel_refused = false;
    let mut all_refused = None;
    let mut slots: Vec<Slot> = Vec::new();
    for event in events {
        let mut event = event.clone();
        // The first of its group leads it.
        let leader =
            (slots.iter()).find(|slot| event.group.is_some() && slot.event.group == event.group);
        let leaders = match leader.map(|slot| &slot.counters) {
            Some(Err(state)) => {
                let counters = Err(*state);
                slots.push(Slot { event, counters });
                continue;
            }
            Some(Ok(leaders)) => Some(leaders.as_slice()),
            None => None,
        };
        let mut result = open_all(&event, places, begin, event.exclude_kernel, leaders);
        let forbidden =
            |e: &io::Error| matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM));
        if result.as_ref().is_err_and(&forbidden) && !event.exclude_kernel && !event.exclude_user {
            kernel_refused = true;
            if !happens_in_kernel(&event) {
                event.exclude_kernel = true;
                result = open_all(&event, places, begin, true, leaders);
            }
        }
        let counters = result.map_err(|e| {
            if forbidden(&e) || e.raw_os_error() == Some(libc::ENOSYS) {
                if !happens_in_kernel(&event) {
                    all_refused.get_or_insert(e);
                }
                CounterState::Forbidden
            } else {
                CounterState::NotSupported
            }
        });
        slots.push(Slot { event, counters });
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
        let mut from_the_start = self.zero();
        self.read_since(&mut from_the_start)
    }

    /// The state of counters that have not counted yet, for [`Self::read_since`].
    pub(super) fn zero(&self) -> Vec<Vec<Raw>> {
        vec![Vec::new(); self.slots.len()]
    }

    /// Returns what the counters counted since they were in this state, which becomes that of now.
    pub(super) fn read_since(&self, state: &mut [Vec<Raw>]) -> Vec<Reading> {
        (self.slots.iter().zip(state))
            .map(|(slot, before)| read_slot(slot, before))
            .collect()
    }

    /// Whether the kernel permits this user none of the events that the machine has.
    pub(super) fn is_forbidden(&self) -> bool {
        let forbidden = |slot: &Slot| matches!(slot.counters, Err(CounterState::Forbidden));
        self.slots.iter().any(forbidden) && self.slots.iter().all(|slot| slot.counters.is_err())
    }
}

fn read_slot(slot: &Slot, before: &mut Vec<Raw>) -> Reading {
    let mut reading = Reading {
        name: slot.event.full_name(),
        event: slot.event.clone(),
        state: CounterState::NotCounted,
        value: 0.0,
        running_share: 0.0,
    };
    match &slot.counters {
        Err(state) => reading.state = *state,
        Ok(counters) => {
            let now: Vec<Raw> = (counters.iter().flatten())
                .map(|counter| read_raw(counter).unwrap_or_default())
                .collect();
            before.resize(now.len(), Raw::default());
            let since = |(now, before): (&Raw, &Raw)| {
                std::array::from_fn(|field| now[field].saturating_sub(before[field]))
            };
            let raw: Vec<Raw> = now.iter().zip(before.iter()).map(since).collect();
            *before = now;
            if let Some((value, share)) = sum(&raw) {
                reading.state = CounterState::Counted;
                reading.value = value;
                reading.running_share = share;
            }
        }
    }
    reading
}

/// Reads a counter; `None` where it cannot be read.
fn read_raw(counter: &OwnedFd) -> Option<Raw> {
    let mut raw = Raw::default();
    // SAFETY: reads at most the 24 bytes that `raw` has.
    let n = unsafe { libc::read(counter.as_raw_fd(), raw.as_mut_ptr().cast(), 24) };
    (n == 24).then_some(raw)
}

/// The counts of several tasks together, each scaled to the whole time, and the share of that time that
/// was counted; `None` if no counter ran.
fn sum(raw: &[Raw]) -> Option<(f64, f64)> {
    let ran = raw.iter().filter_map(|&[count, enabled, running]| {
        let (value, share) = scaled(count, enabled, running)?;
        Some((value, share * enabled as f64, enabled as f64))
    });
    let total = ran.fold(None, |total: Option<(f64, f64, f64)>, one| {
        let all = total.unwrap_or_default();
        Some((all.0 + one.0, all.1 + one.1, all.2 + one.2))
    })?;
    Some((total.0, (total.1 / total.2.max(1.0)).min(1.0)))
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
    fn counts_of_threads_are_added_and_those_that_never_ran_left_out() {
        let (value, share) = sum(&[[10, 100, 100], [10, 100, 50], [0, 100, 0]]).expect("two ran");
        assert_eq!((value, share), (30.0, 0.75));
        assert_eq!(sum(&[[0, 100, 0]]), None);
        assert_eq!(sum(&[]), None);
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
