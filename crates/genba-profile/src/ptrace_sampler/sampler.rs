//! The thread that samples others: cpu-clock events, stops, and the recording.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};

use super::sample_record::{self, Sample};
use super::stop_throttle::StopThrottle;
use super::stopped_thread::{PtraceStop, sleeps};
use super::x86_64;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind, misc};
use crate::perfdata::writer::{Writer, WrittenEvent};
use crate::process_memory::read_memory;
use crate::sampler::event_attr::{AttrPlan, build};
use crate::sampler::opened_events::{OpenedEvents, open_events};
use crate::sampler::{
    CallGraph, Rate, SampleCounts, Target, describe, initial_records, monotonic_ns, syscalls,
};

/// Bytes of stack that are copied with a sample.
const STACK_COPY_BYTES: usize = 16 << 10;
/// Pages of a ring buffer.
const RING_PAGES: usize = 64;

/// A thread that is stopped or asleep while it is sampled.
#[derive(Clone, Copy, Debug)]
pub struct StoppedThread {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// Time of the sample, ns; with `tid` it identifies the sample.
    pub time: u64,
    /// Its thread pointer, if the thread was ever stopped.
    pub thread_pointer: Option<u64>,
}

/// Reads the memory of sampled threads.
pub trait ThreadVisitor: Send {
    /// Prepares for a sample of this process, before its thread is stopped. Returns whether the
    /// process is to be sampled.
    fn prepare(&mut self, pid: i32) -> bool;
    /// Reads the memory of a stopped thread. Returns whether its sample is to be recorded.
    fn visit(&mut self, thread: &StoppedThread) -> bool;
    /// Called when a thread of this process could not be stopped: it has another tracer, or ptrace
    /// is forbidden.
    fn refused(&mut self, pid: i32);
    /// Called when a process has executed another program.
    fn began(&mut self, pid: i32);
    /// Called at the end with the CPU time that samples cover, and the CPU time of threads that
    /// ended before another sample was due, ns.
    fn ended(&mut self, sampled: u64, unsampled: u64);
}

/// Samples threads by stopping them, in a thread of its own, until [`PtraceSampler::finish`].
pub struct PtraceSampler<V> {
    stop: io::PipeWriter,
    thread: JoinHandle<(io::Result<SampleCounts>, V)>,
    path: PathBuf,
}

impl<V> std::fmt::Debug for PtraceSampler<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PtraceSampler")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<V: ThreadVisitor + 'static> PtraceSampler<V> {
    /// Attaches to `target` and writes `hz` samples per second of CPU time to `path`.
    ///
    /// # Errors
    /// When cpu-clock cannot be sampled or the file cannot be written.
    pub fn start(
        target: Target,
        hz: u64,
        path: &Path,
        command: &[String],
        visitor: V,
    ) -> Result<Self, ProfileError> {
        let cannot_write = |source| ProfileError::Write {
            path: path.to_owned(),
            source,
        };
        let (opened, name) = open(target, hz)?;
        let mut written = opened.attr;
        written.sample_type |= sample::CALLCHAIN | sample::REGS_USER | sample::STACK_USER;
        written.sample_regs_user = crate::sampler::event_attr::USER_REGS;
        written.sample_stack_user = STACK_COPY_BYTES as u32;
        let event = WrittenEvent {
            attr: syscalls::attr_bytes(&written),
            name: name.to_owned(),
            ids: vec![1],
        };
        let mut writer = Writer::create(path, event).map_err(cannot_write)?;
        let pid = match target {
            Target::BeforeExec(pid) | Target::Running(pid) => pid,
        };
        let before = match target {
            Target::BeforeExec(_) => vec![initial_records::thread_name(pid, pid)],
            Target::Running(_) => {
                for event in &opened.events {
                    syscalls::enable(event).map_err(cannot_write)?;
                }
                initial_records::running_process(pid)
            }
        };
        for record in before {
            writer.append(&record).map_err(cannot_write)?;
        }
        let (reader, stop) = io::pipe().map_err(cannot_write)?;
        let command = command.to_vec();
        let mut work = Worker {
            opened,
            writer,
            visitor,
            counts: SampleCounts::default(),
            unattributed_ns: HashMap::new(),
            pointers: HashMap::new(),
            sampled_processes: HashSet::new(),
            sampled_ns: 0,
            unsampled_ns: 0,
            throttle: StopThrottle::new(),
        };
        let thread = std::thread::Builder::new()
            .name("genba-ptrace".to_owned())
            .spawn(move || {
                let result = work.run(reader.as_fd(), &command);
                (result.map(|()| work.counts), work.visitor)
            })
            .map_err(cannot_write)?;
        Ok(Self {
            stop,
            thread,
            path: path.to_owned(),
        })
    }

    /// Stops sampling. Returns the sample counts and the visitor.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(SampleCounts, V), ProfileError> {
        drop(self.stop);
        let ended = self.thread.join();
        let (result, visitor) = ended.map_err(|_| {
            ProfileError::Internal("the ptrace sampler's thread ended unexpectedly".to_owned())
        })?;
        let counts = result.map_err(|source| ProfileError::Write {
            path: self.path,
            source,
        })?;
        Ok((counts, visitor))
    }
}

/// Opens cpu-clock, including time in the kernel where that may be sampled.
fn open(target: Target, hz: u64) -> Result<(OpenedEvents, &'static str), ProfileError> {
    let mut last = None;
    for name in ["cpu-clock", "cpu-clock:u"] {
        for build_ids in [true, false] {
            let plan = AttrPlan {
                event: EventSpec::parse(name)?,
                rate: Rate::Frequency(hz),
                call_graph: CallGraph::None,
                precise_ip: 0,
                exclude_kernel: name.ends_with(":u"),
                on_exec: matches!(target, Target::BeforeExec(_)),
                build_ids,
                switches: false,
                watermark: 0,
            };
            let mut attr = build(&plan);
            // Every sample wakes this process at once.
            attr.set_watermark(0);
            attr.__bindgen_anon_2.wakeup_events = 1;
            match open_events(target, &mut attr, RING_PAGES) {
                Ok(opened) => return Ok((opened, name)),
                Err((_, error)) => last = Some(error),
            }
        }
    }
    Err(ProfileError::Perf {
        event: "cpu-clock".to_owned(),
        what: "perf_event_open for the ptrace sampler",
        source: last.unwrap_or_else(|| io::ErrorKind::PermissionDenied.into()),
    })
}

struct Worker<V> {
    opened: OpenedEvents,
    writer: Writer,
    visitor: V,
    counts: SampleCounts,
    /// CPU time by thread since its last sample, ns.
    unattributed_ns: HashMap<i32, u64>,
    pointers: HashMap<i32, u64>,
    /// Processes that are sampled.
    sampled_processes: HashSet<i32>,
    /// CPU time with and without a sample, ns.
    sampled_ns: u64,
    unsampled_ns: u64,
    throttle: StopThrottle,
}

/// A sample of cpu-clock.
#[derive(Clone, Copy)]
struct ClockSample {
    ip: u64,
    pid: i32,
    tid: i32,
    time: u64,
    cpu: u32,
}

impl<V: ThreadVisitor> Worker<V> {
    fn run(&mut self, stop: BorrowedFd<'_>, command: &[String]) -> io::Result<()> {
        let began = monotonic_ns();
        let mut live = self.opened.ring_events.clone();
        loop {
            let mut fds = vec![PollFd::new(&stop, PollFlags::IN)];
            let events = &self.opened.events;
            fds.extend(live.iter().map(|&e| PollFd::new(&events[e], PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            let stopped = !fds[0].revents().is_empty();
            let gone = PollFlags::HUP | PollFlags::ERR;
            let states: Vec<bool> = fds[1..]
                .iter()
                .map(|fd| fd.revents().intersects(gone))
                .collect();
            drop(fds);
            let mut hung_up = states.into_iter();
            live.retain(|_| !hung_up.next().unwrap_or(true));
            self.drain_and_sample()?;
            if stopped {
                break;
            }
        }
        let left: u64 = self.unattributed_ns.values().sum();
        self.visitor
            .ended(self.sampled_ns, self.unsampled_ns + left);
        let mut description = describe(command);
        description.sample_time = Some((began, monotonic_ns()));
        self.writer.finish(&description)
    }

    /// Drains the ring buffers, and samples the threads that ran.
    fn drain_and_sample(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        // Not the counts of this recording: it counts the samples that it writes.
        let mut counts = SampleCounts::default();
        for ring in &mut self.opened.rings {
            ring.drain(&mut counts, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.counts.lost += counts.lost;
        self.counts.throttled += counts.throttled;
        let mut ticks: HashMap<i32, ClockSample> = HashMap::new();
        let mut at = 0;
        while let Some((raw, size)) = Raw::parse(&bytes[at..]) {
            let whole = &bytes[at..at + size];
            at += size;
            if raw.kind != kind::SAMPLE {
                if raw.kind == kind::COMM && raw.misc & misc::COMM_EXEC != 0 {
                    let pid = whole.get(8..12).and_then(|b| b.try_into().ok());
                    self.visitor.began(pid.map_or(0, i32::from_le_bytes));
                }
                if raw.kind == kind::EXIT
                    && let Some(task) = crate::perfdata::record::task(&raw)
                {
                    self.exited(task.pid, task.tid);
                }
                self.writer.append(whole)?;
            } else if let Some((tick, period)) = parse_clock_sample(raw.body) {
                *self.unattributed_ns.entry(tick.tid).or_default() += period;
                let newest = ticks.entry(tick.tid).or_insert(tick);
                if newest.time <= tick.time {
                    *newest = tick;
                }
            }
        }
        let mut ticks: Vec<ClockSample> = ticks.into_values().collect();
        ticks.sort_by_key(|tick| tick.time);
        for tick in ticks {
            self.sample(tick)?;
        }
        self.writer.finish_round()?;
        self.writer.flush()
    }

    /// Forgets a thread that has ended: its id may be reused.
    fn exited(&mut self, pid: i32, tid: i32) {
        let unattributed = self.unattributed_ns.remove(&tid).unwrap_or(0);
        self.pointers.remove(&tid);
        if self.sampled_processes.contains(&pid) {
            self.unsampled_ns += unattributed;
        }
        if pid == tid {
            self.sampled_processes.remove(&pid);
        }
    }

    fn sample(&mut self, tick: ClockSample) -> io::Result<()> {
        if !self.visitor.prepare(tick.pid) {
            // Not an interpreter: its CPU time is not counted as unsampled.
            self.unattributed_ns.remove(&tick.tid);
            return Ok(());
        }
        self.sampled_processes.insert(tick.pid);
        let began = Instant::now();
        if !self.throttle.accepts(began) {
            return Ok(());
        }
        let asleep = sleeps(tick.pid, tick.tid);
        let stop = if asleep {
            None
        } else {
            match PtraceStop::new(tick.tid) {
                Ok(stop) => Some(stop),
                Err(error) => {
                    if error.raw_os_error() == Some(libc::EPERM) {
                        self.visitor.refused(tick.pid);
                    }
                    // Or it has ended: its CPU time is counted as unsampled at its exit.
                    return Ok(());
                }
            }
        };
        if let Some(stop) = &stop {
            let pointer = x86_64::thread_pointer(&stop.registers);
            self.pointers.insert(tick.tid, pointer);
        }
        let record = self.visitor.visit(&StoppedThread {
            pid: tick.pid,
            tid: tick.tid,
            time: tick.time,
            thread_pointer: self.pointers.get(&tick.tid).copied(),
        });
        let mut stack = Vec::new();
        let mut registers = None;
        let mut ip = tick.ip;
        if let Some(stop) = &stop
            && record
        {
            let (at, stack_pointer) = x86_64::instruction_and_stack_pointer(&stop.registers);
            ip = at;
            registers = Some(x86_64::in_perf_order(&stop.registers));
            stack.resize(STACK_COPY_BYTES, 0);
            let n = read_memory(tick.pid, stack_pointer, &mut stack);
            stack.truncate(n);
        }
        // Memory read while it slept is consistent only if it slept all the time.
        let moved = asleep && !sleeps(tick.pid, tick.tid);
        drop(stop);
        if !asleep {
            self.throttle.stopped(began.elapsed());
        }
        if !record || moved {
            return Ok(());
        }
        let period = self.unattributed_ns.remove(&tick.tid).unwrap_or(0);
        self.sampled_ns += period;
        self.counts.samples += 1;
        self.writer.append(&sample_record::bytes(&Sample {
            ip,
            pid: tick.pid,
            tid: tick.tid,
            time: tick.time,
            cpu: tick.cpu,
            period,
            registers,
            stack: &stack,
        }))
    }
}

/// Parses a sample with IP, TID, TIME, CPU, PERIOD; returns it with its period.
fn parse_clock_sample(body: &[u8]) -> Option<(ClockSample, u64)> {
    let word = |n: usize| {
        let bytes = body.get(n * 8..n * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let task = word(1)?;
    let tick = ClockSample {
        ip: word(0)?,
        pid: task as i32,
        tid: (task >> 32) as i32,
        time: word(2)?,
        cpu: word(3)? as u32,
    };
    Some((tick, word(4)?))
}
