// The layout of the shared ring buffer, for the preloaded library and for the reader.
//
// A bounded queue with many writers and one reader (D. Vyukov's): every slot has a sequence
// number. A writer may claim slot `n % SLOTS` when its sequence is `n`, and publishes by making
// it `n + 1`; the reader frees it by making it `n + SLOTS`.

/// First word of the file.
pub const MAGIC: u64 = 0x7265_6d69_742e_6267;
/// Number of slots, a power of two.
pub const SLOTS: u64 = 4096;
/// Words of payload in a slot.
pub const WORDS: usize = 128;
/// Bytes before the first slot: a cache line each for the magic and the counters.
pub const HEAD: usize = 256;
/// Bytes of a slot.
pub const SLOT: usize = 1088;
/// Bytes of the whole file.
pub const SIZE: usize = HEAD + SLOTS as usize * SLOT;

/// Offset of the counter of claimed slots.
pub const CLAIMED: usize = 64;
/// Offset of the counter of entries that did not fit.
pub const LOST: usize = 128;

/// Words of a slot: sequence number first, then these, then the payload.
pub const KIND: usize = 1;
/// Length of the payload: bytes of text, or words of a chain.
pub const LENGTH: usize = 2;
/// Process (upper half) and thread (lower half).
pub const WHO: usize = 3;
/// Monotonic time, ns.
pub const TIME: usize = 4;
/// CPU time that a sample stands for, ns.
pub const WEIGHT: usize = 5;
/// Instruction pointer; for a fork the parent's process id.
pub const IP: usize = 6;
/// First word of the payload.
pub const PAYLOAD: usize = 8;

/// A sample; the payload is its callers' return addresses.
pub const SAMPLE: u64 = 1;
/// A part of `/proc/self/maps`.
pub const MAPS: u64 = 2;
/// The end of `/proc/self/maps`: the parts before are all of it.
pub const MAPS_END: u64 = 3;
/// A program was started (`execve`); the payload is its name.
pub const EXEC: u64 = 4;
/// A process was forked.
pub const FORK: u64 = 5;
