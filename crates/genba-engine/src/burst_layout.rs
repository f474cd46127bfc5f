//! Layout of bursts in the count file ([`crate::count_file_layout`]), and of what a burst consists
//! of: words, which the blocks that were executed wrote one after another.
//!
//! ```text
//! burst        the words of the first block, of the second, …
//! block        offset of its descriptor, then the words of its operations, in their order
//! descriptor   u32[]: counter, end | operations << 8 | words << 16, target of the end (two words,
//!              the lower half first), then kind | instruction << 8 | size << 16 for each operation
//! ```
//!
//! What must hold: a record, and the words and descriptors that it refers to, are complete before
//! [`BurstRecord::state`] is [`BURST_COMPLETE`]. Readers trust nothing in the file.

use core::sync::atomic::AtomicU32;

use crate::count_file_layout::{CODE_RANGE_CAPACITY, CODE_RANGES, LENGTHS, LENGTHS_CAPACITY};
use crate::count_file_layout::{COUNTERS, NAMES, SLOT_CAPACITY, SLOT_SIZE, SLOTS};

/// Maximum number of bursts of a process that are kept.
pub const BURST_CAPACITY: u32 = 128;
/// Maximum number of words of a burst, apart from those of its last block.
pub const BURST_WORDS: u32 = 160_000;
/// Maximum number of words of a block; larger blocks end a burst.
pub const BLOCK_WORDS: u32 = 4000;

/// Offset of the [`BurstRecord`]s.
pub const BURSTS: u64 = 0xE_0000;
/// Offset of the descriptors of blocks.
pub const DESCRIPTORS: u64 = 0xD00_0000;
/// Maximum number of words of all descriptors.
pub const DESCRIPTOR_CAPACITY: u32 = 6 << 20;
/// Offset of the text of `/proc/self/maps` at the end of the last burst.
pub const MAPS: u64 = 0xF00_0000;
/// Maximum size of that text, bytes; what is beyond is missing.
pub const MAPS_CAPACITY: u32 = 1 << 20;

/// Offset in a thread slot of the words of the burst under way.
pub const RECORDING: u64 = 0x204_0000;
/// Offset from [`RECORDING`] at which a burst is full, a power of two: see
/// `fragment/observing_block.rs`.
pub const RECORDING_END: u32 = 1 << RECORDING_END_BIT;
/// Number of the bit that a position beyond [`RECORDING_END`] has.
pub const RECORDING_END_BIT: u32 = 21;

/// Offset of the words of complete bursts.
pub const DATA: u64 = SLOTS + SLOT_SIZE * SLOT_CAPACITY as u64;
/// Bytes for the words of a burst.
pub const DATA_BYTES: u64 = 0x15_0000;
/// End of the words of complete bursts.
pub const DATA_END: u64 = DATA + DATA_BYTES * BURST_CAPACITY as u64;

const _: () = assert!(CODE_RANGES + CODE_RANGE_CAPACITY as u64 * 24 <= BURSTS);
const _: () = assert!(BURSTS + BURST_CAPACITY as u64 * 64 <= NAMES);
const _: () = assert!(LENGTHS + LENGTHS_CAPACITY as u64 <= DESCRIPTORS);
const _: () = assert!(DESCRIPTORS + DESCRIPTOR_CAPACITY as u64 * 4 <= MAPS);
const _: () = assert!(MAPS + MAPS_CAPACITY as u64 <= SLOTS);
const _: () = assert!(COUNTERS < RECORDING);
const _: () = assert!(RECORDING + (RECORDING_END + BLOCK_WORDS * 8) as u64 <= SLOT_SIZE);
const _: () = assert!(BURST_WORDS * 8 <= RECORDING_END);
const _: () = assert!((BURST_WORDS + BLOCK_WORDS) as u64 * 8 <= DATA_BYTES);

/// [`BurstRecord::state`]: the record may be read.
pub const BURST_COMPLETE: u32 = 1;

/// [`crate::count_file_layout::Control::burst_notes`]: the kernel has no timer for bursts.
pub const NOTE_TIMER: u32 = 1;
/// The same: the table of descriptors is full.
pub const NOTE_FULL: u32 = 2;

/// A burst.
#[repr(C)]
#[derive(Debug, Default)]
pub struct BurstRecord {
    /// [`BURST_COMPLETE`], or 0.
    pub state: AtomicU32,
    /// Number of its thread.
    pub thread: u32,
    /// Number of its words.
    pub words: u32,
    /// Reserved.
    pub reserved: u32,
    /// Number of the burst, counting those that are not kept.
    pub number: u64,
    /// User CPU time of the thread at its beginning, nanoseconds.
    pub cpu_nanoseconds: u64,
    /// Time from the start of the process to its beginning, nanoseconds.
    pub wall_nanoseconds: u64,
    /// Address of the instruction after its last.
    pub end_pc: u64,
    /// Instructions that the counters of the thread's slot had counted at its beginning.
    pub instructions_before: u64,
    /// Reserved.
    pub reserved_too: u64,
}

const _: () = assert!(size_of::<BurstRecord>() == 64);

/// How a block of a burst ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// Without a branch, or with a jump to a fixed address.
    Falls,
    /// With a conditional branch to the target.
    Branch,
    /// With a call.
    Call,
    /// With an indirect jump.
    Jump,
    /// With a return.
    Return,
    /// Before a system call.
    SystemCall,
}

impl End {
    /// All, by their numbers.
    pub const ALL: [Self; 6] = [
        Self::Falls,
        Self::Branch,
        Self::Call,
        Self::Jump,
        Self::Return,
        Self::SystemCall,
    ];
}

/// What is recorded of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Memory is read: address, value.
    Load,
    /// Memory is written: address, value before, value after.
    Store,
    /// Memory is read and written: as [`Self::Store`].
    Update,
    /// A repeated string instruction reads memory: address before, address after.
    LoadRange,
    /// A repeated string instruction writes memory: the same.
    StoreRange,
    /// rdi, rsi, rdx, rcx, r8, r9 at a call, or at a jump that may be one.
    Arguments,
    /// rax at a return or before a system call.
    Result,
}

impl Operation {
    /// All, by their numbers.
    pub const ALL: [Self; 7] = [
        Self::Load,
        Self::Store,
        Self::Update,
        Self::LoadRange,
        Self::StoreRange,
        Self::Arguments,
        Self::Result,
    ];

    /// Returns the number of its words.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::Load | Self::LoadRange | Self::StoreRange => 2,
            Self::Store | Self::Update => 3,
            Self::Arguments => 6,
            Self::Result => 1,
        }
    }
}

/// Number of words of a descriptor before its operations.
pub const DESCRIPTOR_HEAD: usize = 4;

/// Largest number of bytes of a value that its hash depends on.
pub const HASHED_BYTES: usize = 64;

/// Returns the sizes of the pieces in which a value of so many bytes is read.
pub fn pieces(size: usize) -> impl Iterator<Item = usize> {
    let mut left = size.min(HASHED_BYTES);
    core::iter::from_fn(move || {
        let piece = match left {
            0 => return None,
            1 => 1,
            2..=3 => 2,
            4..=7 => 4,
            _ => 8,
        };
        left -= piece;
        Some(piece)
    })
}

/// Returns how a value is recorded: itself if it has 1, 2, 4 or 8 bytes, else a hash, as the
/// observing code computes it without changing a flag.
#[must_use]
pub fn recorded_value(bytes: &[u8]) -> u64 {
    let mut at = 0;
    let mut hash: Option<u64> = None;
    for size in pieces(bytes.len()) {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        let word = u64::from_le_bytes(word);
        at += size;
        hash = Some(match hash {
            None => word,
            Some(hash) => hash.rotate_right(29).wrapping_mul(5).wrapping_add(word),
        });
    }
    hash.unwrap_or(0)
}
