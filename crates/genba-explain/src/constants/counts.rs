//! Minimum and maximum counts, sizes and rates.

/// Calls of a function for calls to be a cost: 100,000 at 5 ns are 0.5 ms. Chosen.
pub(crate) const MIN_CALLS_IN_HOT_CODE: u64 = 100_000;

/// Average steps of a scan of a partition up to which its end is a guess: of elements without order it is two or three, more
/// while one side's pivot is far off. Chosen.
pub(crate) const MAX_STEPS_OF_PARTITION: f64 = 16.0;

/// Calls from which a pattern (system calls, growths, hoistable calls) is a habit of the program,
/// not its start-up. Chosen.
pub(crate) const MIN_CALLS_HABITUAL: u64 = 1000;

/// Calls of a function of a byte from which a table of its 256 results pays: each is used 64 times. Chosen.
pub(crate) const MIN_CALLS_FOR_TABLE_OF_BYTES: u64 = 64 * 256;

/// Mean bits of numbers from which it pays to take them at once. Chosen: a load, a shift and a mask take as long as two
/// bits one by one.
pub(crate) const MIN_BITS_AT_ONCE: f64 = 2.5;

/// Bits of the longest number that is divided bit by bit.
pub(crate) const MAX_BITS_OF_DIVISION: f64 = 128.0;

/// Choices from which a chain of them is a search: in a table of 16 entries or more. Chosen: fewer choose otherwise (the
/// smallest of three).
pub(crate) const MIN_HALVING_STEPS: usize = 4;

/// Iterations of a sum from which what enters and leaves is less. Chosen.
pub(crate) const MIN_ELEMENTS_OF_WINDOW: f64 = 8.0;

/// Places of a window that an element is in. Chosen: at four, three of four additions were made for the place before.
pub(crate) const MIN_PLACES_OF_WINDOW: f64 = 4.0;

/// Cycles of a test from which on it is expensive. Chosen: a few times what a test takes that loads a field and compares it,
/// or is mispredicted once.
pub(crate) const MIN_CYCLES_OF_EXPENSIVE_TEST: f64 = 30.0;

/// Searches or moves from which a quadratic pattern is many. Chosen.
pub(crate) const MIN_SEARCHES: u64 = 500;

/// Mean elements per search from which a linear search is long: some ten times what a hash look-up
/// costs. Chosen.
pub(crate) const MIN_ELEMENTS_PER_SEARCH: f64 = 150.0;

/// Bytes that an element of a list has at least, for what is known of it: a link and a key.
pub(crate) const LIST_ELEMENT_BYTES: u64 = 16;

/// Mean elements of a pass that changes hardly any, from which an index pays that must be kept up to date. Chosen.
pub(crate) const MIN_ELEMENTS_PER_SWEEP: f64 = 1000.0;

/// Difference up to which two loops go over as many elements, as a part of the greater number. Chosen: arrays that grow or
/// shrink by one between the loops.
pub(crate) const AS_MANY_ELEMENTS: f64 = 0.05;

/// Bytes that such passes load ÷ bytes that the program stores, from which they go over what has not changed. Chosen: of
/// elements that are made anew for each pass as many are stored as loaded.
pub(crate) const MIN_LOADED_PER_STORED: f64 = 8.0;

/// Mean elements of a search whose elements are slow to reach (links, records that are pointed to), where it takes
/// [`MIN_CYCLES_OF_SLOW_SEARCH`]. Chosen.
pub(crate) const MIN_ELEMENTS_PER_SLOW_SEARCH: f64 = 30.0;

/// Cycles of a search of such elements from which it is long: ten times what a hash look-up costs. Chosen.
pub(crate) const MIN_CYCLES_OF_SLOW_SEARCH: f64 = 400.0;

/// Mean elements per search where each element is compared by a call, which takes dozens of cycles. Chosen.
pub(crate) const MIN_ELEMENTS_PER_SEARCH_BY_CALL: f64 = 30.0;

/// Part of a loop's iterations, or of its time, that loops inside of it may have if it is looked at as an innermost one. Chosen:
/// they are not what takes the time.
pub(crate) const MAX_IN_OTHER_LOOPS: f64 = 0.25;

/// Cycles of such a search ÷ those of a hash look-up from which it is long. Chosen.
pub(crate) const SEARCH_OF_LOOK_UPS: f64 = 10.0;

/// Part of an element's bytes that a pass must move to move the element: the rest is padding. Chosen.
pub(crate) const MIN_PART_OF_ELEMENT_MOVED: f64 = 0.75;

/// Stores to elements ÷ moves of elements, from which they change between the passes. Chosen, as [`MIN_LOADED_PER_STORED`].
pub(crate) const MIN_PART_CHANGED: f64 = 0.125;

/// Mean cycles of a move or string function from which it is long: 10 to 20 kB at 32 to 64 bytes a
/// cycle. Chosen.
pub(crate) const MIN_CYCLES_PER_LONG_MOVE: f64 = 300.0;

/// Iterations per loop entry from which splitting a chain pays, since the parts must be combined.
/// Chosen.
pub(crate) const MIN_TRIPS_TO_SPLIT_CHAIN: f64 = 12.0;

/// Iterations per loop entry from which vectors pay: six of four elements. Chosen.
pub(crate) const MIN_TRIPS_TO_VECTORISE: f64 = 24.0;

/// Iterations for which a divisor must be the same: a reciprocal costs about a division to prepare.
/// Chosen.
pub(crate) const MIN_TRIPS_TO_PRECOMPUTE_DIVISOR: f64 = 16.0;

/// Iterations per loop entry from which hoisting a call pays. Chosen.
pub(crate) const MIN_TRIPS_TO_HOIST_CALL: f64 = 4.0;

/// Iterations per entry from which replacing a hash or checksum by a wider one pays. Chosen: two words
/// of eight bytes, whose mixing at the end costs what a few bytes cost now.
pub(crate) const MIN_TRIPS_FOR_OTHER_HASH: f64 = 16.0;

/// Iterations per entry from which a loop's own address pattern counts; of shorter ones the first
/// iteration does. Chosen.
pub(crate) const MIN_TRIPS_FOR_ADDRESS_PATTERN: f64 = 3.0;

/// Iterations per entry from which the exit of a loop is not its main misprediction. Chosen.
pub(crate) const MIN_TRIPS_FOR_BRANCHES: f64 = 4.0;

/// Iterations per entry from which a branchless chain is not overlapped with the next entry.
/// Chosen.
pub(crate) const MIN_TRIPS_FOR_CARRIED_CHAIN: f64 = 16.0;

/// Mean bytes of a run from which wide code pays: one SSE register.
pub(crate) const MIN_BYTES_IN_RUN: f64 = 16.0;

/// The same where two runs are compared: eight bytes of each, an exclusive or and a count of zeros cost about six
/// steps of such a loop. Chosen.
pub(crate) const MIN_BYTES_IN_COMPARED_RUN: f64 = 6.0;

/// The same where a run is copied: eight bytes at once take two instructions, and the last piece may go beyond the
/// end.
pub(crate) const MIN_BYTES_IN_COPIED_RUN: f64 = 8.0;

/// The same of bytes that are appended through memory: room made once and a pointer in a register cost
/// nothing to start. Chosen.
pub(crate) const MIN_BYTES_IN_APPENDED_RUN: f64 = 8.0;

/// Smallest block of glibc's malloc, bookkeeping included (MINSIZE in malloc.c on 64-bit systems).
pub(crate) const MIN_BYTES_OF_ALLOCATION: f64 = 32.0;

/// Bytes allocated ÷ peak memory from which allocations are short-lived. Chosen.
pub(crate) const MIN_ALLOCATION_TURNOVER: f64 = 3.0;

/// Bytes page-faulted in ÷ peak memory from which memory is returned and taken again. Chosen.
pub(crate) const MIN_PAGE_TURNOVER: f64 = 2.0;

/// Allocations per second of CPU time: at 20 to 100 ns each 0.2 to 1 % of the time. Chosen.
pub(crate) const MIN_ALLOCATIONS_PER_SECOND: f64 = 1e5;

/// Growths of one buffer that doubling makes at most: from one element to 16 million.
pub(crate) const MAX_GROWTHS_BY_DOUBLING: f64 = 24.0;

/// Moves of elements for each item that is added from which a table grows by too little: doubling moves each once or twice.
/// Chosen: a table that is refilled once in a while moves more.
pub(crate) const MIN_MOVES_PER_ITEM: f64 = 8.0;

/// Seconds of a growth's copy from which it is worth avoiding: about two allocations. Chosen.
pub(crate) const MIN_GROWTH_COPY_SECONDS: f64 = 40e-9;

/// Bytes by which `realloc` makes a block larger ÷ its bytes then, up to which that is a small step: growth by a factor
/// makes it larger by a third or more of that. Chosen.
pub(crate) const MAX_STEP_OF_BLOCK: f64 = 0.125;

/// Part of all reallocations that the named line must make. Chosen.
pub(crate) const MIN_PART_OF_REALLOCS_FROM_LINE: f64 = 0.4;

/// Calls of a growing function per allocation for the line to reserve each time. Chosen.
pub(crate) const MIN_RESERVE_PER_ALLOCATION: f64 = 0.8;

/// Source lines between allocation, copy and free of a growth written by hand. Chosen.
pub(crate) const MAX_LINES_OF_GROWTH_BY_HAND: u32 = 12;

/// Relative difference of calls that belong together in a growth. Chosen.
pub(crate) const SAME_CALLS_TOLERANCE: f64 = 0.05;

/// Mean seconds of a large copy: some 20 kB at 20 GB/s.
pub(crate) const MIN_LARGE_COPY_SECONDS: f64 = 1e-6;

/// Copies of this many bits of size and more are large: 8 kB, a quarter of an L1d cache.
pub(crate) const LARGE_COPY_SIZE_CLASS: usize = 14;

/// Part of the calls that the reported range of sizes holds. Chosen.
pub(crate) const USUAL_SIZES_PART: f64 = 0.75;

/// Middle of a class of sizes of one bit length, as a part of its upper end: between 1/2 and 1.
pub(crate) const MIDDLE_OF_SIZE_CLASS: f64 = 0.75;

/// Mean seconds of a system call above which it does work of its own. Chosen: some ten times an
/// empty call.
pub(crate) const MAX_SYSTEM_CALL_SECONDS: f64 = 2.5e-6;

/// Mean time ÷ time of an empty call below which the counts or times cannot be right. Chosen.
pub(crate) const MIN_PART_OF_EMPTY_SYSTEM_CALL: f64 = 0.5;

/// Part of the calls' time above which copying is their purpose. Chosen.
pub(crate) const MAX_COPYING_OF_SYSTEM_CALLS: f64 = 0.4;

/// Part of all system calls that the named line must make (of yields, all lines). Chosen.
pub(crate) const MIN_PART_OF_SYSTEM_CALLS_FROM_LINE: f64 = 0.25;

/// Part of all system calls that lines like the named one must make. Chosen.
pub(crate) const MIN_PART_OF_SYSTEM_CALLS_FIXABLE: f64 = 0.3;

/// System calls for each of the user's calls: with fewer a library buffers already. Chosen.
pub(crate) const MIN_SYSTEM_CALLS_PER_USER_CALL: f64 = 0.3;

/// Part of the page faults that a line must take to be named. Chosen.
pub(crate) const MIN_PART_OF_FAULTS_AT_LINE: f64 = 0.2;

/// Part of a site's calls that one target must have. Chosen.
pub(crate) const DOMINANT_TARGET_PART: f64 = 0.9;

/// Executions of an indirect call, of the hottest one's, below which it is left out beside it. Chosen.
pub(crate) const MIN_PART_OF_HOTTEST_CALL: f64 = 0.01;

/// Calls that a function makes for each of its own up to which it is one without calls: inlined, the rare path goes on calling
/// (a buffer is full, lengths are equal and the texts are compared). Chosen.
pub(crate) const MAX_PART_THAT_CALLS: f64 = 0.1;

/// Instructions per call above which an indirect call is little beside the work. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_INDIRECT_CALLEE: f64 = 100.0;

/// The same for a comparator of the C library's sort. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_COMPARATOR: f64 = 30.0;

/// Instructions per call of a function whose call is most of its cost. Chosen: gcc inlines up to 15
/// at -O2 (max-inline-insns-auto).
pub(crate) const MAX_INSTRUCTIONS_OF_TINY_CALLEE: f64 = 20.0;

/// Instructions of such a function, executed or not, up to which a compiler inlines it once it sees its body:
/// LLVM up to a cost of 225, five for an instruction (`-inline-threshold`); gcc less.
pub(crate) const MAX_CODE_OF_TINY_CALLEE: usize = 45;

/// Part of a function's calls that make one call for it to be a wrapper of that. Chosen: of one that frees and
/// resizes as well it is not known which of its callers ask for memory.
pub(crate) const MIN_PART_OF_WRAPPER: f64 = 0.8;

/// The same of one that also resizes and frees, where bursts saw which callers ask. Chosen: objects are made and
/// freed in turn, and some are resized.
pub(crate) const MIN_PART_OF_MIXED_WRAPPER: f64 = 0.3;

/// Other calls of a wrapper for each call of it, at most. Chosen: what it does for rare cases.
pub(crate) const MAX_PART_OF_OTHER_CALLS: f64 = 0.2;

/// Instructions of its own for each call up to which a function that asks for memory does so on behalf of its
/// caller: about those of an allocation and its release in glibc's thread cache.
pub(crate) const MAX_INSTRUCTIONS_OF_WRAPPER: f64 = 40.0;

/// Instructions of a function that looks up thread-local data and little else. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_SMALL_FUNCTION: usize = 32;

/// Instructions of a loop whose whole time a call in it may change. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_SMALL_LOOP: usize = 60;

/// Instructions of a loop that only some of its iterations execute, up to which it may be written without branches. Chosen.
pub(crate) const MAX_INSTRUCTIONS_DECIDED: usize = 48;

/// Instructions per call below which unoptimised code consists of calls. Chosen.
pub(crate) const MAX_INSTRUCTIONS_PER_CALL_UNOPTIMISED: f64 = 40.0;

/// Part of executed instructions that touch fixed places on the stack, above which code without a
/// record of its compiler options is unoptimised: such code has about a half, optimised code seldom
/// a quarter (the programs of the corpus).
pub(crate) const MIN_STACK_ACCESSES_UNOPTIMISED: f64 = 0.4;

/// Executed instructions of a module that are enough to judge by. Chosen.
pub(crate) const MIN_INSTRUCTIONS_TO_JUDGE_BUILD: usize = 24;

/// Samples of a thread at an address that are enough. Chosen.
pub(crate) const MIN_SAMPLES_OF_SHARED_ADDRESS: u32 = 5;

/// Executions per iteration from which a store is looked at for sharing. Chosen.
pub(crate) const MIN_STORES_PER_ITERATION: f64 = 0.05;

/// Relative difference of executions of two divisions that are a pair. Chosen.
pub(crate) const SAME_COUNT_TOLERANCE: f64 = 0.02;

/// Part of a branch's executions below which an outcome is rare. Chosen.
pub(crate) const RARE_OUTCOME: f64 = 0.02;

/// Factor on the expected rate of loop exits within which a branch is the loop's exit. Chosen.
pub(crate) const EXIT_COUNT_TOLERANCE: f64 = 1.01;

/// Part of a branch's executions from which its rarer outcome makes it varying. Chosen.
pub(crate) const VARYING_OUTCOME: f64 = 0.05;

/// Rarer outcome above which a branch is taken to be predicted by a pattern, or removed by the
/// compiler. Chosen.
pub(crate) const CHANCE_OUTCOME: f64 = 0.25;

/// Executions per iteration from which nearly every iteration executes an instruction. Chosen.
pub(crate) const USUAL_EXECUTIONS: f64 = 0.9;

/// Executions of a block from which one way into it is the usual one. Chosen: growing buffers take
/// the other one less often.
pub(crate) const USUAL_PREDECESSOR: f64 = 0.95;

/// Executions per iteration from which an instruction belongs to the loop's work. Chosen.
pub(crate) const SOME_EXECUTIONS: f64 = 0.02;

/// Executions per iteration (of a loop: iterations per iteration of the loop around it) up to which
/// code hardly ever runs. Chosen.
pub(crate) const SELDOM_EXECUTIONS: f64 = 0.01;

/// Iterations per call up to which a call in a loop counts as executed. Chosen; the inverse of
/// [`SELDOM_EXECUTIONS`].
pub(crate) const SELDOM_CALLS_DIVISOR: u64 = 100;

/// L1d misses per load of strided loads: prefetching hides most. Chosen.
pub(crate) const MIN_MISS_RATE_STRIDES: f64 = 0.01;

/// How often a line of a row is fetched at least while its elements are read one after the other, where it does not stay. Chosen.
pub(crate) const MIN_FETCHES_OF_LINE: f64 = 2.0;

/// L1d misses per load of other loads that wait. Chosen.
pub(crate) const MIN_MISS_RATE: f64 = 0.05;

/// CPU time ÷ CPU time on one CPU from which contention is reported as measured. Chosen.
pub(crate) const MIN_CONTENTION_RATIO: f64 = 1.15;

/// Iterations of a loop from which a lock is taken for each element, rather than for a piece of work. Chosen.
pub(crate) const MIN_TRIPS_OF_LOCKED_LOOP: f64 = 100.0;

/// Seconds per acquisition below which a lock is not contended: taking and releasing one whose cache line is here costs two
/// locked instructions, 5 to 10 ns (18 to 20 cycles each, Fog's tables); a line that another core has takes 40 to 100 ns more.
pub(crate) const MIN_CONTENDED_LOCK_SECONDS: f64 = 20e-9;

/// The same for false sharing. Chosen.
pub(crate) const MIN_SHARING_RATIO: f64 = 1.05;

/// Blocks of a byte loop's path may differ by one part in so many executions. Chosen.
pub(crate) const MAX_PATH_COUNT_LOSS_DIVISOR: u64 = 32;

/// Smallest power of two that a mask of lower bits keeps for an index to wrap around. Chosen.
pub(crate) const MIN_MASK: u64 = 64;

/// Bytes of a table's elements from which an index is one of a look-up table. Chosen.
pub(crate) const MIN_INDEX_BYTES: u8 = 4;

/// Look-ups per iteration whose index does not wait for the chain, from which several tables are
/// used already. Chosen.
pub(crate) const MIN_INDEPENDENT_LOOKUPS: usize = 2;

/// Bytes of a number that may be a state in memory; addresses are longer.
pub(crate) const MAX_BYTES_OF_STATE: u16 = 4;

/// Bytes of an element from which a search is one through a sequence of values. Chosen.
pub(crate) const MIN_ELEMENT_BYTES: u64 = 4;

/// Fault time ÷ system call time from which unnamed kernel time is taken for memory handling.
/// Chosen.
pub(crate) const MIN_PAGING_RATIO: f64 = 2.0;

/// Peak memory above which a loop may read from beyond the caches, bytes. Chosen: between the L2
/// and L3 caches of servers.
pub(crate) const MIN_RESIDENT_BYTES_BEYOND_CACHES: f64 = 24e6;

/// Part of a test's executions that must come from the test before it for both to be one chain: the
/// rest comes back from what a rare outcome does. Chosen.
pub(crate) const MIN_PART_FROM_TEST_BEFORE: f64 = 0.9;

/// Tests of a chain about two values that look at the same one, at least. Chosen: as many as spare
/// [`MIN_TESTS_SPARED`] where one is left.
pub(crate) const MIN_TESTS_OF_MAIN_VALUE: usize = 3;

/// Tests of one value whose ways part and meet again, at least. Chosen: as many as spare [`MIN_TESTS_SPARED`] where one is left.
pub(crate) const MIN_TESTS_OF_REGION: usize = 3;

/// Part of a chain of tests that leaves it by one outcome for that to be the common case. Chosen:
/// below it mispredictions, which no order spares, cost more than the tests.
pub(crate) const MIN_PART_OF_COMMON_CASE: f64 = 0.7;

/// Tests for each execution that another order spares. Chosen: one alone is hardly measurable.
pub(crate) const MIN_TESTS_SPARED: f64 = 1.9;

/// Part of a function's calls up to which a path is rare. Chosen.
pub(crate) const RARE_PATH: f64 = 0.05;

/// Part of the instructions of a call's usual path below which saving registers is little beside the work. Chosen.
pub(crate) const MIN_FRAME_PART_OF_CALL: f64 = 0.1;

/// Instructions of the usual path that serve the frame: two registers saved and restored. Chosen.
pub(crate) const MIN_FRAME_INSTRUCTIONS: f64 = 3.9;

/// Part of the searches that find something, at most, for a test in front to spare nearly all. Chosen.
pub(crate) const MAX_FOUND: f64 = 0.1;

/// Elements compared in each search, at least. Chosen: a test in front of one test spares nothing.
pub(crate) const MIN_ELEMENTS_COMPARED: f64 = 1.9;

/// Digits of a number on average from which on two with each division pay. Chosen: of three, one division in three goes.
pub(crate) const MIN_DIGITS_TO_PAIR: f64 = 3.0;

/// Part of the comparisons by calls that find a difference from which on a test in front pays. Chosen: of four calls one
/// stays, and is preceded by a test that it did not need.
pub(crate) const MIN_PART_UNEQUAL: f64 = 0.75;

/// Part of a search's runs that a way must be taken to be looked at. Chosen.
pub(crate) const RARE_WAY: f64 = 0.1;

/// Bytes that are few for a call of a copying function: as bursts count them.
pub(crate) const SHORT_COPY_BYTES: u64 = genba_observe::SHORT_BYTES;

/// Iterations of the vector loop for each trip up to which the trips are too short for it. By
/// definition: with more, vectors do most of the work.
pub(crate) const MAX_VECTOR_ITERATIONS_OF_TRIP: f64 = 1.0;

/// Bytes by which a scan advances per iteration, at most: one element. Chosen.
pub(crate) const MAX_BYTES_PER_SCAN_STEP: u64 = 16;

/// Vectors by which a scan advances per iteration, at most. Chosen: compilers unroll by four.
pub(crate) const MAX_VECTORS_PER_SCAN_STEP: u64 = 4;

/// The same of positions that count bits.
pub(crate) const MAX_BITS_PER_SCAN_STEP: u64 = 8 * MAX_BYTES_PER_SCAN_STEP;

/// Mean bytes of a scan from which it is long: longer than lines and tokens. Chosen.
pub(crate) const MIN_BYTES_PER_LONG_SCAN: f64 = 1000.0;

/// Mean bytes of a scan from which it is long where what there is is passed more than
/// [`MIN_PASSES_OF_SHORTER_SCANS`] times, and not because the program does all its work again. Chosen: longer than
/// most lines.
pub(crate) const MIN_BYTES_PER_SHORTER_SCAN: f64 = 300.0;

/// Passes over all memory from which shorter scans are of the same bytes. Chosen: five times as many as for long ones.
pub(crate) const MIN_PASSES_OF_SHORTER_SCANS: f64 = 5.0 * MIN_PASSES_OVER_ALL_MEMORY;

/// Bytes that a loop reads ÷ bytes of the input or of the program's memory, whichever is more, from
/// which it reads the same ones again. Chosen: far above expansion of input by decoding.
pub(crate) const MIN_PASSES_OVER_ALL_MEMORY: f64 = 20.0;

/// Bursts from which on rates of events are taken from them: intervals over fewer say nothing.
/// Chosen.
pub(crate) const MIN_BURSTS_FOR_EVENTS: u32 = 5;

/// Executions of an instruction in bursts for its rate to be used, unless it has fewer. Chosen, as
/// for simulated events.
pub(crate) const MIN_SEEN_EXECUTIONS: u64 = 100;

/// Instructions of a loop that does nothing but wait for a lock. Chosen: test, `pause`, exchange,
/// back-off.
pub(crate) const MAX_INSTRUCTIONS_OF_SPIN_LOOP: usize = 16;

/// Mean bytes of a piece that a call hands on up to which the call is its main cost. Chosen: one
/// register.
pub(crate) const MAX_BYTES_OF_PIECE: f64 = 8.0;

/// Mean words of a number from which a pass over it is most of what a digit costs. Chosen: with fewer
/// the digits of a group cost as much.
pub(crate) const MIN_WORDS_OF_LONG_NUMBER: f64 = 4.0;

/// Bytes of a copy at a call that no burst met. Chosen: a short one, as most are.
pub(crate) const UNSEEN_COPY_BYTES: f64 = 32.0;

/// Mean pieces of a run from which one call for all of them pays. Chosen: letters of a word.
pub(crate) const MIN_PIECES_OF_RUN: f64 = 4.0;

/// Mean bytes of a move from which it evicts what others use: a quarter of a usual L2 cache. Chosen.
pub(crate) const EVICTING_MOVE_BYTES: f64 = 256.0 * 1024.0;

/// Mean bytes of a clear from which it drives most of a first-level data cache out: half of the
/// usual 32 KiB.
pub(crate) const EVICTING_CLEAR_BYTES: f64 = 16.0 * 1024.0;

/// Calls of a function from which it is more than a step of the program that is taken once. Chosen.
pub(crate) const MIN_CALLS_WITH_CALLEES: u64 = 10;

/// Stores of a function for its caller that are discarded together: one may be a counter.
pub(crate) const MIN_RESULTS_OF_WORK: usize = 2;

/// Rounds that finish a hash, at least: SipHash-1-3 has three.
pub(crate) const MIN_LAST_SIP_ROUNDS: usize = 3;

/// The largest divisor that is small: digits of any base, factors.
pub(crate) const MAX_DIVISOR_OF_WORDS: u64 = 1 << 16;

/// Instructions of a loop that shifts trailing zeros out, a counter's and moves among them. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_TRAILING_ZEROS: usize = 10;

/// The largest base of which two digits together have a table of some kilobytes.
pub(crate) const MAX_BASE_OF_DIGITS: u64 = 36;

/// Instructions of a loop that shifts leading zeros out, a counter's and moves among them. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_LEADING_ZEROS: usize = 8;

/// Instructions of a loop that counts bits, moves and two branches among them. Chosen.
pub(crate) const MAX_INSTRUCTIONS_OF_COUNTED_BITS: usize = 10;

/// The largest whole exponent of a power that some multiplications replace. Chosen: squaring takes eight of them at most.
pub(crate) const MAX_MULTIPLIED_POWER: f64 = 32.0;

/// Share of the calls of a loop that round a number, from which on others keep nothing: a vector that grows now and then.
/// Chosen.
pub(crate) const MIN_SHARE_OF_ROUNDING: f64 = 0.99;
