//! Calls that change nothing: what they call stores in its own frames at most.

use genba_code::{MemoryAccess, Opaque, STACK_POINTER};

use crate::causes::loop_invariant_call::changes_nothing;
use crate::constants::counts::RARE_WAY;
use crate::constants::observations::MAX_CALLS_WITH_EFFECTS;
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::values::Value;
use crate::patterns::calls::index_of;
use crate::patterns::invariance::value_at;
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
    let in_frame = |location| {
        let argument = value_at(function, site.at, location);
        argument.is_some() && argument.map(|one| one.number) == stack.map(|one| one.number)
    };
    let into_frame = |target: &CallTarget| {
        let found = index_of(input, &target.function, &target.module);
        let Some(callee) = found.map(|index| &input.functions[index]) else {
            return false;
        };
        let rare = (RARE_WAY * callee.calls.unwrap_or(0) as f64) as u64;
        let usual = |at: &usize| callee.counts.get(*at).is_some_and(|&count| count > rare);
        let mut stores = (0..callee.code.len()).filter(usual).flat_map(|at| {
            let accesses = callee.data[at].memory.iter();
            accesses.zip(callee.values.addresses(at))
        });
        // What calls, or leaves to the kernel, may do anything.
        let plain = (0..callee.code.len())
            .filter(usual)
            .all(|at| matches!(callee.data[at].opaque, None | Some(Opaque::Exit)));
        callee.counted
            && callee.counts.len() == callee.code.len()
            && plain
            && stores.all(|(access, to)| {
                let base = to.map(|to| Value {
                    offset: 0,
                    ..to.base
                });
                let argument = base.and_then(|base| callee.values.location_at_entry(base));
                !is_store_outside(access) || argument.is_some_and(in_frame)
            })
    };
    !site.targets.is_empty() && site.targets.iter().all(into_frame)
}

/// Whether an access stores elsewhere than in the function's own frame.
pub(crate) fn is_store_outside(access: &MemoryAccess) -> bool {
    access.writes && !access.stack && access.base != Some(STACK_POINTER)
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
