//! Each cause fires on what it is about, and not on what is close to it.

use genba_model::{WaitCause, WaitReason};

use super::findings;
use crate::synthetic::SyntheticRecording;

fn causes(made: &SyntheticRecording) -> Vec<WaitCause> {
    made.view(|view| findings(view).iter().map(|found| found.cause).collect())
}

/// Main joins a worker, which waits for a lock that another one holds.
fn lock(behind: WaitReason) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(3, 1000.0);
    let joins = made.waits(0, WaitReason::Join, &["main"], (1000.0, 1));
    let wants = made.waits(1, WaitReason::Lock, &["add"], (800.0, 400));
    let works = made.runs(1, 200.0);
    let holds = match behind {
        WaitReason::Running => made.runs(2, 800.0),
        reason => made.waits(2, reason, &["store"], (800.0, 400)),
    };
    let idle = match behind {
        WaitReason::Running => 0.0,
        _ => 800.0,
    };
    let chain = made.chain(&[joins, wants, holds], 800.0, idle, 800.0 - idle);
    made.chain(&[joins, works], 200.0, 0.0, 0.0);
    if behind == WaitReason::Running {
        made.sampled(chain, &["update"], 100);
    }
    made
}

#[test]
fn a_contended_lock() {
    let made = lock(WaitReason::Running);
    let found = made.view(findings);
    assert_eq!(found[0].cause, WaitCause::LockContention);
    assert_eq!(found[0].waiter.function, "add");
    let holder = found[0]
        .holder
        .as_ref()
        .map(|place| place.function.as_str());
    assert_eq!(holder, Some("update"));
    assert!((found[0].wall_share.value - 0.8).abs() < 0.01);
}

#[test]
fn a_lock_held_over_io() {
    let made = lock(WaitReason::Fsync);
    let found = made.view(findings);
    assert_eq!(found[0].cause, WaitCause::LockHeldOverIo);
    let holder = found[0]
        .holder
        .as_ref()
        .map(|place| place.function.as_str());
    assert_eq!(holder, Some("store"));
}

/// Waiting for a lock off the critical path costs nothing.
#[test]
fn a_lock_that_nobody_waits_for_in_the_end() {
    let mut made = SyntheticRecording::new(3, 1000.0);
    let works = made.runs(0, 1000.0);
    made.waits(1, WaitReason::Lock, &["add"], (900.0, 400));
    made.runs(2, 900.0);
    made.chain(&[works], 1000.0, 0.0, 0.0);
    assert_eq!(causes(&made), []);
}

#[test]
fn the_gil_is_a_lock_with_a_name() {
    let mut made = SyntheticRecording::new(3, 1000.0);
    let joins = made.waits(0, WaitReason::Condition, &["join"], (1000.0, 1));
    let names = ["pthread_cond_timedwait", "take_gil", "count"];
    let wants = made.waits(1, WaitReason::Condition, &names, (500.0, 200));
    made.waits(2, WaitReason::Condition, &names, (500.0, 200));
    let holds = made.runs(2, 500.0);
    let works = made.runs(1, 500.0);
    made.chain(&[joins, wants, holds], 500.0, 0.0, 0.0);
    made.chain(&[joins, works], 500.0, 0.0, 0.0);
    let found = made.view(findings);
    assert_eq!(found[0].cause, WaitCause::LockContention);
    assert_eq!(found[0].object.as_deref(), Some("the GIL"));
}

/// Without the lock the thread that works all the time still has to.
#[test]
fn a_lock_of_one_that_works_all_the_time_costs_nothing() {
    let mut made = SyntheticRecording::new(2, 1000.0);
    let wants = made.waits(0, WaitReason::Lock, &["start"], (300.0, 5));
    let joins = made.waits(0, WaitReason::Join, &["finish"], (700.0, 1));
    let works = made.runs(1, 990.0);
    made.chain(&[wants, works], 300.0, 0.0, 0.0);
    made.chain(&[joins, works], 700.0, 0.0, 0.0);
    assert_eq!(causes(&made), []);
}

/// Threads that sleep while they hold a lock do not poll.
#[test]
fn a_sleep_under_a_lock_is_the_locks() {
    let sleeping = |under_lock: f64| {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let sleeps = made.waits(0, WaitReason::Sleep, &["step"], (900.0, 300));
        let wants = made.waits(1, WaitReason::Lock, &["enter"], (under_lock, 300));
        made.chain(&[sleeps], 900.0, 900.0, 0.0);
        // Off the path of the first thread.
        made.chain(&[wants, sleeps], under_lock, 0.0, 0.0);
        causes(&made)
    };
    assert!(!sleeping(900.0).contains(&WaitCause::PollingSleep));
    assert!(sleeping(20.0).contains(&WaitCause::PollingSleep));
}

/// A thousand small files are read in a thousand calls.
#[test]
fn small_files_are_not_small_reads() {
    let reading = |new_files: u64| {
        let mut made = one_thread(WaitReason::File, 5_000);
        let process = &mut made.recording.processes[0];
        process.reads = 100_000;
        process.read_bytes = 100_000 * 512;
        process.file_looks = 20;
        process.new_file_looks = new_files;
        causes(&made)
    };
    assert_eq!(reading(1), [WaitCause::SmallIo]);
    assert_eq!(reading(15), []);
}

fn one_thread(reason: WaitReason, waits: u64) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let state = made.waits(0, reason, &["step"], (900.0, waits));
    let works = made.runs(0, 10.0);
    made.chain(&[state], 900.0, 900.0, 0.0);
    made.chain(&[works], 10.0, 0.0, 10.0);
    made
}

#[test]
fn writes_that_reach_the_disk_each_time() {
    let many = one_thread(WaitReason::Fsync, 300);
    assert_eq!(causes(&many), [WaitCause::SynchronousWrite]);
    // One at the end is what an expert would do.
    assert_eq!(causes(&one_thread(WaitReason::Fsync, 1)), []);
}

#[test]
fn faults_that_read() {
    let many = one_thread(WaitReason::PageFault, 300);
    assert_eq!(causes(&many), [WaitCause::PageFaultIo]);
    assert_eq!(causes(&one_thread(WaitReason::PageFault, 3)), []);
}

#[test]
fn sleeps_between_looks() {
    let many = one_thread(WaitReason::Sleep, 300);
    assert_eq!(causes(&many), [WaitCause::PollingSleep]);
    assert_eq!(causes(&one_thread(WaitReason::Sleep, 2)), []);
    // 5 ms of work at each tick: it is on time.
    let mut ticks = one_thread(WaitReason::Sleep, 20);
    ticks.runs(0, 100.0);
    assert_eq!(causes(&ticks), []);
}

/// Two threads of which one waits for the other, `waits` times in 600 ms.
fn turns(reason: WaitReason, waits: u64) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(2, 1000.0);
    let asks = made.waits(0, reason, &["ask"], (600.0, waits));
    let works = made.runs(0, 400.0);
    let idles = made.waits(1, reason, &["serve"], (400.0, waits));
    let serves = made.runs(1, 600.0);
    made.chain(&[asks, serves], 400.0, 0.0, 400.0);
    made.chain(&[asks, idles], 200.0, 200.0, 0.0);
    made.chain(&[works], 400.0, 0.0, 400.0);
    made
}

#[test]
fn turns_of_two() {
    let asked = causes(&turns(WaitReason::Socket, 5000));
    assert!(asked.contains(&WaitCause::RoundTripInLoop), "{asked:?}");
    let signalled = causes(&turns(WaitReason::Condition, 5000));
    assert!(signalled.contains(&WaitCause::WakeUpChain), "{signalled:?}");
    // A few long waits are work that is awaited.
    let few = causes(&turns(WaitReason::Socket, 5));
    assert!(!few.contains(&WaitCause::RoundTripInLoop), "{few:?}");
    let few = causes(&turns(WaitReason::Condition, 5));
    assert!(!few.contains(&WaitCause::WakeUpChain), "{few:?}");
}

#[test]
fn a_quota_that_stops_threads() {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let works = made.runs(0, 500.0);
    made.chain(&[works], 1000.0, 0.0, 0.0);
    assert_eq!(causes(&made), []);
    made.recording.throttled = 400_000_000;
    assert_eq!(causes(&made), [WaitCause::CpuQuota]);
}
