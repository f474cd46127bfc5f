//! `excess-syscalls`: many small system calls.
//!
//! **Signature.** A good share of the time is in the kernel, not for page faults or locks; the
//! counted system calls take about as long as an empty one, up to a few times that; they copy
//! little; and the user's line makes about one for each of its own calls (a library that buffers
//! makes far fewer). Calls that ask about one file after the other are left out: none can ask for several.
//!
//! **Confirmation.** Count the calls and their sizes: `strace -c -f`, `strace -e trace=write`.
//!
//! **Gain.** The calls' time except for copying, and except for what the kernel does for the bytes that a call
//! transfers (finding or making pages, waking a reader): larger calls spare what an empty call takes, and as
//! much again for the way to the file. User code runs faster, too, since a system call evicts a part of the caches
//! and predictors.
//!
//! **Source.** L. Soares, M. Stumm, *FlexSC: flexible system call scheduling with exception-less
//! system calls*, OSDI 2010, section 2 (direct and indirect costs).

use genba_model::{Cause, Confirmation, Estimate, Fix, HostOperation, KernelFact, Language};
use genba_observe::ArgumentValue;

use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_COPYING_OF_SYSTEM_CALLS, MAX_SYSTEM_CALL_SECONDS, MIN_CALLS_HABITUAL,
    MIN_PART_OF_EMPTY_SYSTEM_CALL, MIN_PART_OF_SYSTEM_CALLS_FIXABLE,
    MIN_PART_OF_SYSTEM_CALLS_FROM_LINE, MIN_SYSTEM_CALLS_PER_USER_CALL,
};
use crate::constants::gains::{
    MAX_BUFFERED_RESIDUAL, SYSTEM_CALL_REST, SYSTEM_CALL_REST_SAVED, SYSTEM_CALLS_SAVED_LOW,
    WORK_FOR_BYTES_LEFT,
};
use crate::constants::observations::{
    MIN_PART_OF_FULL_BUFFER, MIN_PART_OPENED, MIN_SHARE_OF_SAME_NAME, MIN_SHARE_OF_SAME_SIZE,
};
use crate::constants::processor::{
    BUFFERED_CALL_SECONDS, PAGE_BYTES, READ_SPARED_OF_EMPTY_CALL, WRITE_SPARED_OF_EMPTY_CALL,
};
use crate::constants::time_shares::{MIN_SHARE_OF_SYSTEM_CALL_COPYING, MIN_SHARE_OF_SYSTEM_CALLS};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, RuntimeUse, UserCall};
use crate::input::runtime_services::OPENING;
use crate::input::user_lines::{UserLine, lines};
use crate::patterns::system_calls::{looks_up_account, system_call_time};

const YIELD: &str = "sched_yield";

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
    if all < MIN_CALLS_HABITUAL || program.cpu_seconds <= 0.0 {
        return None;
    }
    let share = system_call_time(input)?.share;
    let each = share * program.cpu_seconds / all as f64;
    let copying = input.kernel_share_for(&["copy"]);
    let empty = input.host_seconds("system call");
    if share < MIN_SHARE_OF_SYSTEM_CALLS
        || each > MAX_SYSTEM_CALL_SECONDS
        || empty.is_some_and(|empty| each < MIN_PART_OF_EMPTY_SYSTEM_CALL * empty)
        || copying > MAX_COPYING_OF_SYSTEM_CALLS * share
    {
        return None;
    }
    let found = lines(calls().flat_map(|one| {
        one.users.iter().filter(move |user| {
            each_time(user) && !looks_up_account(user) && !asks_of_other_files(input, one, user)
        })
    }));
    let top = found.first()?;
    let service = service_of(input, top)?;
    let advisable = part(&found, all);
    if advisable < MIN_PART_OF_SYSTEM_CALLS_FIXABLE
        || mendable_at_once(service, top) < MIN_PART_OF_SYSTEM_CALLS_FROM_LINE * all as f64
    {
        return None;
    }
    let mine = share * advisable;
    // What is left for each is a call into a buffer and its part of the copying.
    let buffered = (BUFFERED_CALL_SECONDS / each).min(MAX_BUFFERED_RESIDUAL);
    let bytes = bytes_each(input, service, top);
    let for_bytes = bytes.zip(empty).map_or(0.0, |(bytes, empty)| {
        let spared = match READS.contains(&service.service.as_str()) {
            true => READ_SPARED_OF_EMPTY_CALL,
            false => WRITE_SPARED_OF_EMPTY_CALL,
        };
        let beside = (1.0 - spared * empty / each).max(0.0);
        beside * (bytes as f64 / PAGE_BYTES).min(1.0)
    });
    let stays = (copying / share).max(buffered).max(for_bytes);
    // Of a page each time they are buffered already: a larger buffer must spare as much as small calls take.
    let buffered = bytes.is_some_and(|bytes| bytes as f64 >= MIN_PART_OF_FULL_BUFFER * PAGE_BYTES);
    if buffered && mine * (1.0 - stays) < MIN_SHARE_OF_SYSTEM_CALLS {
        return None;
    }
    let rest = (1.0 - mine).max(0.0);
    let fix = Fix::FewerSystemCalls {
        name: service.service.clone(),
        language: Language::of_file(top.site.file.as_deref()),
    };
    let mut one = Candidate::new(Cause::ExcessSyscalls, None, Vec::new(), fix);
    one.at = Some(top.site.clone());
    let gone = 1.0 - stays;
    one.saves(&[
        SavedTime::of(
            mine,
            (
                gone,
                SYSTEM_CALLS_SAVED_LOW * gone,
                1.0 - WORK_FOR_BYTES_LEFT * for_bytes,
            ),
        ),
        // Entering the kernel slows what comes after it: predictors and buffers are flushed.
        SavedTime::within(
            (
                rest.min(mine),
                0.0,
                (SYSTEM_CALL_REST.0 * rest).min(SYSTEM_CALL_REST.1 * mine),
            ),
            SYSTEM_CALL_REST_SAVED,
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
    if copying > MIN_SHARE_OF_SYSTEM_CALL_COPYING {
        one = one.fact(KernelFact::SystemCallCopies {
            share: copying / share,
        });
    }
    if let Some(bytes) = bytes.filter(|_| for_bytes > copying / share) {
        one = one.fact(KernelFact::SystemCallBytes {
            bytes,
            stays: for_bytes,
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

/// Bytes that each of a line's calls transfers. Reads get what the account of the run says, on average; of
/// writes nearly all must ask for the same number (observed).
fn bytes_each(input: &AnalysisInput, service: &RuntimeUse, line: &UserLine<'_>) -> Option<u64> {
    let name = service.service.as_str();
    if READS.contains(&name) {
        let reads = input.program.runtime.iter();
        let reads = reads.filter(|one| READS.contains(&one.service.as_str()));
        let calls: u64 = reads.map(|one| one.calls).sum();
        return Some(input.program.read_bytes? / calls.max(1));
    }
    if !WRITES.contains(&name) {
        return None;
    }
    let user = line
        .users
        .iter()
        .max_by(|a, b| a.calls.total_cmp(&b.calls))?;
    if user.through.is_empty() {
        return argument(input, user, SIZE_ARGUMENT);
    }
    if !user.through.iter().any(|name| name.contains("fwrite")) {
        return None;
    }
    let [size, number] = ELEMENTS_OF_FWRITE.map(|which| argument(input, user, which));
    let all = size?.checked_mul(number?)? as f64 * user.executions as f64;
    Some((all / user.calls.max(1.0)) as u64)
}

/// The value that nearly all calls of the user have for an argument (observed).
fn argument(input: &AnalysisInput, user: &UserCall, which: u8) -> Option<u64> {
    let seen = observed_argument(input, user, which)?;
    (seen.value.share.value >= MIN_SHARE_OF_SAME_SIZE).then_some(seen.value.value)
}

/// The share of the user's calls that have the most frequent value of an argument.
fn argument_share(input: &AnalysisInput, user: &UserCall, which: u8) -> Option<Estimate> {
    Some(observed_argument(input, user, which)?.value.share)
}

fn observed_argument<'a>(
    input: &'a AnalysisInput,
    user: &UserCall,
    which: u8,
) -> Option<&'a ArgumentValue> {
    let observed = input.observed.as_ref()?;
    let here = observed.argument_values.iter().filter(|one| {
        let module = observed.modules.get(one.at.module as usize);
        one.argument == which && one.at.address == user.address && module == Some(&user.module)
    });
    let share = |one: &&ArgumentValue| one.value.share.value;
    here.max_by(|a, b| share(a).total_cmp(&share(b)))
}

/// System calls that read.
const READS: [&str; 3] = ["read", "pread", "recv"];

/// System calls that write, whose third argument is a number of bytes.
const WRITES: [&str; 3] = ["write", "pwrite", "send"];

/// Which argument that is, from 0.
const SIZE_ARGUMENT: u8 = 2;

/// Arguments of `fwrite`: the size of an element, and how many.
const ELEMENTS_OF_FWRITE: [u8; 2] = [1, 2];

/// Whether a system call asks about one file after the other: what each says is needed once, and one call cannot ask
/// for several. Observed: the name is not (nearly) always at one place. Where libraries of C++ and Rust are handed it is an
/// object with the name, or the place of the result: that says nothing.
fn asks_of_other_files(input: &AnalysisInput, service: &RuntimeUse, user: &UserCall) -> bool {
    let path = match service.service.trim_end_matches("64") {
        "open" | "stat" | "lstat" | "access" => 0,
        // Behind a directory, unless it is a library's function such as `fopen` that is called.
        "openat" | "fstatat" | "statx" => u8::from(user.through.is_empty()),
        // Once for each file that is opened, or twice: what a file holds, and its end.
        "fstat" | "close" | "fcntl" | "read" => {
            let opens = || {
                let services = input.program.runtime.iter();
                services.filter(|one| OPENING.contains(&one.service.trim_end_matches("64")))
            };
            let opened: u64 = opens().map(|one| one.calls).sum();
            return opened as f64 >= MIN_PART_OPENED * service.calls as f64
                && opens().all(|one| {
                    let mut users = one.users.iter();
                    users.all(|user| asks_of_other_files(input, one, user))
                });
        }
        _ => return false,
    };
    let files = input.program.follow_up.files.as_ref();
    let tallied =
        files.map(
            |files| match OPENING.contains(&service.service.trim_end_matches("64")) {
                true => &files.opened,
                false => &files.asked,
            },
        );
    // Those of all users together: most calls are of one. Files that come again may do so since all work is done again.
    if tallied.is_some_and(|one| one.different as f64 > MIN_SHARE_OF_SAME_NAME * one.calls as f64) {
        return true;
    }
    let by_object = user.through.iter().any(|name| name.contains("::"));
    input.observed.is_some()
        && (by_object
            || argument_share(input, user, path)
                .is_none_or(|share| share.low < MIN_SHARE_OF_SAME_NAME))
}

/// Whether the user's call asks the kernel (nearly) every time.
fn each_time(user: &UserCall) -> bool {
    user.executions > 0 && user.calls >= MIN_SYSTEM_CALLS_PER_USER_CALL * user.executions as f64
}

/// Calls that one change takes away: buffering those of a line; yields wherever they are made.
fn mendable_at_once(service: &RuntimeUse, top: &UserLine<'_>) -> f64 {
    if service.service != YIELD {
        return top.calls;
    }
    let users = service.users.iter().filter(|user| each_time(user));
    users.map(|user| user.calls).sum()
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
