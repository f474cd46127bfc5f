//! `lock-contention`: threads that spend their time on a shared lock.
//!
//! **Signature.** Several threads work, and a good share of the time is in acquiring and releasing
//! locks (functions that are known by name, and atomic exchanges of constants in the user's own code:
//! inlined mutexes of any library), in the kernel's futexes, or in the user's own spin loops (`pause`).
//!
//! **Confirmation.** A sweep over the number of threads. On one CPU the CPU time falls if the
//! threads wait for each other's cache lines.
//!
//! **Gain.** The locks' time, and the scheduler's as far as threads sleep for each other, if each thread works on data of its own
//! and combines it once; the cache lines that the lock protects stay with one core, too.
//!
//! **Source.** P. McKenney, *Is parallel programming hard*, chapter on locking and data ownership;
//! U. Drepper, *Futexes are tricky*.

use genba_code::{Flow, Instruction};
use genba_model::{Cause, Confirmation, FindingSite, Fix, MIN_GAIN, ThreadFact};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CONTENDED_LOCK_SECONDS, MIN_CONTENTION_RATIO};
use crate::constants::gains::{CONTENDED_LOCK_SAVED, CONTENTION_REST_SAVED, SPINNING_SAVED};
use crate::constants::time_shares::{MIN_SHARE_OF_LOCKS, MIN_SHARE_OF_SPINNING_FUNCTION};
use crate::finding_site::site;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::{is_lock, plain};
use crate::input::user_lines::lines;
use crate::patterns::lock_acquisitions::{Acquisition, acquisitions, share_of};

/// Finds time of several threads in lock functions, futexes and loops with `pause`.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input).into_iter().collect()
}

/// Whether threads spend much on locks.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    let spinning = spinning(input);
    let locks = input.share_where(|f| is_lock(&f.function)) + input.kernel_share_for(&["futex"]);
    let inlined = share_of(input, &inlined(input, &spinning));
    let spin: f64 = spinning.iter().map(|one| one.1).sum();
    input.program.threads >= 2 && locks + inlined + spin >= MIN_SHARE_OF_LOCKS
}

/// Locks that are taken in the user's own code, those of functions that spin apart.
fn inlined(input: &AnalysisInput, spinning: &[(usize, f64)]) -> Vec<Acquisition> {
    let mut list = acquisitions(input);
    list.retain(|one| !spinning.iter().any(|spin| spin.0 == one.function));
    list
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let program = &input.program;
    if program.threads < 2 {
        return None;
    }
    let spinning: Vec<(usize, f64)> = spinning(input);
    let inlined = inlined(input, &spinning);
    let named = input.share_where(|f| is_lock(&f.function));
    let locks = named + share_of(input, &inlined);
    let futex = input.kernel_share_for(&["futex"]);
    let spin: f64 = spinning.iter().map(|one| one.1).sum();
    if locks + futex + spin < MIN_SHARE_OF_LOCKS {
        return None;
    }
    let share = locks + futex + spin;
    let waits = part_of_thread_waits(input);
    let of_scheduler = input.kernel_share_for(&["scheduler"]);
    let scheduler = waits * of_scheduler;
    let taken = input.service("lock");
    let times = taken.map_or(0, |taken| taken.calls);
    let times = (inlined.iter()).fold(times, |sum, one| sum.saturating_add(one.executions));
    let counted = times > 0 && locks + futex > spin;
    let seconds_per_lock = (counted && program.cpu_seconds > 0.0)
        .then(|| (locks + futex) * program.cpu_seconds / times as f64);
    let one_cpu = program.follow_up.one_cpu_seconds;
    let ratio = one_cpu.map(|alone| program.cpu_seconds / alone.max(1e-9));
    let measured = ratio.is_some_and(|ratio| ratio > MIN_CONTENTION_RATIO);
    if !measured && seconds_per_lock.is_some_and(|seconds| seconds < MIN_CONTENDED_LOCK_SECONDS) {
        return None;
    }
    let (at, calls) = place(input, &spinning, &inlined, named, locks + futex)?;
    let rest = (1.0 - share - scheduler).max(0.0);
    let mut one = Candidate::new(Cause::LockContention, None, Vec::new(), Fix::PerThreadData);
    one.at = Some(at);
    one.saves(&[
        SavedTime::of(locks + futex + scheduler, CONTENDED_LOCK_SAVED),
        // A loop that spins has the work in it as well.
        SavedTime::of(spin, SPINNING_SAVED),
        SavedTime::of(rest, CONTENTION_REST_SAVED),
    ]);
    one.executions = calls;
    one.confirmation = Confirmation::ThreadSweep;
    one = one.fact(ThreadFact::LockTime {
        share,
        futex_share: futex,
        threads: program.threads,
    });
    if scheduler >= MIN_GAIN {
        one = one.fact(ThreadFact::SchedulerTime {
            share: of_scheduler,
            thread_waits: waits,
        });
    }
    if counted {
        one = one.fact(ThreadFact::LockAcquisitions { times });
    }
    if let Some(seconds) = seconds_per_lock {
        one = one.fact(ThreadFact::LockCost { seconds });
    }
    if let Some(ratio) = ratio.filter(|_| measured) {
        one = one.fact(ThreadFact::OneCpu { ratio });
    }
    Some(one)
}

/// Part of the calls that may block which wait for another thread, 0…1: that part of the scheduler's time is attributed to
/// them, since samples in the scheduler do not say why it was entered.
fn part_of_thread_waits(input: &AnalysisInput) -> f64 {
    let calls = |is: fn(&str) -> bool| {
        let called = input.program.called.iter();
        let calls = called.filter(|one| is(plain(&one.function)));
        calls.map(|one| one.calls as f64).sum::<f64>()
    };
    let threads = calls(waits_for_thread);
    threads / (threads + calls(waits_for_else)).max(1.0)
}

fn waits_for_thread(name: &str) -> bool {
    let parts = [
        "cond_wait",
        "cond_timedwait",
        "cond_clockwait",
        "lll_lock_wait",
        "futex_wait",
    ];
    name == "sem_wait" || parts.iter().any(|part| name.ends_with(part))
}

fn waits_for_else(name: &str) -> bool {
    const NAMES: [&str; 18] = [
        "poll",
        "ppoll",
        "select",
        "pselect",
        "epoll_wait",
        "epoll_pwait",
        "nanosleep",
        "clock_nanosleep",
        "read",
        "recv",
        "recvfrom",
        "recvmsg",
        "accept",
        "accept4",
        "wait4",
        "waitpid",
        "fsync",
        "fdatasync",
    ];
    NAMES.contains(&name)
}

/// The user's line that takes locks most often, or spins most. `named` is the share of the time in
/// functions that are locks by their names, `locks` of all but spinning.
fn place(
    input: &AnalysisInput,
    spinning: &[(usize, f64)],
    inlined: &[Acquisition],
    named: f64,
    locks: f64,
) -> Option<(FindingSite, Option<u64>)> {
    let spin = spinning.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied();
    if let Some((index, share)) = spin
        && share > locks
    {
        let function = &input.functions[index];
        return Some((site(function, &pauses(function)), function.calls));
    }
    let called = (input.service("lock")).and_then(|one| lines(&one.users).into_iter().next());
    let most = inlined.iter().max_by_key(|one| one.executions);
    let Some(top) = called.filter(|_| most.is_none() || share_of(input, inlined) <= named) else {
        let most = most?;
        let site = site(&input.functions[most.function], &[most.at]);
        return Some((site, Some(most.executions)));
    };
    let calls = top.calls as u64;
    Some((top.site, Some(calls)))
}

/// Functions of the user's that spin, with the share of their loops that do.
fn spinning(input: &AnalysisInput) -> Vec<(usize, f64)> {
    let all = input.functions.iter().enumerate().filter(|(_, f)| f.own);
    all.filter_map(|(index, function)| {
        let mut loops: Vec<u32> = pauses(function)
            .iter()
            .filter_map(|&at| function.flow.loop_of_instruction(at))
            .collect();
        loops.sort_unstable();
        loops.dedup();
        let share: f64 = loops.iter().map(|&one| function.loop_heat(one)).sum();
        (share > MIN_SHARE_OF_SPINNING_FUNCTION).then_some((index, share))
    })
    .collect()
}

/// `pause` in a loop says that it waits for another thread.
fn pauses(function: &FunctionInput) -> Vec<usize> {
    let is_pause =
        |one: &Instruction| one.flow == Flow::Next && one.text.trim_start().starts_with("pause");
    (0..function.code.len())
        .filter(|&at| is_pause(&function.code[at]))
        .collect()
}
