//! Calls that change nothing: what they call stores in its own frames at most.

use genba_code::{Location, MemoryAccess, Opaque, STACK_POINTER};

use crate::causes::loop_invariant_call::changes_nothing;
use crate::constants::counts::RARE_WAY;
use crate::constants::observations::MAX_CALLS_WITH_EFFECTS;
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::values::{Address, Value};
use crate::patterns::calls::index_of;
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::search_loops::compares;

/// Whether a function, with all that it calls, stores in its own frame at most.
pub(crate) fn only_reads(input: &AnalysisInput, target: &CallTarget, depth: u32) -> bool {
    let name = &target.function;
    if is_library_search(name) || compares(name) || changes_nothing(name) {
        return true;
    }
    let Some(callee) = index_of(input, &target.function, &target.module) else {
        return false;
    };
    let callee = &input.functions[callee];
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if !callee.counted || callee.counts.len() != callee.code.len() {
        return false;
    }
    let stores = |at: usize| {
        let memory = &callee.data[at].memory;
        callee.counts[at] > 0 && memory.iter().any(is_store_outside)
    };
    // A call that hardly ever happens is not what the scan is.
    let calls = callee.calls.unwrap_or(0).max(target.count) as f64;
    let mut callees = callee.call_sites.iter().flat_map(|site| &site.targets);
    !(0..callee.code.len()).any(stores)
        && callees.all(|one| {
            (one.count as f64) < MAX_CALLS_WITH_EFFECTS * calls || only_reads(input, one, depth)
        })
}

/// Whether the functions that a call reaches call nothing in turn, read, and store what they made of it in the caller's frame,
/// to which they got addresses: they take an element apart.
pub(crate) fn takes_apart(
    input: &AnalysisInput,
    function: &FunctionInput,
    site: &CallSite,
) -> bool {
    let stack = value_at(function, site.at, STACK_POINTER);
    // Of the frame's end, or of a register that keeps where it was when the function was entered.
    let in_frame = |location: Location| {
        value_at(function, site.at, location).is_some_and(|argument| {
            let base = Value {
                offset: 0,
                ..argument
            };
            stack.is_some_and(|stack| stack.number == argument.number)
                || function.values.location_at_entry(base) == Some(STACK_POINTER)
        })
    };
    let into_frame = |target: &CallTarget| {
        stored_through(input, target).is_some_and(|through| through.into_iter().all(in_frame))
    };
    !site.targets.is_empty() && site.targets.iter().all(into_frame)
}

/// Whether a function reads what a register holds when it is called.
pub(crate) fn takes(input: &AnalysisInput, target: &CallTarget, location: Location) -> bool {
    let callee = index_of(input, &target.function, &target.module);
    callee.is_some_and(|callee| {
        let callee = &input.functions[callee];
        let executed = (0..callee.code.len()).filter(|&at| callee.counts.get(at) > Some(&0));
        executed.into_iter().any(|at| {
            let reads = callee.values.reads(at).iter();
            let mut data = reads.filter(|one| callee.data[at].data_reads & (1 << one.0) != 0);
            data.any(|one| callee.values.location_at_entry(one.1) == Some(location))
        })
    })
}

/// What a call in a loop gets and moves on, as an iterator's step does: addresses that stay, through which alone the functions
/// store that it reaches; none of a call that may store elsewhere.
pub(crate) fn moved_on(
    input: &AnalysisInput,
    function: &FunctionInput,
    index: u32,
    site: &CallSite,
) -> Vec<Value> {
    let stays = |location| {
        value_at(function, site.at, location)
            .filter(|&argument| is_same_each_iteration(function, index, argument))
    };
    let of_target = |target: &CallTarget| -> Option<Vec<Value>> {
        let through = stored_through(input, target)?;
        through.into_iter().map(stays).collect()
    };
    let all: Option<Vec<_>> = site.targets.iter().map(of_target).collect();
    all.unwrap_or_default().concat()
}

/// The registers of the arguments through which a function stores that calls nothing; `None` of one that stores elsewhere
/// outside of its frame, or is not known.
fn stored_through(input: &AnalysisInput, target: &CallTarget) -> Option<Vec<Location>> {
    let callee = &input.functions[index_of(input, &target.function, &target.module)?];
    if !callee.counted || callee.counts.len() != callee.code.len() {
        return None;
    }
    let rare = (RARE_WAY * callee.calls.unwrap_or(0) as f64) as u64;
    let usual = (0..callee.code.len()).filter(|&at| callee.counts[at] > rare);
    let mut through = Vec::new();
    for at in usual {
        // What calls, or leaves to the kernel, may do anything.
        if !matches!(callee.data[at].opaque, None | Some(Opaque::Exit)) {
            return None;
        }
        let accesses = callee.data[at].memory.iter();
        for (access, to) in accesses.zip(callee.values.addresses(at)) {
            if !is_store_outside(access) {
                continue;
            }
            let base = to.map(|to| Value {
                offset: 0,
                ..to.base
            });
            let argument = base.and_then(|base| callee.values.location_at_entry(base))?;
            if !through.contains(&argument) {
                through.push(argument);
            }
        }
    }
    Some(through)
}

/// Whether an access stores elsewhere than in the function's own frame.
pub(crate) fn is_store_outside(access: &MemoryAccess) -> bool {
    access.writes && is_outside_of_frame(access)
}

/// Whether an access is not to the function's own frame.
pub(crate) fn is_outside_of_frame(access: &MemoryAccess) -> bool {
    !access.stack && access.base != Some(STACK_POINTER)
}

/// Whether an instruction stores elsewhere than in its function's frame.
pub(crate) fn stores_outside(function: &FunctionInput, at: usize) -> bool {
    let addresses = function.values.addresses(at);
    let of_frame = |number: usize| {
        let address = addresses.get(number).copied().flatten();
        address.is_some_and(|address| is_of_frame(function, address))
    };
    let mut accesses = function.data[at].memory.iter().enumerate();
    accesses.any(|(number, access)| is_store_outside(access) && !of_frame(number))
}

/// Whether an address is one of the function's own frame, by way of a frame pointer as well.
pub(crate) fn is_of_frame(function: &FunctionInput, address: Address) -> bool {
    let base = Value {
        offset: 0,
        ..address.base
    };
    function.values.location_at_entry(base) == Some(STACK_POINTER)
}

/// Functions of C's library that look for something in memory.
fn is_library_search(name: &str) -> bool {
    let bare = name.trim_start_matches('_');
    // Variants for processors: `memchr_avx2`.
    let bare = bare.split(['_', '@']).next().unwrap_or_default();
    matches!(
        bare,
        "memchr"
            | "memrchr"
            | "rawmemchr"
            | "strchr"
            | "strchrnul"
            | "strrchr"
            | "strstr"
            | "memmem"
            | "strlen"
            | "strnlen"
            | "strcspn"
            | "strspn"
            | "strpbrk"
            | "strcasestr"
    )
}
