//! A server's requests, in words: their times, and what slow ones did that fast ones did not.

use genba_model::{RequestPart, Requests, SharedConnections, SlowRequest, WaitReason};
use genba_units::format;

use super::waits as wording;

/// Returns how many there were and how long they took.
pub(crate) fn times(all: &Requests) -> String {
    if all.count == 0 && all.http2.is_some() {
        return "every connection seen carries HTTP/2: there are no times of single requests"
            .to_owned();
    }
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
pub(crate) fn remarks(all: &Requests) -> Vec<String> {
    let mut remarks = Vec::new();
    if all.lost_records > 0 {
        remarks.push(format!(
            "{} of system calls were lost: requests of that time are missing",
            format::plural(all.lost_records, "record")
        ));
    } else if all.count == 0 && all.http2.is_none() {
        remarks.push(
            "no request was seen: a request is what is read from a connection that the process, or one that it \
             was started by, accepted, until the answer is written to it"
                .to_owned(),
        );
    }
    remarks.extend(all.http2.as_ref().map(shared));
    if all.encrypted_connections > 0 {
        remarks.push(format!(
            "{}: whether they carry HTTP/2 cannot be seen; if they do, requests share a connection and these \
             times are not those of single requests",
            match all.encrypted_connections {
                1 => "1 connection is encrypted".to_owned(),
                more => format!("{} connections are encrypted", format::count(more as f64)),
            }
        ));
    }
    remarks
}

/// Returns what is known of connections that requests share.
fn shared(all: &SharedConnections) -> String {
    let mut text = format!(
        "not included: {} of HTTP/2 ({}), where requests share a connection and system calls do not show which \
         answer belongs to which request; for times of requests use HTTP/1.1 or the server's log",
        format::plural(all.connections, "connection"),
        format::plural(all.reads, "read"),
    );
    if all.looked_at > 0 {
        text.push_str(&format!(
            ". A read had {:.1} requests on average ({} looked at)",
            all.requests_per_read,
            format::plural(all.looked_at, "read")
        ));
    }
    text
}
