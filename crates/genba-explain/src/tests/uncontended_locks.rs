//! Locks that a loop takes for each element, and near misses.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::needless_atomic;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{call, function, program};

const TIMES: u64 = 10_000_000;

/// How a loop takes its lock.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The same one each time.
    Same,
    /// One of each element.
    OfElement,
    /// It waits for a condition with it.
    Waits,
    /// It tries until it has the lock.
    Spins,
}

/// `for (…) { lock(m); count[*p++]++; unlock(m); }` with so many entries of the loop, in so many seconds.
fn input(kind: Kind, entries: u64, seconds: f64) -> AnalysisInput {
    let counts = [vec![entries], vec![TIMES; 9], vec![entries]].concat();
    let mut tally = function(
        "tally",
        |a| {
            let mut head = a.create_label();
            a.mov(r15, r14)?;
            a.set_label(&mut head)?;
            match kind {
                Kind::OfElement => a.mov(rdi, qword_ptr(rbx))?,
                _ => a.mov(rdi, rbp)?,
            }
            a.call(0x5000)?;
            a.movzx(eax, byte_ptr(rbx))?;
            a.inc(qword_ptr(r12 + rax * 8))?;
            a.mov(rdi, rbp)?;
            a.call(0x6000)?;
            a.add(rbx, 8)?;
            a.cmp(rbx, r13)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &[
            0.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.03, 0.03, 0.0,
        ],
        &[(9, TIMES - entries)],
    );
    let second = match kind {
        Kind::Waits => "pthread_cond_wait",
        Kind::Spins => "count_try",
        _ => "pthread_mutex_unlock",
    };
    let first = match kind {
        Kind::Spins => "pthread_mutex_trylock",
        _ => "pthread_mutex_lock",
    };
    tally.call_sites = vec![call(2, first, TIMES, 20.0), call(6, second, TIMES, 20.0)];
    let library = |name: &str, share: f64| {
        let mut one = function(name, |a| a.ret(), &[TIMES], &[share], &[]);
        one.own = false;
        one
    };
    let mut input = program(vec![tally, library(first, 0.5), library(second, 0.3)]);
    input.program.cpu_seconds = seconds;
    input.program.threads = 2;
    input
}

fn is_found(kind: Kind, entries: u64, seconds: f64) -> bool {
    let found = needless_atomic::detect(&input(kind, entries, seconds));
    found.iter().any(|one| one.fix == Fix::LockOnce)
}

#[test]
fn free_lock_that_is_taken_for_each_element_is_found() {
    assert!(is_found(Kind::Same, 10, 0.1));
    let found = needless_atomic::detect(&input(Kind::Same, 10, 0.1));
    // The locks' share goes for the most part.
    let left = found[0].residual_fraction;
    assert!(left.value < 0.3 && left.high < 0.6, "{left:?}");
}

#[test]
fn locks_of_elements_short_loops_waits_and_held_locks_are_not() {
    assert!(!is_found(Kind::OfElement, 10, 0.1), "another one each time");
    assert!(!is_found(Kind::Same, TIMES / 5, 0.1), "short loops");
    assert!(!is_found(Kind::Waits, 10, 0.1), "a wait");
    assert!(!is_found(Kind::Spins, 10, 0.1), "a spin loop");
    assert!(!is_found(Kind::Same, 10, 10.0), "held by others");
}
