//! Causes in a few words.

use genba_model::Cause;

/// What the cause with this identifier is, in a few words; `None` for causes of other versions.
pub(crate) fn title_of(id: &str) -> Option<&'static str> {
    let cause = Cause::ALL.iter().find(|cause| cause.id() == id);
    cause.map(|&cause| title(cause))
}

/// What a cause is, in a few words.
pub(crate) fn title(cause: Cause) -> &'static str {
    match cause {
        Cause::DuplicateDivision => "quotient and remainder computed by two divisions",
        Cause::DivisionAsOverflowCheck => "division used as an overflow check",
        Cause::LoopInvariantDivisor => "division by a loop-invariant divisor",
        Cause::FpLatencyChain => "floating-point reduction bound by latency",
        Cause::IntegerLatencyChain => "checksum, hash, division or search bound by latency",
        Cause::PointerChase => "pointer chasing through slow memory",
        Cause::StridedAccess => "one cache line per iteration for a few bytes",
        Cause::CacheMiss => "cache misses at computed addresses",
        Cause::MissedVectorisation => "scalar arithmetic that could be vectorised",
        Cause::StoreForwardStall => "load that overlaps a narrower store",
        Cause::MemoryBoundCopy => "large copies at memory bandwidth",
        Cause::AlreadyOptimal => "hot loop at its bound",
        Cause::UnoptimisedBuild => "hot code compiled without optimisation",
        Cause::TinyCalleeNotInlined => "small function called instead of inlined",
        Cause::IndirectCallOneTarget => "indirect call with one dominant target",
        Cause::TlsLookup => "thread-local data looked up by a call",
        Cause::BytewiseCopy => "long runs copied byte by byte",
        Cause::BytewiseCompare => "long runs compared byte by byte",
        Cause::LoopInvariantCall => "same call with the same argument in each iteration",
        Cause::Quadratic => "work that grows with the square of the input",
        Cause::NeedlessAtomic => "avoidable atomic operations or locks",
        Cause::UnpredictableBranch => "branch mispredictions",
        Cause::ExcessSyscalls => "many small system calls",
        Cause::FalseSharing => "false sharing of a cache line",
        Cause::FirstTouch => "memory returned and page-faulted in again",
        Cause::LockContention => "lock contention",
        Cause::MallocChurn => "many short-lived allocations",
        Cause::ReallocGrowth => "buffer that grows by small steps",
        Cause::CostlyConversion => "general library routine for a simple conversion",
        Cause::ColdPathInHotFunction => "registers saved in each call for a rare path",
        Cause::GeneralCaseFirst => "common case decided last",
        Cause::ShortTripVectorLoop => "vectorised loop with too few iterations",
        Cause::RedundantComputation => "same computation with the same result again",
        Cause::RepeatedSearch => "search that finds the same again",
        Cause::DeadStore => "memory written and overwritten unread",
        Cause::RepeatedCopy => "same bytes copied several times",
        Cause::KnownOperand => "operand that is nearly always one value",
        Cause::InvariantCheck => "checks in hot code that always go one way",
        Cause::DiscardedWork => "work done before a test that discards it",
        Cause::FieldOrder => "fields used together in different cache lines",
        Cause::NoSymbols => "hot code without symbols",
    }
}
