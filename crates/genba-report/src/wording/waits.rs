//! What threads wait for, in words: reasons, places, and how time divides.

use genba_model::{
    Estimate, OffCpu, PathStep, ThreadTime, ThreadTotals, Wait, WaitPlace, WaitReason, Waits,
};
use genba_units::format;

use super::profile::file_line;

/// Returns what a thread does in a snapshot, in a few words.
pub(crate) fn reason(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Running => "on a CPU",
        WaitReason::RunQueue => "runnable, waiting for a CPU",
        WaitReason::Lock => "waiting for a lock",
        WaitReason::Condition => "waiting for a condition",
        WaitReason::Join => "waiting for a thread's end",
        WaitReason::Child => "waiting for a child process",
        WaitReason::Pipe => "waiting for a pipe",
        WaitReason::Socket => "waiting for a socket",
        WaitReason::File => "waiting for a file",
        WaitReason::Fsync => "waiting for fsync",
        WaitReason::PageFault => "waiting for a page fault's read",
        WaitReason::Sleep => "sleeping",
        WaitReason::Poll => "waiting in poll",
        WaitReason::Terminal => "waiting for the terminal",
        WaitReason::Unknown => "unknown",
    }
}

/// Returns the same in a word or two, for a column.
pub(crate) fn short_reason(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Running => "CPU",
        WaitReason::RunQueue => "run queue",
        WaitReason::Lock => "lock",
        WaitReason::Condition => "condition",
        WaitReason::Join => "join",
        WaitReason::Child => "child",
        WaitReason::Pipe => "pipe",
        WaitReason::Socket => "socket",
        WaitReason::File => "file",
        WaitReason::Fsync => "fsync",
        WaitReason::PageFault => "page fault",
        WaitReason::Sleep => "sleep",
        WaitReason::Poll => "poll",
        WaitReason::Terminal => "terminal",
        WaitReason::Unknown => "unknown",
    }
}

/// Returns the program and its arguments, or the process.
pub(crate) fn target(all: &Waits) -> Vec<String> {
    command_or_process(&all.command, all.pid)
}

/// Returns a command, or the process that was attached to.
pub(crate) fn command_or_process(command: &[String], pid: Option<i32>) -> Vec<String> {
    match (command.is_empty(), pid) {
        (true, Some(pid)) => vec!["process".to_owned(), pid.to_string()],
        _ => command.to_vec(),
    }
}

/// Returns how much of the threads' time was off a CPU, and for which reasons.
pub(crate) fn off_cpu(all: &OffCpu) -> String {
    /// Most reasons that are named.
    const MAX_REASONS: usize = 4;
    let mut reasons: Vec<(WaitReason, f64)> = Vec::new();
    for one in &all.stacks {
        match reasons.iter_mut().find(|sum| sum.0 == one.state) {
            Some(sum) => sum.1 += one.seconds,
            None => reasons.push((one.state, one.seconds)),
        }
    }
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |part: f64, whole: f64| match whole > 0.0 {
        true => format::share(part / whole),
        false => format::share(0.0),
    };
    let words: Vec<String> = reasons
        .iter()
        .take(MAX_REASONS)
        .map(|(reason, seconds)| {
            format!(
                "{} {}",
                short_reason(*reason),
                share(*seconds, all.off_cpu_seconds)
            )
        })
        .collect();
    let mut text = format!(
        "off a CPU {} of {} of the threads' wall time ({})",
        format::seconds(all.off_cpu_seconds),
        format::seconds(all.thread_seconds),
        share(all.off_cpu_seconds, all.thread_seconds)
    );
    if !words.is_empty() {
        text.push_str(&format!(": {}", words.join(", ")));
    }
    text
}

/// Returns how the wall time divides: `wall 3.21 s: on a CPU 12 % (10–14), waiting 88 %`, with the part
/// that waits for a CPU where that is much.
pub(crate) fn division(all: &Waits) -> String {
    /// Share of the wall time from which on waiting for a CPU is told apart.
    const MUCH: f64 = 0.05;
    let wall = format::seconds(all.wall_seconds);
    if all.snapshots == 0 {
        return format!("wall {wall}: too short to see where it went");
    }
    let part = |share: f64| match share.clamp(0.0, 1.0) {
        share if share < 0.0005 => "0 %".to_owned(),
        share => format::short_percent(share),
    };
    let ends = (part(all.on_cpu.low), part(all.on_cpu.high));
    let interval = match ends.0 == ends.1 {
        true => String::new(),
        false => format!(
            " ({}–{})",
            ends.0.trim_end_matches(" %"),
            ends.1.trim_end_matches(" %")
        ),
    };
    let ready = without_cpu(all);
    let ready = match ready >= MUCH {
        true => format!(" ({} for a CPU)", part(ready)),
        false => String::new(),
    };
    format!(
        "wall {wall}: on a CPU {}{interval}, waiting {}{ready}",
        part(all.on_cpu.value),
        part(1.0 - all.on_cpu.value),
    )
}

/// Returns the share of the wall time in which the end of the chain of waits was runnable, without a CPU.
pub(crate) fn without_cpu(all: &Waits) -> f64 {
    let steps = all.critical_path.iter();
    let ready = steps.filter(|step| step.state == WaitReason::RunQueue);
    ready.map(|step| step.share.value).sum()
}

/// Returns that no cause was found, with what most of the waiting is for.
pub(crate) fn no_cause(all: &Waits) -> String {
    /// Share of the wall time from which on waiting is told.
    const MUCH: f64 = 0.1;
    let nothing = "no cause of needless waiting found";
    let waits =
        |step: &&PathStep| !matches!(step.state, WaitReason::Running | WaitReason::RunQueue);
    let steps = || all.critical_path.iter().filter(waits);
    let share = |reason: WaitReason| -> f64 {
        let steps = steps().filter(|step| step.state == reason);
        steps.map(|step| step.share.value).sum()
    };
    let most = steps().max_by(|a, b| share(a.state).total_cmp(&share(b.state)));
    let Some(state) = most
        .map(|step| step.state)
        .filter(|state| share(*state) >= MUCH)
    else {
        return nothing.to_owned();
    };
    let first = steps().find(|step| step.state == state);
    let mut text = format!(
        "{nothing}; {} of the wall time: {}",
        format::short_percent(share(state).min(1.0)),
        reason(state)
    );
    if let Some(first) = first {
        if is_known(&first.place) {
            text.push_str(&format!(", most at {}", place(&first.place)));
        }
        if let Some(object) = &first.object {
            text.push_str(&format!(" ({object})"));
        }
    }
    text
}

/// Returns what the figures rest on: snapshots, threads, and the share of unknown time.
pub(crate) fn basis(all: &Waits) -> String {
    let threads = all.threads.len() as u64 + all.more_threads;
    let mut text = format!(
        "{} of {}",
        format::plural(all.snapshots, "snapshot"),
        format::plural(threads, "thread"),
    );
    let sum = |of: fn(&ThreadTime) -> f64| all.threads.iter().map(of).sum::<f64>();
    let (unknown, wall) = match all.all_threads.threads {
        // A document of an earlier version.
        0 => (sum(|one| one.unknown), sum(|one| one.wall)),
        _ => (all.all_threads.unknown, all.all_threads.wall),
    };
    if wall > 0.0 && unknown > 0.0 {
        text.push_str(&format!(
            "; {} of the threads' time unknown",
            format::share(unknown / wall)
        ));
    }
    text
}

/// Returns how the time of all threads divides: `all 1,001 threads, 88.9 s: running 0.5 %, …`; `None` for fewer than two.
pub(crate) fn thread_totals(all: &ThreadTotals) -> Option<String> {
    if all.threads < 2 || all.wall.is_nan() || all.wall <= 0.0 {
        return None;
    }
    let share = |seconds: f64| format::share(seconds / all.wall);
    Some(format!(
        "all {}, {}: running {}, runnable {}, blocked {}, unknown {}",
        format::plural(all.threads, "thread"),
        format::seconds(all.wall),
        share(all.running),
        share(all.runnable),
        share(all.blocked),
        share(all.unknown),
    ))
}

/// Returns a place: `queue.c:120 in enqueue`.
pub(crate) fn place(place: &WaitPlace) -> String {
    let line = file_line(place.file.as_deref(), place.line);
    match (line.is_empty(), place.function.is_empty()) {
        (true, true) => "unknown place".to_owned(),
        (true, false) => place.function.clone(),
        (false, true) => line,
        (false, false) => format!("{line} in {}", place.function),
    }
}

/// Returns whether anything is known of a place.
pub(crate) fn is_known(place: &WaitPlace) -> bool {
    place.file.is_some() || !matches!(place.function.as_str(), "" | "[unknown]")
}

/// Returns what the holder of a wait did meanwhile, with its share of the wait: `on a CPU 93 %`.
pub(crate) fn holder_does(one: &Wait) -> String {
    if one.holder.is_none() {
        return String::new();
    }
    let does = reason(one.holder_reason.unwrap_or(WaitReason::Running));
    match one.holder_share > 0.0 {
        true => format!(
            "{does} {}",
            format::short_percent(one.holder_share.min(1.0))
        ),
        false => does.to_owned(),
    }
}

/// Returns the share of the wall time with its interval: `62 % of the wall time (59–65 %)`.
pub(crate) fn wall_share(share: &Estimate) -> String {
    let part = |value: f64| format::short_percent(value.clamp(0.0, 1.0));
    let ends = (part(share.low), part(share.high));
    match ends.0 == ends.1 {
        true => format!("{} of the wall time", part(share.value)),
        false => format!(
            "{} of the wall time ({}–{})",
            part(share.value),
            ends.0.trim_end_matches(" %"),
            ends.1
        ),
    }
}

/// Returns the steps from the leading thread to the end of the chain: `join → lock`.
pub(crate) fn through(step: &PathStep) -> String {
    step.through.join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    #[test]
    fn wall_time_divides_into_cpu_and_waiting() {
        let mut all = fixture::waits();
        assert_eq!(
            division(&all),
            "wall 3.21 s: on a CPU 12 % (10–14), waiting 88 % (17 % for a CPU)"
        );
        all.snapshots = 0;
        assert_eq!(
            division(&all),
            "wall 3.21 s: too short to see where it went"
        );
    }
}
