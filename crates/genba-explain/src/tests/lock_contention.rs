//! Locks that several threads wait for, and near misses.

use genba_model::{Fact, ThreadFact};
use iced_x86::code_asm::*;

use crate::causes::lock_contention;
use crate::follow_up_runs;
use crate::input::analysis_input::{AnalysisInput, CalledFunction, KernelWork};
use crate::tests::runtime::{input, library, service, user};
use crate::tests::synthetic::{function, has_fact};

/// `pthread_mutex_lock` with this share of the time, 10 million calls.
fn locking(threads: u32, share: f64) -> AnalysisInput {
    let mut input = input(
        vec![library("pthread_mutex_lock@@GLIBC_2.2.5", share)],
        vec![service("lock", vec![user(25, 1e7, &[])])],
    );
    input.program.threads = threads;
    input
}

#[test]
fn lock_contention_is_found_for_several_threads_only() {
    let found = lock_contention::detect(&locking(2, 0.5));
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(25));
    assert!(follow_up_runs::one_cpu(&locking(2, 0.5)));
    assert!(lock_contention::detect(&locking(1, 0.5)).is_empty());
    assert!(lock_contention::detect(&locking(4, 0.03)).is_empty());
}

#[test]
fn locks_at_the_cost_of_free_ones_are_not_contention_unless_one_cpu_is_faster() {
    let mut input = locking(2, 0.5);
    // Of 1 s: 5 ns each.
    input.program.runtime = vec![service("lock", vec![user(25, 1e8, &[])])];
    assert!(lock_contention::detect(&input).is_empty());
    input.program.follow_up.one_cpu_seconds = Some(0.95);
    assert!(lock_contention::detect(&input).is_empty());
    input.program.follow_up.one_cpu_seconds = Some(0.6);
    assert_eq!(lock_contention::detect(&input).len(), 1);
}

/// A fifth of the time in locks and three tenths in the scheduler, where threads block in this function.
fn blocking(function: &str) -> AnalysisInput {
    let mut input = locking(2, 0.2);
    input.program.kernel.push(KernelWork {
        reason: "scheduler",
        share: 0.3,
    });
    input.program.called.push(CalledFunction {
        function: function.to_owned(),
        module: "/lib/libc.so.6".to_owned(),
        calls: 100_000,
        instructions: 5_000_000,
    });
    input
}

#[test]
fn scheduler_time_is_attributed_to_waits_for_other_threads_only() {
    let found = |function: &str| lock_contention::detect(&blocking(function));
    let residual = |function: &str| found(function)[0].residual_fraction.value;
    let (threads, events) = (residual("pthread_cond_wait"), residual("epoll_wait"));
    assert!(threads < events - 0.1, "{threads} {events}");
    let attributed = |function: &str| {
        has_fact(&found(function), |fact| {
            matches!(fact, Fact::Thread(ThreadFact::SchedulerTime { .. }))
        })
    };
    assert!(attributed("pthread_cond_wait") && !attributed("epoll_wait"));
}

#[test]
fn scheduler_time_does_not_make_free_locks_contended() {
    let mut input = blocking("pthread_cond_wait");
    // 0.2 s of 1 s: 2 ns each.
    input.program.runtime = vec![service("lock", vec![user(25, 1e8, &[])])];
    assert!(lock_contention::detect(&input).is_empty());
}

/// What a compare-and-swap compares with.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    /// The mark of a free lock.
    Free,
    /// What was loaded before: a list without locks.
    Loaded,
}

/// A mutex's inlined fast path with this share of the time, of two threads.
fn swapping(expected: Expected, share: f64) -> AnalysisInput {
    let one = function(
        "update",
        |a| {
            let mut slow = a.create_label();
            match expected {
                Expected::Free => a.xor(eax, eax)?,
                Expected::Loaded => a.mov(eax, dword_ptr(rdi))?,
            }
            a.mov(ecx, 1)?;
            a.lock().cmpxchg(dword_ptr(rdi), ecx)?;
            a.jne(slow)?;
            a.add(qword_ptr(rdi + 8), 1)?;
            a.mov(dword_ptr(rdi), 0)?;
            a.set_label(&mut slow)?;
            a.ret()
        },
        &[1_000_000; 7],
        &[0.0, 0.0, share, 0.0, 0.1, 0.0, 0.0],
        &[(3, 1000)],
    );
    let mut input = input(vec![one], Vec::new());
    input.program.threads = 2;
    input
}

#[test]
fn inlined_lock_is_known_by_its_exchange_of_constants() {
    let found = lock_contention::detect(&swapping(Expected::Free, 0.5));
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(3));
    assert_eq!(found[0].executions, Some(1_000_000));
    assert!(lock_contention::detect(&swapping(Expected::Free, 0.04)).is_empty());
    assert!(lock_contention::detect(&swapping(Expected::Loaded, 0.5)).is_empty());
    let mut alone = swapping(Expected::Free, 0.5);
    alone.program.threads = 1;
    assert!(lock_contention::detect(&alone).is_empty());
}
