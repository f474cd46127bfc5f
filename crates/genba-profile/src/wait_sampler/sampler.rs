//! Watches all threads of a command or process: at random moments, and whenever one was sampled on a
//! CPU.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use genba_model::WaitReason;
use rustix::event::{PollFd, PollFlags, poll};

use super::cpu_quota::{CpuQuota, allowed_cpus};
use super::descriptor_peers::DescriptorPeers;
use super::moments::{Moments, ThreadNow, extend_timeline};
use super::stack_copy::{self, CodeRanges};
use super::thread_files::{ProcessIo, SchedStat, ThreadFiles};
use super::variable_place::variable_place;
use super::wait_recording::{
    SeenWait, StateIndex, ThreadIndex, WaitObject, WaitRecording, WatchedProcess, WatchedThread,
};
use super::waited_for::{Enders, Named, WaitedFor, waited_for};
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::perfdata::record::{Raw, comm, kind, misc, task};
use crate::perfdata::writer::{Writer, WrittenEvent};
use crate::ptrace_sampler::sample_record::{self, Sample};
use crate::sampler::event_attr::{AttrPlan, build};
use crate::sampler::recording_session::{OpenedEvents, open_events};
use crate::sampler::{
    CallGraph, Rate, SampleCounts, Target, describe, initial_records, monotonic_ns, syscalls,
};

/// Samples per second of CPU time.
const CPU_HZ: u64 = 499;
/// Bytes of stack with a sample on a CPU.
const CPU_STACK_BYTES: u32 = 8 << 10;
/// Average time between moments.
const INTERVAL: Duration = Duration::from_millis(2);
/// Largest share of a CPU that looking at threads may take.
const MAX_COST: f64 = 0.03;
/// How often the list of threads is read where the kernel does not report new ones.
const RESCAN: Duration = Duration::from_millis(20);
/// How often the accounts of processes are read.
const ACCOUNTS: Duration = Duration::from_millis(50);
/// Most threads over the whole time.
const MAX_THREADS: usize = 50_000;
/// Most bytes of the recording; later samples have no stacks.
const MAX_BYTES: u64 = 512 << 20;
/// Pages of a ring buffer.
const RING_PAGES: usize = 256;
/// Longest time between a sample on a CPU and the look at the other threads, ns.
const MAX_DELAY_NS: u64 = 400_000;
/// Threads among which one of unknown identity is looked for.
const MAX_CANDIDATES: usize = 8;

/// A thread that exists.
struct Live {
    tid: i32,
    pid: i32,
    index: ThreadIndex,
    files: ThreadFiles,
    account: SchedStat,
    /// What it was seen waiting for, and its state; `None` on a CPU or ready.
    waits: Option<WaitedFor>,
    state: StateIndex,
}

/// The sampler of one command or process.
pub struct WaitSampler {
    events: Option<OpenedEvents>,
    writer: Writer,
    command: Vec<String>,
    moments: Moments,
    live: Vec<Live>,
    threads: Vec<WatchedThread>,
    indices: HashMap<i32, ThreadIndex>,
    processes: HashMap<i32, WatchedProcess>,
    io_before: HashMap<i32, ProcessIo>,
    code: HashMap<i32, (CodeRanges, Instant)>,
    /// Samples of stacks by thread and key.
    stacks: HashMap<(i32, u64), (i32, u64)>,
    /// Files in whose data words lie that threads waited on.
    variables: HashMap<(i32, u64), Option<(String, u64)>>,
    peers: DescriptorPeers,
    quota: CpuQuota,
    cpus: u32,
    leader: i32,
    unwatched: u64,
    readable: bool,
    random: u64,
    began: u64,
    /// The program that starts the command, until that is executed.
    starter: Option<std::path::PathBuf>,
    rescanned: Instant,
    accounted: Instant,
    notes: Vec<String>,
}

impl std::fmt::Debug for WaitSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitSampler").finish_non_exhaustive()
    }
}

impl WaitSampler {
    /// Attaches to a target and creates the file for stacks.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(target: Target, path: &Path, command: &[String]) -> Result<Self, ProfileError> {
        let io = |source| ProfileError::Write {
            path: path.to_owned(),
            source,
        };
        syscalls::raise_descriptor_limit();
        let mut notes = Vec::new();
        let (events, attr, name) = match open_cpu_clock(target) {
            Ok((events, name)) => {
                let attr = events.attr;
                (Some(events), attr, name)
            }
            Err(refused) => {
                let (attr, error) = *refused;
                notes.push(format!(
                    "what threads did on a CPU was not sampled: perf events are refused ({error}); \
                     only who waits is known, not for which line\n  to allow them: sudo sysctl \
                     kernel.perf_event_paranoid=2"
                ));
                (None, attr, "cpu-clock")
            }
        };
        let event = WrittenEvent {
            attr: syscalls::attr_bytes(&attr),
            name: name.to_owned(),
            ids: vec![1],
        };
        let writer = Writer::create(path, event).map_err(io)?;
        let (leader, starter) = match target {
            Target::BeforeExec(pid) => (pid, std::fs::read_link(format!("/proc/{pid}/exe")).ok()),
            Target::Running(pid) => (pid, None),
        };
        let now = Instant::now();
        let mut sampler = Self {
            events,
            writer,
            command: command.to_vec(),
            moments: Moments::default(),
            live: Vec::new(),
            threads: Vec::new(),
            indices: HashMap::new(),
            processes: HashMap::new(),
            io_before: HashMap::new(),
            code: HashMap::new(),
            stacks: HashMap::new(),
            variables: HashMap::new(),
            peers: DescriptorPeers::default(),
            quota: CpuQuota::of(leader),
            cpus: allowed_cpus(leader),
            leader,
            unwatched: 0,
            readable: false,
            random: monotonic_ns() | 1,
            began: monotonic_ns(),
            starter,
            rescanned: now,
            accounted: now,
            notes,
        };
        if let Target::Running(pid) = target {
            sampler.enable_running(pid).map_err(io)?;
        } else {
            let record = initial_records::thread_name(leader, leader);
            sampler.writer.append(&record).map_err(io)?;
        }
        Ok(sampler)
    }

    fn enable_running(&mut self, pid: i32) -> io::Result<()> {
        if let Some(opened) = &self.events {
            for event in &opened.events {
                syscalls::enable(event)?;
            }
        }
        for record in initial_records::running_process(pid) {
            self.writer.append(&record)?;
        }
        self.scan_process(pid, 0);
        Ok(())
    }

    /// Watches until `stop` becomes readable.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> io::Result<()> {
        let mut last = monotonic_ns();
        self.began = last;
        let mut interval = INTERVAL;
        let mut due = Instant::now() + INTERVAL;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if self.wait(stop, left)? {
                break;
            }
            let sampled = self.drain()?;
            if self.starter.is_some() && !self.has_begun()? {
                last = monotonic_ns();
                self.began = last;
                continue;
            }
            let began = Instant::now();
            let timed = began >= due;
            if !timed && sampled.is_empty() {
                continue;
            }
            self.find_threads()?;
            let now = monotonic_ns();
            let moment = self.look(last, now, timed)?;
            let leader = self.indices.get(&self.leader).copied();
            let random = self.next_random();
            if timed {
                self.moments
                    .add(&moment, leader, (now - last, self.cpus), random);
                last = now;
                // A random moment: what repeats in the program must not beat with it.
                let share = 0.5 + (self.next_random() % 1000) as f64 / 1000.0;
                due = Instant::now() + interval.mul_f64(share);
            } else {
                for (tid, time) in sampled {
                    // Looked at late, the others are no longer as they were at the sample.
                    let late = now.saturating_sub(time) > MAX_DELAY_NS;
                    if let Some(thread) = self.indices.get(&tid).filter(|_| !late) {
                        let at = (*thread, tid, time);
                        self.moments.add_cpu_sample(&moment, leader, at, random);
                    }
                }
            }
            let cost = began.elapsed();
            interval = INTERVAL
                .max(cost.div_f64(MAX_COST))
                .min(Duration::from_millis(250));
        }
        if let Some(opened) = &self.events {
            for event in &opened.events {
                syscalls::disable(event)?;
            }
        }
        self.drain()?;
        self.read_accounts();
        let mut description = describe(&self.command);
        description.sample_time = Some((self.began, monotonic_ns()));
        self.writer.finish(&description)
    }

    /// What was seen.
    pub fn finish(mut self) -> WaitRecording {
        let ended = monotonic_ns();
        for live in &self.live {
            self.threads[live.index as usize].ended = ended;
        }
        if !self.readable {
            self.notes.push(
                "what threads wait for could not be read: this user may not trace the process\n  \
                 to allow it: run genba as its owner with kernel.yama.ptrace_scope=0, or as root"
                    .to_owned(),
            );
        }
        let (count, ready_ns) = (self.moments.count, self.moments.ready_ns);
        let excess_ns = self.moments.excess_ns;
        let (states, chains, pairs, cpu_moments) = self.moments.finish();
        let mut processes: Vec<WatchedProcess> = self.processes.into_values().collect();
        processes.sort_by_key(|process| process.pid);
        WaitRecording {
            began: self.began,
            ended,
            moments: count,
            leader: self.indices.get(&self.leader).copied(),
            threads: self.threads,
            unwatched_threads: self.unwatched,
            processes,
            states,
            chains,
            pairs,
            cpu_moments,
            ready_ns,
            excess_ns,
            cpus: self.cpus,
            throttled: self.quota.throttled(),
            cpu_sampled: self.events.is_some(),
            calls_readable: self.readable,
            notes: self.notes,
        }
    }

    /// Waits for samples or the time; true if it is time to stop.
    fn wait(&self, stop: BorrowedFd<'_>, left: Duration) -> io::Result<bool> {
        let timeout = rustix::event::Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = vec![PollFd::new(&stop, PollFlags::IN)];
        if let Some(opened) = &self.events {
            let events = opened.ring_events.iter().map(|at| &opened.events[*at]);
            fds.extend(events.map(|event| PollFd::new(event, PollFlags::IN)));
        }
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let stopped = !fds[0].revents().is_empty();
        // Events whose threads have all ended stay hung up: without this pause poll would return at
        // once for ever.
        let gone = PollFlags::HUP | PollFlags::ERR;
        if !stopped && fds[1..].iter().any(|fd| fd.revents().intersects(gone)) {
            let mut only = [PollFd::new(&stop, PollFlags::IN)];
            let pause = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(left.min(INTERVAL).subsec_nanos()),
            };
            return match poll(&mut only, Some(&pause)) {
                Ok(_) => Ok(!only[0].revents().is_empty()),
                Err(rustix::io::Errno::INTR) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
        Ok(stopped)
    }

    /// Moves records into the file; returns thread and time of the samples on a CPU.
    fn drain(&mut self) -> io::Result<Vec<(i32, u64)>> {
        let mut bytes = Vec::new();
        let mut counts = SampleCounts::default();
        if let Some(opened) = &mut self.events {
            for ring in &mut opened.rings {
                ring.drain(&mut counts, &mut |part| {
                    bytes.extend_from_slice(part);
                    Ok(())
                })?;
            }
        }
        let mut sampled = Vec::new();
        let mut at = 0;
        while let Some((raw, size)) = Raw::parse(&bytes[at..]) {
            let whole = &bytes[at..at + size];
            at += size;
            match raw.kind {
                kind::SAMPLE => {
                    let word = |n: usize| {
                        let word = raw.body.get(n * 8..n * 8 + 8)?;
                        Some(u64::from_le_bytes(word.try_into().ok()?))
                    };
                    if let (Some(ids), Some(time)) = (word(1), word(2)) {
                        sampled.push(((ids >> 32) as i32, time));
                    }
                    if self.writer.written() > MAX_BYTES {
                        continue;
                    }
                }
                kind::FORK => {
                    if let Some(new) = task(&raw) {
                        let parent = if new.pid == new.ppid { 0 } else { new.ppid };
                        self.add_thread(new.pid, new.tid, parent);
                    }
                }
                kind::EXIT => {
                    if let Some(gone) = task(&raw) {
                        self.ended(gone.tid);
                    }
                }
                kind::COMM => {
                    if let Some((pid, tid, name, exec)) = comm(&raw) {
                        if let Some(index) = self.indices.get(&tid) {
                            self.threads[*index as usize].name = name;
                        }
                        if exec {
                            self.code.remove(&pid);
                            self.variables.retain(|(of, _), _| *of != pid);
                        }
                        if exec && pid == self.leader {
                            self.starter = None;
                            self.began = monotonic_ns();
                            self.add_thread(pid, pid, 0);
                        }
                    }
                }
                kind::MMAP2 if raw.misc & misc::CPUMODE == misc::USER => {
                    if let Some(map) = crate::perfdata::record::mmap(&raw)
                        && map.executable
                    {
                        self.code.remove(&map.pid);
                    }
                }
                _ => {}
            }
            self.writer.append(whole)?;
        }
        if !bytes.is_empty() {
            self.writer.finish_round()?;
        }
        Ok(sampled)
    }

    /// Whether the command has been executed by now; without perf events that is seen by its
    /// executable.
    fn has_begun(&mut self) -> io::Result<bool> {
        let exe = std::fs::read_link(format!("/proc/{}/exe", self.leader)).ok();
        if exe.is_none() || exe == self.starter {
            return Ok(false);
        }
        self.starter = None;
        self.scan_process(self.leader, 0);
        Ok(true)
    }

    fn next_random(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Adds a thread that has begun.
    fn add_thread(&mut self, pid: i32, tid: i32, parent: i32) {
        let process = self.processes.entry(pid).or_insert_with(|| WatchedProcess {
            pid,
            parent,
            ..WatchedProcess::default()
        });
        if parent != 0 {
            process.parent = parent;
        }
        if self.live.iter().any(|live| live.tid == tid) {
            return;
        }
        if self.threads.len() >= MAX_THREADS {
            self.unwatched += 1;
            return;
        }
        let now = monotonic_ns();
        let index = self.threads.len() as ThreadIndex;
        let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
        self.threads.push(WatchedThread {
            pid,
            tid,
            name: name.unwrap_or_default().trim_end().to_owned(),
            began: now,
            ended: now,
            ..WatchedThread::default()
        });
        self.indices.insert(tid, index);
        let Some(files) = ThreadFiles::open(pid, tid) else {
            return;
        };
        self.readable |= files.is_readable();
        let state = self.moments.intern(index, None);
        if !self.peers.processes.contains(&pid) {
            self.peers.processes.push(pid);
        }
        self.live.push(Live {
            tid,
            pid,
            index,
            account: files.account().unwrap_or_default(),
            files,
            waits: None,
            state,
        });
        if let Some(io) = ProcessIo::of(pid) {
            self.io_before.entry(pid).or_insert(io);
        }
    }

    fn ended(&mut self, tid: i32) {
        let Some(at) = self.live.iter().position(|live| live.tid == tid) else {
            return;
        };
        let live = self.live.swap_remove(at);
        let thread = &mut self.threads[live.index as usize];
        thread.ended = monotonic_ns();
        if live.pid == live.tid {
            self.peers.processes.retain(|pid| *pid != live.pid);
            self.code.remove(&live.pid);
        }
    }

    fn scan_process(&mut self, pid: i32, parent: i32) {
        for tid in initial_records::threads(pid) {
            self.add_thread(pid, tid, parent);
        }
    }

    /// Where the kernel reports no new threads: reads the lists of threads and children.
    fn find_threads(&mut self) -> io::Result<()> {
        if self.accounted.elapsed() > ACCOUNTS {
            self.accounted = Instant::now();
            self.read_accounts();
        }
        if self.events.is_some() || self.rescanned.elapsed() < RESCAN {
            return Ok(());
        }
        self.rescanned = Instant::now();
        let mut known: Vec<i32> = self.peers.processes.clone();
        let mut at = 0;
        while at < known.len() {
            let pid = known[at];
            at += 1;
            let first = self.live.iter().all(|live| live.pid != pid);
            self.scan_process(pid, 0);
            if first || !self.code.contains_key(&pid) {
                for record in initial_records::running_process(pid) {
                    self.writer.append(&record)?;
                }
            }
            for tid in initial_records::threads(pid) {
                let path = format!("/proc/{pid}/task/{tid}/children");
                for child in std::fs::read_to_string(path)
                    .unwrap_or_default()
                    .split_ascii_whitespace()
                    .filter_map(|word| word.parse().ok())
                {
                    if !known.contains(&child) && known.len() < MAX_THREADS {
                        self.scan_process(child, pid);
                        for record in initial_records::running_process(child) {
                            self.writer.append(&record)?;
                        }
                        known.push(child);
                    }
                }
            }
        }
        Ok(())
    }

    fn read_accounts(&mut self) {
        for (pid, before) in &self.io_before {
            let (Some(now), Some(process)) = (ProcessIo::of(*pid), self.processes.get_mut(pid))
            else {
                continue;
            };
            process.read_bytes = now.read_bytes.saturating_sub(before.read_bytes);
            process.written_bytes = now.written_bytes.saturating_sub(before.written_bytes);
            process.reads = now.reads.saturating_sub(before.reads);
            process.writes = now.writes.saturating_sub(before.writes);
        }
    }

    /// Looks at all threads. `timed` moments also account for the time since the last one.
    fn look(&mut self, last: u64, now: u64, timed: bool) -> io::Result<Vec<ThreadNow>> {
        let mut moment = Vec::with_capacity(self.live.len());
        let mut ended = Vec::new();
        for at in 0..self.live.len() {
            let live = &self.live[at];
            let Some(account) = live.files.account() else {
                ended.push(live.tid);
                continue;
            };
            let same = live.waits.is_some() && account == live.account;
            let blocked = live.files.blocked();
            let new = !(same && blocked.is_some());
            if new {
                self.update(at, blocked)?;
            }
            let live = &mut self.live[at];
            let thread = &mut self.threads[live.index as usize];
            if timed {
                let before = live.account;
                thread.running += account.running.saturating_sub(before.running);
                thread.runnable += account.runnable.saturating_sub(before.runnable);
                thread.slices += account.slices.saturating_sub(before.slices);
                thread.ended = now;
                extend_timeline(thread, last.max(thread.began).min(now), now, live.state);
                live.account = account;
            }
            moment.push(ThreadNow {
                thread: live.index,
                state: live.state,
                waits: live.waits.is_some(),
                for_threads: live.waits.as_ref().is_some_and(|wait| {
                    matches!(
                        wait.reason,
                        WaitReason::Condition | WaitReason::Lock | WaitReason::Join
                    )
                }),
                new,
                waits_for: Vec::new(),
            });
        }
        for tid in ended {
            self.ended(tid);
        }
        self.who_ends_waits(&mut moment);
        Ok(moment)
    }

    /// Finds out what a thread does that may have done something else since the last look.
    fn update(
        &mut self,
        at: usize,
        blocked: Option<super::system_call::BlockedCall>,
    ) -> io::Result<()> {
        let (pid, tid, index) = {
            let live = &self.live[at];
            (live.pid, live.tid, live.index)
        };
        let Some(call) = blocked else {
            let live = &mut self.live[at];
            live.waits = None;
            live.state = self.moments.intern(index, None);
            return Ok(());
        };
        let threads = &self.threads;
        let indices = &self.indices;
        let is_thread = |other: i32| {
            other != tid
                && indices
                    .get(&other)
                    .is_some_and(|index| threads[*index as usize].pid == pid)
        };
        let found = waited_for(pid, &call, &is_thread, &mut self.peers);
        let code = self
            .code
            .entry(pid)
            .or_insert_with(|| (CodeRanges::of(pid), Instant::now()));
        if self.events.is_none() && code.1.elapsed() > RESCAN * 5 {
            *code = (CodeRanges::of(pid), Instant::now());
        }
        let key = stack_copy::key(pid, call.stack_pointer, call.instruction, &code.0);
        let stack = match self.stacks.get(&(tid, key)) {
            Some(stack) => *stack,
            None => {
                let copy = if self.writer.written() > MAX_BYTES {
                    Vec::new()
                } else {
                    stack_copy::copy(pid, call.stack_pointer)
                };
                let time = monotonic_ns();
                self.writer.append(&sample_record::bytes(&Sample {
                    ip: call.instruction,
                    pid,
                    tid,
                    time,
                    cpu: 0,
                    period: 1,
                    registers: Some(registers(call.stack_pointer, call.instruction)),
                    stack: &copy,
                }))?;
                self.stacks.insert((tid, key), (tid, time));
                (tid, time)
            }
        };
        let object = match &found.object {
            Named::Nothing => WaitObject::Nothing,
            Named::Futex(address) => {
                let place = self
                    .variables
                    .entry((pid, *address))
                    .or_insert_with(|| variable_place(pid, *address));
                WaitObject::Futex(*address, place.clone())
            }
            Named::Descriptor(name) => WaitObject::Descriptor(name.clone()),
            Named::Child(child) => WaitObject::Child(*child),
            Named::Thread(tid) => self
                .indices
                .get(tid)
                .map_or(WaitObject::Nothing, |index| WaitObject::Thread(*index)),
        };
        let state = self.moments.intern(
            index,
            Some(SeenWait {
                reason: found.reason,
                call: call.number,
                object,
                stack,
            }),
        );
        let live = &mut self.live[at];
        live.waits = Some(found);
        live.state = state;
        Ok(())
    }

    /// For each waiting thread those that could end its wait.
    fn who_ends_waits(&self, moment: &mut [ThreadNow]) {
        // Live threads and the moment's are in the same order, but for those that have just ended.
        let live: HashMap<ThreadIndex, &Live> =
            self.live.iter().map(|live| (live.index, live)).collect();
        let mut of_process: HashMap<i32, Vec<&Live>> = HashMap::new();
        for one in moment.iter() {
            if let Some(live) = live.get(&one.thread) {
                of_process.entry(live.pid).or_default().push(live);
            }
        }
        for one in moment.iter_mut() {
            let Some(waiting) = live.get(&one.thread) else {
                continue;
            };
            let Some(found) = &waiting.waits else {
                continue;
            };
            let threads_of = |pid: i32| of_process.get(&pid).map_or(&[][..], Vec::as_slice);
            one.waits_for = match &found.enders {
                Enders::Nobody => Vec::new(),
                Enders::Thread(tid) => self.indices.get(tid).copied().into_iter().collect(),
                Enders::OthersInProcess => {
                    could_wake(threads_of(waiting.pid), waiting.index, &found.object)
                }
                Enders::Children => self
                    .live
                    .iter()
                    .filter(|other| {
                        other.pid == other.tid
                            && self
                                .processes
                                .get(&other.pid)
                                .is_some_and(|process| process.parent == waiting.pid)
                    })
                    .map(|other| other.index)
                    .take(MAX_CANDIDATES)
                    .collect(),
                Enders::Processes(pids) => pids
                    .iter()
                    .flat_map(|pid| could_wake(threads_of(*pid), waiting.index, &found.object))
                    .take(MAX_CANDIDATES)
                    .collect(),
            };
        }
    }
}

/// The threads among these that could wake one that waits on `object`: those that run; else those
/// that are blocked, but not on the same thing, and not until another of them does something.
fn could_wake(threads: &[&Live], waiting: ThreadIndex, object: &Named) -> Vec<ThreadIndex> {
    let others = || threads.iter().filter(|live| live.index != waiting);
    let running: Vec<ThreadIndex> = others()
        .filter(|live| live.waits.is_none())
        .map(|live| live.index)
        .collect();
    if !running.is_empty() {
        return running;
    }
    others()
        .filter(|live| {
            live.waits.as_ref().is_some_and(|wait| {
                wait.object != *object
                    && !matches!(wait.reason, WaitReason::Condition | WaitReason::Join)
            })
        })
        .map(|live| live.index)
        .take(MAX_CANDIDATES)
        .collect()
}

/// In the order of `asm/perf_regs.h`: only these two are known of a blocked thread.
fn registers(stack_pointer: u64, instruction: u64) -> [u64; 20] {
    const SP: usize = 7;
    const IP: usize = 8;
    let mut registers = [0; 20];
    registers[SP] = stack_pointer;
    registers[IP] = instruction;
    registers
}

type Refused = Box<(perf_event_open_sys::bindings::perf_event_attr, io::Error)>;

/// Opens cpu-clock with stack copies, including time in the kernel where that may be sampled.
fn open_cpu_clock(target: Target) -> Result<(OpenedEvents, &'static str), Refused> {
    let mut refused = None;
    for name in ["cpu-clock", "cpu-clock:u"] {
        for build_ids in [true, false] {
            let Ok(event) = EventSpec::parse(name) else {
                continue;
            };
            let mut attr = build(&AttrPlan {
                event,
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
            let mut pages = RING_PAGES;
            while pages > 0 {
                match open_events(target, &mut attr, pages) {
                    Ok(opened) => return Ok((opened, name)),
                    Err((_, error)) => refused = Some(Box::new((attr, error))),
                }
                pages /= 4;
            }
        }
    }
    Err(refused
        .unwrap_or_else(|| Box::new((Default::default(), io::ErrorKind::PermissionDenied.into()))))
}
