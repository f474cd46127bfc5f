//! Bounds that keep the analysis finite on any code. All chosen: no compiled program is known to reach them.

/// Functions that are analysed.
pub(crate) const MAX_ANALYSED_FUNCTIONS: usize = 60;

/// Callers of a runtime service that are analysed whatever their own time.
pub(crate) const MAX_ANALYSED_USERS_OF_SERVICE: usize = 8;

/// Callers that are kept of a function.
pub(crate) const MAX_CALLERS: usize = 16;

/// Functions between the user's code and a service.
pub(crate) const MAX_CALL_DEPTH: usize = 20;

/// Users that are kept of a service.
pub(crate) const MAX_USERS_OF_SERVICE: usize = 32;

/// Names that are kept of functions between user and service.
pub(crate) const MAX_FUNCTIONS_BETWEEN: usize = 12;

/// Part of a service's calls below which a call path is not followed.
pub(crate) const MIN_PART_OF_CALL_PATH: f64 = 0.002;

/// Frames that are searched for the user's code.
pub(crate) const MAX_STACK_DEPTH: usize = 64;

/// Places that are kept.
pub(crate) const MAX_USER_PLACES: usize = 16;

/// Depth to which sums of sums are followed.
pub(crate) const MAX_STEP_DEPTH: u32 = 8;

/// Depth to which expressions are followed.
pub(crate) const MAX_EXPRESSION_DEPTH: u32 = 12;

/// Instructions between the parts of a division by multiplication.
pub(crate) const MAX_RECIPROCAL_DEPTH: usize = 6;

/// Instructions of a chain that may be a reduction.
pub(crate) const MAX_INSTRUCTIONS_OF_REDUCTION: usize = 48;

/// Chains of a loop that are split one after the other.
pub(crate) const MAX_CHAINS: usize = 8;

/// Loops of needed divisions that are reported.
pub(crate) const MAX_REPORTED_DIVISION_LOOPS: usize = 1;

/// Instructions before a load that are searched for its store outside of loops.
pub(crate) const MAX_INSTRUCTIONS_TO_STORE: usize = 48;

/// Instructions between a load and what was stored there in the same iteration.
pub(crate) const MAX_INSTRUCTIONS_BACK: usize = 512;

/// Values, or instructions, that one question follows through joins and moves.
pub(crate) const MAX_VALUES_FOLLOWED: usize = 64;

/// Uses of one value that are followed.
pub(crate) const MAX_USES_FOLLOWED: usize = 256;

/// Blocks of the path of a byte loop.
pub(crate) const MAX_BLOCKS_OF_BYTE_LOOP: usize = 16;

/// Characters of the compiler's record that are quoted.
pub(crate) const MAX_PRODUCER_CHARS: usize = 120;

/// Branches of a loop that are reported.
pub(crate) const MAX_REPORTED_BRANCHES: usize = 3;

/// Depth to which a call's argument is followed to what computes it.
pub(crate) const MAX_CALL_ARGUMENT_DEPTH: u32 = 8;

/// Letters of the longest of C's `is…` functions (`isxdigit`).
pub(crate) const MAX_CTYPE_NAME: usize = 8;

/// Values of a byte loop that are followed to stores.
pub(crate) const MAX_BYTE_VALUES: usize = 16;

/// Depth to which a byte is followed to its load.
pub(crate) const MAX_BYTE_DEPTH: u32 = 4;

/// Blocks that are searched backwards for the last write of a location.
pub(crate) const MAX_BLOCKS_BACK: u32 = 8;

/// Bytes of a frame behind an address that is handed to a comparison which belong to the copy of an element. Chosen:
/// a cache line, as structures are that are handed over.
pub(crate) const MAX_BYTES_OF_KEY_COPY: i64 = 64;

/// Instructions after a comparing call in which its result is tested.
pub(crate) const MAX_INSTRUCTIONS_TO_TEST: usize = 3;

/// Calls of the user's own that are looked at for one conversion.
pub(crate) const MAX_USERS_OF_CONVERSION: usize = 8;

/// Bytes of a format that is read from the program's file.
pub(crate) const MAX_FORMAT_BYTES: u64 = 256;

/// Characters of a format that are quoted.
pub(crate) const MAX_FORMAT_CHARS: usize = 40;

/// Tests of one chain.
pub(crate) const MAX_TESTS_OF_CHAIN: usize = 256;

/// Functions of libraries whose time is followed up to the user's lines.
pub(crate) const MAX_LIBRARY_FUNCTIONS: usize = 60;

/// Places with most time that are reported: as many as a reader looks at.
pub(crate) const MAX_TIME_PLACES: usize = 3;

/// Callers that are kept of a place.
pub(crate) const MAX_PLACE_CALLERS: usize = 3;

/// Functions that are kept of a place in libraries.
pub(crate) const MAX_PLACE_FUNCTIONS: usize = 4;

/// Different bytes that a loop looks for: memchr3 of common libraries takes so many.
pub(crate) const MAX_BYTES_LOOKED_FOR: usize = 3;

/// Blocks of a loop whose values are followed from iteration to iteration: scanners have dozens.
pub(crate) const MAX_BLOCKS_OF_SCAN: usize = 512;

/// Functions that are looked at with what they call.
pub(crate) const MAX_FUNCTIONS_WITH_CALLEES: usize = 32;

/// Callees that are kept of such a function.
pub(crate) const MAX_CALLEES: usize = 8;

/// Such functions that are shown as places.
pub(crate) const MAX_PLACES_WITH_CALLEES: usize = 3;

/// Links of a list that one iteration of an unrolled loop follows. GCC and LLVM unroll by up to eight.
pub(crate) const MAX_LINKS_PER_ITERATION: usize = 8;
