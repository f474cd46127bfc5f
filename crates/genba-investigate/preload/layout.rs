//! Where the tally of sizes lies in the shared file: 64-bit numbers, one after another.

/// Classes of sizes: the number of bits of the size, 0 for nothing.
pub const CLASSES: usize = 49;

/// Numbers of a service: calls of each class, then bytes.
pub const SERVICE: usize = CLASSES + 1;

/// New memory: `malloc`, `calloc`.
pub const ALLOCATE: usize = 0;
/// `realloc` of something.
pub const RESIZE: usize = SERVICE;
/// `memcpy`, `memmove`.
pub const COPY: usize = 2 * SERVICE;

/// Calls of `realloc` that gave another address.
pub const MOVED: usize = 3 * SERVICE;
/// Bytes that they had to copy.
pub const MOVED_BYTES: usize = MOVED + 1;
/// Bytes by which `realloc` made blocks larger.
pub const GROWN_BYTES: usize = MOVED + 2;
/// 1 once the library was loaded.
pub const LOADED: usize = MOVED + 3;

/// All numbers.
pub const WORDS: usize = MOVED + 4;

/// The class of a size.
pub fn class(size: usize) -> usize {
    ((usize::BITS - size.leading_zeros()) as usize).min(CLASSES - 1)
}
