//! Layout of the file in which the plugin keeps its counts, which genba reads.
//!
//! A header, then records one after another, each a multiple of eight bytes, in the machine's byte
//! order. Counters are changed in place as long as the target runs, so the file is complete at any
//! moment, however the target ends.

/// First eight bytes.
pub const MAGIC: u64 = u64::from_le_bytes(*b"genbaQ01");
/// Bytes before the first record.
pub const HEADER: usize = 64;

/// Offsets of the header's fields.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Bytes in use, header included; whole records only.
    pub const USED: usize = 8;
    /// Process id.
    pub const PID: usize = 16;
    /// Bits of [`super::flag`].
    pub const FLAGS: usize = 24;
    /// Process of which this one is a fork, or 0.
    pub const PARENT: usize = 32;
    /// Executions that were not recorded because the file was full.
    pub const LOST: usize = 40;
    /// Number of returns from signal handlers.
    pub const SIGNALS: usize = 48;
    /// Number of processes that this one created and that are not counted.
    pub const FORKS: usize = 56;
}

/// Bits of the header's flags.
pub mod flag {
    /// The process called `exit_group`.
    pub const EXITED: u64 = 1;
    /// The process called `execve`, which did not return.
    pub const EXECUTED: u64 = 2;
}

/// Kinds of records.
pub mod kind {
    /// A file's path: `number`, length, bytes.
    pub const FILE: u32 = 1;
    /// A translated block.
    pub const BLOCK: u32 = 2;
    /// A control-flow edge from one block to another.
    pub const EDGE: u32 = 3;
    /// Where a PLT stub led on its first call; like an edge, from the stub's block.
    pub const BINDING: u32 = 4;
}

/// A record begins with its kind and its size in bytes, both 32 bits.
pub const RECORD: usize = 8;

/// Offsets in a file's record.
pub mod file {
    /// Length of the path, 32 bits; records of files are numbered from 0 as they come.
    pub const LENGTH: usize = 8;
    /// The path.
    pub const PATH: usize = 16;
}

/// Offsets in a block's record.
pub mod block {
    /// Number of executions, not counting iterations.
    pub const COUNT: usize = 8;
    /// Number of iterations of its last instruction, one with a repeat prefix.
    pub const ITERATIONS: usize = 16;
    /// Address of its first instruction in memory.
    pub const ADDRESS: usize = 24;
    /// Offset of it in its file.
    pub const OFFSET: usize = 32;
    /// Number of its file, 32 bits; [`super::NO_FILE`] for code that is in none.
    pub const FILE: usize = 40;
    /// Number of instructions, 32 bits.
    pub const INSTRUCTIONS: usize = 44;
    /// The last instruction's bytes, 15 at most, and their number.
    pub const LAST: usize = 48;
    /// The instructions' lengths, a byte each.
    pub const LENGTHS: usize = 64;
}

/// Stands for no file.
pub const NO_FILE: u32 = u32::MAX;

/// Offsets in an edge's record.
pub mod edge {
    /// Number of executions.
    pub const COUNT: usize = 8;
    /// Offset in the file of the record of the block that it leaves.
    pub const FROM: usize = 16;
    /// Offset in the file of the record of the block that it enters.
    pub const TO: usize = 24;
    /// Size, bytes.
    pub const SIZE: usize = 32;
}
