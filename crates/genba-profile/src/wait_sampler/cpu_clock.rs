//! Samples of the threads that are on a CPU, and records of what threads and mappings come and go.
//!
//! The kernel sets and clears the timer of a sampled event at each switch to and from its thread. Where threads
//! switch a hundred thousand times a second that is a tenth of their time, so they are sampled in short bursts there; the
//! records of threads come from an event of their own, which costs nothing and is never off.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use perf_event_open_sys::bindings::perf_event_attr;

use super::process_tree;
use crate::event::EventSpec;
use crate::sampler::event_attr::{AttrPlan, build};
use crate::sampler::recording_session::{OpenedEvents, open_threads};
use crate::sampler::ring_buffer::SampleCounts;
use crate::sampler::{CallGraph, Rate, Target, initial_records, syscalls};

/// Samples per second of CPU time.
const CPU_HZ: u64 = 499;
/// Bytes of stack with a sample on a CPU.
const CPU_STACK_BYTES: u32 = 8 << 10;
/// Pages of a ring buffer.
const RING_PAGES: usize = 256;

/// The attribute that was refused, and why.
pub type Refused = Box<(perf_event_attr, io::Error)>;

/// Switches per second from which on threads are sampled in bursts.
const MANY_SWITCHES: f64 = 20_000.0;
/// Length of a burst: five samples of a thread that is always on a CPU.
const BURST: Duration = Duration::from_millis(10);
/// The part of the time that bursts take, as one in so many.
const ONE_IN: u64 = 8;

/// The open events of a target.
pub struct CpuClock {
    /// Threads, programs and mappings; they have the ring buffers.
    records: OpenedEvents,
    /// Samples, into the same ring buffers.
    samples: Vec<OwnedFd>,
    /// What is sampled: cpu-clock, or only user code.
    pub name: &'static str,
    /// The attribute of the samples.
    pub attr: perf_event_attr,
    bursts: Bursts,
}

impl CpuClock {
    /// Opens cpu-clock with stack copies on a target, including time in the kernel where that may be
    /// sampled. Of a running target the processes that it has started are sampled as well.
    pub fn open(target: Target) -> Result<Self, Refused> {
        let mut refused = None;
        for name in ["cpu-clock", "cpu-clock:u"] {
            for build_ids in [true, false] {
                let mut pages = RING_PAGES;
                while pages > 0 {
                    match Self::open_with(target, name, build_ids, pages) {
                        Ok(opened) => return Ok(opened),
                        Err(error) => refused = Some(error),
                    }
                    pages /= 4;
                }
            }
        }
        Err(refused.unwrap_or_else(|| {
            Box::new((Default::default(), io::ErrorKind::PermissionDenied.into()))
        }))
    }

    fn open_with(
        target: Target,
        name: &'static str,
        build_ids: bool,
        pages: usize,
    ) -> Result<Self, Refused> {
        let threads = || match target {
            Target::BeforeExec(pid) => vec![pid],
            Target::Running(pid) => process_tree::tree(pid)
                .into_iter()
                .flat_map(|(pid, _)| initial_records::threads(pid))
                .collect(),
        };
        let (Target::BeforeExec(pid) | Target::Running(pid)) = target;
        let plan = |name: &str| {
            let mut attr = build(&AttrPlan {
                event: EventSpec::parse(name).expect("its own name of an event"),
                rate: Rate::Frequency(CPU_HZ),
                call_graph: CallGraph::Dwarf(CPU_STACK_BYTES),
                precise_ip: 0,
                exclude_kernel: name.ends_with(":u"),
                on_exec: matches!(target, Target::BeforeExec(_)),
                build_ids,
                watermark: 0,
            });
            // Every sample wakes this process at once: the others are looked at while they are as
            // they were at the sample.
            attr.set_watermark(0);
            attr.__bindgen_anon_2.wakeup_events = 1;
            attr
        };
        let attr = plan(name);
        let failed = |error| Box::new((attr, error));
        let mut of_records = plan("dummy:u");
        let records = open_threads(&[pid], &threads, &mut of_records, pages)
            .map_err(|(_, error)| failed(error))?;
        let mut of_samples = attr;
        of_samples.set_mmap(0);
        of_samples.set_mmap2(0);
        of_samples.set_mmap_data(0);
        of_samples.set_build_id(0);
        of_samples.set_comm(0);
        of_samples.set_comm_exec(0);
        of_samples.set_task(0);
        let mut samples = Vec::with_capacity(records.events.len());
        for (event, (tid, cpu)) in records.events.iter().zip(&records.places) {
            match syscalls::open(&mut of_samples, *tid, *cpu) {
                Ok(sample) => {
                    syscalls::set_output(&sample, event).map_err(failed)?;
                    samples.push(sample);
                }
                // The thread has just ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) && *tid != pid => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Self {
            records,
            samples,
            name,
            attr,
            bursts: Bursts::new(Instant::now()),
        })
    }

    /// The events whose ring buffers fill, to poll.
    pub fn ring_events(&self) -> impl Iterator<Item = &OwnedFd> {
        let events = &self.records.events;
        self.records.ring_events.iter().map(|at| &events[*at])
    }

    /// The ring buffers, for the records of what was sampled and of threads.
    pub fn drain(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut counts = SampleCounts::default();
        for ring in &mut self.records.rings {
            ring.drain(&mut counts, &mut |part| {
                out.extend_from_slice(part);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Starts records and samples of a running target.
    pub fn enable(&self) -> io::Result<()> {
        self.records.events.iter().try_for_each(syscalls::enable)?;
        self.samples.iter().try_for_each(syscalls::enable)
    }

    /// Ends both.
    pub fn disable(&self) -> io::Result<()> {
        self.records.events.iter().try_for_each(syscalls::disable)?;
        self.samples.iter().try_for_each(syscalls::disable)
    }

    /// Begins or ends a burst where it is time for that; threads switch so often per second at present.
    pub fn turn(&mut self, now: Instant, switches: f64, random: u64) -> io::Result<()> {
        match self.bursts.turn(now, switches, random) {
            Some(true) => self.samples.iter().try_for_each(syscalls::enable),
            Some(false) => self.samples.iter().try_for_each(syscalls::disable),
            None => Ok(()),
        }
    }

    /// How many samples each one stands for at present.
    pub fn weight(&self) -> u64 {
        self.bursts.one_in
    }

    /// Whether there were bursts rather than samples all the time.
    pub fn had_bursts(&self) -> bool {
        self.bursts.any
    }
}

/// When samples are on.
#[derive(Debug)]
struct Bursts {
    on: bool,
    until: Instant,
    one_in: u64,
    any: bool,
}

impl Bursts {
    fn new(now: Instant) -> Self {
        Self {
            on: true,
            until: now,
            one_in: 1,
            any: false,
        }
    }

    /// Whether samples are to be switched on or off now. Pauses are of random length: what repeats in the
    /// program must not beat with them.
    fn turn(&mut self, now: Instant, switches: f64, random: u64) -> Option<bool> {
        if now < self.until {
            return None;
        }
        let was_on = self.on;
        if switches < MANY_SWITCHES {
            (self.on, self.one_in, self.until) = (true, 1, now + BURST);
        } else if self.on && self.one_in > 1 {
            let pause = BURST.mul_f64((ONE_IN - 1) as f64);
            let share = 0.5 + (random % 1000) as f64 / 1000.0;
            (self.on, self.until) = (false, now + pause.mul_f64(share));
        } else {
            (self.on, self.one_in, self.until) = (true, ONE_IN, now + BURST);
            self.any = true;
        }
        (self.on != was_on).then_some(self.on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of 100 s in which samples are on, and the sum of their weights, at this many switches per second.
    fn sampled(switches: f64) -> (f64, f64) {
        const STEP: Duration = Duration::from_millis(1);
        let mut now = Instant::now();
        let mut bursts = Bursts::new(now);
        let (mut on, mut weights) = (0.0, 0.0);
        for step in 0..100_000_u64 {
            bursts.turn(
                now,
                switches,
                step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20,
            );
            now += STEP;
            if bursts.on {
                on += 1e-5;
                weights += 1e-5 * bursts.one_in as f64;
            }
        }
        (on, weights)
    }

    #[test]
    fn who_switches_often_is_sampled_in_bursts_that_stand_for_the_rest() {
        assert_eq!(sampled(100.0).0.round(), 1.0);
        let (on, weights) = sampled(100_000.0);
        assert!((0.11..0.14).contains(&on), "{on}");
        assert!((0.93..1.07).contains(&weights), "{weights}");
    }

    #[test]
    fn a_calm_moment_ends_the_bursts() {
        let mut now = Instant::now();
        let mut bursts = Bursts::new(now);
        let mut turns = Vec::new();
        for switches in [1e5, 1e5, 1e5, 1e5, 10.0, 10.0] {
            turns.push(bursts.turn(now, switches, 500));
            now += BURST * 10;
        }
        let expected = [None, Some(false), Some(true), Some(false), Some(true), None];
        assert_eq!(turns, expected);
        assert_eq!(bursts.one_in, 1);
    }
}
