//! Sampling with `perf_event_open`.
//!
//! [`choose`] decides what can be sampled here and says why; [`Session::open`] attaches to a
//! process that waits before `execve` or to a running one; [`Session::run`] moves records from
//! the rings into the file until told to stop.

pub(crate) mod attr;
mod choice;
mod host;
mod options;
pub(crate) mod ring;
pub(crate) mod session;
pub(crate) mod sys;
pub(crate) mod task;

pub use choice::{Choice, choose, hardware_cycles_work};
pub use options::{CallGraph, Rate, RecordOptions};
pub use ring::Seen;
pub use session::{Session, Target};

/// The attribute of a plain recording, as bytes.
#[cfg(test)]
pub(crate) fn sys_attr_for_tests() -> Vec<u8> {
    let plan = attr::Plan {
        event: crate::event::EventSpec::parse("cpu-clock").unwrap(),
        rate: Rate::Frequency(999),
        call_graph: CallGraph::None,
        addresses: false,
        precise_ip: 0,
        exclude_kernel: true,
        on_exec: true,
        build_ids: true,
        watermark: 0,
    };
    sys::attr_bytes(&attr::build(&plan))
}

pub(crate) use host::{describe, monotonic_ns};
