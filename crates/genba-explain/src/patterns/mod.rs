//! Code patterns that several detectors look for.

pub(crate) mod allocation_wrappers;
pub(crate) mod appends;
pub(crate) mod byte_loops;
pub(crate) mod byte_matches;
pub(crate) mod calls;
pub(crate) mod decision_chains;
pub(crate) mod divisions;
pub(crate) mod hot_loops;
pub(crate) mod invariance;
pub(crate) mod latency_chain;
pub(crate) mod leading_zeros;
pub(crate) mod load_stalls;
pub(crate) mod lock_acquisitions;
pub(crate) mod loop_inputs;
pub(crate) mod memory_streams;
pub(crate) mod needed_divisions;
pub(crate) mod observed_sites;
pub(crate) mod positions;
pub(crate) mod reductions;
pub(crate) mod search_loops;
pub(crate) mod slow_loads;
pub(crate) mod trailing_zeros;
pub(crate) mod unoptimised_code;
pub(crate) mod usual_values;
pub(crate) mod value_steps;
pub(crate) mod word_division;
