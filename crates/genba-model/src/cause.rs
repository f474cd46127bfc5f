//! The causes of lost time that detectors look for.

use serde::{Deserialize, Serialize};

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// A cause of lost time: what makes a site slower than it has to be.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[$doc])* #[serde(rename = $id)] $name,)*
        }

        impl Cause {
            /// All causes, in the order in which detectors run.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The identifier in output, documents and tests.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

causes! {
    /// Two divisions with the same operands.
    DuplicateDivision = "duplicate-division",
    /// A division whose quotient only decides whether a product overflows.
    DivisionAsOverflowCheck = "division-as-overflow-check",
    /// Divisions by a value that the loop does not change.
    LoopInvariantDivisor = "loop-invariant-divisor",
    /// A floating-point reduction bound by the latency of its chain.
    FpLatencyChain = "fp-latency-chain",
    /// A checksum or hash bound by the latency of its chain.
    IntegerLatencyChain = "integer-latency-chain",
    /// A load whose address depends on the load of the previous iteration.
    PointerChase = "pointer-chase",
    /// A load that reaches another cache line in each iteration.
    StridedAccess = "strided-access",
    /// A load at a computed address that misses L1d.
    CacheMiss = "cache-miss",
    /// Scalar arithmetic along arrays.
    MissedVectorisation = "missed-vectorisation",
    /// A load that overlaps a narrower store.
    StoreForwardStall = "store-forward-stall",
    /// Large copies at the speed of memory.
    MemoryBoundCopy = "memory-bound-copy",
    /// A hot loop at its modelled bound.
    AlreadyOptimal = "already-optimal",
    /// Hot code compiled without optimisation.
    UnoptimisedBuild = "unoptimised-build",
    /// A small function of another translation unit, or behind the procedure linkage table, that is
    /// called, not inlined.
    TinyCalleeNotInlined = "tiny-callee-not-inlined",
    /// An indirect call with one dominant target.
    IndirectCallOneTarget = "indirect-call-one-target",
    /// Function calls to find thread-local data.
    TlsLookup = "tls-lookup",
    /// Runs of bytes copied one byte at a time.
    BytewiseCopy = "bytewise-copy",
    /// Runs of bytes compared or searched one byte at a time.
    BytewiseCompare = "bytewise-compare",
    /// A call with the same argument in each iteration.
    LoopInvariantCall = "loop-invariant-call",
    /// Work that grows with the square of the input.
    Quadratic = "quadratic",
    /// Locked instructions in a single-threaded program.
    NeedlessAtomic = "needless-atomic",
    /// Branch mispredictions.
    UnpredictableBranch = "unpredictable-branch",
    /// Many small system calls.
    ExcessSyscalls = "excess-syscalls",
    /// Threads that write to different variables in one cache line.
    FalseSharing = "false-sharing",
    /// Memory returned to the kernel and page-faulted in again.
    FirstTouch = "first-touch",
    /// Threads that wait for a shared lock.
    LockContention = "lock-contention",
    /// Short-lived allocations.
    MallocChurn = "malloc-churn",
    /// A buffer that grows by a constant amount and is copied each time.
    ReallocGrowth = "realloc-growth",
    /// A general library routine for a conversion that direct code does for a fraction of its time.
    CostlyConversion = "costly-conversion",
    /// Registers saved in each call of a hot function for a path that is hardly taken.
    ColdPathInHotFunction = "cold-path-in-hot-function",
    /// Tests in an order in which the common case comes last.
    GeneralCaseFirst = "general-case-first",
    /// A vectorised loop whose trips are too short for it.
    ShortTripVectorLoop = "short-trip-vector-loop",
    /// Calls with the inputs and the result of earlier ones.
    RedundantComputation = "redundant-computation",
    /// A search that finds what the one before found.
    RepeatedSearch = "repeated-search",
    /// Memory that is written and overwritten unread.
    DeadStore = "dead-store",
    /// Bytes copied several times unchanged.
    RepeatedCopy = "repeated-copy",
    /// An operand that is nearly always one value for which a cheaper path exists.
    KnownOperand = "known-operand",
    /// Checks in a hot loop whose outcome does not change there.
    InvariantCheck = "invariant-check",
    /// Results computed before a test that mostly discards them.
    DiscardedWork = "discarded-work",
    /// Fields used together that lie in different cache lines.
    FieldOrder = "field-order",
    /// Hot code without symbols.
    NoSymbols = "no-symbols",
}
