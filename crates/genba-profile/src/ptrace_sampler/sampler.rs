//! The thread that stops others.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::sample_record::{self, Sample};
use super::stopped_thread::{PtraceStop, read_memory, sleeps};
use super::{MOST_STOPPED, x86_64};
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::perfdata::attr::sample;
use crate::perfdata::record::{Raw, kind, misc};
use crate::perfdata::writer::{Writer, WrittenEvent};
use crate::sampler::event_attr::{AttrPlan, build};
use crate::sampler::recording_session::{OpenedEvents, open_events};
use crate::sampler::{
    CallGraph, Rate, SampleCounts, Target, describe, initial_records, monotonic_ns, syscalls,
};

/// Bytes of stack that are kept with a sample.
const STACK: usize = 16 << 10;
/// Pages of a ring.
const PAGES: usize = 64;

/// A thread that stands still.
#[derive(Clone, Copy, Debug)]
pub struct StoppedThread {
    /// Its process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The time of its sample, ns: with the thread it names the sample.
    pub time: u64,
    /// Its thread pointer, as far as it was ever seen.
    pub thread_pointer: Option<u64>,
}

/// Reads what it knows about in the memory of threads that stand still.
pub trait ThreadVisitor: Send {
    /// A thread of this process is about to be stopped: what can be done before is done now.
    /// Says whether it is worth while.
    fn prepare(&mut self, pid: i32) -> bool;
    /// A thread stands still; says whether its sample is to be kept.
    fn visit(&mut self, thread: &StoppedThread) -> bool;
    /// A thread of this process could not be stopped: somebody traces it, or that is forbidden.
    fn refused(&mut self, pid: i32);
    /// A process has begun another program.
    fn began(&mut self, pid: i32);
    /// At the end: CPU time that samples stand for, and that of threads which ended before
    /// another sample was due, ns.
    fn ended(&mut self, read: u64, unread: u64);
}

/// Samples threads by stopping them, in a thread of its own, until told to end.
pub struct PtraceSampler<V> {
    stop: io::PipeWriter,
    thread: JoinHandle<(io::Result<SampleCounts>, V)>,
    path: PathBuf,
}

impl<V> std::fmt::Debug for PtraceSampler<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StopSampler")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<V: ThreadVisitor + 'static> PtraceSampler<V> {
    /// Attaches to `target` at `hz` samples a second of CPU time, and writes them to `path`.
    ///
    /// # Errors
    /// When the clock cannot be sampled or the file not be written.
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
        written.sample_stack_user = STACK as u32;
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
            seen: SampleCounts::default(),
            owed: HashMap::new(),
            pointers: HashMap::new(),
            known: HashSet::new(),
            read: 0,
            unread: 0,
            pace: StopThrottle::new(),
        };
        let thread = std::thread::Builder::new()
            .name("genba-stopper".to_owned())
            .spawn(move || {
                let result = work.run(reader.as_fd(), &command);
                (result.map(|()| work.seen), work.visitor)
            })
            .map_err(cannot_write)?;
        Ok(Self {
            stop,
            thread,
            path: path.to_owned(),
        })
    }

    /// Ends it; gives the number of samples, and the visitor back.
    ///
    /// # Errors
    /// When the file could not be written.
    pub fn finish(self) -> Result<(SampleCounts, V), ProfileError> {
        drop(self.stop);
        let ended = self.thread.join();
        let (result, visitor) = ended.map_err(|_| {
            ProfileError::Internal("the thread that stops others ended unexpectedly".to_owned())
        })?;
        let seen = result.map_err(|source| ProfileError::Write {
            path: self.path,
            source,
        })?;
        Ok((seen, visitor))
    }
}

/// The clock, with the kernel's time where that may be seen.
fn open(target: Target, hz: u64) -> Result<(OpenedEvents, &'static str), ProfileError> {
    let mut last = None;
    for name in ["cpu-clock", "cpu-clock:u"] {
        for build_ids in [true, false] {
            let plan = AttrPlan {
                event: EventSpec::parse(name)?,
                rate: Rate::Frequency(hz),
                call_graph: CallGraph::None,
                addresses: false,
                precise_ip: 0,
                exclude_kernel: name.ends_with(":u"),
                on_exec: matches!(target, Target::BeforeExec(_)),
                build_ids,
                watermark: 0,
            };
            let mut attr = build(&plan);
            // To be woken by every sample, at once.
            attr.set_watermark(0);
            attr.__bindgen_anon_2.wakeup_events = 1;
            match open_events(target, &mut attr, PAGES) {
                Ok(opened) => return Ok((opened, name)),
                Err((_, error)) => last = Some(error),
            }
        }
    }
    Err(ProfileError::Perf {
        event: "cpu-clock".to_owned(),
        what: "perf_event_open for samples of stopped threads",
        source: last.unwrap_or_else(|| io::ErrorKind::PermissionDenied.into()),
    })
}

struct Worker<V> {
    opened: OpenedEvents,
    writer: Writer,
    visitor: V,
    seen: SampleCounts,
    /// CPU time by thread for which there is no sample yet, ns.
    owed: HashMap<i32, u64>,
    pointers: HashMap<i32, u64>,
    /// Processes whose threads are worth while.
    known: HashSet<i32>,
    /// CPU time with and without a sample, ns.
    read: u64,
    unread: u64,
    pace: StopThrottle,
}

/// Lets so many ticks through that threads are stopped for no more than their part of the time.
/// Those let through are evenly spaced, so that samples weigh nearly the same.
struct StopThrottle {
    /// Mean time between two ticks, and for which one stop lasts, seconds.
    between: f64,
    cost: f64,
    last: Instant,
    credit: f64,
}

impl StopThrottle {
    fn new() -> Self {
        Self {
            between: 0.002,
            cost: 0.0,
            last: Instant::now(),
            credit: 0.0,
        }
    }

    /// A tick came: whether to stop its thread.
    fn lets(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last).as_secs_f64();
        self.last = now;
        // A pause of the target says nothing about its rate.
        self.between += (since.min(0.1) - self.between) * 0.02;
        let share = (MOST_STOPPED * self.between / self.cost.max(1e-7)).min(1.0);
        self.credit += share;
        let lets = self.credit >= 1.0;
        if lets {
            self.credit -= 1.0;
        }
        lets
    }

    fn stopped(&mut self, time: Duration) {
        self.cost += (time.as_secs_f64().min(0.01) - self.cost) * 0.05;
    }
}

/// A sample of the clock.
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
            self.round()?;
            if stopped {
                break;
            }
        }
        let left: u64 = self.owed.values().sum();
        self.visitor.ended(self.read, self.unread + left);
        let mut description = describe(command);
        description.sample_time = Some((began, monotonic_ns()));
        self.writer.finish(&description)
    }

    /// Empties the rings, and samples the threads that they name.
    fn round(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        // Counted are the samples that are written, not these.
        let mut seen = SampleCounts::default();
        for ring in &mut self.opened.rings {
            ring.drain(&mut seen, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.seen.lost += seen.lost;
        self.seen.throttled += seen.throttled;
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
            } else if let Some((tick, period)) = tick(raw.body) {
                *self.owed.entry(tick.tid).or_default() += period;
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

    /// What a thread is owed is no other's that gets its number.
    fn exited(&mut self, pid: i32, tid: i32) {
        let owed = self.owed.remove(&tid).unwrap_or(0);
        self.pointers.remove(&tid);
        if self.known.contains(&pid) {
            self.unread += owed;
        }
        if pid == tid {
            self.known.remove(&pid);
        }
    }

    fn sample(&mut self, tick: ClockSample) -> io::Result<()> {
        if !self.visitor.prepare(tick.pid) {
            // Nothing is known of its program: its time is nobody's.
            self.owed.remove(&tick.tid);
            return Ok(());
        }
        self.known.insert(tick.pid);
        let began = Instant::now();
        if !self.pace.lets(began) {
            return Ok(());
        }
        let asleep = sleeps(tick.pid, tick.tid);
        let halt = if asleep {
            None
        } else {
            match PtraceStop::new(tick.tid) {
                Ok(halt) => Some(halt),
                Err(error) => {
                    if error.raw_os_error() == Some(libc::EPERM) {
                        self.visitor.refused(tick.pid);
                    }
                    // Or it has ended: its time goes to no one.
                    return Ok(());
                }
            }
        };
        if let Some(halt) = &halt {
            let pointer = x86_64::thread_pointer(&halt.registers);
            self.pointers.insert(tick.tid, pointer);
        }
        let keep = self.visitor.visit(&StoppedThread {
            pid: tick.pid,
            tid: tick.tid,
            time: tick.time,
            thread_pointer: self.pointers.get(&tick.tid).copied(),
        });
        let mut stack = Vec::new();
        let mut registers = None;
        let mut ip = tick.ip;
        if let Some(halt) = &halt
            && keep
        {
            let (at, stack_pointer) = x86_64::place(&halt.registers);
            ip = at;
            registers = Some(x86_64::in_perf_order(&halt.registers));
            stack.resize(STACK, 0);
            let n = read_memory(tick.pid, stack_pointer, &mut stack);
            stack.truncate(n);
        }
        // What was read asleep holds only if it slept all the time.
        let moved = asleep && !sleeps(tick.pid, tick.tid);
        drop(halt);
        if !asleep {
            self.pace.stopped(began.elapsed());
        }
        if !keep || moved {
            return Ok(());
        }
        let period = self.owed.remove(&tick.tid).unwrap_or(0);
        self.read += period;
        self.seen.samples += 1;
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

/// Reads a sample with IP, TID, TIME, CPU, PERIOD.
fn tick(body: &[u8]) -> Option<(ClockSample, u64)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_keeps_to_its_part_of_the_time() {
        for cost in [5e-6, 50e-6, 2e-3] {
            let mut pace = StopThrottle::new();
            let mut now = pace.last;
            let (mut stopped, mut stops, ticks) = (0.0, 0, 20_000);
            for _ in 0..ticks {
                now += Duration::from_micros(2000);
                if pace.lets(now) {
                    pace.stopped(Duration::from_secs_f64(cost));
                    stopped += cost;
                    stops += 1;
                }
            }
            let all = f64::from(ticks) * 0.002;
            assert!(
                stopped <= all * MOST_STOPPED * 1.1 + 0.1,
                "{stopped} of {all}"
            );
            assert!(stops >= ticks / 50, "{stops} with {cost}");
        }
    }
}
