//! One run: start, wait, account, and end the tree.

use core::sync::atomic::Ordering;

use crate::Launcher;
use crate::protocol::{Header, MAX_FDS, Reply, Start, flag, reason, reply, request, stage};
use crate::start_request::Request;
use crate::{process_tree, syscalls};

const MILLISECOND: u64 = 1_000_000;
/// Processes that survive SIGKILL for this long are reported, and the run ends.
const GIVE_UP_AFTER: u64 = 10_000 * MILLISECOND;

/// Waits for a request or a signal, at most until `until`; returns which came.
pub fn wait_for_events(launcher: &Launcher, until: Option<u64>) -> [bool; 2] {
    let event = |fd| syscalls::PollFd {
        fd,
        events: syscalls::POLLIN,
        revents: 0,
    };
    let mut fds = [event(launcher.socket), event(launcher.signals)];
    let timeout = until.map(|until| until.saturating_sub(syscalls::now()));
    match syscalls::ppoll(&mut fds, timeout) {
        Ok(_) => fds.map(|fd| fd.revents != 0),
        Err(_) => [false, false],
    }
}

/// Reaps processes that an earlier run left running, between runs.
pub fn reap_idle() {
    let mut usage = syscalls::Rusage::default();
    while let Ok(Some(_)) = syscalls::wait(
        syscalls::P_ALL,
        0,
        syscalls::WEXITED | syscalls::WNOHANG,
        &mut usage,
    ) {}
}

/// Serves a start request. `None`: genba has died, or the request is malformed.
pub fn serve(launcher: &mut Launcher, header: Header, fds: [i32; MAX_FDS]) -> Option<()> {
    let mut request = Request::receive(launcher, header)?;
    let child = request.child(launcher, fds)?;
    let start = child.start;
    if start.fds() != header.fds {
        return None;
    }
    launcher.grace.set(start.grace);
    let spawned = child.spawn();
    for &fd in fds.iter().filter(|&&fd| fd >= 0) {
        // A pipe must end when the target's side closes it.
        syscalls::close(fd);
    }
    let pid = match spawned {
        Ok(pid) => pid,
        Err(errno) => {
            failed(launcher, stage::CLONE, errno as u64);
            return Some(());
        }
    };
    let started = Reply {
        kind: reply::STARTED,
        pid: pid as u64,
        ..Reply::default()
    };
    let mut run = Run::new(pid, &start);
    if start.flags & flag::GATED != 0 {
        launcher.reply(&started);
        match wait_at_gate(launcher, pid) {
            Gate::Released => child.release(),
            Gate::Ended => child.wait_gone(),
            Gate::Gone => {
                let _ = syscalls::kill(pid, syscalls::SIGKILL);
                child.wait_gone();
                return None;
            }
        }
    }
    run.result.start = child.stamp.load(Ordering::Acquire);
    let failure = (
        child.stage.load(Ordering::Acquire),
        child.errno.load(Ordering::Acquire),
    );
    if failure.0 != 0 || run.result.start == 0 {
        let mut usage = syscalls::Rusage::default();
        let _ = syscalls::wait(syscalls::P_PID, pid, syscalls::WEXITED, &mut usage);
        let killed = failure.0 == 0;
        let stage = if killed {
            stage::KILLED
        } else {
            u64::from(failure.0)
        };
        failed(launcher, stage, u64::from(failure.1));
        return Some(());
    }
    drop(request);
    if start.flags & flag::ANNOUNCE != 0 {
        launcher.reply(&started);
    }
    run.deadline = (start.timeout > 0).then(|| run.result.start.saturating_add(start.timeout));
    run.conduct(launcher)
}

fn failed(launcher: &Launcher, stage: u64, errno: u64) {
    launcher.reply(&Reply {
        kind: reply::FAILED,
        stage,
        errno,
        ..Reply::default()
    });
}

enum Gate {
    Released,
    /// The child was ended, or died, before its release.
    Ended,
    /// genba has died.
    Gone,
}

fn wait_at_gate(launcher: &Launcher, pid: i32) -> Gate {
    let mut usage = syscalls::Rusage::default();
    loop {
        let [request, signal] = wait_for_events(launcher, None);
        if signal {
            if launcher.take_signals() {
                return Gate::Gone;
            }
            let options = syscalls::WEXITED | syscalls::WNOHANG | syscalls::WNOWAIT;
            if let Ok(Some(_)) = syscalls::wait(syscalls::P_PID, pid, options, &mut usage) {
                return Gate::Ended;
            }
        }
        if request {
            let mut fds = [-1; MAX_FDS];
            let Some(header) = launcher.receive(&mut fds) else {
                return Gate::Gone;
            };
            if launcher.receive_u64(header).is_none() {
                return Gate::Gone;
            }
            match header.kind {
                request::RELEASE => return Gate::Released,
                request::END => {
                    let _ = syscalls::kill(pid, syscalls::SIGKILL);
                    return Gate::Ended;
                }
                _ => return Gate::Gone,
            }
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// The target is running.
    Running,
    /// All processes got SIGTERM, and have the grace period until then.
    Asked { until: u64 },
    /// All processes get SIGKILL, repeatedly: new ones may have been forked meanwhile.
    Killing { next: u64, pause: u64, give_up: u64 },
}

pub(crate) struct Run {
    pid: i32,
    pub(crate) phase: Phase,
    deadline: Option<u64>,
    grace: u64,
    keep: bool,
    pub(crate) target_ended: bool,
    result: Reply,
}

impl Run {
    pub(crate) fn new(pid: i32, start: &Start) -> Self {
        Self {
            pid,
            phase: Phase::Running,
            deadline: None,
            grace: start.grace,
            keep: start.flags & flag::KEEP != 0,
            target_ended: false,
            result: Reply {
                kind: reply::ENDED,
                pid: pid as u64,
                ..Reply::default()
            },
        }
    }

    /// Waits until the process tree is gone. `None`: genba has died.
    fn conduct(&mut self, launcher: &Launcher) -> Option<()> {
        loop {
            let until = match self.phase {
                Phase::Running => self.deadline,
                Phase::Asked { until } => Some(until),
                Phase::Killing { next, .. } => Some(next),
            };
            let [request, signal] = wait_for_events(launcher, until);
            let now = syscalls::now();
            if signal {
                if launcher.take_signals() {
                    return None;
                }
                if self.collect(now) {
                    break;
                }
            }
            if request {
                self.obey(launcher, now)?;
            }
            if self.advance(now) {
                break;
            }
        }
        launcher.reply(&self.result);
        Some(())
    }

    fn obey(&mut self, launcher: &Launcher, now: u64) -> Option<()> {
        let mut fds = [-1; MAX_FDS];
        let header = launcher.receive(&mut fds)?;
        let grace = launcher.receive_u64(header)?;
        if header.kind != request::END {
            return None;
        }
        if !self.target_ended && self.result.reason == reason::NONE {
            self.result.reason = reason::ASKED;
        }
        self.grace = grace;
        launcher.grace.set(grace);
        self.ask(now);
        Some(())
    }

    /// Enters the next phase when it is due; true when there is nothing left to wait for.
    pub(crate) fn advance(&mut self, now: u64) -> bool {
        match self.phase {
            Phase::Running => {
                if self.deadline.is_some_and(|deadline| now >= deadline) {
                    self.result.reason = reason::TIMEOUT;
                    self.ask(now);
                }
                false
            }
            Phase::Asked { until } if now >= until => {
                self.phase = Phase::Killing {
                    next: now + MILLISECOND,
                    pause: MILLISECOND,
                    give_up: now + GIVE_UP_AFTER,
                };
                self.signal(&[syscalls::SIGKILL]);
                false
            }
            Phase::Asked { .. } => false,
            Phase::Killing {
                next,
                pause,
                give_up,
            } => {
                if now >= next {
                    let pause = (pause * 2).min(50 * MILLISECOND);
                    self.phase = Phase::Killing {
                        next: now + pause,
                        pause,
                        give_up,
                    };
                    self.signal(&[syscalls::SIGKILL]);
                }
                if now >= give_up {
                    self.result.survivors = process_tree::count();
                    return true;
                }
                false
            }
        }
    }

    /// Sends SIGTERM to the tree and starts the grace period.
    pub(crate) fn ask(&mut self, now: u64) {
        let until = now.saturating_add(self.grace);
        let until = match self.phase {
            Phase::Running => {
                if self.grace > 0 {
                    // A stopped process must continue to receive SIGTERM.
                    self.signal(&[syscalls::SIGTERM, syscalls::SIGCONT]);
                }
                until
            }
            // A repeated request can shorten the grace period, not extend it.
            Phase::Asked { until: before } => until.min(before),
            Phase::Killing { .. } => return,
        };
        self.phase = Phase::Asked { until };
    }

    fn signal(&self, signals: &[i32]) {
        process_tree::signal(signals, if self.target_ended { 0 } else { self.pid });
    }

    /// Reaps and accounts for processes that have ended; true when none is left, or the rest may
    /// stay.
    fn collect(&mut self, now: u64) -> bool {
        loop {
            let mut usage = syscalls::Rusage::default();
            let look = syscalls::WEXITED | syscalls::WNOHANG | syscalls::WNOWAIT;
            match syscalls::wait(syscalls::P_ALL, 0, look, &mut usage) {
                Err(syscalls::ECHILD) => return self.target_ended,
                Ok(Some(ended)) => {
                    let is_target = ended.pid == self.pid && !self.target_ended;
                    if is_target {
                        self.account(now, ended, &usage);
                    } else {
                        self.result.orphans += 1;
                        self.result.orphan_user += usage.user_us();
                        self.result.orphan_system += usage.system_us();
                    }
                    let _ =
                        syscalls::wait(syscalls::P_PID, ended.pid, syscalls::WEXITED, &mut usage);
                }
                Ok(None) => break,
                Err(_) => return false,
            }
        }
        if !self.target_ended {
            return false;
        }
        match self.phase {
            Phase::Running => {
                self.result.left = process_tree::count();
                if self.keep {
                    return true;
                }
                self.ask(now);
            }
            // The children of a killed parent are reparented to the launcher: kill them at once.
            Phase::Killing { pause, give_up, .. } => {
                self.phase = Phase::Killing {
                    next: now,
                    pause,
                    give_up,
                };
            }
            Phase::Asked { .. } => {}
        }
        false
    }

    /// Accounts for the target, which is a zombie: its clocks and its account of reads can be read until it is reaped.
    fn account(&mut self, now: u64, ended: syscalls::Ended, usage: &syscalls::Rusage) {
        self.target_ended = true;
        let result = &mut self.result;
        let clock = |kind| syscalls::clock(syscalls::process_clock(ended.pid, kind));
        let clocks = (
            clock(syscalls::CPUCLOCK_SCHED),
            clock(syscalls::CPUCLOCK_VIRT),
            clock(syscalls::CPUCLOCK_PROF),
        );
        if let (Ok(sched), Ok(virt), Ok(prof)) = clocks {
            result.own_known = 1;
            result.own_sched = sched;
            result.own_virt = virt;
            result.own_prof = prof;
        }
        if let Some(bytes) = process_tree::bytes_read(ended.pid) {
            result.read_known = 1;
            result.read_bytes = bytes;
        }
        result.end = now;
        result.code = ended.code as u64;
        result.status = ended.status as u64;
        result.user = usage.user_us();
        result.system = usage.system_us();
        let field = |index: usize| usage.0.get(index).copied().unwrap_or(0) as u64;
        result.max_rss = field(4);
        result.minor_faults = field(8);
        result.major_faults = field(9);
        result.voluntary = field(16);
        result.involuntary = field(17);
    }
}
