//! Why the time goes where it goes: causes with evidence and predicted gains.

mod already_optimal;
mod build;
mod byte_loops;
mod bytewise_compare;
mod bytewise_copy;
mod cache_miss;
mod calls;
pub mod candidate;
mod catalogue;
mod denormals;
mod division_as_overflow_check;
mod divisions;
mod duplicate_division;
mod event_places;
mod excess_syscalls;
mod false_dependency;
mod false_sharing;
mod fault_places;
mod first_touch;
mod fp_latency_chain;
pub mod frame;
mod gains;
mod hot_loops;
mod indirect_call_one_target;
mod integer_latency_chain;
mod invariance;
mod kernel;
mod latency_chain;
mod lock_contention;
mod loop_alignment;
mod loop_invariant_call;
mod loop_invariant_divisor;
mod malloc_churn;
mod memory_bound_copy;
mod missed_vectorisation;
mod needed_divisions;
mod needless_atomic;
mod no_symbols;
mod numbering;
mod own_code;
mod plt_call;
mod pointer_chase;
mod quadratic;
mod realloc_growth;
mod reductions;
mod runtime_use;
mod services;
mod shared_lines;
pub mod sizes;
mod slow_loads;
mod spill;
mod stalls;
mod steps;
mod store_forward_stall;
mod streams;
mod strided_access;
mod tiny_callee_not_inlined;
mod tls_lookup;
mod unoptimised_build;
mod unpredictable_branch;
mod user_lines;
mod uses;
pub mod values;
pub mod wants;
mod words;
mod written_lines;

pub use build::{RunFacts, is_own};
pub use candidate::Limits;
pub use catalogue::{CATALOGUE, Cause, explain};

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod call_tests;
#[cfg(test)]
mod loop_tests;
#[cfg(test)]
mod made_up;
#[cfg(test)]
mod needed_divisions_tests;
#[cfg(test)]
mod rare_tests;
#[cfg(test)]
mod robustness_tests;
#[cfg(test)]
mod runtime_tests;
