//! A server's requests, in words: their times, and what slow ones did that fast ones did not.

use genba_model::{RequestPart, Requests, SlowRequest, WaitReason};
use genba_units::format;

use super::waits as wording;

/// Returns how many there were and how long they took.
pub(crate) fn times(all: &Requests) -> String {
    let mut text = format!(
        "{} on {}",
        format::plural(all.count, "request"),
        format::plural(all.connections, "connection")
    );
    if all.count > 0 {
        text.push_str(&format!(
            ": median {}, 90 % within {}, 99 % within {}, longest {}",
            format::seconds(all.median),
            format::seconds(all.p90),
            format::seconds(all.p99),
            format::seconds(all.longest)
        ));
    }
    text
}

/// Returns what most of the difference between slow and fast requests is.
pub(crate) fn difference(all: &Requests) -> Option<String> {
    /// Share of the difference that one part must be.
    const MOST: f64 = 0.2;
    let more = |one: &RequestPart| one.slow_seconds - one.fast_seconds;
    let sum: f64 = all.parts.iter().map(more).sum();
    let first = all.parts.first().filter(|one| more(one) > sum * MOST)?;
    if all.slow == 0 || sum <= 0.0 {
        return None;
    }
    let mut text = format!(
        "{} ({} and longer) took {} longer than the faster half; {} of that: {}",
        match all.slow {
            1 => "the slowest one".to_owned(),
            slow => format!("the {} slowest", format::count(slow as f64)),
        },
        format::seconds(all.slow_from),
        format::seconds(sum),
        format::short_percent((more(first) / sum).min(1.0)),
        doing(first)
    );
    if let Some(place) = &first.place {
        text.push_str(&format!(", {}", wording::place(place)));
    }
    if let Some(object) = &first.object {
        text.push_str(&format!(" ({object})"));
    }
    Some(text)
}

/// Returns what a thread did.
pub(crate) fn doing(part: &RequestPart) -> String {
    let call = part.call.as_deref();
    match (part.state, call) {
        _ if part.others => "serving other requests".to_owned(),
        (WaitReason::Running, None) => "on a CPU, in code of its own".to_owned(),
        (WaitReason::Running, Some(call)) => format!("on a CPU, in {call}"),
        (WaitReason::Unknown, None) => "blocked outside of the calls that were recorded".to_owned(),
        (WaitReason::Unknown, Some(call)) => format!("blocked in {call}"),
        (reason, None) => wording::reason(reason).to_owned(),
        (reason, Some(call)) => format!("{}, in {call}", wording::reason(reason)),
    }
}

/// Returns what took most of a slow request's time.
pub(crate) fn most(one: &SlowRequest) -> String {
    let mut text = format!(
        "{} {}",
        format::seconds(one.most.slow_seconds),
        doing(&one.most)
    );
    if one.handed_over {
        text.push_str(" (read by another thread)");
    }
    text
}

/// Returns what is missing.
pub(crate) fn remark(all: &Requests) -> Option<String> {
    if all.lost_records > 0 {
        return Some(format!(
            "{} of system calls were lost: requests of that time are missing",
            format::plural(all.lost_records, "record")
        ));
    }
    (all.count == 0).then(|| {
        "no request was seen: a request is what is read from a connection that the process, or one that it \
         was started by, accepted, until the answer is written to it"
            .to_owned()
    })
}
