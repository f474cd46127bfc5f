//! Layout of the table of requests in the shared file: 64-bit numbers, one after another.

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

/// Start of the numbers of calls that open a file to read it.
pub const OPENED: usize = MOVED + 4;
/// Start of the numbers of calls that ask about a file.
pub const ASKED: usize = OPENED + FILE_WORDS;

/// Of either, by place from its start: all calls.
pub const FILE_CALLS: usize = 0;
/// Different files, or states of them.
pub const FILES_DIFFERENT: usize = 1;
/// Names that are kept.
pub const NAMES_USED: usize = 2;
/// Start of the names.
pub const NAMES: usize = 3;
/// Names that are kept at most, of files that come again first.
pub const MAX_NAMES: usize = 8;
/// Words of a name: the place of its file from the start of the files, then the text, ended by a zero.
pub const NAME_WORDS: usize = 33;
/// Start of the files: a hash, then its calls.
pub const FILES: usize = NAMES + MAX_NAMES * NAME_WORDS;
/// Files that are told apart at most; a power of two.
pub const MAX_FILES: usize = 1 << 13;
/// Numbers of a kind of calls.
pub const FILE_WORDS: usize = FILES + 2 * MAX_FILES;

/// Number of all words.
pub const WORDS: usize = ASKED + FILE_WORDS;

/// Returns the class of a size.
pub fn class(size: usize) -> usize {
    ((usize::BITS - size.leading_zeros()) as usize).min(CLASSES - 1)
}
