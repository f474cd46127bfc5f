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

/// Functions of a module that are looked at for a source line. Chosen.
pub(crate) const MAX_FUNCTIONS_WITHOUT_LINES: usize = 64;

/// Part of a service's calls below which a call path is not followed.
pub(crate) const MIN_PART_OF_CALL_PATH: f64 = 0.002;

/// Frames that are searched for the user's code.
pub(crate) const MAX_STACK_DEPTH: usize = 64;

/// Places that are kept.
pub(crate) const MAX_USER_PLACES: usize = 16;

/// Depth to which sums of sums are followed.
pub(crate) const MAX_STEP_DEPTH: u32 = 8;

/// Loops around a sum that are looked at for the one that moves its window: a picture has one for each row of the window,
/// for each place of a row and for each row.
pub(crate) const MAX_LOOPS_AROUND_WINDOW: usize = 3;

/// Operations from a choice to the address that is made of it.
pub(crate) const MAX_STEPS_TO_CHOICE: u32 = 5;

/// Operations from a position to the number of bits by which what is loaded there is shifted.
pub(crate) const MAX_STEPS_TO_SHIFT: u32 = 5;

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

/// Blocks of tests whose ways meet again.
pub(crate) const MAX_BLOCKS_OF_REGION: usize = 512;

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

/// Calls that are followed from a repeated call to others inside it.
pub(crate) const MAX_CALLERS_FOLLOWED: u32 = 4;

/// Callees that are looked into for searches and copies.
pub(crate) const MAX_CALLEES_FOLLOWED: u32 = 3;

/// Calls between who hands a piece on and who hands it on in turn.
pub(crate) const MAX_CALLS_BETWEEN_PIECES: u32 = 3;

/// Sums, shifts and conversions between a position and the address that is made of it.
pub(crate) const MAX_DEPTH_OF_ADDRESS: u32 = 6;

/// Moves and conversions that are followed from an operand to its load.
pub(crate) const MAX_MOVES_TO_OPERAND: u32 = 6;

/// Loads of zeros that a finding shows.
pub(crate) const MAX_LOADS_SHOWN: usize = 3;

/// Instructions that one value may spare.
pub(crate) const MAX_SPARED_INSTRUCTIONS: usize = 256;

/// Readers of a value and of its copies that are looked at.
pub(crate) const MAX_READERS_OF_PRODUCT: usize = 64;

/// Instructions that are followed from a comparison to what it compares.
pub(crate) const MAX_DEPTH_OF_CHECK: u32 = 5;

/// Moves and conversions that are followed from a store to the call that made its value.
pub(crate) const MAX_MOVES_TO_STORE: u32 = 4;

/// Instructions of discarded work that are followed.
pub(crate) const MAX_INSTRUCTIONS_OF_WORK: usize = 256;

/// Instructions of a function of which it is asked what they are needed for.
pub(crate) const MAX_INSTRUCTIONS_FOR_WORK: usize = 20_000;

/// Functions that a comparison of the user's own may call in turn, one in the other: of letters, of
/// elements.
pub(crate) const MAX_DEPTH_OF_COMPARISON: u32 = 2;

/// Moves and ways by which a number comes to where it is halved.
pub(crate) const MAX_STEPS_TO_RANGE: u32 = 5;

/// Values that the tests of a chain may look at.
pub(crate) const MAX_ROOTS_OF_TEST: usize = 2;

/// Jumps from a test to the next one. Chosen.
pub(crate) const MAX_JUMPS_BETWEEN_TESTS: u32 = 3;

/// Functions of general formatting that are looked at, those with most time.
pub(crate) const MAX_FORMATTING_FUNCTIONS: usize = 32;

/// Callees that are looked at, one in the other.
pub(crate) const MAX_DEPTH_OF_EFFECTS: u32 = 3;
