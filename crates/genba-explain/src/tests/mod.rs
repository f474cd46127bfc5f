//! Detectors on synthetic programs.

mod allocation_wrappers;
mod byte_patterns;
mod calls;
mod chain_searches;
mod conversions;
mod copied_bytes;
mod inlined_copies;
mod latency;
mod library_scans;
mod long_divisions;
mod long_products;
mod loops;
mod needed_divisions;
mod observed_data;
mod observed_repetition;
mod observed_waste;
mod ordered_sorts;
mod own_comparisons;
mod paths;
mod places;
mod rescans;
mod rescans_by_calls;
mod robustness;
mod runtime;
mod shifted_bits;
mod simulated_events;
pub(crate) mod synthetic;
