//! Samples of the threads that are on a CPU.

use std::io;

use perf_event_open_sys::bindings::perf_event_attr;

use super::process_tree;
use crate::event::EventSpec;
use crate::sampler::event_attr::{AttrPlan, build};
use crate::sampler::recording_session::{OpenedEvents, open_threads};
use crate::sampler::{CallGraph, Rate, Target, initial_records};

/// Samples per second of CPU time.
const CPU_HZ: u64 = 499;
/// Bytes of stack with a sample on a CPU.
const CPU_STACK_BYTES: u32 = 8 << 10;
/// Pages of a ring buffer.
const RING_PAGES: usize = 256;

/// The attribute that was refused, and why.
pub type Refused = Box<(perf_event_attr, io::Error)>;

/// Opens cpu-clock with stack copies on a target, including time in the kernel where that may be
/// sampled. Of a running target the processes that it has started are sampled as well.
pub fn open(target: Target) -> Result<(OpenedEvents, &'static str), Refused> {
    let threads = || match target {
        Target::BeforeExec(pid) => vec![pid],
        Target::Running(pid) => process_tree::tree(pid)
            .into_iter()
            .flat_map(|(pid, _)| initial_records::threads(pid))
            .collect(),
    };
    let (Target::BeforeExec(pid) | Target::Running(pid)) = target;
    let mut refused = None;
    for name in ["cpu-clock", "cpu-clock:u"] {
        for build_ids in [true, false] {
            let Ok(event) = EventSpec::parse(name) else {
                continue;
            };
            let mut attr = build(&AttrPlan {
                event,
                rate: Rate::Frequency(CPU_HZ),
                call_graph: CallGraph::Dwarf(CPU_STACK_BYTES),
                precise_ip: 0,
                exclude_kernel: name.ends_with(":u"),
                on_exec: matches!(target, Target::BeforeExec(_)),
                build_ids,
                watermark: 0,
            });
            // Every sample wakes this process at once: the others are looked at while they are as
            // they were at the sample.
            attr.set_watermark(0);
            attr.__bindgen_anon_2.wakeup_events = 1;
            let mut pages = RING_PAGES;
            while pages > 0 {
                match open_threads(&[pid], &threads, &mut attr, pages) {
                    Ok(opened) => return Ok((opened, name)),
                    Err((_, error)) => refused = Some(Box::new((attr, error))),
                }
                pages /= 4;
            }
        }
    }
    Err(refused
        .unwrap_or_else(|| Box::new((Default::default(), io::ErrorKind::PermissionDenied.into()))))
}
