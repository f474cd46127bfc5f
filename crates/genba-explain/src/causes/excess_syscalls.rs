//! `excess-syscalls`: the kernel is asked for little at a time, so that asking is what costs.
//!
//! **Signature.** A good share of the time is in the kernel, not for page faults or locks;
//! counted system calls take about what an empty one takes, up to some times that, each; they
//! copy little; and the user's line makes one or more for each of its own calls (through a
//! library that gathers output, many calls make one).
//!
//! **Confirmation.** Count the calls and their sizes: `strace -c -f`, `strace -e trace=write`.
//!
//! **Gain.** The calls' time but for what their bytes cost; user code runs better too, since a
//! system call throws out part of the caches and predictors.
//!
//! **Source.** L. Soares, M. Stumm, *FlexSC: flexible system call scheduling with exception-less
//! system calls*, OSDI 2010, section 2 (direct and indirect costs).

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, RuntimeUse, UserCall};
use crate::input::runtime_services::plain;
use crate::input::user_lines::{UserLine, lines, residual_fraction_of};
use crate::words::{count, percent};

/// Identifier.
pub const ID: &str = "excess-syscalls";

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

/// Looks for it.
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
    let mut one = Candidate::new(ID, None, Vec::new());
    one.at = Some(top.site.clone());
    one.share = Some(1.0);
    one.residual_fraction = residual_fraction_of(
        1.0,
        mine * (1.0 - stays) + 0.15 * rest.min(mine),
        0.65 * mine * (1.0 - stays),
        // Entering the kernel slows what comes after it: predictors and buffers are flushed.
        mine + (0.75 * rest).min(0.6 * mine),
    );
    one.executions = Some(top.calls as u64);
    one.fix = fix(&service.service).to_owned();
    one.example = example(&service.service, top);
    one.confirm = format!(
        "strace -c -f shows the number; strace -e trace={} the sizes",
        service.service
    );
    one = one
        .counted(format!(
            "{} system calls in a run, {} of them `{}` from here",
            count(all),
            percent((top.calls / all as f64).min(1.0)),
            service.service
        ))
        .measured(format!(
            "{} of the time is in them: {:.0} ns each",
            percent(share),
            each * 1e9
        ));
    if copying > 0.005 {
        one = one.measured(format!(
            "copying is {} of their time",
            percent(copying / share)
        ));
    }
    if let Some(empty) = empty {
        one = one.model(format!(
            "a system call that does nothing takes {:.0} ns on this host",
            empty * 1e9
        ));
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

fn fix(service: &str) -> &'static str {
    match service {
        "read" | "pread" | "readv" | "recv" | "recvfrom" | "recvmsg" => {
            "Read through a buffer of some tens of kilobytes (fread, std::ifstream's own, \
             BufReader) or map the file, so that one call serves many reads."
        }
        "write" | "pwrite" | "writev" | "send" | "sendto" | "sendmsg" => {
            "Gather what is written in a buffer of some tens of kilobytes (stdio, BufWriter, \
             writev) and hand it over when it is full; flush only where a reader waits for it."
        }
        "lseek" => "Use pread and pwrite, which need no position, or keep track of it yourself.",
        "open" | "openat" | "close" | "stat" | "fstat" | "lstat" | "statx" | "access" => {
            "Open or look at each file once and keep the descriptor, or what it said."
        }
        "sched_yield" => {
            "Do not give up the processor after every operation: a thread that waits for a lock \
             sleeps in the kernel (pthread_mutex, futex) and needs no one to make way."
        }
        "poll" | "recvmmsg" => {
            "Take all that is ready at once (epoll, non-blocking reads in a loop)."
        }
        _ => "Ask once and keep the answer, or ask for more at a time.",
    }
}

fn example(service: &str, line: &UserLine<'_>) -> Option<(&'static str, &'static str)> {
    let rust = line
        .site
        .file
        .as_deref()
        .is_some_and(|file| file.ends_with(".rs"));
    match (service, rust) {
        ("read" | "pread", true) => Some((
            "let mut input = File::open(path)?;",
            "let mut input = BufReader::new(File::open(path)?);",
        )),
        ("write" | "pwrite", true) => Some((
            "let mut out = File::create(path)?;",
            "let mut out = BufWriter::new(File::create(path)?);",
        )),
        ("read", false) => Some((
            "read(fd, &record, sizeof record);",
            "fread(&record, sizeof record, 1, file);",
        )),
        ("write", false) => Some(("write(fd, line, length);", "fwrite(line, 1, length, file);")),
        _ => None,
    }
}
