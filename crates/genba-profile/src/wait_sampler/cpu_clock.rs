//! Samples of the threads that are on a CPU, records of what threads and mappings come and go, and of switches
//! while these are not too many.

use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::perf_event_attr;

use super::sampler::target_threads;
use crate::event::EventSpec;
use crate::sampler::event_attr::{AttrPlan, build, set_side_records};
use crate::sampler::opened_events::{OpenedEvents, open_threads};
use crate::sampler::ring_buffer::SampleCounts;
use crate::sampler::{CallGraph, Rate, Target, syscalls};

/// Samples per second of CPU time.
const CPU_HZ: u64 = 499;
/// Bytes of stack with a sample on a CPU.
const CPU_STACK_BYTES: u32 = 8 << 10;
/// Pages of a ring buffer: 4 MiB. On a machine with many runnable threads genba is late to read them.
const RING_PAGES: usize = 1024;

/// The attribute that was refused, and why.
pub type Refused = Box<(perf_event_attr, io::Error)>;

/// Switches per second from which on they are recorded no longer: a record of each is dearer than the switch.
const MANY_SWITCHES: f64 = 20_000.0;

/// The open events of a target.
pub struct CpuClock {
    /// Samples, and records of threads, programs and mappings.
    opened: OpenedEvents,
    /// Records of switches, into the same ring buffers.
    switches: Vec<OwnedFd>,
    /// Whether these are recorded.
    switches_on: bool,
    counts: SampleCounts,
    /// What is sampled: cpu-clock, or only user code.
    pub name: &'static str,
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
        let threads = || target_threads(target);
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
                switches: false,
                watermark: 0,
            });
            // Every sample wakes this process at once: the others are looked at while they are as
            // they were at the sample.
            attr.set_watermark(0);
            attr.__bindgen_anon_2.wakeup_events = 1;
            attr
        };
        let mut attr = plan(name);
        let opened = open_threads(&[pid], &threads, &mut attr, pages)
            .map_err(|(_, error)| Box::new((attr, error)))?;
        let mut of_switches = plan("dummy:u");
        set_side_records(&mut of_switches, 0);
        of_switches.set_context_switch(1);
        // Where the kernel refuses them, times of short lives stay those of the last look.
        let mut switches = Vec::with_capacity(opened.events.len());
        for (event, (tid, cpu)) in opened.events.iter().zip(&opened.places) {
            if let Ok(of_thread) = syscalls::open(&mut of_switches, *tid, *cpu)
                && syscalls::set_output(&of_thread, event).is_ok()
            {
                switches.push(of_thread);
            }
        }
        Ok(Self {
            opened,
            switches_on: !switches.is_empty(),
            switches,
            counts: SampleCounts::default(),
            name,
        })
    }

    /// The attribute of the samples.
    pub fn attr(&self) -> perf_event_attr {
        self.opened.attr
    }

    /// The events whose ring buffers fill, to poll.
    pub fn ring_events(&self) -> impl Iterator<Item = &OwnedFd> {
        let events = &self.opened.events;
        self.opened.ring_events.iter().map(|at| &events[*at])
    }

    /// The ring buffers, for the records of what was sampled and of threads.
    pub fn drain(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        for ring in &mut self.opened.rings {
            ring.drain(&mut self.counts, &mut |part| {
                out.extend_from_slice(part);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Records that the kernel had no room for.
    pub fn lost(&self) -> u64 {
        self.counts.lost
    }

    /// Starts samples and records of a running target.
    pub fn enable(&self) -> io::Result<()> {
        self.opened.events.iter().try_for_each(syscalls::enable)?;
        self.switches.iter().try_for_each(syscalls::enable)
    }

    /// Ends both.
    pub fn disable(&self) -> io::Result<()> {
        self.opened.events.iter().try_for_each(syscalls::disable)?;
        self.switches.iter().try_for_each(syscalls::disable)
    }

    /// Records switches no longer if there are too many per second. Whether this has happened just now.
    ///
    /// The events are disabled, not closed: the kernel switches between two threads that have inherited the same events
    /// without touching these, but no longer once one was removed. At 3·10⁵ switches a second a program took 2.7 times
    /// the CPU time then.
    pub fn limit_switches(&mut self, rate: f64) -> io::Result<bool> {
        let many = rate > MANY_SWITCHES && self.switches_on;
        if many {
            self.switches.iter().try_for_each(syscalls::disable)?;
            self.switches_on = false;
        }
        Ok(many)
    }
}
