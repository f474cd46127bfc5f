//! Layout of a duet in the count file ([`crate::count_file_layout`]): the edits that genba requests, and
//! the windows of time that the engine measures.
//!
//! An *edit* replaces an instruction of the program on one side of a *duet*: blocks with edits are laid
//! down twice, as they are (side 0) and edited (side 1), and each thread goes from side to side. A
//! *window* is the time between two such changes.
//!
//! In a duet of *replicas* ([`DuetParameters::replicas`]) the process itself executes side 0 only. Each window
//! is that of a forked copy of the process, which ends with it, so edits of side 1 may compute something else.
//! Side 0 may have edits of its own, which note in a *log* what the program reads, for side 1 to take from there.
//!
//! What must hold of an edit of code that the process itself executes: from each of its instructions on, the program's state is that before the
//! replaced instruction, once its [`Restore`]s have been made; the arithmetic flags are dead there if it
//! changes them; and it writes to nothing but registers that are restored, its own words, and what the
//! replaced instruction writes to.

use crate::{burst_layout, count_file_layout};

/// Offset of the [`Edit`]s.
pub const EDITS: u64 = 0xF_0000;
/// Maximum number of edits.
pub const EDIT_CAPACITY: u32 = 64;
/// Maximum size of the code of an edit, bytes.
pub const EDIT_CODE_BYTES: usize = 200;
/// Maximum number of [`Restore`]s of an edit.
pub const RESTORE_CAPACITY: usize = 16;
/// [`Edit::original_at`]: the code does not contain the replaced instruction.
pub const NOT_CONTAINED: u8 = 0xFF;

/// [`Restore::end`]: the end of the group's second edit.
pub const OPEN: u8 = 0xFF;

/// Offset in the thread's state (`%gs`) of the words of edits.
pub const SLOTS_OFFSET: u32 = 0x500;
/// Number of these words.
pub const SLOT_CAPACITY: u32 = 64;
/// Bit of [`DuetParameters::ignored`] for the program counter.
pub const IGNORED_PLACE: u64 = 1 << 16;
/// Offset in the thread's state of the address of the next entry of the log.
pub const LOG_OFFSET: u32 = 0x928;
/// Offset in the thread's state of the bytes from entry to entry; 0 outside of replicas.
pub const LOG_STEP_OFFSET: u32 = 0x930;
/// Offset in the thread's state of the pattern of outcomes ([`DuetParameters::pattern`]).
pub const PATTERN_OFFSET: u32 = 0x938;
/// Maximum size of an entry of the log, bytes.
pub const MAX_LOG_ENTRY: u64 = 32;
/// Maximum number of blocks that are laid down twice.
pub const DUET_CAPACITY: u32 = 64;

/// Offset of the [`Window`]s.
pub const WINDOWS: u64 = burst_layout::DATA_END;
/// Maximum number of windows that are kept.
pub const WINDOW_CAPACITY: u32 = 1 << 16;
/// End of the windows.
pub const WINDOWS_END: u64 = WINDOWS + WINDOW_CAPACITY as u64 * 32;

const _: () = assert!(burst_layout::BURSTS + burst_layout::BURST_CAPACITY as u64 * 64 <= EDITS);
const _: () =
    assert!(EDITS + EDIT_CAPACITY as u64 * size_of::<Edit>() as u64 <= count_file_layout::NAMES);
const _: () = assert!(size_of::<Edit>() == 304);
const _: () = assert!(size_of::<Window>() == 32);

/// Returns the offset in the thread's state of a word of edits. At the start of a thread, words of even
/// numbers are 1, others 0: the quotient and the remainder of 1 by 1.
#[must_use]
pub const fn slot_offset(slot: u8) -> u32 {
    SLOTS_OFFSET + slot as u32 * 8
}

/// Which duet genba requests; all zero for none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DuetParameters {
    /// 1 if only blocks with edits are counted.
    pub plain: u64,
    /// 1 if edits are made; 0 if both sides are as the program is.
    pub edited: u64,
    /// Mean length of a window, nanoseconds of CPU time; 0 for threads that stay on one side.
    pub window_nanoseconds: u64,
    /// Seed of lengths and of the order of sides; without windows, the side.
    pub seed: u64,
    /// 1 if edits are right only while there is one thread: from the second on, there is no side 1.
    pub single_thread: u64,
    /// 1 if windows are those of forked copies of the process.
    pub replicas: u64,
    /// Bytes of an entry of the log that side 0 writes and side 1 reads, a power of two; 0 for no log.
    pub log_entry: u64,
    /// Bits that edits of branches rotate.
    pub pattern: u64,
    /// What may differ where both replicas of a pair end: a bit for each general register, and
    /// [`IGNORED_PLACE`].
    pub ignored: u64,
}

/// A register that the program has in a word of edits while the thread is in a part of an edit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    /// Offset in the edit's code of the first instruction of the part.
    pub begin: u8,
    /// Offset after its last; [`OPEN`] for the end of the group's second edit.
    pub end: u8,
    /// Number of the register.
    pub register: u8,
    /// Number of the word.
    pub slot: u8,
}

/// What replaces an instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// [`count_file_layout::path_hash`] of the path as mapped.
    pub path: u64,
    /// Offset in the file of the instruction.
    pub offset: u64,
    /// Its bytes.
    pub original: [u8; 15],
    /// Number of its bytes.
    pub original_length: u8,
    /// Number of bytes of the code that replaces it, without its own.
    pub code_length: u8,
    /// Offset in the code at which the instruction itself is; [`NOT_CONTAINED`] for nowhere.
    pub original_at: u8,
    /// Number of [`Self::restore`]s.
    pub restores: u8,
    /// 1 if the instruction itself is without its lock prefix in the code.
    pub without_lock: u8,
    /// Number of the group of two edits that are made only together, in one block: the first leaves
    /// registers changed for the second. 0 for an edit by itself.
    pub group: u8,
    /// Offset in the code from which on the replaced instruction has been executed; [`NOT_CONTAINED`]
    /// for its end.
    pub executed_at: u8,
    /// The side on which it is made.
    pub side: u8,
    /// Of a conditional jump at the end of a block, which follows the code: one of the `BRANCH_` constants, or
    /// [`BRANCH_IF`] and another condition.
    pub branch: u8,
    /// The code.
    pub code: [u8; EDIT_CODE_BYTES],
    /// What is restored where.
    pub restore: [Restore; RESTORE_CAPACITY],
}

/// [`Edit::branch`]: as the program has it.
pub const BRANCH_AS_IS: u8 = 0;
/// [`Edit::branch`]: it is never taken.
pub const BRANCH_NEVER: u8 = 1;
/// [`Edit::branch`]: it is always taken.
pub const BRANCH_ALWAYS: u8 = 2;
/// [`Edit::branch`]: plus the number of a condition, as in the opcodes of conditional jumps.
pub const BRANCH_IF: u8 = 0x80;

/// A window.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of the thread.
    pub thread: u32,
    /// Number of the window in the thread, doubled, plus the side.
    pub step: u32,
    /// Executions of blocks with edits.
    pub rounds: u64,
    /// CPU time of the thread, nanoseconds.
    pub cpu_nanoseconds: u64,
    /// Page faults of a replica in the window.
    pub page_faults: u64,
}
