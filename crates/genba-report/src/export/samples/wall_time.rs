//! The wall time of threads, on CPUs and off, for exports.

use std::collections::HashMap;

use genba_model::{
    CodeKind, Event, Precision, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder,
    SampledSpan, SampledThread, SampledWakeUp, WaitReason, Waits,
};

use crate::wall_flame_graph::{Shown, wait_frame};

/// Name of the event of wall time.
pub(super) const WALL_CLOCK: &str = "wall-clock";

/// Returns the stacks of a case with waits, the threads' timelines and who woke whom. What a thread
/// waited for is the innermost frame of its stack. Stacks have no times: they are known for all threads
/// of one name together.
#[must_use]
pub fn wall_time_detail(waits: &Waits, shown: Shown) -> SampledDetail {
    let event = Event {
        name: WALL_CLOCK.to_owned(),
        hardware: false,
        frequency_hz: 0,
        kernel: false,
        precision: Precision::Precise,
    };
    let mut builder =
        SampledDetailBuilder::new(event, SampleUnit::Nanoseconds, waits.command.clone());
    let mut by_tid: HashMap<i32, u32> = HashMap::new();
    let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
    for thread in &waits.threads {
        let index = builder.thread(SampledThread {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.name.clone(),
        });
        by_tid.insert(thread.tid, index);
        by_name.entry(&thread.name).or_default().push(index);
        for span in &thread.timeline {
            let (from_ns, to_ns) = (nanoseconds(span.from), nanoseconds(span.to));
            if to_ns > from_ns && (shown == Shown::All || span.state != WaitReason::Running) {
                builder.detail.spans.push(SampledSpan {
                    thread: index,
                    from_ns,
                    to_ns,
                    state: span.state,
                });
            }
        }
    }
    for wake_up in &waits.wake_ups {
        let ends = (by_tid.get(&wake_up.waker), by_tid.get(&wake_up.woken));
        if let (Some(&waker), Some(&woken)) = ends {
            builder.detail.wake_ups.push(SampledWakeUp {
                at_ns: nanoseconds(wake_up.at),
                woken,
                waker,
            });
        }
    }
    let pid = waits.threads.first().map_or(0, |thread| thread.pid);
    for one in &waits.stacks {
        let weight = nanoseconds(one.seconds);
        let on_cpu = one.state == WaitReason::Running;
        if weight == 0 || (on_cpu && shown == Shown::OffCpu) {
            continue;
        }
        let thread = match by_name.get(one.thread.as_str()).map(Vec::as_slice) {
            Some(&[only]) => only,
            Some(several) => builder.thread(SampledThread {
                pid,
                tid: 0,
                name: format!("{} ({} threads)", one.thread, several.len()),
            }),
            None => builder.thread(SampledThread {
                pid,
                tid: 0,
                name: one.thread.clone(),
            }),
        };
        let mut stack = None;
        for name in &one.frames {
            let frame = builder.named_frame(name, CodeKind::User);
            stack = Some(builder.stack(stack, frame));
        }
        if one.frames.is_empty() {
            let frame = builder.named_frame("[no stack]", CodeKind::User);
            stack = Some(builder.stack(stack, frame));
        }
        if let Some(name) = wait_frame(one) {
            let frame = builder.named_frame(&name, CodeKind::Wait(one.state));
            stack = Some(builder.stack(stack, frame));
        }
        builder.detail.samples.push(Sampled {
            thread,
            stack: stack.unwrap_or_default(),
            time_ns: None,
            weight,
            samples: one.snapshots.max(1),
        });
    }
    builder.detail.notes.clone_from(&waits.notes);
    builder.detail
}

fn nanoseconds(seconds: f64) -> u64 {
    // The conversion saturates; NaN becomes 0.
    (seconds * 1e9).round() as u64
}
