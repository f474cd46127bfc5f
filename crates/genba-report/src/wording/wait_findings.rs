//! Needless waiting in words: the title of a cause, evidence and fix of a finding.

use genba_model::{WaitCause, WaitEnd, WaitFigures, WaitFinding, WaitPlace};
use genba_units::format;

use super::findings;
use super::waits::{is_known, place};

/// Width of the interval of the share of the wall time that a fix saves from which it says nothing of the gain.
const MAX_WIDTH_OF_SAVED_SHARE: f64 = 0.75;

/// Returns what a cause is, in a few words.
pub(crate) fn title(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::LockContention => "threads wait for a lock while its holder computes",
        WaitCause::LockHeldOverIo => "threads wait for a lock while its holder waits, too",
        WaitCause::SerialSection => "threads wait while one works",
        WaitCause::Oversubscription => "more threads are runnable than there are CPUs",
        WaitCause::Imbalance => "threads wait for the slowest of them",
        WaitCause::SynchronousWrite => "each record is forced to the disk by itself",
        WaitCause::SmallIo => "many small reads or writes",
        WaitCause::RoundTripInLoop => "one request at a time, each waits for its answer",
        WaitCause::PollingSleep => "waits for a time to pass instead of the event",
        WaitCause::WakeUpChain => "threads wake one another in turns",
        WaitCause::PageFaultIo => "page faults read from files or swap",
        WaitCause::CpuQuota => "the control group's limit of CPU time is used up",
        WaitCause::ChildProcess => "the time is a child process's",
    }
}

/// Returns whether the interval of a gain says next to nothing, as on a machine that other programs keep busy.
pub(crate) fn is_gain_unknown(one: &WaitFinding) -> bool {
    let saved = |speedup: f64| 1.0 - 1.0 / speedup.max(1.0);
    let gain = &one.predicted_speedup;
    let is_known = !gain.low.is_nan() && !gain.high.is_nan();
    !is_known || saved(gain.high) - saved(gain.low) > MAX_WIDTH_OF_SAVED_SHARE
}

/// Returns the gain of a fix, or that this run does not tell it.
pub(crate) fn gain(one: &WaitFinding) -> String {
    let gain = &one.predicted_speedup;
    match is_gain_unknown(one) {
        true => format!(
            "gain cannot be told ({}× to {}×)",
            findings::ratio(gain.low),
            findings::ratio(gain.high)
        ),
        false => format!("wall time {}", findings::speedup(gain)),
    }
}

/// Returns the word for who is waited for, of a cause.
pub(crate) fn holder_role(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::LockContention | WaitCause::LockHeldOverIo => "holder",
        WaitCause::ChildProcess => "child",
        WaitCause::RoundTripInLoop => "other end",
        _ => "waits for",
    }
}

/// Returns what was seen, a sentence.
pub(crate) fn evidence(one: &WaitFinding) -> String {
    let f = &one.figures;
    let seconds = format::seconds(f.seconds);
    let seen = match f.snapshots {
        0 => String::new(),
        snapshots => format!(" (seen in {})", format::plural(snapshots, "snapshot")),
    };
    let part = |share: f64| format::short_percent(share.clamp(0.0, 1.0));
    let ready = || {
        format!(
            "on average {:.1} threads runnable for {}",
            f.runnable_threads,
            format::plural(u64::from(f.cpus), "CPU")
        )
    };
    let mut parts = Vec::new();
    match one.cause {
        WaitCause::LockContention => {
            parts.push(waited(f, "waited", ""));
            parts.push(format!(
                "the holder was on a CPU {} of it",
                part(f.holder_on_cpu)
            ));
        }
        WaitCause::LockHeldOverIo => {
            parts.push(waited(f, "waited", ""));
            let waiting = part(1.0 - f.holder_on_cpu);
            parts.push(format!("the holder itself waited {waiting} of it"));
        }
        WaitCause::SerialSection => {
            parts.push(format!(
                "{seconds} in which one thread worked and others waited{seen}"
            ));
            parts.push(ready());
        }
        WaitCause::Imbalance => {
            parts.push(format!(
                "{seconds} in which one thread still worked and the others were done{seen}"
            ));
            parts.push(ready());
        }
        WaitCause::Oversubscription => {
            let threads = format::plural(f.threads, "thread");
            parts.push(format!(
                "{threads} that work were runnable without a CPU for {seconds} together"
            ));
            parts.push(ready());
            if f.waits > 0 {
                let times = format::times(rounded(f.waits));
                parts.push(format!("they took turns about {times}"));
            }
        }
        WaitCause::CpuQuota => {
            parts.push(format!(
                "the group was throttled for {seconds}, added up over CPUs"
            ));
            parts.push(ready());
        }
        WaitCause::ChildProcess => {
            let children = format::grouped(f.waits as f64);
            parts.push(format!(
                "{seconds} in which one of {children} children ran alone or waited{seen}"
            ));
        }
        WaitCause::SmallIo => parts.push(format!("{seconds} in reads and writes of few bytes")),
        WaitCause::RoundTripInLoop if f.ended_by == Some(WaitEnd::DelayedAcknowledgement) => {
            parts.push(waited(f, "waited", ""));
            parts.push(
                "meanwhile the other end waits for data of the same connection, and nobody is on a CPU: \
                 what was sent is held back until an acknowledgement comes, which Linux delays by 40 ms"
                    .to_owned(),
            );
        }
        WaitCause::RoundTripInLoop | WaitCause::WakeUpChain => {
            parts.push(waited(f, "waited", ""));
            parts.push(format!(
                "while they took turns one was on a CPU {} of the time, nobody {}",
                part(f.holder_on_cpu),
                part(1.0 - f.holder_on_cpu)
            ));
        }
        WaitCause::SynchronousWrite => parts.push(waited(f, "waited", " for the disk")),
        WaitCause::PageFaultIo => parts.push(waited(f, "waited", " for pages")),
        WaitCause::PollingSleep => match f.ended_by {
            Some(WaitEnd::TimeLimit { seconds }) => {
                parts.push(waited(f, "waited", ""));
                let limit = format::seconds(seconds);
                parts.push(format!("the waits end by their time limit of {limit}"));
            }
            _ => parts.push(waited(f, "slept", "")),
        },
    }
    parts.extend(calls(f));
    parts.join("; ")
}

/// `3 threads waited about 5,200 times, 1.20 s together, 230 µs each (seen in 1,204 snapshots)`.
fn waited(f: &WaitFigures, verb: &str, what: &str) -> String {
    let mut text = format!("{} {verb}", format::plural(f.threads, "thread"));
    if f.waits > 0 {
        text.push_str(&format!(" about {}", format::times(rounded(f.waits))));
    }
    text.push_str(&format!("{what}, {}", format::seconds(f.seconds)));
    if f.threads > 1 {
        text.push_str(" together");
    }
    if f.waits > 1 {
        let each = format::seconds(f.seconds / f.waits as f64);
        text.push_str(&format!(", {each} each"));
    }
    let snapshots = format::plural(f.snapshots, "snapshot");
    text.push_str(&format!(" (seen in {snapshots})"));
    text
}

/// `200,000 calls of 16 bytes on average`.
fn calls(f: &WaitFigures) -> Option<String> {
    let bytes = f
        .bytes_per_call
        .filter(|bytes| bytes.is_finite() && *bytes >= 0.0)
        .map(|bytes| match bytes < 1000.0 {
            true => format::plural(bytes.round() as u64, "byte"),
            false => format::bytes(bytes),
        });
    match (f.calls, bytes) {
        (Some(calls), Some(bytes)) => Some(format!(
            "about {} of {bytes} on average",
            format::plural(rounded(calls), "call")
        )),
        (Some(calls), None) => Some(format!("about {}", format::plural(rounded(calls), "call"))),
        (None, Some(bytes)) => Some(format!("{bytes} per call on average")),
        (None, None) => None,
    }
}

/// Two significant digits: more are not in an estimate of a number of events.
pub(crate) fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (number / unit).saturating_mul(unit)
}

/// Returns what to change, a sentence.
pub(crate) fn fix(one: &WaitFinding) -> String {
    let at = |one: Option<&WaitPlace>| {
        let known = one.filter(|one| is_known(one));
        known.map_or_else(String::new, |one| format!(" at {}", place(one)))
    };
    let waiter = at(Some(&one.waiter));
    let holder = at(one.holder.as_ref());
    let object = one.object.as_deref();
    let the_lock = object.unwrap_or("the lock");
    match one.cause {
        // Threads cannot keep off a lock that is the interpreter's.
        WaitCause::LockContention if matches!(object, Some("the GIL" | "the GVL")) => format!(
            "do the work{holder} in several processes, or in an extension that releases {the_lock}: threads \
             that run scripts take turns under it"
        ),
        WaitCause::LockContention => format!(
            "do less{holder} while {the_lock} is held (prepare before, clean up after), or split the lock, by \
             key or by thread, so that threads seldom meet"
        ),
        WaitCause::LockHeldOverIo => format!(
            "release {the_lock} before its holder waits{holder}: copy what it needs under the lock, then read, \
             write or sleep without it"
        ),
        WaitCause::SerialSection => format!(
            "divide the work{holder} among the threads that wait{waiter}, or do it while they still have work: \
             more threads do not shorten it (Amdahl)"
        ),
        WaitCause::Oversubscription => format!(
            "use {} for the work, one per CPU; with more, they only take turns",
            format::plural(u64::from(one.figures.cpus.max(1)), "thread")
        ),
        WaitCause::Imbalance => format!(
            "cut the work{holder} into smaller pieces that a thread takes when it is free, the largest first, \
             instead of one fixed part for each thread: the slowest keeps the others waiting{waiter}"
        ),
        WaitCause::SynchronousWrite => {
            let file = object.map_or_else(String::new, |file| format!(" of {file}"));
            format!(
                "force several records{file} to the disk at once (group commit) instead of each{waiter}; \
                 fdatasync where the file's size does not change"
            )
        }
        WaitCause::SmallIo => {
            let file = object.map_or_else(String::new, |file| format!(" {file}"));
            format!(
                "read or write{file} through a buffer of 64 KiB or more{waiter}, so that one system call moves \
                 many records"
            )
        }
        WaitCause::RoundTripInLoop
            if one.figures.ended_by == Some(WaitEnd::DelayedAcknowledgement) =>
        {
            "write each message with one call (writev, a buffer that is flushed at its end), or set TCP_NODELAY at both \
             ends: a second small piece is not sent before the first one is acknowledged (Nagle's algorithm)"
                .to_owned()
        }
        WaitCause::RoundTripInLoop => format!(
            "send several requests before waiting for an answer{waiter} (batches or pipelining), or keep \
             several connections busy"
        ),
        WaitCause::PollingSleep if one.figures.ended_by.is_some() => format!(
            "find out why nothing comes{waiter} before the time is up: an answer that is lost or not given (remember who \
             does not answer, ask several at once), two ends that wait for each other (one for more data than the \
             other sends before it waits), or a condition that is signalled before the wait (test what it stands for \
             under its lock first)"
        ),
        WaitCause::PollingSleep => format!(
            "wait{waiter} for the event itself (condition variable, eventfd, poll on the descriptor, waitpid) \
             instead of sleeping and looking again"
        ),
        WaitCause::WakeUpChain => format!(
            "hand over many items at a time, or do both halves in one thread: each hand-over{waiter} costs a \
             sleep and a wake-up"
        ),
        WaitCause::PageFaultIo => {
            let file = object.unwrap_or("the file");
            format!(
                "have {file} read ahead before it is touched{waiter} (madvise MADV_WILLNEED or \
                 MADV_SEQUENTIAL, MAP_POPULATE, or read in large pieces)"
            )
        }
        WaitCause::CpuQuota => "raise the control group's limit (cpu.max), or use no more threads than it \
                                allows: a group that has used up its time stands until the next period"
            .to_owned(),
        WaitCause::ChildProcess => {
            let child = object.unwrap_or("the child");
            format!(
                "run several of these children ({child}) at once, start them earlier and collect their results \
                 later{waiter}, or call a library that does their work in this process"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    #[test]
    fn gain_between_nearly_none_and_nearly_all_is_not_told() {
        let mut one = fixture::waits().findings[0].clone();
        let mut said = |value, low, high| {
            one.predicted_speedup = genba_model::Estimate { value, low, high };
            gain(&one)
        };
        assert_eq!(said(2.19, 1.06, 37.0), "gain cannot be told (1.06× to 37×)");
        assert_eq!(said(2.19, 1.5, 4.0), "wall time 2.19× faster (1.50–4.00)");
        assert!(said(f64::NAN, f64::NAN, f64::NAN).starts_with("gain cannot be told"));
    }

    #[test]
    fn what_ends_a_wait_is_said_with_what_to_do() {
        let mut one = fixture::waits().findings[0].clone();
        let mut said = |cause, end| {
            one.cause = cause;
            one.figures.ended_by = Some(end);
            format!("{}; {}", evidence(&one), fix(&one))
        };
        let limit = WaitEnd::TimeLimit { seconds: 0.06 };
        let expired = said(WaitCause::PollingSleep, limit);
        assert!(
            expired.contains("end by their time limit of 60.0 ms"),
            "{expired}"
        );
        assert!(
            expired.contains("find out why nothing comes at"),
            "{expired}"
        );
        let delayed = said(WaitCause::RoundTripInLoop, WaitEnd::DelayedAcknowledgement);
        assert!(
            delayed.contains("until an acknowledgement comes"),
            "{delayed}"
        );
        assert!(delayed.contains("TCP_NODELAY"), "{delayed}");
    }

    #[test]
    fn titles_are_short_and_distinct() {
        let titles: std::collections::HashSet<_> =
            WaitCause::ALL.iter().map(|&cause| title(cause)).collect();
        assert_eq!(titles.len(), WaitCause::ALL.len());
        assert!(titles.iter().all(|title| title.len() <= 60));
    }

    #[test]
    fn sentences_of_all_causes_name_waiter_holder_and_object() {
        let mut all = String::new();
        for &cause in WaitCause::ALL {
            let mut one = fixture::waits().findings[0].clone();
            one.cause = cause;
            if matches!(cause, WaitCause::SmallIo | WaitCause::SynchronousWrite) {
                one.object = Some("/var/lib/store/log".to_owned());
                one.figures.calls = Some(200_000);
                one.figures.bytes_per_call = Some(16.2);
            }
            all.push_str(&format!(
                "{}: {}\n  {}\n  {}\n",
                cause.id(),
                title(cause),
                evidence(&one),
                fix(&one)
            ));
        }
        insta::assert_snapshot!("waits", all);
    }

    #[test]
    fn sentences_without_holder_and_object_are_still_sentences() {
        for &cause in WaitCause::ALL {
            let mut one = fixture::waits().findings[0].clone();
            one.cause = cause;
            (one.holder, one.object) = (None, None);
            (one.waiter.file, one.waiter.function) = (None, "[unknown]".to_owned());
            one.figures = WaitFigures::default();
            let text = format!("{} {} {}", fix(&one), evidence(&one), title(cause));
            for bad in ["  ", "NaN", "[unknown]", " ,", " ;"] {
                assert!(!text.contains(bad), "{text}");
            }
        }
    }
}
