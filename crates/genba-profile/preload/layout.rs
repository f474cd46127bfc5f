// Shared between the preloaded library and the reader of its ring: what lies in the shared file.
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
/// Bytes of the head of the file: a cache line for each of its three counters and the magic.
pub const HEAD: usize = 256;
/// Bytes of a slot.
pub const SLOT: usize = 1088;
/// Bytes of the whole file.
pub const SIZE: usize = HEAD + SLOTS as usize * SLOT;

/// Offset of the counter of claimed slots.
pub const CLAIMED: usize = 64;
/// Offset of the counter of entries that found no room.
pub const LOST: usize = 128;

/// Words of a slot: sequence number first, then these, then the payload.
pub const KIND: usize = 1;
/// Length of the payload: bytes of text, or words of a chain.
pub const LENGTH: usize = 2;
/// Process (upper half) and thread (lower half).
pub const WHO: usize = 3;
/// Monotonic time, ns.
pub const TIME: usize = 4;
/// Nanoseconds of CPU time that a sample stands for.
pub const WEIGHT: usize = 5;
/// Instruction pointer; for a fork the parent's process id.
pub const IP: usize = 6;
/// First word of the payload.
pub const PAYLOAD: usize = 8;

/// A sample; the payload is its callers' return addresses.
pub const SAMPLE: u64 = 1;
/// A piece of `/proc/self/maps`.
pub const MAPS: u64 = 2;
/// The pieces before make the whole.
pub const MAPS_END: u64 = 3;
/// A program has begun (`execve`); the payload is its name.
pub const EXEC: u64 = 4;
/// A process was forked.
pub const FORK: u64 = 5;
