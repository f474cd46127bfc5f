//! Synthetic recordings: each cause where it is, and near misses.

use genba_model::{WaitCause, WaitFinding, WaitPlace, WaitReason};
use genba_profile::wait_sampler::{
    Chain, CpuSnapshot, SeenState, SeenWait, WaitObject, WaitRecording, WatchedProcess,
    WatchedThread,
};

use super::findings;
use crate::object_names::ObjectNames;
use crate::stacks::{NamedFrame, Stacks};
use crate::view::View;

const SECOND: u64 = 1_000_000_000;

/// A recording of a second with two CPUs, and the stacks of its samples.
struct Made {
    recording: WaitRecording,
    stacks: Vec<((i32, u64), Vec<NamedFrame>)>,
}

fn frame(function: &str, own: bool) -> NamedFrame {
    NamedFrame {
        place: WaitPlace {
            function: function.to_owned(),
            file: None,
            line: None,
        },
        own,
        kernel: false,
        script: false,
    }
}

/// The function in which a thread begins.
fn outermost(thread: u32) -> NamedFrame {
    frame(if thread == 0 { "main" } else { "run" }, true)
}

impl Made {
    fn new() -> Self {
        Self {
            recording: WaitRecording {
                ended: SECOND,
                snapshots: 500,
                cpus: 2,
                leader: Some(0),
                cpu_sampled: true,
                calls_readable: true,
                ..WaitRecording::default()
            },
            stacks: Vec::new(),
        }
    }

    /// A thread of the first process with its CPU time and how often it got a CPU.
    fn thread(&mut self, running: f64, slices: u64) -> u32 {
        let index = self.recording.threads.len() as u32;
        self.recording.threads.push(WatchedThread {
            pid: 1,
            tid: 1 + index as i32,
            name: "made".to_owned(),
            ended: SECOND,
            running: (running * SECOND as f64) as u64,
            slices,
            ..WatchedThread::default()
        });
        index
    }

    /// A state: on a CPU, or a wait in these functions, inside out, the last one the user's.
    fn state(&mut self, thread: u32, wait: Option<(WaitReason, i64, &[&str])>, share: f64) -> u32 {
        let index = self.recording.states.len() as u32;
        let snapshots = (share * 500.0) as u64;
        let sample = (1 + thread as i32, 1000 + u64::from(index));
        let wait = wait.map(|(reason, call, functions)| {
            let frames = functions.iter().enumerate();
            let frames = frames.map(|(at, name)| frame(name, at + 1 == functions.len()));
            self.stacks
                .push((sample, frames.chain([outermost(thread)]).collect()));
            SeenWait {
                reason,
                call,
                object: WaitObject::Futex(64, None),
                stack: sample,
            }
        });
        self.recording.states.push(SeenState {
            thread,
            wait,
            ns: share * SECOND as f64,
            snapshots,
            entries: snapshots.min(self.recording.threads[thread as usize].slices),
            long_entries: 0,
        });
        index
    }

    /// Wall time along these states, of which so much was idle and so much with one runnable thread.
    fn chain(&mut self, states: &[u32], share: f64, idle: f64, alone: f64) -> u32 {
        let ns = |share: f64| share * SECOND as f64;
        self.recording.chains.push(Chain {
            states: states.to_vec(),
            ns: ns(share),
            snapshots: (share * 500.0) as u64,
            idle_ns: ns(idle),
            alone_ns: ns(alone),
            others_done_ns: ns(alone),
            awaited_ns: ns(alone),
        });
        self.recording.chains.len() as u32 - 1
    }

    /// Samples of a thread on a CPU in a function, at the end of a chain.
    fn samples(&mut self, thread: u32, function: &str, chain: u32, waiters: &[u32]) {
        for _ in 0..20 {
            let time = 1_000_000 + self.stacks.len() as u64;
            let tid = 1 + thread as i32;
            self.stacks
                .push(((tid, time), vec![frame(function, true), outermost(thread)]));
            self.recording.cpu_snapshots.push(CpuSnapshot {
                tid,
                time,
                chain: Some(chain),
                waiters: waiters.to_vec(),
                alone: true,
                weight: 1,
            });
        }
    }

    fn findings(mut self) -> Vec<WaitFinding> {
        let threads = &self.recording.threads;
        let running: u64 = threads.iter().map(|thread| thread.running).sum();
        self.recording.runnable_ns = running as f64;
        let stacks = Stacks::synthetic(self.stacks.into_iter().collect());
        findings(&View::new(
            &self.recording,
            &stacks,
            &mut ObjectNames::default(),
        ))
    }
}

fn causes(found: &[WaitFinding]) -> Vec<WaitCause> {
    found.iter().map(|one| one.cause).collect()
}

const FUTEX: i64 = libc::SYS_futex;

/// Main joins one of two workers, which waits for a lock most of the time.
fn lock(share: f64, holder_waits: bool) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let main = made.thread(0.0, 1);
    let (one, two) = (made.thread(0.4, 1000), made.thread(0.4, 1000));
    let joins = made.state(
        main,
        Some((WaitReason::Join, FUTEX, &["pthread_join", "finish"])),
        1.0,
    );
    let waits = made.state(
        one,
        Some((WaitReason::Lock, FUTEX, &["__lll_lock_wait", "add"])),
        share,
    );
    let works = made.state(one, None, 1.0 - share);
    let holds = match holder_waits {
        true => made.state(
            two,
            Some((WaitReason::Fsync, libc::SYS_fsync, &["fsync", "keep"])),
            share,
        ),
        false => made.state(two, None, share),
    };
    let behind = made.chain(&[joins, waits, holds], share, 0.0, share);
    made.chain(&[joins, works], 1.0 - share, 0.0, 0.0);
    if !holder_waits {
        made.samples(two, "update", behind, &[waits]);
    }
    made.findings()
}

#[test]
fn a_lock_on_the_critical_path_is_contended_or_held_over_io() {
    let found = lock(0.5, false);
    assert_eq!(found[0].cause, WaitCause::LockContention);
    assert_eq!(found[0].waiter.function, "add");
    assert_eq!(found[0].holder.as_ref().unwrap().function, "update");
    let gain = found[0].predicted_speedup;
    assert!(
        gain.low > 1.2 && gain.value > 1.6 && gain.high <= 2.0,
        "{gain:?}"
    );
    assert_eq!(lock(0.5, true)[0].cause, WaitCause::LockHeldOverIo);
    assert!(!causes(&lock(0.01, false)).contains(&WaitCause::LockContention));
}

#[test]
fn a_holder_that_runs_in_a_call_for_a_file_holds_over_io() {
    let held = |function: &str| {
        let mut made = Made::new();
        let main = made.thread(0.0, 1);
        let (one, two) = (made.thread(0.4, 1000), made.thread(0.4, 1000));
        let lock = (WaitReason::Lock, FUTEX, &["__lll_lock_wait", "add"][..]);
        let joins = (WaitReason::Join, FUTEX, &["pthread_join", "finish"][..]);
        let sync = (WaitReason::Fsync, libc::SYS_fsync, &["fsync", "keep"][..]);
        let joins = made.state(main, Some(joins), 1.0);
        let waits = made.state(one, Some(lock), 0.5);
        let holds = made.state(two, None, 0.5);
        made.state(two, Some(sync), 0.01);
        let chain = made.chain(&[joins, waits, holds], 0.5, 0.0, 0.5);
        made.chain(&[joins], 0.5, 0.0, 0.0);
        made.samples(two, function, chain, &[waits]);
        made.findings()[0].cause
    };
    assert_eq!(held("keep"), WaitCause::LockHeldOverIo);
    assert_eq!(held("update"), WaitCause::LockContention);
}

fn syncs(waits: u64) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let main = made.thread(0.5, waits);
    let call = (
        WaitReason::Fsync,
        libc::SYS_fdatasync,
        &["fdatasync", "append"][..],
    );
    let syncs = made.state(main, Some(call), 0.5);
    let works = made.state(main, None, 0.5);
    made.chain(&[syncs], 0.5, 0.5, 0.0);
    made.chain(&[works], 0.5, 0.0, 0.5);
    made.findings()
}

#[test]
fn the_disk_is_waited_for_again_and_again_or_once() {
    let found = syncs(1000);
    assert_eq!(causes(&found), [WaitCause::SynchronousWrite]);
    assert!(found[0].predicted_speedup.value > 1.8);
    assert!(syncs(1).is_empty());
}

fn sleeps(cpu_seconds: f64, busy_meanwhile: f64) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let main = made.thread(cpu_seconds, 200);
    let call = (
        WaitReason::Sleep,
        libc::SYS_clock_nanosleep,
        &["usleep", "next"][..],
    );
    let sleeps = made.state(main, Some(call), 0.8);
    let works = made.state(main, None, 0.2);
    made.chain(&[sleeps], 0.8, 0.8 - busy_meanwhile, busy_meanwhile);
    made.chain(&[works], 0.2, 0.0, 0.2);
    made.findings()
}

#[test]
fn a_short_look_between_sleeps_is_polling_and_work_on_time_is_not() {
    assert_eq!(causes(&sleeps(0.004, 0.1)), [WaitCause::PollingSleep]);
    assert!(sleeps(0.2, 0.1).is_empty());
    // While others work all the time, the sleep loses nothing.
    assert!(sleeps(0.004, 0.8).is_empty());
}

fn barrier(only_one: bool) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let main = made.thread(0.0, 1);
    let (one, two) = (made.thread(0.9, 5), made.thread(0.5, 5));
    let joins = made.state(
        main,
        Some((WaitReason::Join, FUTEX, &["pthread_join", "finish"])),
        1.0,
    );
    let waits = made.state(
        two,
        Some((
            WaitReason::Condition,
            FUTEX,
            &["pthread_barrier_wait", "step"],
        )),
        0.4,
    );
    let works = made.state(one, None, 1.0);
    let chain = made.chain(&[joins, works], 1.0, 0.0, 0.4);
    made.samples(
        one,
        if only_one { "merge" } else { "work" },
        chain,
        &[joins, waits],
    );
    let other = made.state(two, None, 0.6);
    let unused = made.chain(&[other], 0.0, 0.0, 0.0);
    made.samples(two, "work", unused, &[]);
    made.findings()
}

#[test]
fn work_of_one_thread_is_serial_and_work_of_all_is_uneven() {
    let uneven = barrier(false);
    assert_eq!(causes(&uneven), [WaitCause::Imbalance]);
    // Whoever works itself and waits is shown, not the thread that waits for all.
    assert_eq!(uneven[0].waiter.function, "step");
    assert_eq!(uneven[0].holder.as_ref().unwrap().function, "work");
    let serial = barrier(true);
    assert_eq!(causes(&serial), [WaitCause::SerialSection]);
    assert_eq!(serial[0].holder.as_ref().unwrap().function, "merge");
}

fn turns(waits: u64, second_works: bool) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let (one, two) = (made.thread(0.4, waits), made.thread(0.4, waits));
    let call = |name: &'static [&'static str]| (WaitReason::Pipe, libc::SYS_read, name);
    let asks = made.state(one, Some(call(&["read", "ask"])), 0.5);
    let serves = made.state(two, Some(call(&["read", "serve"])), 0.5);
    let (first, second) = (made.state(one, None, 0.5), made.state(two, None, 0.5));
    made.chain(&[asks, serves], 0.1, 0.1, 0.0);
    let alone = if second_works { 0.45 } else { 0.0 };
    made.chain(&[asks, second], 0.45, 0.0, alone);
    made.chain(&[first], 0.45, 0.0, 0.45);
    made.findings()
}

#[test]
fn requests_in_turns_are_told_from_a_few_and_from_a_stream() {
    let found = turns(20_000, true);
    assert_eq!(causes(&found), [WaitCause::RoundTripInLoop]);
    assert_eq!(found[0].waiter.function, "ask");
    assert!(turns(100, true).is_empty());
    assert!(turns(20_000, false).is_empty());
}

fn children(lives: &[(f64, f64)]) -> Vec<WaitFinding> {
    let mut made = Made::new();
    let main = made.thread(0.0, 1);
    let call = (
        WaitReason::Child,
        libc::SYS_wait4,
        &["waitpid", "build"][..],
    );
    let waits = made.state(main, Some(call), 1.0);
    made.recording.processes.push(WatchedProcess {
        pid: 1,
        ..WatchedProcess::default()
    });
    for (at, (from, to)) in lives.iter().enumerate() {
        let child = made.thread(to - from, 3);
        let pid = 100 + at as i32;
        let thread = &mut made.recording.threads[child as usize];
        (thread.pid, thread.tid) = (pid, pid);
        thread.began = (from * SECOND as f64) as u64;
        thread.ended = (to * SECOND as f64) as u64;
        made.recording.processes.push(WatchedProcess {
            pid,
            parent: 1,
            ..WatchedProcess::default()
        });
        let works = made.state(child, None, to - from);
        let share = 1.0 / lives.len() as f64;
        made.chain(&[waits, works], share, 0.0, share);
    }
    made.findings()
}

#[test]
fn children_one_after_the_other_are_told_from_those_of_a_pipe() {
    assert_eq!(
        causes(&children(&[(0.0, 0.5), (0.5, 1.0)])),
        [WaitCause::ChildProcess]
    );
    assert!(children(&[(0.0, 1.0), (0.0, 1.0)]).is_empty());
    assert!(children(&[(0.0, 1.0)]).is_empty());
}

#[test]
fn a_quota_is_a_cause_of_its_own() {
    let mut made = Made::new();
    let main = made.thread(0.5, 20);
    let works = made.state(main, None, 1.0);
    made.chain(&[works], 1.0, 0.0, 1.0);
    made.recording.throttled = SECOND / 2;
    assert_eq!(causes(&made.findings()), [WaitCause::CpuQuota]);
}

#[test]
fn an_empty_recording_has_no_findings() {
    assert!(
        Made {
            recording: WaitRecording::default(),
            stacks: Vec::new()
        }
        .findings()
        .is_empty()
    );
}
