//! Minimum shares of the program's time, 0…1, below which a pattern is not reported.

/// Functions below are not analysed. A quarter of the smallest minimum gain (2 %). Chosen.
pub(crate) const MIN_SHARE_OF_ANALYSED_FUNCTION: f64 = 0.005;

/// Share of a function from which on those that call it are analysed, whatever their own time. Chosen.
pub(crate) const MIN_SHARE_OF_ASKED_FUNCTION: f64 = 0.05;

/// Part of all calls from which a function is analysed whatever its own time: what it costs stands with its
/// callers, or in what it calls. Chosen.
pub(crate) const MIN_PART_OF_CALLS_OF_ANALYSED_FUNCTION: f64 = 0.02;

/// Threads below do not count as working. Chosen.
pub(crate) const MIN_SHARE_OF_WORKING_THREAD: f64 = 0.01;

/// Of pairs of divisions, and of divisions that only check for overflow. Chosen: half of the
/// smallest minimum gain.
pub(crate) const MIN_SHARE_OF_DIVISIONS: f64 = 0.01;

/// Of a division by a loop-invariant value. Chosen: the smallest minimum gain.
pub(crate) const MIN_SHARE_OF_INVARIANT_DIVISION: f64 = 0.02;

/// Of a loop whose divisions are reported as needed. Chosen: advice is for what matters.
pub(crate) const MIN_SHARE_OF_NEEDED_DIVISIONS: f64 = 0.1;

/// Of a function's locked instructions. Chosen.
pub(crate) const MIN_SHARE_OF_LOCKED_INSTRUCTIONS: f64 = 0.01;

/// Of a load that waits. Chosen: the smallest minimum gain.
pub(crate) const MIN_SHARE_OF_STALLED_LOAD: f64 = 0.02;

/// Of all loads of a loop that wait. Chosen: their fixes change data layout and must pay.
pub(crate) const MIN_SHARE_OF_STALLED_LOADS_IN_LOOP: f64 = 0.08;

/// Of a load that waits for a narrower store. Chosen.
pub(crate) const MIN_SHARE_OF_FORWARDING_STALL: f64 = 0.03;

/// Of a loop over single bytes. Chosen: the smallest minimum gain.
pub(crate) const MIN_SHARE_OF_BYTE_LOOP: f64 = 0.02;

/// Of a loop bound by a chain, or that could be vectorised. Chosen.
pub(crate) const MIN_SHARE_OF_CHAIN_LOOP: f64 = 0.05;

/// Of a loop with unpredictable branches. Chosen.
pub(crate) const MIN_SHARE_OF_BRANCH_LOOP: f64 = 0.03;

/// Of a loop that is reported to run at its bound. Chosen: it must be most of the program.
pub(crate) const MIN_SHARE_OF_OPTIMAL_LOOP: f64 = 0.5;

/// Of a loop whose calls may take most of its time. Chosen: enough samples to model it.
pub(crate) const MIN_SHARE_OF_LOOP_BESIDE_CALLS: f64 = 0.01;

/// Of a loop or call with quadratic growth. Chosen: what grows takes most in the end.
pub(crate) const MIN_SHARE_OF_QUADRATIC_LOOP: f64 = 0.1;

/// Of functions that would be inlined, or of calls that would be hoisted. Chosen: the smallest
/// minimum gain.
pub(crate) const MIN_SHARE_OF_CALLEE: f64 = 0.02;

/// Of the allocator. Chosen.
pub(crate) const MIN_SHARE_OF_ALLOCATOR: f64 = 0.08;

/// Of the allocator from which another one may help by itself. Chosen.
pub(crate) const MIN_SHARE_OF_ALLOCATOR_FOR_SWAP: f64 = 0.15;

/// Of copies and allocator for a buffer that grows. Chosen.
pub(crate) const MIN_SHARE_OF_GROWTH: f64 = 0.1;

/// Of the copies alone. Chosen.
pub(crate) const MIN_SHARE_OF_GROWTH_COPIES: f64 = 0.05;

/// Of copies of memory. Chosen.
pub(crate) const MIN_SHARE_OF_COPIES: f64 = 0.1;

/// Of copies from which a run that records their sizes is worth its time. Chosen.
pub(crate) const MIN_SHARE_OF_COPIES_FOR_SIZES_RUN: f64 = 0.25;

/// Of page faults. Chosen.
pub(crate) const MIN_SHARE_OF_PAGE_FAULTS: f64 = 0.05;

/// Of system calls. Chosen.
pub(crate) const MIN_SHARE_OF_SYSTEM_CALLS: f64 = 0.05;

/// Of copying inside system calls from which it is reported. Chosen.
pub(crate) const MIN_SHARE_OF_SYSTEM_CALL_COPYING: f64 = 0.005;

/// Of locks. Chosen.
pub(crate) const MIN_SHARE_OF_LOCKS: f64 = 0.1;

/// Of a function that spins. Chosen.
pub(crate) const MIN_SHARE_OF_SPINNING_FUNCTION: f64 = 0.01;

/// Of loops that write to shared cache lines. Chosen.
pub(crate) const MIN_SHARE_OF_SHARED_WRITES: f64 = 0.1;

/// Of code without symbols. Chosen.
pub(crate) const MIN_SHARE_WITHOUT_SYMBOLS: f64 = 0.1;

/// Of a part of a finding's time (containers' code, the kernel's part) from which evidence names
/// it. Chosen.
pub(crate) const MIN_SHARE_OF_REPORTED_PART: f64 = 0.02;

/// Part of the calls of a function from which a caller is its only one: time of functions whose
/// calls differ in length (copies, searches in memory) cannot be divided by their number. Chosen.
pub(crate) const SOLE_CALLER_PART: f64 = 0.99;

/// Fraction from which a part counts as most of something: by definition of "most".
pub(crate) const MOST_OF_IT: f64 = 0.5;

/// Of a library's conversion with what it calls. Chosen: what replaces it is code of one's own, and
/// must pay.
pub(crate) const MIN_SHARE_OF_CONVERSION: f64 = 0.05;

/// Of the tests behind the first of a chain. Chosen: the smallest minimum gain.
pub(crate) const MIN_SHARE_OF_TESTS: f64 = 0.03;

/// Of a place that is reported for its time alone. Chosen: the smallest minimum gain.
pub(crate) const MIN_SHARE_OF_TIME_PLACE: f64 = 0.02;

/// Of the executions of a kind of instruction in the user's own code: that of instructions whose
/// rate bursts give. Chosen, as for simulated events.
pub(crate) const MIN_OBSERVED_EXECUTIONS: f64 = 0.9;

/// Part of a loop's iterations that have no effect from which that is said of the loop. Chosen: an
/// index of the others is work, too.
pub(crate) const MIN_PART_OF_IDLE_ITERATIONS: f64 = 0.95;

/// Share of the time of a function with what it calls from which it may be a place. Chosen: what a
/// place of its own is worth showing for, several times over.
pub(crate) const MIN_SHARE_WITH_CALLEES: f64 = 0.1;

/// Part of a function's inclusive time up to which it is spread: no one callee has more, nor the
/// function itself. Chosen.
pub(crate) const MAX_PART_OF_ONE_CALLEE: f64 = 0.6;

/// Share of the time that the places have among them from which no function is shown with what it
/// calls: they are the answer. Chosen.
pub(crate) const ENOUGH_SHARE_OF_PLACES: f64 = 0.5;

/// Share of the time from which a line of a script is a place of its own. Chosen.
pub(crate) const MIN_SHARE_OF_SCRIPT_LINE: f64 = 0.03;

/// Share of the time in membership tests of a script's line from which they are reported. Chosen.
pub(crate) const MIN_SHARE_OF_SCRIPT_SEARCHES: f64 = 0.1;

/// Samples that a place must have: of fewer, what stood on top may be chance (5 of 16 are 11 to 59 % with 95 %).
pub(crate) const MIN_SAMPLES_OF_TIME_PLACE: f64 = 5.0;
