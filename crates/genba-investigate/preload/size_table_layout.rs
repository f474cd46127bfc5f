//! Layout of the table of sizes in the shared file: 64-bit numbers, one after another.

/// Number of size classes; the class of a size is its number of bits.
pub const CLASSES: usize = 49;

/// Numbers for a service: calls in each class, then bytes.
pub const SERVICE_WORDS: usize = CLASSES + 1;

/// Start of the numbers of `malloc` and `calloc`.
pub const ALLOCATE: usize = 0;
/// Start of the numbers of `realloc` of a block.
pub const RESIZE: usize = SERVICE_WORDS;
/// Start of the numbers of `memcpy` and `memmove`.
pub const COPY: usize = 2 * SERVICE_WORDS;

/// Number of calls of `realloc` that moved the block.
pub const MOVED: usize = 3 * SERVICE_WORDS;
/// Bytes that they copied.
pub const MOVED_BYTES: usize = MOVED + 1;
/// Bytes by which `realloc` grew blocks.
pub const GROWN_BYTES: usize = MOVED + 2;
/// 1 once the library is loaded.
pub const LOADED: usize = MOVED + 3;

/// Number of all words.
pub const WORDS: usize = MOVED + 4;

/// Returns the class of a size.
pub fn class(size: usize) -> usize {
    ((usize::BITS - size.leading_zeros()) as usize).min(CLASSES - 1)
}
