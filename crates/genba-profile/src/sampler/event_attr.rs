//! The `perf_event_attr` of the event that is sampled.

use perf_event_open_sys::bindings::perf_event_attr;

use super::record_options::CallGraph;
use super::sampling_rate::Rate;
use crate::event::EventSpec;
use crate::perfdata::attr::sample;

/// Registers that samples with stack copies carry, as a mask of `asm/perf_regs.h`: all of x86-64
/// that the kernel gives, since DWARF expressions of callers may use any of them.
#[cfg(target_arch = "x86_64")]
pub const USER_REGS: u64 = 0xff_0fff;

/// The settings from which an attribute is built.
#[derive(Clone, Debug)]
pub struct AttrPlan {
    /// The event.
    pub event: EventSpec,
    /// How often.
    pub rate: Rate,
    /// How call stacks are sampled.
    pub call_graph: CallGraph,
    /// `precise_ip` to request, 0…3.
    pub precise_ip: u8,
    /// Samples user code only.
    pub exclude_kernel: bool,
    /// Starts at the target's `execve`, else when it is enabled.
    pub on_exec: bool,
    /// Whether the kernel puts build ids into map records.
    pub build_ids: bool,
    /// Whether the kernel writes a record of each switch to and from the target.
    pub switches: bool,
    /// Bytes in a ring buffer that wake the recorder.
    pub watermark: u32,
}

/// Returns the attribute for these settings, not enabled.
#[must_use]
pub fn build(plan: &AttrPlan) -> perf_event_attr {
    let mut attr = perf_event_attr {
        type_: plan.event.kind,
        config: plan.event.config,
        ..Default::default()
    };
    attr.__bindgen_anon_3.config1 = plan.event.more_config[0];
    attr.__bindgen_anon_4.config2 = plan.event.more_config[1];
    plan.rate.set(&mut attr);
    attr.sample_type = sample::IP | sample::TID | sample::TIME | sample::CPU | sample::PERIOD;
    match plan.call_graph {
        CallGraph::None => {}
        CallGraph::FramePointer => attr.sample_type |= sample::CALLCHAIN,
        CallGraph::Dwarf(bytes) => {
            // The kernel's part of the stack still comes as a chain.
            attr.sample_type |= sample::CALLCHAIN | sample::REGS_USER | sample::STACK_USER;
            attr.set_exclude_callchain_user(1);
            attr.sample_regs_user = USER_REGS;
            attr.sample_stack_user = bytes;
        }
    }
    attr.set_disabled(1);
    attr.set_enable_on_exec(plan.on_exec.into());
    attr.set_inherit(1);
    attr.set_exclude_user(plan.event.exclude_user.into());
    attr.set_exclude_kernel(plan.exclude_kernel.into());
    attr.set_exclude_hv(plan.exclude_kernel.into());
    attr.set_exclude_guest((!plan.event.is_ibs()).into());
    attr.set_precise_ip(plan.precise_ip.into());
    attr.set_mmap(1);
    attr.set_mmap2(1);
    // perf unwinds stacks only if it knows where the read-only segments are mapped.
    attr.set_mmap_data(matches!(plan.call_graph, CallGraph::Dwarf(_)).into());
    attr.set_build_id(plan.build_ids.into());
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    attr.set_context_switch(plan.switches.into());
    attr.set_sample_id_all(1);
    // A clock that other processes can read too, so that samples can be matched with other events.
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = plan.watermark;
    attr
}

/// Makes the attribute that of an event whose ring buffer is overwritten: from its end to its begin, so that the
/// newest record comes first, and with samples only, as the others must not be lost.
pub fn overwrite(attr: &mut perf_event_attr) {
    attr.set_write_backward(1);
    set_side_records(attr, 0);
}

/// Makes the attribute that of an event without samples, for all other records that samples of the attribute
/// need. Their trailers are the same.
pub fn without_samples(attr: &mut perf_event_attr) {
    attr.type_ = perf_event_open_sys::bindings::PERF_TYPE_SOFTWARE;
    attr.config = perf_event_open_sys::bindings::PERF_COUNT_SW_DUMMY.into();
    attr.__bindgen_anon_3.config1 = 0;
    attr.__bindgen_anon_4.config2 = 0;
    attr.set_freq(0);
    attr.__bindgen_anon_1.sample_period = 1;
    attr.sample_type &= TRAILER;
    attr.set_exclude_callchain_user(0);
    attr.sample_regs_user = 0;
    attr.sample_stack_user = 0;
    attr.set_precise_ip(0);
}

/// Lets samples carry the data that was accessed.
pub fn with_data(attr: &mut perf_event_attr) {
    attr.sample_type |= sample::ADDR | sample::WEIGHT | sample::DATA_SRC;
}

/// The fields that records other than samples carry.
const TRAILER: u64 = sample::TID | sample::TIME | sample::CPU;

/// Asks for records of mappings, names and ends of threads (1), or for none (0).
pub fn set_side_records(attr: &mut perf_event_attr, on: u64) {
    for set in [
        perf_event_attr::set_mmap,
        perf_event_attr::set_mmap2,
        perf_event_attr::set_mmap_data,
        perf_event_attr::set_build_id,
        perf_event_attr::set_comm,
        perf_event_attr::set_comm_exec,
        perf_event_attr::set_task,
    ] {
        set(attr, on);
    }
}
