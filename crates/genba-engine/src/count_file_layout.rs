//! Layout of the count file: memory shared by the target and genba, so that the counts survive
//! however the target ends. Sparse; all offsets are fixed.
//!
//! ```text
//! CONTROL   one page: how much of each table is in use, status, request
//! MODULES   ModuleRecord[]            NAMES    their paths
//! RECORDS   Record[]: what counter number i counts
//! LENGTHS   lengths of the instructions of blocks, a byte each
//! SLOTS     a slot for each thread: u64 counters, from COUNTERS on
//! …         bursts: see burst_layout; edits and windows: see duet_layout
//! ```
//!
//! What must hold: a table's entry is complete before the number of entries in [`Control`] includes
//! it. Readers trust nothing in the file.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::{burst_layout, duet_layout};

/// First bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"genbacnt");
/// Version of this layout; genba and the engine must have the same.
pub const VERSION: u32 = 8;

/// Offset of [`ModuleRecord`]s.
pub const MODULES: u64 = 0x1_0000;
/// Maximum number of modules.
pub const MODULE_CAPACITY: u32 = 8192;
/// Offset of the [`CodeRange`]s.
pub const CODE_RANGES: u64 = 0x8_0000;
/// Maximum number of code ranges.
pub const CODE_RANGE_CAPACITY: u32 = 16384;
/// Offset of the paths.
pub const NAMES: u64 = 0x10_0000;
/// Maximum size of all paths, bytes.
pub const NAMES_CAPACITY: u32 = 0xF0_0000;
/// Offset of [`Record`]s.
pub const RECORDS: u64 = 0x100_0000;
/// Maximum number of counters.
pub const COUNTER_CAPACITY: u32 = 4 << 20;
/// Offset of the instruction lengths.
pub const LENGTHS: u64 = 0x900_0000;
/// Maximum number of instruction lengths, a byte each.
pub const LENGTHS_CAPACITY: u32 = 0x400_0000;
/// Offset of the thread slots.
pub const SLOTS: u64 = 0x1000_0000;
/// Bytes of a thread slot.
pub const SLOT_SIZE: u64 = 0x226_0000;
/// Offset of the counters in a slot. The part before them is private to the process.
pub const COUNTERS: u64 = 0x4_0000;
/// Maximum number of threads at a time.
pub const SLOT_CAPACITY: u32 = 2048;
/// Size of the whole file, bytes; its holes take no memory.
pub const FILE_SIZE: u64 = duet_layout::WINDOWS_END;

const _: () = assert!(MODULES + MODULE_CAPACITY as u64 * 56 <= CODE_RANGES);
const _: () = assert!(CODE_RANGES + CODE_RANGE_CAPACITY as u64 * 24 <= NAMES);
const _: () = assert!(RECORDS + COUNTER_CAPACITY as u64 * 32 <= LENGTHS);
const _: () = assert!(COUNTERS + COUNTER_CAPACITY as u64 * 8 <= burst_layout::RECORDING);

/// [`Control::status`]: counting.
pub const STATUS_RUNNING: u32 = 0;
/// [`Control::status`]: the program did something that cannot be counted, and the engine ended it.
pub const STATUS_REFUSED: u32 = 1;
/// [`Control::status`]: the engine itself failed, and ended the process.
pub const STATUS_FAILED: u32 = 2;
/// [`Control::status`]: counting; the program can change its code without the engine seeing it.
pub const STATUS_CODE_CHANGES_UNSEEN: u32 = 3;

/// [`Control::slot_class`]: a thread of the process.
pub const SLOT_THREAD: u8 = 1;
/// [`Control::slot_class`]: a child of `vfork`, which is another process, until it executes a
/// program.
pub const SLOT_VFORK: u8 = 2;

/// First page of the file.
#[repr(C)]
pub struct Control {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// One of the `STATUS_` constants.
    pub status: AtomicU32,
    /// The counted process.
    pub pid: AtomicU32,
    /// Number of records in use; a counter has the number of its record.
    pub records: AtomicU32,
    /// Number of modules in use.
    pub modules: AtomicU32,
    /// Bytes of paths in use.
    pub names: AtomicU32,
    /// Bytes of instruction lengths in use.
    pub lengths: AtomicU32,
    /// Number of slots that have ever been used.
    pub slots: AtomicU32,
    /// Bytes of [`Control::detail`] in use.
    pub detail_length: AtomicU32,
    /// The request to genba: one of the `REQUEST_` constants.
    pub request: AtomicU32,
    /// Process that sent the request.
    pub request_pid: AtomicU32,
    /// Thread that sent the request.
    pub request_thread: AtomicU32,
    /// File descriptor in the requesting process.
    pub request_fd: AtomicU32,
    /// Owner of the request channel: its thread, and in the upper ten bits a hash of its PID
    /// namespace; 0 for none.
    pub request_lock: AtomicU32,
    /// PID namespace of the numbers in the request, as its inode; 0 if not known.
    pub request_namespace: AtomicU32,
    /// Number of children and executed programs that could not be counted: genba did not answer in
    /// time, or no descriptor or memory was left for the counts.
    pub uncounted: AtomicU32,
    /// Number of code ranges in which jumps are recorded; written by genba before the start.
    pub code_ranges: AtomicU32,
    /// Number of [`burst_layout::BurstRecord`]s that have ever been used.
    pub bursts: AtomicU32,
    /// Words of [`burst_layout::DESCRIPTORS`] in use.
    pub descriptors: AtomicU32,
    /// Bytes of [`burst_layout::MAPS`] in use.
    pub maps: AtomicU32,
    /// [`burst_layout::NOTE_TIMER`] and the others, or 0.
    pub burst_notes: AtomicU32,
    /// 1 if the process's memory is limited, but generously ([`crate::resource_limits`]).
    pub limited: AtomicU32,
    /// Number of [`duet_layout::Edit`]s; written by genba before the start.
    pub edits: AtomicU32,
    /// Number of [`duet_layout::Window`]s in use.
    pub windows: AtomicU32,
    /// Number of blocks that were laid down twice because they have an edit.
    pub duet_blocks: AtomicU32,
    /// Number of edits whose instruction is not the one in memory.
    pub foreign_edits: AtomicU32,
    /// Number of pairs of replicas that were not noted: one died, or they did not do the same.
    pub replicas_failed: AtomicU32,
    /// [`crate::runtime::replica::NOTE_UNCONFINED`] and the others, or 0.
    pub replica_notes: AtomicU32,
    /// Internal figures, such as blocks translated again because their code changed.
    pub statistics: [AtomicU64; 16],
    /// Why the engine ended the process, UTF-8.
    pub detail: [u8; 512],
    /// Path of a program about to be executed, terminated by zero.
    pub request_path: [u8; 4096],
    /// One of the `SLOT_` constants for each slot.
    pub slot_class: [u8; SLOT_CAPACITY as usize],
    /// Process that each [`SLOT_VFORK`] slot has counted; 0 for none, or several.
    pub slot_pid: [AtomicU32; SLOT_CAPACITY as usize],
}

const _: () = assert!(size_of::<Control>() <= MODULES as usize);

/// [`Control::request`]: none.
pub const REQUEST_NONE: u32 = 0;
/// [`Control::request`]: a process is about to execute [`Control::request_path`] and wants to be
/// counted afterwards.
pub const REQUEST_EXEC: u32 = 1;
/// [`Control::request`]: a forked process keeps its counts in its descriptor `request_fd`.
pub const REQUEST_FORK: u32 = 2;
/// [`Control::request`]: genba has served the request.
pub const REQUEST_DONE: u32 = 3;
/// [`Control::request`]: genba has refused the request.
pub const REQUEST_REFUSED: u32 = 4;

/// A range of a file's code in which jumps are to be recorded.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeRange {
    /// [`path_hash`] of the path as mapped.
    pub path: u64,
    /// Offset in the file of the first byte.
    pub begin: u64,
    /// The offset after the last.
    pub end: u64,
}

/// 64-bit FNV-1a hash of a path.
#[must_use]
pub const fn path_hash(path: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut at = 0;
    while at < path.len() {
        hash = (hash ^ path[at] as u64).wrapping_mul(0x100_0000_01B3);
        at += 1;
    }
    hash
}

/// Which jumps are recorded: none.
pub const TRANSFERS_NONE: u64 = 0;
/// Which jumps are recorded: those back to the first instruction of a function.
pub const TRANSFERS_ENTRIES: u64 = 1;
/// Which jumps are recorded: in addition those from an instruction in a [`CodeRange`].
pub const TRANSFERS_WITHIN: u64 = 2;
/// Which jumps are recorded: all.
pub const TRANSFERS_ALL: u64 = 3;

/// A mapping from which code was executed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleRecord {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file of the first byte.
    pub offset: u64,
    /// Offset of the path in the table of paths.
    pub name: u32,
    /// Bytes of the path.
    pub name_length: u32,
    /// Inode of the file; 0 for none.
    pub inode: u64,
    /// Reserved.
    pub reserved: u64,
}

/// [`Record::kind`]: executions of a block. If `to` is not 0, it is a copy in an unrolled loop,
/// which is entered only by the jump at its own end, to `to`.
pub const KIND_BLOCK: u16 = 1;
/// [`Record::kind`]: how often a signal interrupted the block after its counter was incremented and
/// before these instructions were executed; to be subtracted.
pub const KIND_SUBTRACT: u16 = 2;
/// [`Record::kind`]: how often these instructions were executed before a signal interrupted the
/// block, whose counter had not been incremented; to be added.
pub const KIND_ADD: u16 = 3;
/// [`Record::kind`]: the jump or call at `pc` went to `to`. Branches with one possible target are
/// not recorded.
pub const KIND_TRANSFER: u16 = 4;
/// [`Record::kind`]: the PLT stub whose jump is at `pc` was bound to `to` on its first call.
pub const KIND_BINDING: u16 = 5;
/// [`Record::kind`]: not in use.
pub const KIND_NONE: u16 = 0;

/// What a counter counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Address of the first instruction, or of the branch.
    pub pc: u64,
    /// Target of the branch.
    pub to: u64,
    /// Index of the first instruction's length in the table of lengths.
    pub lengths: u32,
    /// Index of the module of `pc`.
    pub module: u32,
    /// Index of the module of `to`.
    pub to_module: u32,
    /// Number of instructions.
    pub instructions: u16,
    /// One of the `KIND_` constants.
    pub kind: u16,
}

const _: () = assert!(size_of::<Record>() == 32);
