//! Chrome's trace events, for Perfetto, chrome://tracing and speedscope: what each thread did over
//! time.
//!
//! Samples become calls: consecutive samples of a thread that share the outer part of their stack
//! share these calls. A call has the number and weight of its samples as arguments, so weights of
//! the outermost calls add up to the total, whatever time lies between two samples.

use std::collections::BTreeMap;
use std::io::{self, Write};

use genba_model::{SampleUnit, Sampled, SampledDetail, WaitReason};
use serde_json::{Value, json};

use super::measured_by;
use crate::safe_text;
use crate::wording::waits as wording;

/// Time that a sample of a counter stands for where the rate is unknown, ns.
const USUAL_PERIOD_NS: u64 = 1_000_000;

/// Writes the trace.
pub(super) fn write(detail: &SampledDetail, out: &mut dyn Write) -> io::Result<()> {
    let mut trace = Trace { out, any: false };
    write!(trace.out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":")?;
    let about = json!({"exporter": measured_by(detail), "command": safe_text::command(&detail.command),
                       "unit": unit(detail.unit)});
    write!(trace.out, "{about},\"traceEvents\":[")?;
    for thread in &detail.threads {
        trace.event(
            &json!({"ph": "M", "name": "thread_name", "pid": thread.pid, "tid": thread.tid,
                            "args": {"name": safe_text::sanitise(&thread.name)}}),
        )?;
    }
    spans(detail, &mut trace)?;
    if detail.is_timed() {
        // A thread that changes its name remains one thread.
        let mut by_thread: BTreeMap<(i32, i32), Vec<&Sampled>> = BTreeMap::new();
        for sample in &detail.samples {
            let thread = &detail.threads[sample.thread as usize];
            let samples = by_thread.entry((thread.pid, thread.tid)).or_default();
            samples.push(sample);
        }
        for samples in by_thread.values() {
            calls(detail, samples, &mut trace)?;
        }
    }
    write!(trace.out, "]}}")
}

fn unit(unit: SampleUnit) -> &'static str {
    match unit {
        SampleUnit::Nanoseconds => "nanoseconds",
        SampleUnit::Count => "count",
        SampleUnit::Bytes => "bytes",
    }
}

struct Trace<'a> {
    out: &'a mut dyn Write,
    any: bool,
}

impl Trace<'_> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        let separator = if self.any { ",\n" } else { "\n" };
        self.any = true;
        write!(self.out, "{separator}{event}")
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// What threads did, and arrows from the thread that ended a wait.
fn spans(detail: &SampledDetail, trace: &mut Trace<'_>) -> io::Result<()> {
    for span in &detail.spans {
        let thread = &detail.threads[span.thread as usize];
        let category = match span.state {
            WaitReason::Running => "on-cpu",
            _ => "off-cpu",
        };
        trace.event(&json!({
            "ph": "X", "cat": category, "name": wording::reason(span.state),
            "pid": thread.pid, "tid": thread.tid, "ts": microseconds(span.from_ns),
            "dur": microseconds(span.to_ns.saturating_sub(span.from_ns)),
        }))?;
    }
    for (id, wake_up) in (1u64..).zip(&detail.wake_ups) {
        let at = microseconds(wake_up.at_ns);
        for (phase, thread) in [("s", wake_up.waker), ("f", wake_up.woken)] {
            let thread = &detail.threads[thread as usize];
            trace.event(&json!({
                "ph": phase, "bp": "e", "cat": "wake-up", "name": "wake-up", "id": id,
                "pid": thread.pid, "tid": thread.tid, "ts": at,
            }))?;
        }
    }
    Ok(())
}

/// The time that a sample stands for, ns: it ends when the sample was taken.
fn length(detail: &SampledDetail, sample: &Sampled) -> u64 {
    match (detail.unit, detail.event.frequency_hz) {
        (SampleUnit::Nanoseconds, _) => sample.weight,
        (_, 0) => USUAL_PERIOD_NS,
        (_, hertz) => 1_000_000_000 / hertz,
    }
}

/// How long before the time 0 of samples the first one begins, ns. The trace begins there.
fn start_of_first_sample(detail: &SampledDetail) -> u64 {
    let before = |one: &Sampled| length(detail, one).saturating_sub(one.time_ns.unwrap_or(0));
    detail.samples.iter().map(before).max().unwrap_or(0)
}

/// A call that has not ended yet.
struct Open {
    function: u32,
    from_ns: u64,
    weight: u64,
    samples: u64,
}

/// The calls of one thread.
fn calls(detail: &SampledDetail, samples: &[&Sampled], trace: &mut Trace<'_>) -> io::Result<()> {
    let thread = &detail.threads[samples[0].thread as usize];
    let mut open: Vec<Open> = Vec::new();
    let mut end = 0u64;
    let shift = start_of_first_sample(detail);
    let close = |open: &mut Vec<Open>, depth: usize, at: u64, trace: &mut Trace<'_>| {
        while open.len() > depth
            && let Some(call) = open.pop()
        {
            let name = &detail.functions[call.function as usize].name;
            trace.event(&json!({
                "ph": "X", "cat": "sampled", "name": safe_text::sanitise(name),
                "pid": thread.pid, "tid": thread.tid, "ts": microseconds(call.from_ns),
                "dur": microseconds(at.saturating_sub(call.from_ns)),
                "args": {"samples": call.samples, "weight": call.weight},
            }))?;
        }
        io::Result::Ok(())
    };
    for sample in samples {
        let time = sample.time_ns.unwrap_or(0).saturating_add(shift);
        let length = length(detail, sample);
        let start = time.saturating_sub(length).max(end);
        let mut functions: Vec<u32> = (detail.frames_of(sample.stack))
            .map(|frame| frame.function)
            .collect();
        functions.reverse();
        // A thread that was away for longer than a sample has returned in the meantime.
        let shared = match start.saturating_sub(end) > length {
            true => 0,
            false => (open.iter().zip(&functions))
                .take_while(|(call, function)| call.function == **function)
                .count(),
        };
        close(&mut open, shared, end, trace)?;
        for &function in &functions[shared..] {
            open.push(Open {
                function,
                from_ns: start,
                weight: 0,
                samples: 0,
            });
        }
        for call in &mut open {
            call.weight = call.weight.saturating_add(sample.weight);
            call.samples += sample.samples;
        }
        end = time.max(start);
    }
    close(&mut open, 0, end, trace)
}
