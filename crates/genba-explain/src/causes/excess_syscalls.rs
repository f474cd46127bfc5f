//! `excess-syscalls`: many small system calls.
//!
//! **Signature.** A good share of the time is in the kernel, not for page faults or locks; the
//! counted system calls take about as long as an empty one, up to a few times that; they copy
//! little; and the user's line makes about one for each of its own calls (a library that buffers
//! makes far fewer).
//!
//! **Confirmation.** Count the calls and their sizes: `strace -c -f`, `strace -e trace=write`.
//!
//! **Gain.** The calls' time except for copying. User code runs faster, too, since a system call
//! evicts a part of the caches and predictors.
//!
//! **Source.** L. Soares, M. Stumm, *FlexSC: flexible system call scheduling with exception-less
//! system calls*, OSDI 2010, section 2 (direct and indirect costs).

use genba_model::{Cause, Confirmation, Fix, HostOperation, KernelFact, Language};

use crate::candidate::Candidate;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, RuntimeUse, UserCall};
use crate::input::runtime_services::plain;
use crate::input::user_lines::{UserLine, lines};

/// Share of the time from which it is worth a word.
const LEAST_SHARE: f64 = 0.05;

/// System calls that are enough to be a habit.
const LEAST_CALLS: u64 = 1000;

/// A call that takes longer does something.
const LONGEST: f64 = 2.5e-6;

/// Part of the calls' time above which copying is what they are for.
const MOST_COPYING: f64 = 0.4;

/// Seconds that a call takes which is served from a buffer.
const BUFFERED: f64 = 2e-9;

/// Part of all system calls that the line must make which is named.
const LEAST_PART: f64 = 0.25;

/// System calls for each of the user's calls: fewer, and a library gathers already.
const LEAST_EACH: f64 = 0.3;

/// Finds short system calls that the user's line makes nearly each time, from counts and the time
/// in the kernel.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input).into_iter().collect()
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let program = &input.program;
    let calls = || program.runtime.iter().filter(|one| one.system_call);
    let all: u64 = calls().map(|one| one.calls).sum();
    if all < LEAST_CALLS || program.cpu_seconds <= 0.0 {
        return None;
    }
    // The wrappers' own time is that of the instruction that enters the kernel.
    let wrappers = input.share_where(|f| {
        !f.own && calls().any(|one| one.service == plain(&f.function).trim_end_matches("64"))
    });
    let others = input.fault_share() + input.kernel_share_for(&["futex", "scheduler"]);
    let share = (program.kernel_share - others).max(0.0) + wrappers;
    let each = share * program.cpu_seconds / all as f64;
    let copying = input.kernel_share_for(&["copy"]);
    let empty = input.host_seconds("system call");
    if share < LEAST_SHARE
        || each > LONGEST
        || empty.is_some_and(|empty| each < 0.5 * empty)
        || copying > MOST_COPYING * share
    {
        return None;
    }
    let found = lines(
        calls()
            .flat_map(|one| one.users.iter())
            .filter(|user| each_time(user)),
    );
    let top = found.first()?;
    let service = service_of(input, top)?;
    let advisable = part(&found, all);
    if advisable < 0.3 || top.calls < LEAST_PART * all as f64 {
        return None;
    }
    let mine = share * advisable;
    // What is left for each is a call into a buffer and its part of the copying.
    let buffered = (BUFFERED / each).min(0.3);
    let stays = (copying / share).max(buffered);
    let rest = (1.0 - mine).max(0.0);
    let fix = Fix::FewerSystemCalls {
        name: service.service.clone(),
        language: Language::of_file(top.site.file.as_deref()),
    };
    let mut one = Candidate::new(Cause::ExcessSyscalls, None, Vec::new(), fix);
    one.at = Some(top.site.clone());
    let gone = 1.0 - stays;
    one.saves(&[
        SavedTime::of(mine, (gone, 0.65 * gone, 1.0)),
        // Entering the kernel slows what comes after it: predictors and buffers are flushed.
        SavedTime::within(
            (rest.min(mine), 0.0, (0.75 * rest).min(0.6 * mine)),
            (0.15, 0.0, 1.0),
        ),
    ]);
    one.executions = Some(top.calls as u64);
    one.confirmation = Confirmation::TraceSystemCalls {
        name: service.service.clone(),
    };
    one = one
        .fact(KernelFact::SystemCalls {
            calls: all,
            name: service.service.clone(),
            here: (top.calls / all as f64).min(1.0),
        })
        .fact(KernelFact::SystemCallTime {
            share,
            seconds: each,
        });
    if copying > 0.005 {
        one = one.fact(KernelFact::SystemCallCopies {
            share: copying / share,
        });
    }
    if let Some(empty) = empty {
        one = one.fact(KernelFact::HostCost {
            operation: HostOperation::EmptySystemCall,
            seconds: empty,
        });
    }
    Some(one)
}

/// Whether the user's call asks the kernel (nearly) every time.
fn each_time(user: &UserCall) -> bool {
    user.executions > 0 && user.calls >= LEAST_EACH * user.executions as f64
}

fn part(lines: &[UserLine<'_>], all: u64) -> f64 {
    let calls: f64 = lines.iter().map(|line| line.calls).sum();
    (calls / all.max(1) as f64).min(1.0)
}

/// The system call that a line makes most.
fn service_of<'a>(input: &'a AnalysisInput, line: &UserLine<'_>) -> Option<&'a RuntimeUse> {
    let calls = |one: &RuntimeUse| -> f64 {
        let mine = one.users.iter().filter(|user| line.users.contains(user));
        mine.map(|user| user.calls).sum()
    };
    let fitting = input.program.runtime.iter().filter(|one| one.system_call);
    fitting.max_by(|a, b| calls(a).total_cmp(&calls(b)))
}
