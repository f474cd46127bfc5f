//! All causes that are looked for, and the search.

use genba_model::Finding;

use crate::candidate::{Candidate, Limits, findings};
use crate::causes::already_optimal;
use crate::causes::bytewise_compare;
use crate::causes::bytewise_copy;
use crate::causes::cache_miss;
use crate::causes::denormals;
use crate::causes::division_as_overflow_check;
use crate::causes::duplicate_division;
use crate::causes::excess_syscalls;
use crate::causes::false_dependency;
use crate::causes::false_sharing;
use crate::causes::first_touch;
use crate::causes::fp_latency_chain;
use crate::causes::indirect_call_one_target;
use crate::causes::integer_latency_chain;
use crate::causes::lock_contention;
use crate::causes::loop_alignment;
use crate::causes::loop_invariant_call;
use crate::causes::loop_invariant_divisor;
use crate::causes::malloc_churn;
use crate::causes::memory_bound_copy;
use crate::causes::missed_vectorisation;
use crate::causes::needless_atomic;
use crate::causes::no_symbols;
use crate::causes::plt_call;
use crate::causes::pointer_chase;
use crate::causes::quadratic;
use crate::causes::realloc_growth;
use crate::causes::spill;
use crate::causes::store_forward_stall;
use crate::causes::strided_access;
use crate::causes::tiny_callee_not_inlined;
use crate::causes::tls_lookup;
use crate::causes::unoptimised_build;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::AnalysisInput;

/// A cause: its identifier, and what looks for it.
#[derive(Clone, Copy)]
pub struct Cause {
    /// Identifier, as in output and documents.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Looks for it.
    pub detect: fn(&AnalysisInput) -> Vec<Candidate>,
}

/// All causes.
pub const CATALOGUE: &[Cause] = &[
    Cause {
        id: duplicate_division::ID,
        title: "the same quotient computed twice",
        detect: duplicate_division::detect,
    },
    Cause {
        id: division_as_overflow_check::ID,
        title: "a division only to foresee an overflow",
        detect: division_as_overflow_check::detect,
    },
    Cause {
        id: loop_invariant_divisor::ID,
        title: "a loop divides by a number that it never changes",
        detect: loop_invariant_divisor::detect,
    },
    Cause {
        id: fp_latency_chain::ID,
        title: "a floating-point sum that each round waits for",
        detect: fp_latency_chain::detect,
    },
    Cause {
        id: integer_latency_chain::ID,
        title: "a checksum or hash each step of which waits for the one before",
        detect: integer_latency_chain::detect,
    },
    Cause {
        id: pointer_chase::ID,
        title: "each address waits for the load before it",
        detect: pointer_chase::detect,
    },
    Cause {
        id: strided_access::ID,
        title: "each round reads another cache line for a few bytes",
        detect: strided_access::detect,
    },
    Cause {
        id: cache_miss::ID,
        title: "a load whose data are far",
        detect: cache_miss::detect,
    },
    Cause {
        id: missed_vectorisation::ID,
        title: "arithmetic on one element at a time",
        detect: missed_vectorisation::detect,
    },
    Cause {
        id: store_forward_stall::ID,
        title: "a load that overlaps a narrower store",
        detect: store_forward_stall::detect,
    },
    Cause {
        id: false_dependency::ID,
        title: "an instruction waits for a register that it need not read",
        detect: false_dependency::detect,
    },
    Cause {
        id: spill::ID,
        title: "registers that are stored and loaded again in the loop",
        detect: spill::detect,
    },
    Cause {
        id: denormals::ID,
        title: "arithmetic on denormal numbers",
        detect: denormals::detect,
    },
    Cause {
        id: loop_alignment::ID,
        title: "a short loop across a boundary",
        detect: loop_alignment::detect,
    },
    Cause {
        id: memory_bound_copy::ID,
        title: "copies at the speed of memory",
        detect: memory_bound_copy::detect,
    },
    Cause {
        id: already_optimal::ID,
        title: "the hot loop runs at its bound",
        detect: already_optimal::detect,
    },
    Cause {
        id: unoptimised_build::ID,
        title: "hot code compiled without optimisation",
        detect: unoptimised_build::detect,
    },
    Cause {
        id: tiny_callee_not_inlined::ID,
        title: "a tiny function that is called, not inlined",
        detect: tiny_callee_not_inlined::detect,
    },
    Cause {
        id: plt_call::ID,
        title: "a tiny function called through the linkage table",
        detect: plt_call::detect,
    },
    Cause {
        id: indirect_call_one_target::ID,
        title: "an indirect call that goes to one function",
        detect: indirect_call_one_target::detect,
    },
    Cause {
        id: tls_lookup::ID,
        title: "a call to find the thread's own data",
        detect: tls_lookup::detect,
    },
    Cause {
        id: bytewise_copy::ID,
        title: "long stretches copied a byte at a time",
        detect: bytewise_copy::detect,
    },
    Cause {
        id: bytewise_compare::ID,
        title: "long stretches compared a byte at a time",
        detect: bytewise_compare::detect,
    },
    Cause {
        id: loop_invariant_call::ID,
        title: "the same call with the same argument in every round",
        detect: loop_invariant_call::detect,
    },
    Cause {
        id: quadratic::ID,
        title: "work that grows with the square of the input",
        detect: quadratic::detect,
    },
    Cause {
        id: needless_atomic::ID,
        title: "locked operations while one thread works",
        detect: needless_atomic::detect,
    },
    Cause {
        id: unpredictable_branch::ID,
        title: "wrongly guessed branches",
        detect: unpredictable_branch::detect,
    },
    Cause {
        id: excess_syscalls::ID,
        title: "the kernel is asked for little at a time",
        detect: excess_syscalls::detect,
    },
    Cause {
        id: false_sharing::ID,
        title: "threads write to one cache line",
        detect: false_sharing::detect,
    },
    Cause {
        id: first_touch::ID,
        title: "memory given back and faulted in anew",
        detect: first_touch::detect,
    },
    Cause {
        id: lock_contention::ID,
        title: "threads spend their time on a lock",
        detect: lock_contention::detect,
    },
    Cause {
        id: malloc_churn::ID,
        title: "memory allocated and freed all the time",
        detect: malloc_churn::detect,
    },
    Cause {
        id: realloc_growth::ID,
        title: "a buffer grows by a little at a time",
        detect: realloc_growth::detect,
    },
    Cause {
        id: no_symbols::ID,
        title: "code without names",
        detect: no_symbols::detect,
    },
];

/// Looks for all causes; the findings are sorted, most profitable first.
#[must_use]
pub fn explain(input: &AnalysisInput, limits: Limits) -> Vec<Finding> {
    let candidates = CATALOGUE.iter().flat_map(|cause| (cause.detect)(input));
    findings(input, candidates.collect(), limits)
}
