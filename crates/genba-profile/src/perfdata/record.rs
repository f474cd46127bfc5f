//! Records of the data section, parsed from their bytes.

use super::byte_cursor::{Cursor, c_string};
pub use super::sample_layout::{Layout, SampleRecord};

/// `PERF_RECORD_*` of the kernel and, from 64 on, of perf itself.
pub mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const USER_FIRST: u32 = 64;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_TRACING_DATA: u32 = 66;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// `PERF_RECORD_MISC_*`.
pub mod misc {
    pub const CPUMODE: u16 = 7;
    pub const KERNEL: u16 = 1;
    pub const USER: u16 = 2;
    pub const GUEST_KERNEL: u16 = 4;
    pub const MMAP_DATA: u16 = 1 << 13;
    pub const COMM_EXEC: u16 = 1 << 13;
    pub const MMAP_BUILD_ID: u16 = 1 << 14;
    pub const SWITCH_OUT: u16 = 1 << 13;
    pub const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
}

/// Smallest marker in call chains: larger values are not addresses (`PERF_CONTEXT_MAX`).
pub const CONTEXT_MAX: u64 = -4095i64 as u64;
/// Marker: the following entries of the chain are kernel code.
pub const CONTEXT_KERNEL: u64 = -128i64 as u64;
/// Marker: the following entries of the chain are user code.
pub const CONTEXT_USER: u64 = -512i64 as u64;

/// Size of the header before every record.
pub const HEADER_SIZE: usize = 8;

/// A record with unparsed body.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// [`kind`].
    pub kind: u32,
    /// [`misc`] bits.
    pub misc: u16,
    /// The bytes after the header.
    pub body: &'a [u8],
}

impl<'a> Raw<'a> {
    /// Parses the record at the start of `data`; returns it with its size including the header. `None`
    /// if the record does not fit in `data` or its size is invalid.
    #[must_use]
    #[inline]
    pub fn parse(data: &'a [u8]) -> Option<(Self, usize)> {
        let mut cursor = Cursor::new(data);
        let kind = cursor.u32()?;
        let misc = cursor.u16()?;
        let size = usize::from(cursor.u16()?);
        let body = data.get(HEADER_SIZE..size)?;
        Some((Self { kind, misc, body }, size))
    }
}

/// A mapping that appeared in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmapRecord {
    /// Process id; -1 for the kernel.
    pub pid: i32,
    /// First address.
    pub start: u64,
    /// Length of the mapping, bytes.
    pub len: u64,
    /// Offset in the file of the first address.
    pub pgoff: u64,
    /// Build id, if the record has it.
    pub build_id: Option<Vec<u8>>,
    /// Inode (0 if unknown): distinguishes a replaced file from its successor.
    pub inode: u64,
    /// Whether the mapping is executable.
    pub executable: bool,
    /// Path, or a name in brackets.
    pub path: String,
}

/// Parses `PERF_RECORD_MMAP` and `MMAP2`.
#[must_use]
pub fn mmap(raw: &Raw<'_>) -> Option<MmapRecord> {
    let mut c = Cursor::new(raw.body);
    let pid = c.i32()?;
    c.skip(4)?;
    let (start, len, pgoff) = (c.u64()?, c.u64()?, c.u64()?);
    let mut record = MmapRecord {
        pid,
        start,
        len,
        pgoff,
        build_id: None,
        inode: 0,
        executable: raw.misc & misc::MMAP_DATA == 0,
        path: String::new(),
    };
    if raw.kind == kind::MMAP2 {
        let id = c.take(24)?;
        if raw.misc & misc::MMAP_BUILD_ID != 0 {
            let size = usize::from(id[0]).min(20);
            record.build_id = (size > 0).then(|| id[4..4 + size].to_vec());
        } else {
            record.inode = Cursor::new(&id[8..]).u64()?;
        }
        const PROT_EXEC: u32 = 4;
        record.executable = c.u32()? & PROT_EXEC != 0;
        c.skip(4)?;
    }
    record.path = c_string(c.rest());
    Some(record)
}

/// Parses `PERF_RECORD_COMM`: process, thread, the thread's new name, and whether `execve` set it.
#[must_use]
pub fn comm(raw: &Raw<'_>) -> Option<(i32, i32, String, bool)> {
    let mut c = Cursor::new(raw.body);
    let (pid, tid) = (c.i32()?, c.i32()?);
    Some((
        pid,
        tid,
        c_string(c.rest()),
        raw.misc & misc::COMM_EXEC != 0,
    ))
}

/// A thread or process that began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Process id.
    pub pid: i32,
    /// Id of the process that created it.
    pub ppid: i32,
    /// Thread id.
    pub tid: i32,
    /// Id of the thread that created it.
    pub ptid: i32,
}

/// Parses `PERF_RECORD_FORK` and `EXIT`.
#[must_use]
pub fn task(raw: &Raw<'_>) -> Option<TaskRecord> {
    let mut c = Cursor::new(raw.body);
    Some(TaskRecord {
        pid: c.i32()?,
        ppid: c.i32()?,
        tid: c.i32()?,
        ptid: c.i32()?,
    })
}

/// Parses `PERF_RECORD_LOST` and `LOST_SAMPLES`: the number of samples that the kernel lost.
#[must_use]
pub fn lost(raw: &Raw<'_>) -> Option<u64> {
    let mut c = Cursor::new(raw.body);
    if raw.kind == kind::LOST {
        c.skip(8)?;
    }
    c.u64()
}
