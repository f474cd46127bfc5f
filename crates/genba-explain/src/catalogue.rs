//! All causes that are looked for, and the search.

use genba_model::{Cause, Diagnosis};

use crate::candidate::Candidate;
use crate::causes::already_optimal;
use crate::causes::bytewise_compare;
use crate::causes::bytewise_copy;
use crate::causes::cache_miss;
use crate::causes::cold_path_in_hot_function;
use crate::causes::costly_conversion;
use crate::causes::dead_store;
use crate::causes::discarded_work;
use crate::causes::division_as_overflow_check;
use crate::causes::duplicate_division;
use crate::causes::excess_syscalls;
use crate::causes::false_sharing;
use crate::causes::field_order;
use crate::causes::first_touch;
use crate::causes::fp_latency_chain;
use crate::causes::general_case_first;
use crate::causes::indirect_call_one_target;
use crate::causes::integer_latency_chain;
use crate::causes::invariant_check;
use crate::causes::known_operand;
use crate::causes::lock_contention;
use crate::causes::loop_invariant_call;
use crate::causes::loop_invariant_divisor;
use crate::causes::malloc_churn;
use crate::causes::memory_bound_copy;
use crate::causes::missed_vectorisation;
use crate::causes::needless_atomic;
use crate::causes::no_symbols;
use crate::causes::pointer_chase;
use crate::causes::quadratic;
use crate::causes::realloc_growth;
use crate::causes::redundant_computation;
use crate::causes::repeated_copy;
use crate::causes::repeated_search;
use crate::causes::short_trip_vector_loop;
use crate::causes::store_forward_stall;
use crate::causes::strided_access;
use crate::causes::tiny_callee_not_inlined;
use crate::causes::tls_lookup;
use crate::causes::unoptimised_build;
use crate::causes::unpredictable_branch;
use crate::findings::{Limits, findings};
use crate::input::analysis_input::AnalysisInput;

/// A detector: a pure function from what is known of the program to what it suspects.
pub type Detector = fn(&AnalysisInput) -> Vec<Candidate>;

/// The detector of each cause.
pub const DETECTORS: &[(Cause, Detector)] = &[
    (Cause::DuplicateDivision, duplicate_division::detect),
    (
        Cause::DivisionAsOverflowCheck,
        division_as_overflow_check::detect,
    ),
    (Cause::LoopInvariantDivisor, loop_invariant_divisor::detect),
    (Cause::FpLatencyChain, fp_latency_chain::detect),
    (Cause::IntegerLatencyChain, integer_latency_chain::detect),
    (Cause::PointerChase, pointer_chase::detect),
    (Cause::StridedAccess, strided_access::detect),
    (Cause::CacheMiss, cache_miss::detect),
    (Cause::MissedVectorisation, missed_vectorisation::detect),
    (Cause::StoreForwardStall, store_forward_stall::detect),
    (Cause::MemoryBoundCopy, memory_bound_copy::detect),
    (Cause::AlreadyOptimal, already_optimal::detect),
    (Cause::UnoptimisedBuild, unoptimised_build::detect),
    (Cause::TinyCalleeNotInlined, tiny_callee_not_inlined::detect),
    (
        Cause::IndirectCallOneTarget,
        indirect_call_one_target::detect,
    ),
    (Cause::TlsLookup, tls_lookup::detect),
    (Cause::BytewiseCopy, bytewise_copy::detect),
    (Cause::BytewiseCompare, bytewise_compare::detect),
    (Cause::LoopInvariantCall, loop_invariant_call::detect),
    (Cause::Quadratic, quadratic::detect),
    (Cause::NeedlessAtomic, needless_atomic::detect),
    (Cause::UnpredictableBranch, unpredictable_branch::detect),
    (Cause::ExcessSyscalls, excess_syscalls::detect),
    (Cause::FalseSharing, false_sharing::detect),
    (Cause::FirstTouch, first_touch::detect),
    (Cause::LockContention, lock_contention::detect),
    (Cause::MallocChurn, malloc_churn::detect),
    (Cause::ReallocGrowth, realloc_growth::detect),
    (Cause::CostlyConversion, costly_conversion::detect),
    (
        Cause::ColdPathInHotFunction,
        cold_path_in_hot_function::detect,
    ),
    (Cause::GeneralCaseFirst, general_case_first::detect),
    (Cause::ShortTripVectorLoop, short_trip_vector_loop::detect),
    (Cause::RedundantComputation, redundant_computation::detect),
    (Cause::RepeatedSearch, repeated_search::detect),
    (Cause::DeadStore, dead_store::detect),
    (Cause::RepeatedCopy, repeated_copy::detect),
    (Cause::KnownOperand, known_operand::detect),
    (Cause::InvariantCheck, invariant_check::detect),
    (Cause::DiscardedWork, discarded_work::detect),
    (Cause::FieldOrder, field_order::detect),
    (Cause::NoSymbols, no_symbols::detect),
];

/// Runs all detectors; the diagnoses are sorted, most profitable first.
#[must_use]
pub fn explain(input: &AnalysisInput, limits: Limits) -> Vec<Diagnosis> {
    let candidates = DETECTORS.iter().flat_map(|(_, detect)| detect(input));
    findings(input, candidates.collect(), limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_one_detector() {
        let causes: Vec<Cause> = DETECTORS.iter().map(|one| one.0).collect();
        assert_eq!(causes, Cause::ALL);
    }
}
