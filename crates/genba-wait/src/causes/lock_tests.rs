//! Causes that are locks fire on what they are about, and not on what is close to it.

use genba_model::{WaitCause, WaitFinding, WaitReason};
use genba_profile::wait_sampler::Pair;

use super::findings;
use super::tests::causes;
use crate::synthetic::SyntheticRecording;

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
    let gain = found[0].predicted_speedup;
    // Without waits the two hold the lock at the same time at best.
    assert!(gain.low > 1.2 && gain.high <= 5.0, "{gain:?}");
}

/// Two threads of which one waits for the other's lock 50 ms in all, and 600 ms for a CPU that other programs have.
#[test]
fn the_load_of_other_programs_is_not_the_gain_of_a_lock() {
    let mut made = SyntheticRecording::new(3, 1000.0);
    let joins = made.waits(0, WaitReason::Join, &["main"], (1000.0, 1));
    let wants = made.waits(1, WaitReason::Lock, &["add"], (60.0, 200));
    let works = made.runs(1, 350.0);
    let holds = made.runs(2, 60.0);
    let chain = made.chain(&[joins, wants, holds], 60.0, 0.0, 60.0);
    made.chain(&[joins, works], 940.0, 0.0, 0.0);
    made.sampled(chain, &["update"], 100);
    let thread = &mut made.recording.threads[1];
    (thread.runnable, thread.slices) = (590_000_000, 200);
    made.recording.machine_busy = 2_000_000_000;
    let found = made.view(findings);
    let [lock] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(lock.predicted_speedup.value < 1.2, "{lock:?}");
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

/// The first thread has the lock until it ends, and the other does its work after that.
#[test]
fn a_lock_that_one_thread_keeps_until_it_ends() {
    let one_after_the_other = |waits: f64| {
        let mut made = SyntheticRecording::new(3, 1000.0);
        let joins = made.waits(0, WaitReason::Join, &["main"], (1000.0, 2));
        let first = made.waits(1, WaitReason::Fsync, &["store"], (500.0, 100));
        let wants = made.waits(2, WaitReason::Lock, &["add"], (waits, 10));
        let second = made.waits(2, WaitReason::Fsync, &["store"], (500.0, 100));
        made.recording.threads[1].ended /= 2;
        made.chain(&[joins, first], 480.0, 480.0, 0.0);
        made.chain(&[joins, wants, first], 20.0, 20.0, 0.0);
        // Who holds a lock is seen whenever somebody waits for it.
        made.recording.pairs.push(Pair {
            waiter: wants,
            holder: first,
            ns: (waits - 20.0) * 1e6,
            snapshots: (waits - 20.0) as u64,
        });
        made.chain(&[joins, second], 500.0, 500.0, 0.0);
        let mut found = made.view(findings).into_iter();
        let lock = found.find(|found| found.cause == WaitCause::LockHeldOverIo);
        lock.map(|lock| lock.predicted_speedup)
    };
    let gain = one_after_the_other(500.0).expect("found");
    assert!(gain.value > 1.7 && gain.high >= 2.0, "{gain:?}");
    // It waited for something else.
    assert_eq!(one_after_the_other(20.0), None);
}

#[test]
fn a_holder_that_runs_in_a_call_for_a_file_holds_over_io() {
    let held = |function: &str| {
        let mut made = lock(WaitReason::Running);
        made.waits(2, WaitReason::Fsync, &["fsync", "keep"], (10.0, 100));
        made.sampled(0, &[function], 200);
        made.view(findings)[0].cause
    };
    assert_eq!(held("keep"), WaitCause::LockHeldOverIo);
    assert_eq!(held("update"), WaitCause::LockContention);
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

/// Main waits for what any of four threads makes, each of which holds a lock in its turn: the path leads to the one that does, and
/// not through the others, which wait for the lock meanwhile.
fn beside_the_path(holds: WaitReason) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(5, 1000.0);
    let collects = made.waits(0, WaitReason::Condition, &["collect"], (1000.0, 100));
    let wants: Vec<_> = (1..5)
        .map(|thread| made.waits(thread, WaitReason::Lock, &["take"], (750.0, 100)))
        .collect();
    for thread in 1..5 {
        let held = match holds {
            WaitReason::Running => made.runs(thread, 250.0),
            reason => made.waits(thread, reason, &["fetch"], (250.0, 100)),
        };
        for waiter in wants
            .iter()
            .copied()
            .filter(|one| *one != wants[thread as usize - 1])
        {
            made.recording.pairs.push(Pair {
                waiter,
                holder: held,
                ns: 250e6,
                snapshots: 250,
            });
        }
        let runs = holds == WaitReason::Running;
        let (idle, alone) = if runs { (0.0, 250.0) } else { (250.0, 0.0) };
        let chain = made.chain(&[collects, held], 250.0, idle, alone);
        if runs {
            made.recording.threads[thread as usize].running = 250_000_000;
            made.sampled(chain, &["shrink"], 25);
        }
    }
    made
}

#[test]
fn a_lock_that_only_those_beside_the_path_wait_for_costs_them_and_the_path() {
    let over_io = beside_the_path(WaitReason::Socket).view(findings);
    assert_eq!(over_io[0].cause, WaitCause::LockHeldOverIo, "{over_io:?}");
    assert!(over_io[0].predicted_speedup.low > 1.05);
    let computing = beside_the_path(WaitReason::Running).view(findings);
    assert_eq!(
        computing[0].cause,
        WaitCause::LockContention,
        "{computing:?}"
    );
    // A second of work on two CPUs, and what snapshots leave open.
    assert!(computing[0].predicted_speedup.high < 2.5, "{computing:?}");
    let uneven = |found: &WaitFinding| found.cause == WaitCause::Imbalance;
    assert!(!computing.iter().any(uneven), "they are not done");
}

/// One of four alike has the lock whenever it wants it, and does all the work.
#[test]
fn work_of_who_always_gets_the_lock_might_have_been_the_others() {
    let mut made = SyntheticRecording::new(5, 1000.0);
    let collects = made.waits(0, WaitReason::Condition, &["collect"], (1000.0, 100));
    let works = made.runs(1, 1000.0);
    made.recording.threads[1].running = 1_000_000_000;
    let chain = made.chain(&[collects, works], 1000.0, 0.0, 1000.0);
    made.sampled(chain, &["shrink"], 100);
    for thread in 2..5 {
        let wants = made.waits(thread, WaitReason::Lock, &["take"], (1000.0, 100));
        made.recording.pairs.push(Pair {
            waiter: wants,
            holder: works,
            ns: 1000e6,
            snapshots: 1000,
        });
    }
    let found = made.view(findings);
    assert_eq!(found[0].cause, WaitCause::LockContention, "{found:?}");
    // A second of work on two CPUs, unless each thread keeps what it did.
    let gain = found[0].predicted_speedup;
    assert!(
        gain.low < 1.05 && (1.6..2.1).contains(&gain.value),
        "{gain:?}"
    );
}

#[test]
fn threads_that_take_jobs_under_a_lock_wait_for_jobs() {
    let found = causes(&beside_the_path(WaitReason::Condition));
    let locks = [WaitCause::LockContention, WaitCause::LockHeldOverIo];
    assert!(
        !found.iter().any(|cause| locks.contains(cause)),
        "{found:?}"
    );
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

/// The holder forces its record 100 ms long and has 100 ms of CPU time; for the other 600 ms it queues for a CPU.
#[test]
fn a_holder_without_a_cpu_does_not_compute() {
    let cause = |runnable: u64| {
        let mut made = SyntheticRecording::new(3, 1000.0);
        let joins = made.waits(0, WaitReason::Join, &["main"], (1000.0, 1));
        let wants = made.waits(1, WaitReason::Lock, &["add"], (800.0, 400));
        let works = made.runs(1, 200.0);
        let computes = made.runs(2, 0.0);
        let forces = made.waits(2, WaitReason::Fsync, &["store"], (150.0, 400));
        let chain = made.chain(&[joins, wants, computes], 650.0, 0.0, 650.0);
        made.chain(&[joins, wants, forces], 150.0, 150.0, 0.0);
        made.chain(&[joins, works], 200.0, 0.0, 0.0);
        made.sampled(chain, &["update"], 100);
        let thread = &mut made.recording.threads[2];
        (thread.running, thread.runnable) = (650_000_000 - runnable, runnable);
        made.view(findings)[0].cause
    };
    assert_eq!(cause(550_000_000), WaitCause::LockHeldOverIo);
    assert_eq!(cause(50_000_000), WaitCause::LockContention);
}
