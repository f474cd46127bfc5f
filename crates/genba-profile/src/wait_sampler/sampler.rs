//! Watches all threads of a command or process: at random times, and whenever one was sampled on a
//! CPU.

mod leading_thread;
mod records;
mod snapshot_pace;
mod thread_list;
mod thread_snapshot;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use genba_model::WaitReason;
use rustix::event::{PollFd, PollFlags, poll};

use self::snapshot_pace::{INTERVAL, SnapshotPace};
use super::activity::Activity;
use super::command_file;
use super::cpu_clock::CpuClock;
use super::cpu_quota::{CpuQuota, allowed_cpus, machine_busy};
use super::descriptor_peers::DescriptorPeers;
use super::early_records::EarlyRecords;
use super::process_tree;
use super::requests::{AcceptedSockets, CallTrace, RequestLog};
use super::scripts::{ScriptStacks, Scripts};
use super::snapshots::{Snapshots, extend_timeline};
use super::stack_copy::{self, CodeRanges};
use super::switch_log::SwitchLog;
use super::thinning::Thinning;
use super::thread_files::{ProcessIo, SchedStat, ThreadFiles};
use super::wait_recording::{
    SeenWait, StateIndex, ThreadIndex, WaitObject, WaitRecording, WatchedProcess, WatchedThread,
};
use super::waited_for::{Named, WaitedFor, waited_for};
use super::wake_trace::WakeTrace;
use super::wake_up_log::WakeUpLog;
use super::wakers::{self, Candidate};
use crate::error::ProfileError;
use crate::perfdata::writer::{Writer, WrittenEvent};
use crate::ptrace_sampler::sample_record::{self, Sample};
use crate::sampler::{Target, describe, initial_records, monotonic_ns, syscalls, thread_cpu_time};
use crate::split_mix::SplitMix;

/// How often the list of threads is read where the kernel does not report new ones.
const RESCAN: Duration = Duration::from_millis(20);
/// How often the accounts of processes are read.
const ACCOUNTS: Duration = Duration::from_millis(50);
/// Most threads over the whole time.
const MAX_THREADS: usize = 50_000;
/// Most bytes of the recording; later samples have no stacks.
const MAX_BYTES: u64 = 512 << 20;
/// Longest time between a sample on a CPU and the look at the other threads, ns.
const MAX_DELAY_NS: u64 = 400_000;

/// A thread that exists.
struct Live {
    tid: i32,
    pid: i32,
    index: ThreadIndex,
    files: ThreadFiles,
    account: SchedStat,
    activity: Activity,
    /// What it was seen waiting for, and its state; `None` on a CPU or runnable.
    waits: Option<WaitedFor>,
    /// When that wait was first seen, CLOCK_MONOTONIC ns.
    waits_since: u64,
    /// For how long the sleep in which it was last seen is at least, ns.
    sleep_time: Option<u64>,
    /// Its CPU time until the sleep that was last seen, ns.
    ran_until_sleep: u64,
    /// The pipe or socket for which it was last seen waiting.
    served: Option<String>,
    /// The lock without an owner's name for which it was last seen waiting, and when it no longer was.
    took: Option<(u64, u64)>,
    /// For how long it waits for a descriptor at most, ns.
    time_limit: Option<u64>,
    state: StateIndex,
    /// Looks at this wait after which what its script does was not known.
    unsettled: u8,
}

/// A sample on a CPU, which stands for `weight` of them.
#[derive(Clone, Copy, Debug)]
pub struct CpuSample {
    /// The thread.
    pub tid: i32,
    /// Its time.
    pub time: u64,
    /// How many were seen for each that is kept.
    pub weight: u64,
}

/// The sampler of one command or process.
pub struct WaitSampler<'s> {
    cpu_clock: Option<CpuClock>,
    writer: Writer,
    command: Vec<String>,
    snapshots: Snapshots,
    switches: SwitchLog,
    /// The scheduler's wake-ups; `None` where they are refused, or switches are too many.
    wakes: Option<WakeTrace>,
    wake_ups: WakeUpLog,
    /// System calls with the requests that they make up; `None` where these are not wanted, or refused.
    requests: Option<(CallTrace, RequestLog)>,
    accepted: AcceptedSockets,
    live: Vec<Live>,
    threads: Vec<WatchedThread>,
    indices: HashMap<i32, ThreadIndex>,
    /// Ends and names of threads that were read before their starts, by CLOCK_MONOTONIC.
    early_ends: EarlyRecords<()>,
    early_names: EarlyRecords<String>,
    processes: HashMap<i32, WatchedProcess>,
    io_before: HashMap<i32, ProcessIo>,
    /// Files that each process was seen to have open.
    open_files: HashMap<i32, HashSet<std::path::PathBuf>>,
    code: HashMap<i32, (CodeRanges, Instant)>,
    /// Samples of stacks by thread and key.
    stacks: HashMap<(i32, u64, Option<u32>), (i32, u64)>,
    scripts: &'s mut dyn Scripts,
    script_stacks: ScriptStacks,
    /// Files in whose data words lie that threads waited on.
    variables: HashMap<(i32, u64), Option<(String, u64)>>,
    peers: DescriptorPeers,
    quota: CpuQuota,
    /// CPU time of the machine at the start, ns.
    busy_before: u64,
    cpus: u32,
    thinning: Thinning,
    leader: i32,
    /// Attached to a running process: the end of its first thread is not awaited.
    attached: bool,
    unwatched: u64,
    readable: bool,
    random: SplitMix,
    began: u64,
    /// The program that starts the command, until that is executed.
    starter: Option<std::path::PathBuf>,
    rescanned: Instant,
    accounted: Instant,
    notes: Vec<String>,
}

impl std::fmt::Debug for WaitSampler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitSampler").finish_non_exhaustive()
    }
}

impl<'s> WaitSampler<'s> {
    /// Attaches to a target and creates the file for stacks. `requests` asks for a server's requests.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(
        target: Target,
        path: &Path,
        command: &[String],
        scripts: &'s mut dyn Scripts,
        requests: bool,
    ) -> Result<Self, ProfileError> {
        let io = |source| ProfileError::Write {
            path: path.to_owned(),
            source,
        };
        syscalls::raise_descriptor_limit();
        let mut notes = Vec::new();
        let (cpu_clock, attr, name) = match CpuClock::open(target) {
            Ok(opened) => {
                let (attr, name) = (opened.attr(), opened.name);
                (Some(opened), attr, name)
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
        let calls = requests.then(|| CallTrace::open(target, &|| target_threads(target)));
        let requests = match calls {
            Some(Ok(calls)) => Some((calls, RequestLog::default())),
            Some(Err(why)) => {
                notes.push(why);
                None
            }
            None => None,
        };
        let wakes = WakeTrace::open(match target {
            Target::BeforeExec(pid) => Some(pid),
            Target::Running(_) => None,
        });
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
            cpu_clock,
            writer,
            command: command.to_vec(),
            snapshots: Snapshots::default(),
            switches: SwitchLog::default(),
            wakes,
            wake_ups: WakeUpLog::default(),
            requests,
            accepted: AcceptedSockets::default(),
            live: Vec::new(),
            threads: Vec::new(),
            indices: HashMap::new(),
            early_ends: EarlyRecords::default(),
            early_names: EarlyRecords::default(),
            processes: HashMap::new(),
            io_before: HashMap::new(),
            open_files: HashMap::new(),
            code: HashMap::new(),
            stacks: HashMap::new(),
            scripts,
            script_stacks: ScriptStacks::default(),
            variables: HashMap::new(),
            peers: DescriptorPeers::default(),
            quota: CpuQuota::of(leader),
            busy_before: machine_busy(),
            cpus: allowed_cpus(leader),
            thinning: Thinning::default(),
            leader,
            attached: matches!(target, Target::Running(_)),
            unwatched: 0,
            readable: false,
            random: SplitMix::new(monotonic_ns()),
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
        if let Some(opened) = &self.cpu_clock {
            opened.enable()?;
        }
        if let Some((calls, _)) = &self.requests {
            calls.enable()?;
        }
        for (pid, parent) in process_tree::tree(pid) {
            for record in initial_records::running_process(pid) {
                self.writer.append(&record)?;
            }
            self.scan_process(pid, parent);
        }
        Ok(())
    }

    /// CPU time of this thread without lists of connections, which would keep snapshots a second apart.
    fn own_cpu_time(&self) -> Duration {
        thread_cpu_time().saturating_sub(self.peers.spent_on_connections())
    }

    /// Watches until `stop` becomes readable.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> io::Result<()> {
        let mut last = monotonic_ns();
        self.began = last;
        let mut pace = SnapshotPace::begin(Instant::now());
        loop {
            let left = pace.due.saturating_duration_since(Instant::now());
            if self.wait(stop, left)? {
                break;
            }
            let sampled = self.drain()?;
            self.limit_switches()?;
            if self.starter.is_some() && !self.has_begun()? {
                last = monotonic_ns();
                self.began = last;
                continue;
            }
            let began = Instant::now();
            let timed = began >= pace.due;
            if !timed && (sampled.is_empty() || began < pace.sampled_due) {
                continue;
            }
            let cpu_before = self.own_cpu_time();
            self.find_threads()?;
            let now = monotonic_ns();
            let snapshot = self.look(last, now, timed)?;
            let random = self.random.next();
            if timed {
                let leader = self.leader_now();
                self.snapshots
                    .add(&snapshot, leader, (now - last, self.cpus), random);
                last = now;
                let cost = self.own_cpu_time().saturating_sub(cpu_before);
                pace.took(Instant::now(), cost, self.random.uniform());
            } else {
                for one in sampled {
                    // Looked at late, the others are no longer as they were at the sample.
                    let late = now.saturating_sub(one.time) > MAX_DELAY_NS;
                    if let Some(&thread) = self.indices.get(&one.tid).filter(|_| !late) {
                        let leader = self.leader_of_sample(&snapshot, thread, random);
                        self.snapshots
                            .add_cpu_sample(&snapshot, leader, thread, one, random);
                        let pid = self.threads[thread as usize].pid;
                        let script = self.script_stacks.intern(self.scripts.stack(pid, one.tid));
                        self.script_stacks.set((one.tid, one.time), script);
                    }
                }
                let cost = self.own_cpu_time().saturating_sub(cpu_before);
                pace.looked_at_samples(began, cost, self.random.uniform());
            }
        }
        if let Some(opened) = &self.cpu_clock {
            opened.disable()?;
        }
        if let Some(wakes) = &self.wakes {
            wakes.disable()?;
        }
        if let Some((calls, _)) = &self.requests {
            calls.disable()?;
        }
        self.drain()?;
        self.switches.finish();
        self.take_whole_lives();
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
        let lost = self.cpu_clock.as_ref().map_or(0, CpuClock::lost);
        if lost > 0 {
            self.notes.push(format!(
                "{lost} records of threads and switches were lost: short-lived threads may be missing"
            ));
        }
        self.notes.extend(self.scripts.notes());
        let (count, runnable_ns) = (self.snapshots.count, self.snapshots.runnable_ns);
        let excess_ns = self.snapshots.excess_ns;
        let (states, chains, pairs, cpu_snapshots) = self.snapshots.finish();
        let mut accepted = self.accepted;
        let requests = self.requests.map(|(calls, log)| {
            log.finish(calls.finish(), &mut |pid, descriptor| {
                accepted.is_accepted(pid, descriptor)
            })
        });
        let mut processes: Vec<WatchedProcess> = self.processes.into_values().collect();
        for process in &mut processes {
            process.serves = self.peers.servers.contains(&process.pid);
        }
        processes.sort_by_key(|process| process.pid);
        WaitRecording {
            began: self.began,
            ended,
            snapshots: count,
            threads: self.threads,
            unwatched_threads: self.unwatched,
            processes,
            states,
            chains,
            pairs,
            cpu_snapshots,
            wake_ups: self.wake_ups.finish(),
            requests,
            scripts: self.script_stacks,
            runnable_ns,
            excess_ns,
            machine_busy: machine_busy().saturating_sub(self.busy_before),
            cpus: self.cpus,
            throttled: self.quota.throttled(),
            cpu_sampled: self.cpu_clock.is_some(),
            wake_ups_recorded: self.wakes.as_ref().is_some_and(WakeTrace::is_complete),
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
        if let Some(opened) = &self.cpu_clock {
            let events = opened.ring_events();
            fds.extend(events.map(|event| PollFd::new(event, PollFlags::IN)));
        }
        if let Some((calls, _)) = &self.requests {
            let events = calls.ring_events();
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

    /// Follows the switches of threads while that is cheap.
    fn limit_switches(&mut self) -> io::Result<()> {
        let rates = self.live.iter().map(|live| live.activity.rate());
        if let Some(opened) = &mut self.cpu_clock
            && opened.limit_switches(rates.sum())?
        {
            self.switches.end();
            self.wakes = None;
        }
        Ok(())
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
}

/// The threads of a target, with those of the processes that it has started.
pub(super) fn target_threads(target: Target) -> Vec<i32> {
    match target {
        Target::BeforeExec(pid) => vec![pid],
        Target::Running(pid) => process_tree::tree(pid)
            .into_iter()
            .flat_map(|(pid, _)| initial_records::threads(pid))
            .collect(),
    }
}
