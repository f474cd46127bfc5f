//! What system calls cost, and which of them belong to a library's look-up.

use genba_model::ConversionKind;

use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::conversion_routines::routine;
use crate::input::runtime_services::plain;

const YIELD: &str = "sched_yield";

/// System calls of a run and the share of all time that they take: in the kernel, not for page faults, locks or
/// scheduling, and in the instruction that enters it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SystemCallTime {
    /// System calls in one run.
    pub calls: u64,
    /// Share of all time.
    pub share: f64,
}

/// The time of all system calls; nothing where none is made.
pub(crate) fn system_call_time(input: &AnalysisInput) -> Option<SystemCallTime> {
    let program = &input.program;
    let calls = || program.runtime.iter().filter(|one| one.system_call);
    let all: u64 = calls().map(|one| one.calls).sum();
    if all == 0 {
        return None;
    }
    // The wrappers' own time is that of the instruction that enters the kernel.
    let wrappers = input.share_where(|f| {
        !f.own && calls().any(|one| one.service == plain(&f.function).trim_end_matches("64"))
    });
    // What the scheduler does is the price of yields, as far as the calls are yields.
    let yields: u64 = calls()
        .filter(|one| one.service == YIELD)
        .map(|one| one.calls)
        .sum();
    let scheduler = input.kernel_share_for(&["scheduler"]) * (1.0 - yields as f64 / all as f64);
    let others = input.fault_share() + input.kernel_share_for(&["futex"]) + scheduler;
    Some(SystemCallTime {
        calls: all,
        share: (program.kernel_share - others).max(0.0) + wrappers,
    })
}

/// Whether a call asks the kernel by the C library's look-up of a user or group, which opens and reads files each
/// time: the remedy is to keep its result, not to buffer.
pub(crate) fn looks_up_account(user: &UserCall) -> bool {
    let is_look_up =
        |name: &String| routine(name).is_some_and(|one| one.kind == ConversionKind::Account);
    user.through.iter().any(is_look_up)
}

/// Share of all time of the system calls that a call leads to.
pub(crate) fn share_of_system_calls(input: &AnalysisInput, call: &UserCall) -> f64 {
    let Some(time) = system_call_time(input) else {
        return 0.0;
    };
    let users = (input.program.runtime.iter().filter(|one| one.system_call))
        .flat_map(|one| one.users.iter());
    let mine = users.filter(|user| user.address == call.address && user.module == call.module);
    let calls: f64 = mine.map(|user| user.calls).sum();
    time.share * (calls / time.calls as f64).min(1.0)
}
