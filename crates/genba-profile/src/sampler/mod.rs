//! Sampling with `perf_event_open`.
//!
//! [`choose_event`] decides what can be sampled on this machine and says why;
//! [`RecordingSession::open`] attaches to a process that waits before `execve` or to a running
//! one; [`RecordingSession::run`] moves records from the ring buffers into the file until stopped.

mod cycles_probe;
mod data_event;
pub(crate) mod event_attr;
mod event_choice;
pub(crate) mod host_description;
pub(crate) mod initial_records;
pub(crate) mod opened_events;
mod overwritten;
mod record_options;
mod recording_session;
pub(crate) mod ring_buffer;
mod sampling_rate;
pub(crate) mod snapshot_session;
mod snapshot_size;
pub(crate) mod syscalls;

pub use cycles_probe::hardware_cycles_work;
pub use event_choice::{EventChoice, choose_event};
pub use opened_events::Target;
pub use record_options::{CallGraph, RecordOptions};
pub use recording_session::RecordingSession;
pub use ring_buffer::SampleCounts;
pub use sampling_rate::{DEFAULT_RATE_HZ, Rate, max_sample_rate_hz};
pub use snapshot_session::{Snapshot, SnapshotSink};

/// The attribute of a plain recording, as bytes.
#[cfg(test)]
pub(crate) fn sys_attr_for_tests() -> Vec<u8> {
    let plan = event_attr::AttrPlan {
        event: crate::event::EventSpec::parse("cpu-clock").unwrap(),
        rate: Rate::Frequency(999),
        call_graph: CallGraph::None,
        precise_ip: 0,
        exclude_kernel: true,
        on_exec: true,
        build_ids: true,
        switches: false,
        watermark: 0,
    };
    syscalls::attr_bytes(&event_attr::build(&plan))
}

pub(crate) use host_description::{
    describe, monotonic_ns, online_cpus, realtime_ns, thread_cpu_time,
};
