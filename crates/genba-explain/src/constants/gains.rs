//! Residual and saved fractions of fixes, and uncertainties of gains.

use genba_model::{ConversionKind, Estimate};

/// Fractions of a part's time that a fix saves: likely, least, most.
pub(crate) type SavedFractions = (f64, f64, f64);

/// Gains that may be smaller than this (lower end of the interval, as a share of the time) are
/// uncertain. Chosen; no measurement.
pub(crate) const MIN_CERTAIN_GAIN: f64 = 0.01;

/// Minimum likely gain of uncertain findings. Chosen; no measurement.
pub(crate) const MIN_GAIN_IF_UNCERTAIN: f64 = 0.05;

/// Largest speedup that is predicted: the residual time is never known to less than 1 % of the
/// time before. Chosen; no measurement.
pub(crate) const MAX_SPEEDUP_VALUE: f64 = 100.0;

/// Seconds that a program takes to start and to end, whatever it does. Chosen; order of magnitude
/// of `genba bench true`.
pub(crate) const PROCESS_START_SECONDS: f64 = 5e-4;

/// Upper bound of speedups where the program's time is not known.
pub(crate) const MAX_SPEEDUP_IF_TIME_UNKNOWN: f64 = 1000.0;

/// Smallest residual fraction of a fix that affects the whole program. Chosen; no measurement.
pub(crate) const MIN_RESIDUAL_OF_PROGRAM: f64 = 0.015;

/// Time of optimised ÷ time of unoptimised code. Chosen; `make corpus` checks the interval on the
/// programs of the cause.
pub(crate) const RESIDUAL_OF_UNOPTIMISED: Estimate = Estimate {
    value: 0.4,
    low: 0.12,
    high: 0.8,
};

/// The same of code that consists of calls which optimisation inlines. Chosen, likewise.
pub(crate) const RESIDUAL_OF_UNOPTIMISED_CALLS: Estimate = Estimate {
    value: 0.2,
    low: 0.01,
    high: 0.7,
};

/// Cycles of a copy of a run by wide code: to start, and per byte; value, low, high. Chosen:
/// `memcpy` moves 16 to 64 bytes a cycle.
pub(crate) const BYTE_COPY_CYCLES: [[f64; 3]; 2] =
    [[14.0, 5.0, 40.0], [1.0 / 16.0, 1.0 / 48.0, 1.0 / 6.0]];

/// The same of a comparison or search. Chosen: `memcmp` and `memchr` compare 8 to 32 bytes a cycle.
pub(crate) const BYTE_COMPARE_CYCLES: [[f64; 3]; 2] =
    [[12.0, 4.0, 28.0], [1.0 / 8.0, 1.0 / 32.0, 1.0 / 4.0]];

/// The same of a test for a class of bytes. Chosen: two look-ups in tables of 16 elements beside a load, a test and a
/// branch for 16 or 32 bytes (W. Muła, "SIMD-ized check which bytes are in a set", 2018), or a word at a time; the
/// block in which a run ends is gone through byte by byte as before.
pub(crate) const CLASS_TEST_CYCLES: [[f64; 3]; 2] =
    [[24.0, 8.0, 45.0], [1.0 / 5.0, 1.0 / 20.0, 1.0 / 2.0]];

/// The same of a comparison of short runs a word at a time in the same place, without a call. Chosen: two loads,
/// an exclusive or, a count of trailing zeros (A. Fog, "Instruction tables": 5 + 1 + 2 cycles) beside other work;
/// most where the end of the run is mispredicted as before.
pub(crate) const WORD_COMPARE_CYCLES: [[f64; 3]; 2] =
    [[8.0, 3.0, 24.0], [1.0 / 6.0, 1.0 / 10.0, 1.0 / 3.0]];

/// The same of a scan with the position in a register by a table of what stops it, which hands the rest on to the
/// general path. Chosen: a load, a look-up, a test, an addition and a comparison are a taken branch and one to two
/// cycles of a wide processor; least with vectors.
pub(crate) const SCAN_AHEAD_CYCLES: [[f64; 3]; 2] = [[8.0, 0.0, 25.0], [1.5, 0.3, 3.0]];

/// Cycles that vectors take for what one skip passes; value, low, high. Chosen: a skip passes about as many letters as a word
/// has, six or so (three to sixteen); 16 positions are two loads, two comparisons, a mask and a test, and some are false (W. Muła,
/// "SIMD-friendly algorithms for substring searching", 2018).
pub(crate) const CYCLES_OF_SKIPPED_BYTES: [f64; 3] = [2.0, 0.4, 6.0];

/// Cycles per item of a hash look-up in place of a linear search; value, low, high. Chosen.
pub(crate) const CYCLES_OF_LOOK_UP: [f64; 3] = [40.0, 8.0, 200.0];

/// The same where the search compares by calls. Chosen.
pub(crate) const CYCLES_OF_LOOK_UP_BY_CALL: [f64; 3] = [100.0, 20.0, 500.0];

/// Cycles per item of an index or ring buffer in place of a shift. Chosen.
pub(crate) const CYCLES_WITHOUT_SHIFT: [f64; 3] = [15.0, 0.0, 60.0];

/// What stays of walks to the item of a number. Chosen: a kept place spares nearly all, walks from the nearer end half
/// where all numbers are as frequent.
pub(crate) const WALK_TO_NUMBER_RESIDUAL: Estimate = Estimate {
    value: 0.15,
    low: 0.0,
    high: 0.55,
};

/// Cycles per item of a kept length in place of a scan. Chosen.
pub(crate) const CYCLES_WITHOUT_STRING_SCAN: [f64; 3] = [20.0, 0.0, 80.0];

/// Fraction of the waiting that smaller or prefetched data saves. Chosen; `make corpus` checks the
/// interval.
pub(crate) const CACHE_MISS_SAVED: Estimate = Estimate {
    value: 0.6,
    low: 0.2,
    high: 0.95,
};

/// Fraction of the waiting that consecutive data saves. Chosen, likewise.
pub(crate) const POINTER_CHASE_SAVED: Estimate = Estimate {
    value: 0.92,
    low: 0.3,
    high: 1.0,
};

/// Fraction of the waiting that another order of loops or fields saves. Chosen, likewise.
pub(crate) const STRIDE_SAVED: Estimate = Estimate {
    value: 0.85,
    low: 0.25,
    high: 1.0,
};

/// Residual fraction of a sort whose comparator is inlined. Chosen, likewise.
pub(crate) const INDIRECT_SORT_RESIDUAL: Estimate = Estimate {
    value: 0.55,
    low: 0.3,
    high: 0.9,
};

/// Residual fraction of a division replaced by a multiplication with overflow flag, where the loop
/// model gives none. Chosen.
pub(crate) const OVERFLOW_CHECK_RESIDUAL: Estimate = Estimate {
    value: 0.1,
    low: 0.0,
    high: 0.4,
};

/// Of the copies of a buffer that grows by a factor. Chosen.
pub(crate) const GROWTH_COPIES_SAVED: SavedFractions = (0.95, 0.7, 1.0);

/// Of the allocator's time for it. Chosen.
pub(crate) const GROWTH_ALLOCATOR_SAVED: SavedFractions = (0.95, 0.49, 1.0);

/// Of the kernel's handling of the memory. Chosen.
pub(crate) const GROWTH_KERNEL_SAVED: SavedFractions = (0.95, 0.5, 1.0);

/// Of all other code: caches keep what the copies drove out. Chosen.
pub(crate) const GROWTH_REST_SAVED: SavedFractions = (0.15, 0.0, 0.55);

/// Of containers' functions around allocations. Chosen.
pub(crate) const CONTAINER_CODE_SAVED: SavedFractions = (0.6, 0.0, 1.0);

/// Of large copies. Chosen.
pub(crate) const COPY_SAVED: SavedFractions = (0.75, 0.15, 1.0);

/// Of page faults for the copies. Chosen.
pub(crate) const COPY_KERNEL_SAVED: SavedFractions = (0.75, 0.0, 1.0);

/// Of all other code: caches. Chosen.
pub(crate) const COPY_REST_SAVED: SavedFractions = (0.0, 0.0, 0.6);

/// Of locks and futexes. Chosen.
pub(crate) const CONTENDED_LOCK_SAVED: SavedFractions = (0.92, 0.5, 1.0);

/// Of locks that are free and taken for each element, where they are taken once for many. Chosen: batches may be short.
pub(crate) const LOCK_PER_BATCH_SAVED: SavedFractions = (0.97, 0.6, 1.0);

/// Of the other work of such a loop: locked instructions wait for all stores and hold up all loads. Chosen.
pub(crate) const REST_OF_LOCKED_LOOP_SAVED: SavedFractions = (0.4, 0.0, 0.9);

/// Of functions that spin: they have work as well. Chosen.
pub(crate) const SPINNING_SAVED: SavedFractions = (0.7, 0.5, 1.0);

/// Of all other code: lines that move between cores. Chosen.
pub(crate) const CONTENTION_REST_SAVED: SavedFractions = (0.0, 0.0, 0.5);

/// Of all code beside the loops that share lines. Chosen.
pub(crate) const SHARING_REST_SAVED: SavedFractions = (0.0, 0.0, 0.25);

/// Of all user code: zeroed pages evict its data. Chosen.
pub(crate) const FAULTS_REST_SAVED: SavedFractions = (0.0, 0.0, 0.25);

/// Of the code after system calls: entering the kernel flushes predictors and buffers. Chosen.
pub(crate) const SYSTEM_CALL_REST_SAVED: SavedFractions = (0.15, 0.0, 1.0);

/// Of the allocator's time; the least of one line's allocations only. Chosen.
pub(crate) const ALLOCATOR_SAVED: SavedFractions = (0.9, 0.65, 1.0);

/// Of user code where containers' functions are inlined. Chosen.
pub(crate) const INLINED_CONTAINER_CODE_SAVED: f64 = 0.2;

/// Upper bound of the same. Chosen.
pub(crate) const USER_CODE_SAVED_BY_REUSE: f64 = 0.6;

/// Of page fault time: value and low, beside [`PAGING_SAVED`]. Chosen.
pub(crate) const FAULTS_SAVED: (f64, f64) = (0.3, 0.6);

/// Of the kernel's handling of memory. Chosen.
pub(crate) const PAGING_SAVED: f64 = 0.7;

/// Lower bound, as a part of the likely saving. Chosen.
pub(crate) const SYSTEM_CALLS_SAVED_LOW: f64 = 0.65;

/// Upper bound of the code slowed by system calls: of all other code, and per system call time.
/// Chosen.
pub(crate) const SYSTEM_CALL_REST: (f64, f64) = (0.75, 0.6);

/// Part of what calls do for their bytes that stays at least, whatever the remedy (a mapped file, larger pages of
/// a pipe). Chosen.
pub(crate) const WORK_FOR_BYTES_LEFT: f64 = 0.5;

/// Largest residual fraction of calls that a buffer serves. Chosen.
pub(crate) const MAX_BUFFERED_RESIDUAL: f64 = 0.3;

/// Part of all page faults that belong to memory that is moved. Chosen.
pub(crate) const GROWTH_FAULTS: f64 = 0.7;

/// Part of the kernel's memory handling likewise. Chosen.
pub(crate) const GROWTH_PAGING: f64 = 0.85;

/// Share of a loop's time that writing to shared lines takes where its model is not known. Chosen.
pub(crate) const UNKNOWN_SHARED_WRITES: f64 = 0.3;

/// Largest part of the loops' time that padding saves. Chosen.
pub(crate) const MAX_SHARING_SAVED: f64 = 0.98;

/// Part of the modelled saving that is likely without a run on one CPU. Chosen.
pub(crate) const SHARING_SAVED_BY_MODEL: f64 = 0.6;

/// Least part of the saving by the run on one CPU, and by the model. Chosen.
pub(crate) const SHARING_SAVED_LOW: (f64, f64) = (0.5, 0.25);

/// Residual fraction of library copies whose bytes are reloaded wider. Chosen.
pub(crate) const FORWARDING_COPIES_RESIDUAL: Estimate = Estimate {
    value: 0.6,
    low: 0.05,
    high: 1.0,
};

/// Bounds of the residual fraction of a load after the stall is gone. Chosen.
pub(crate) const FORWARDING_RESIDUAL_RANGE: (f64, f64) = (0.02, 0.98);

/// Lower bound of the residual as a part of its value. Chosen.
pub(crate) const FORWARDING_LOW: f64 = 0.5;

/// Lower bound as a part of the throughput bound. Chosen.
pub(crate) const FORWARDING_THROUGHPUT_LOW: f64 = 0.8;

/// Residual fraction of the rest of a loop around divisions. Chosen.
pub(crate) const OUTER_LOOP_REST_RESIDUAL: f64 = 0.85;

/// Smallest residual fraction of a division replaced by a reciprocal. Chosen.
pub(crate) const MIN_RECIPROCAL_RESIDUAL: f64 = 0.05;

/// Range of the residual fraction of a pair of divisions: one of two goes. Chosen above one half.
pub(crate) const DIVISION_PAIR_RESIDUAL: (f64, f64) = (0.5, 0.9);

/// Lower bound of it. Chosen.
pub(crate) const DIVISION_PAIR_RESIDUAL_LOW: f64 = 0.45;

/// Added to a residual fraction for its upper bound. Chosen.
pub(crate) const RESIDUAL_MARGIN: f64 = 0.15;

/// The same of locked instructions. Chosen.
pub(crate) const ATOMIC_RESIDUAL_MARGIN: f64 = 0.3;

/// Cycles of a plain instruction in place of a locked one, at least. Chosen.
pub(crate) const ATOMIC_CYCLES_LOW: f64 = 0.5;

/// Largest upper bound of a residual fraction: something is gained. Chosen.
pub(crate) const MAX_RESIDUAL: f64 = 0.97;

/// Lower bound of the residual fraction of a chain through memory, as a part of the value: with the number in a register
/// several chains, or vectors, may take its place. Chosen.
pub(crate) const CHAIN_IN_MEMORY_LOW: f64 = 0.4;

/// Least upper bound of the residual fraction of a split floating-point chain: two accumulators
/// instead of four are a fix as well. Chosen.
pub(crate) const MAX_CHAIN_RESIDUAL: f64 = 0.6;

/// Largest residual fraction (value, or upper bound) of loops whose model is not exact. Chosen.
pub(crate) const MAX_LOOP_RESIDUAL: f64 = 0.95;

/// Factors on the modelled residual fraction of vector code: value, and upper bound on that.
/// Chosen.
pub(crate) const VECTOR_RESIDUAL: (f64, f64) = (1.15, 2.0);

/// Times that loops are unrolled: counting and comparing become rarer. Chosen: usual of compilers.
pub(crate) const UNROLL_FACTOR: f64 = 4.0;

/// The same for table look-ups and mixing hashes, which take eight bytes at a time.
pub(crate) const UNROLL_FACTOR_OF_HASHES: f64 = 8.0;

/// Cycles for each entry of a hash of eight bytes per step: its last bytes and the mixing of its lanes.
/// Chosen: three multiplications and some tests.
pub(crate) const CYCLES_OF_HASH_END: f64 = 15.0;

/// Part of the misprediction cycles that remains: where data depend on the choice, and where not.
/// Chosen.
pub(crate) const BRANCHLESS_WAIT: (f64, f64) = (0.15, 0.03);

/// Upper bound: factor on the body's cycles, and added to the part that remains. Chosen.
pub(crate) const BRANCHLESS_HIGH: (f64, f64) = (1.5, 0.2);

/// Lower bound: what remains where vectors or words take several elements at a time. Chosen: two of them, of four to
/// thirty-two that fit.
pub(crate) const BRANCHLESS_VECTORS: f64 = 0.5;

/// Lower bound: part of the chain, and of the other excess cycles. Chosen.
pub(crate) const BRANCHLESS_LOW: f64 = 0.5;

/// Part of the mispredictions that a loop hides which show after the change. Chosen.
pub(crate) const HIDDEN_MISPREDICTIONS: f64 = 0.5;

/// Cycles of an inlined body ÷ cycles of the same instructions by themselves: value, low; upper
/// bound ÷ value. Chosen.
pub(crate) const INLINED_BODY: (f64, f64, f64) = (0.7, 0.3, 1.3);

/// Overhead of a call ÷ its cycles in the host table, at most; cycles of argument moves; the same
/// at least. Chosen.
pub(crate) const CALL_OVERHEAD: (f64, f64, f64) = (1.3, 2.0, 0.75);

/// Lower bound of what observed mispredictions cost after inlining ÷ their cycles: the predictor is a model. Chosen.
pub(crate) const MISSED_LOW: f64 = 0.5;

/// Lower bound of an inlined chain ÷ its cycles. Chosen.
pub(crate) const INLINED_CHAIN_LOW: f64 = 0.65;

/// Cycles per instruction of a loop without the hoisted call. Chosen: five a cycle.
pub(crate) const HOISTED_CYCLES_PER_INSTRUCTION: f64 = 0.2;

/// Lower bound: without calls such a loop may be vectorised. Chosen.
pub(crate) const HOISTED_VECTOR_LOW: f64 = 0.25;

/// Largest residual fraction of a quadratic search. Chosen.
pub(crate) const MAX_QUADRATIC_RESIDUAL: f64 = 0.9;

/// Weight of the loop's other work, and of its bound, where vector values are saved around the
/// hoisted call. Chosen.
pub(crate) const VECTOR_HOISTED_WEIGHT: f64 = 0.5;

/// Time that goes with divisions ÷ measured time at them and at what waits for them: likely, and most. Chosen:
/// instructions retire in order, so that what a loop waits for shows where it waits; skid and results that are
/// used further on move a part of it elsewhere.
pub(crate) const DIVISION_SAVED_OF_WAITING: [f64; 2] = [1.5, 3.0];

/// Upper bound: factor on the modelled residual fraction, and divisor of the way to 1. What
/// replaces a division (compares, shifts, moves) is not known. Chosen.
pub(crate) const RECIPROCAL_RESIDUAL_HIGH: f64 = 2.0;

/// Smallest residual time of the program, as a share, that is divided by.
pub(crate) const MIN_RESIDUAL_TIME: f64 = 1e-6;

/// Upper bound of speedups of programs that hardly run longer than starting takes. Chosen.
pub(crate) const MIN_MAX_SPEEDUP: f64 = 2.0;

/// Largest likely residual fraction of a conversion that is reported: what is hardly slower than
/// direct code is left alone. Chosen.
pub(crate) const MAX_CONVERSION_RESIDUAL: f64 = 0.6;

/// Core cycles of one direct conversion. Floating-point to text: 25 to 40 ns for the shortest form
/// (U. Adams, PLDI 2018), a third of that by scaling to an integer; text to floating-point: 10 to
/// 20 ns (D. Lemire, 2021). The others chosen: digits by a table, some digits added up and the end that is mispredicted, a result that is kept and compared
/// with the key, a table of names; a character that is stored, and whether there is room for it; of streams the text that is made, without what is put into it; a short
/// text byte by byte through a table of characters; four numbers and their dots; a line of 100 letters by `memchr`,
/// by a table of one step a letter, or by an engine that compiles to machine code; a test of what was returned; a
/// multiplication and a rotation for each word of a key, in cycles of their own: what waits for a hash is not counted.
pub(crate) fn direct_conversion(kind: ConversionKind) -> Estimate {
    let [value, low, high] = match kind {
        ConversionKind::FormatFloat => [100.0, 30.0, 250.0],
        ConversionKind::Format | ConversionKind::FormatInteger | ConversionKind::FormatWhole => {
            [20.0, 8.0, 60.0]
        }
        ConversionKind::FormatCharacter => [3.0, 1.0, 10.0],
        ConversionKind::FormatText => [12.0, 4.0, 40.0],
        ConversionKind::ParseFloat => [60.0, 20.0, 140.0],
        ConversionKind::ParseInteger => [20.0, 8.0, 50.0],
        ConversionKind::Scan => [40.0, 15.0, 120.0],
        ConversionKind::LocalTime => [30.0, 4.0, 120.0],
        ConversionKind::TimeText => [80.0, 20.0, 300.0],
        ConversionKind::Account => [40.0, 5.0, 200.0],
        ConversionKind::CompilePattern => [40.0, 5.0, 500.0],
        ConversionKind::MatchPattern => [120.0, 30.0, 600.0],
        ConversionKind::Stream => [40.0, 10.0, 150.0],
        ConversionKind::Encoding => [60.0, 15.0, 300.0],
        ConversionKind::AddressText => [30.0, 12.0, 90.0],
        ConversionKind::Exception => [5.0, 1.0, 30.0],
        ConversionKind::TypeTest => [3.0, 1.0, 15.0],
        ConversionKind::KeyHash => [3.0, 1.0, 12.0],
    };
    Estimate { value, low, high }
}

/// Cycles of a check of a text that is short: begin and end take most of them. Chosen: some thirty bytes.
pub(crate) const MAX_CYCLES_OF_SHORT_TEXT_CHECK: f64 = 40.0;

/// Of the time of such checks, where their bytes are known to be text, or the whole is checked at once. Chosen: more than
/// all, with the tests of their outcome and what the compiler then joins.
pub(crate) const TEXT_CHECKS_SAVED: SavedFractions = (1.0, 0.6, 2.0);

/// Core cycles of copying a short text between or within directives. Chosen: a short `memcpy`.
pub(crate) fn direct_text_copy() -> Estimate {
    Estimate {
        value: 12.0,
        low: 4.0,
        high: 40.0,
    }
}

/// Cycles for each text that a format puts together, up to which interpreting it takes most of them. Chosen: some 60 for
/// texts of ten letters by glibc 2.36.
pub(crate) const MAX_CYCLES_OF_SHORT_TEXT: f64 = 120.0;

/// Cycles to find where a state machine leaves a state, for each run: likely, least, most. Chosen: a search by wide
/// code whose start and end are mispredicted; runs of ASCII of 54 bytes took 110 cycles in all in bstr 1.14.
pub(crate) const CYCLES_OF_KEPT_RUN: [f64; 3] = [60.0, 10.0, 100.0];

/// The same for each byte. Chosen: eight at a time or more, up to one load of a table without a chain.
pub(crate) const CYCLES_OF_KEPT_BYTE: [f64; 3] = [0.5, 0.05, 1.0];

/// Part of the time of what a state machine calls for each byte that goes where many bytes are handed on at once: likely,
/// least, most. Chosen: the call and the choice of what is to be done go, what is done with the byte stays.
pub(crate) const CALLED_FOR_BYTES_SAVED: (f64, f64, f64) = (0.5, 0.1, 0.9);

/// Part of the spared tests' time that is saved: likely, least, most. Chosen: well predicted tests
/// hide behind other work.
pub(crate) const TESTS_SPARED_RANGE: (f64, f64, f64) = (0.7, 0.2, 1.0);

/// Time of a search that a test in front rules out which is saved: likely, least, most. Chosen: the test
/// and its load stay, and a well predicted loop hides behind other work in part.
pub(crate) const RULED_OUT_SAVED: (f64, f64, f64) = (0.8, 0.3, 1.0);

/// Time of comparisons that find a difference which a test in front saves: likely, least, most. Chosen: the test and its
/// load stay, and names that begin alike need more than their first letter.
pub(crate) const UNEQUAL_SAVED: SavedFractions = (0.7, 0.25, 0.95);

/// Time of the rest of a search's function that goes with the search: likely, least, most. Chosen: registers
/// saved for it, a call where the usual case may be inlined; how much of it the usual case needs is not
/// known.
pub(crate) const BESIDE_SEARCH_SAVED: (f64, f64, f64) = (0.3, 0.0, 0.9);

/// Part of the time of spared comparisons by calls that is saved: likely, least, most. Chosen: the calls
/// are gone; what follows waits less long for the answer.
pub(crate) const COMPARISONS_SPARED_RANGE: (f64, f64, f64) = (0.9, 0.6, 1.0);

/// Part of the time of the first of several comparisons by calls that is saved: none where the usual
/// string is compared with first, all where its first letter decides.
pub(crate) const FIRST_COMPARISON_SAVED: (f64, f64, f64) = (0.0, 0.0, 1.0);

/// Cycles of a copy of fixed size with a test of the length: likely, least, most. A load, a store, a
/// comparison and a branch beside other work; one after the other they take a load's latency more.
pub(crate) const INLINE_COPY_CYCLES: (f64, f64, f64) = (3.0, 1.0, 7.0);

/// Time of the loop around a short copy by a call that goes with the call: likely, least, most. Chosen:
/// registers that a call may change are saved and loaded again, and what waits for its branches stands
/// there.
pub(crate) const AROUND_COPY_SAVED: (f64, f64, f64) = (0.15, 0.0, 0.4);

/// Saved time ÷ the part of the instructions that saves registers: likely, least, most. Chosen: stores
/// and loads of the stack run beside other work; a small function may be inlined then.
pub(crate) const FRAME_SAVED_RANGE: (f64, f64, f64) = (0.8, 0.25, 1.6);

/// Largest likely residual fraction of a short vectorised loop that is reported. Chosen.
pub(crate) const MAX_PLAIN_LOOP_RESIDUAL: f64 = 0.75;

/// Lower bound of it as a part of its value. Chosen: mispredictions go with the checks.
pub(crate) const PLAIN_LOOP_LOW: f64 = 0.5;

/// Instructions of a plain loop's iteration beside the work on its elements: an addition, a comparison and a
/// branch.
pub(crate) const INSTRUCTIONS_TO_COUNT_ITERATIONS: f64 = 3.0;

/// Instructions to begin and end a plain loop. A comparison, a branch and a zero.
pub(crate) const PLAIN_LOOP_START_INSTRUCTIONS: f64 = 3.0;

/// Residual fraction, at most, of scans that begin anew: of what one pass leaves, little is known.
/// Chosen.
pub(crate) const MAX_RESIDUAL_OF_ONE_SCAN: f64 = 0.1;

/// Lower bound of the residual fraction of a loop that appended through memory, as a part of the
/// model's: without that it may be vectorised, or be a `memcpy`. Chosen.
pub(crate) const APPENDED_VECTOR_LOW: f64 = 0.4;

/// Bytes between those that a loop without branches looks for: likely (a line of text), most, and
/// least. Chosen: without branches they are not counted.
pub(crate) const BYTES_BETWEEN_MATCHES: [f64; 3] = [64.0, 1000.0, 16.0];

/// Time of calls that are spared where pieces are handed on as runs that remains: likely, least,
/// most. Chosen: the run's end must be found, which the pieces were made for.
pub(crate) const PIECES_REST: SavedFractions = (0.15, 0.0, 0.5);

/// Time of the loop around such calls, without them, that goes as well: likely, least, most. Chosen: without a
/// call in it the loop keeps what it needs in registers, and need not prepare arguments.
pub(crate) const LOOP_OF_PIECES_SAVED: SavedFractions = (0.0, 0.0, 0.5);

/// Time of the calls that find each piece that goes as well: likely, least, most. Chosen: they are made once for
/// a run then, and still look at all of its bytes.
pub(crate) const MAKING_OF_PIECES_SAVED: SavedFractions = (0.3, 0.0, 0.8);

/// Cycles for a number whose bits are taken at once, or a code that is looked up: likely, least, most. Chosen: an
/// unaligned load, a shift and a mask wait for one another, a table's load more; some codes are longer than the table.
pub(crate) const CYCLES_OF_BITS_AT_ONCE: [f64; 3] = [8.0, 4.0, 20.0];

/// Moves of each item where a table doubles: likely, least, most (Cormen et al., 17.4). Items of the loop around that
/// add nothing count as well.
pub(crate) const MOVES_BY_DOUBLING: [f64; 3] = [1.0, 0.2, 3.0];

/// Cycles of a comparison that sets a counter back, in place of a division outside of loops: likely, least, most. Chosen.
pub(crate) const CYCLES_OF_WRAP: [f64; 3] = [2.0, 1.0, 5.0];

/// Cycles for the count of a number's bits, or the place of the highest: likely, least, most. Chosen: an instruction of one
/// to three cycles, or a dozen plain ones where the compiler may not use it.
pub(crate) const CYCLES_OF_COUNTED_BITS: [f64; 3] = [5.0, 1.0, 14.0];

/// Cycles of a division of two words by instructions: likely, least, most. Chosen: two multiplications by a reciprocal of two
/// words with their sums, or two `div` (A. Fog, instruction tables: 18 to 90 cycles of 128 by 64 bits).
pub(crate) const CYCLES_OF_WIDE_DIVISION: [f64; 3] = [40.0, 12.0, 100.0];

/// Cycles of a look-up in a table of two or three stages: likely, least, most. Chosen: two or three loads that hit L1, each
/// with a shift and a mask; look-ups of several keys run side by side.
pub(crate) const CYCLES_OF_MULTISTAGE_TABLE: [f64; 3] = [12.0, 4.0, 25.0];

/// Cycles of a look-up in a table of 256 results: likely, least, most. Chosen: two loads that hit L1.
pub(crate) const CYCLES_OF_TABLE_OF_BYTES: [f64; 3] = [2.0, 0.5, 8.0];

/// Time of the loop around that a table saves as well: likely, least, most. Chosen: what makes the argument and rounds
/// the result is before and behind the call, in registers that calls keep none of.
pub(crate) const LOOP_AROUND_TABLE_SAVED: SavedFractions = (0.6, 0.0, 0.95);

/// Cycles of moving a window by one place: likely, least, most. Chosen: two loads, an addition and a subtraction, which
/// the next one waits for.
pub(crate) const CYCLES_OF_WINDOW_STEP: [f64; 3] = [4.0, 1.0, 12.0];

/// What stays of a loop that takes digits one by one where it takes two with each division: likely, least, most. Chosen:
/// half of the divisions, with a load and a store more each; four at once are a fix as well.
pub(crate) const PAIRS_OF_DIGITS_LEFT: SavedFractions = (0.6, 0.35, 0.85);

/// Cycles of taking one digit out of a group that fits a register: a multiplication by a reciprocal
/// and back. Chosen.
pub(crate) const CYCLES_OF_DIGIT: f64 = 6.0;

/// Cycles of counting trailing or leading zeros and shifting by their number: likely, least, most.
/// `tzcnt` and `lzcnt` take 1 to 3 and a shift by a register 1 to 2 (A. Fog, "Instruction tables").
pub(crate) const CYCLES_OF_COUNTED_ZEROS: [f64; 3] = [4.0, 2.0, 8.0];

/// Part of the other time that is saved where long moves evict nothing any more. Chosen; a chain that was
/// searched between moves of 600 kB ran 1.4 times as fast without them (cmark 6c9b4d75cb9e).
pub(crate) const REST_SAVED_WITHOUT_EVICTION: SavedFractions = (0.1, 0.0, 0.4);

/// Part of the time that is saved at most, for the middle: less is left than can be measured.
pub(crate) const MAX_SAVED_OF_FILE_CALLS: f64 = 0.999;

/// Fraction of the time of calls that round a number that goes when an instruction rounds. Chosen: 1 to 3 cycles of the 8
/// to 20 that a call takes stay.
pub(crate) const ROUNDING_SAVED: SavedFractions = (0.85, 0.6, 0.97);

/// The same of the loop around, which may be vectorised then, or not. Measured in two programs: nothing where branches are
/// mispredicted, and half.
pub(crate) const AROUND_ROUNDING_SAVED: SavedFractions = (0.25, 0.0, 0.88);
