//! What processors and the ABI are like, where the host table does not say.

use genba_model::Estimate;

/// Bytes of a cache line of x86-64 processors (Intel SDM volume 3, chapter "Memory
/// Cache Control").
pub(crate) const CACHE_LINE_BYTES: u64 = 64;

/// Bytes of a run of consecutive loads from which the processor fetches ahead of it: three lines (Intel 64 and
/// IA-32 Architectures Optimization Reference Manual, hardware prefetching needs some misses to begin).
pub(crate) const MIN_BYTES_OF_STREAM: f64 = 192.0;

/// The same as a step of addresses.
pub(crate) const CACHE_LINE_STEP: i64 = 64;

/// Bytes of a page of x86-64 processors.
pub(crate) const PAGE_BYTES: f64 = 4096.0;

/// Bytes of a vector register that every x86-64 processor has (SSE2).
pub(crate) const VECTOR_BYTES: f64 = 16.0;

/// Elements within which a stride still fills vectors by shuffles. Chosen.
pub(crate) const MAX_NEAR_ELEMENTS: u64 = 4;

/// Bytes of the largest element of vector arithmetic.
pub(crate) const MAX_ELEMENT_BYTES: u16 = 8;

/// Bytes within which an access at a constant distance is one to the same array. Chosen.
pub(crate) const MAX_ALIASING_DISTANCE_BYTES: u64 = 1024;

/// The slowest that a long copy can be, bytes per second. Chosen: one cache line for each access of
/// memory that takes 120 ns, none overlapping.
pub(crate) const LEAST_COPY_BANDWIDTH: f64 = 0.5e9;

/// The longest that a short copy can take, s. Chosen: one access of memory.
pub(crate) const MOST_SECONDS_OF_SHORT_COPY: f64 = 120e-9;

/// L1d latency where the host table has none: 4 to 5 cycles (A. Fog, "The
/// microarchitecture of Intel, AMD and VIA CPUs").
pub(crate) const DEFAULT_L1D_CYCLES: f64 = 5.0;

/// Call and return where the host table has none. Chosen: of the order of the table on Zen 4 and
/// Zen 5.
pub(crate) const DEFAULT_CALL_CYCLES: f64 = 4.0;

/// Call through the PLT and return where the host table has none. Chosen likewise.
pub(crate) const DEFAULT_PLT_CALL_CYCLES: f64 = 5.0;

/// Compare and branch that a direct call guarded by a test of its target adds. Two instructions.
pub(crate) const INDIRECT_TEST_CYCLES: f64 = 2.0;

/// Cycles from a store to a dependent load through memory. Chosen: about the L1d latency, the least
/// without memory renaming.
pub(crate) const STORE_FORWARDING_CYCLES: f64 = 5.0;

/// Latency of an addition of integers, of all current processors.
pub(crate) const ADDITION_CYCLES: f64 = 1.0;

/// Latency of an addition or multiplication of floating-point numbers, of most current processors (three or four).
pub(crate) const FLOAT_OPERATION_CYCLES: f64 = 4.0;

/// Cycles beyond an L1d load from which a load waits for a failed store forwarding, which takes a dozen or more
/// (A. Fog, as above: no exact figure for all processors). Chosen.
pub(crate) const FAILED_FORWARDING_CYCLES: f64 = 6.0;

/// Cycles of a load above which it waits for memory, not for a store. Chosen: beyond L2, below
/// DRAM.
pub(crate) const MEMORY_CYCLES: f64 = 60.0;

/// Bandwidth of reading ÷ bandwidth of copying, which the host table has. Chosen.
pub(crate) const READ_TO_COPY_BANDWIDTH: f64 = 1.3;

/// What larger calls spare of a read of a page ÷ an empty system call: entering the kernel, the way to the file and its
/// locks. Measured (Linux 6.18, virtual AMD EPYC, an empty call 173 ns): reads of 4 KiB of a cached file take
/// 1,190 ns, in calls of 64 KiB 840 ns for as much. Calls of 64 bytes take 470 ns.
pub(crate) const READ_SPARED_OF_EMPTY_CALL: f64 = 2.0;

/// The same of writes, which wake a reader or lock a file besides: of 4 KiB into a pipe 1,010 ns, and 480 ns in calls
/// of 64 KiB; to a new file a thousand of 3,200 ns.
pub(crate) const WRITE_SPARED_OF_EMPTY_CALL: f64 = 3.0;

/// Seconds of a call that is served from a user-space buffer. Chosen.
pub(crate) const BUFFERED_CALL_SECONDS: f64 = 2e-9;

/// Cycles of a simple instruction where the host table has none: four a cycle, the width of
/// processors since 2006.
pub(crate) const DEFAULT_SLOT_CYCLES: f64 = 0.25;

/// Issue slots of a multiplication by a reciprocal with its shifts (T. Granlund, P. Montgomery,
/// PLDI 1994: two to four operations).
pub(crate) const ISSUE_SLOTS_OF_RECIPROCAL: f64 = 4.0;

/// Cycles of what replaces a division: a mask takes one, a high multiplication with shifts and the
/// product for the remainder up to eleven (T. Granlund, P. Montgomery, as above, with the latencies
/// of the host table).
pub(crate) const RECIPROCAL_CYCLES: Estimate = Estimate {
    value: 5.0,
    low: 1.0,
    high: 11.0,
};

/// Cycles from a counter to what a comparison and a conditional move, or a branch, make of it.
pub(crate) const WRAP_BY_COMPARISON: Estimate = Estimate {
    value: 2.0,
    low: 1.0,
    high: 3.0,
};

/// Cycles per instruction of a branchless loop body. Chosen: four to five a cycle.
pub(crate) const BRANCHLESS_CYCLES_PER_SLOT: f64 = 0.22;

/// Lower bound: six to seven a cycle. Chosen.
pub(crate) const BRANCHLESS_CYCLES_PER_SLOT_LOW: f64 = 0.15;

/// Load, comparison and conditional move from iteration to iteration: L1d latency and two
/// instructions.
pub(crate) const BRANCHLESS_CHAIN_CYCLES: f64 = 7.0;

/// Cycles of an element in a partition that does not branch by comparisons, all of a sort's work with it: likely, least, most. Edelkamp and Weiss
/// (ESA 2016) have 2 to 3; 5 were measured of records of 16 bytes with Boost's `pdqsort_branchless`.
pub(crate) const BRANCHLESS_PARTITION_CYCLES: [f64; 3] = [4.0, 2.0, 7.0];

/// The same in short runs, which overlap. Chosen.
pub(crate) const BRANCHLESS_CHAIN_CYCLES_SHORT: f64 = 5.0;

/// Instructions behind a division at which samples of its latency stand. Chosen; see skid
/// correction.
pub(crate) const INSTRUCTIONS_AFTER_DIVISION: usize = 3;

/// Instructions after a branch at which samples of its misprediction stand. Chosen.
pub(crate) const INSTRUCTIONS_AFTER_BRANCH: usize = 4;

/// Instructions after a load that may wait with it: the retirement width of current processors.
pub(crate) const INSTRUCTIONS_AFTER_LOAD: usize = 8;

/// Instructions around a call at which its samples stand. Chosen.
pub(crate) const SAMPLED_CALL_NEIGHBOURS: usize = 3;

/// Smallest cycles per simple instruction that are believed: ten a cycle. Chosen: above the width of
/// processors so far.
pub(crate) const MIN_SLOT_CYCLES: f64 = 0.1;

/// L1d latency in the chain of an inlined body: 4 to 5 cycles (A. Fog, as above).
pub(crate) const L1D_CYCLES_IN_CHAIN: f64 = 4.0;

/// Longest chain of an inlined body that counts. Chosen.
pub(crate) const MAX_CHAIN_CYCLES: f64 = 100.0;

/// Cycle at which a location is ready that does not depend on an argument.
pub(crate) const NEVER_READY: f64 = -1e6;

/// Cycles of a comparison and a predicted branch, at most: more is misprediction or a load that is
/// waited for, whatever the order of the tests. Chosen: two dependent instructions and a taken
/// branch.
pub(crate) const MAX_CYCLES_OF_TEST: f64 = 3.0;
