//! The layout of samples as an event's attribute defines it, and parsing them.

use super::attr::{Attr, flag, sample};
use super::byte_cursor::Cursor;
use super::record::{Raw, kind};
use crate::data_source::DataAccess;

/// The layout of an event's samples and of the trailers of its other records.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    sample_type: u64,
    read_format: u64,
    branch_sample_type: u64,
    regs_user: u64,
    id_all: bool,
    /// Offset of the time in a sample's body, if it has one.
    time_at: Option<usize>,
    /// Distance of the time from the end of another record's body, if it has one.
    time_behind: Option<usize>,
}

/// A parsed sample; its slices refer to the recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleRecord<'a> {
    /// Instruction pointer.
    pub ip: u64,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Events since the last sample.
    pub period: u64,
    /// Call chain: 8-byte entries, innermost first, with context markers.
    pub chain: &'a [u8],
    /// ABI of the registers (0 none, 1 32-bit, 2 64-bit).
    pub abi: u64,
    /// User registers in ascending order of the mask, 8 bytes each.
    pub regs: &'a [u8],
    /// Copy of the user stack from the stack pointer up.
    pub stack: &'a [u8],
    /// The data that was accessed, where the event says.
    pub data: Option<DataAccess>,
}

impl Layout {
    /// The layout that an attribute defines.
    #[must_use]
    pub fn new(attr: &Attr) -> Self {
        let mut layout = Self {
            sample_type: attr.sample_type,
            read_format: attr.read_format,
            branch_sample_type: attr.branch_sample_type,
            regs_user: attr.regs_user,
            id_all: attr.has(flag::SAMPLE_ID_ALL),
            time_at: None,
            time_behind: None,
        };
        if layout.has(sample::TIME) {
            layout.time_at = Some(layout.fixed_before(sample::TIME));
            // The trailer ends with: TIME ID STREAM_ID CPU IDENTIFIER.
            let after = [
                sample::ID,
                sample::STREAM_ID,
                sample::CPU,
                sample::IDENTIFIER,
            ];
            let behind = after.iter().filter(|&&b| layout.has(b)).count() * 8 + 8;
            layout.time_behind = layout.id_all.then_some(behind);
        }
        layout
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    fn fixed_before(&self, bit: u64) -> usize {
        // In the order of the record, all of 8 bytes.
        let order = [
            sample::IDENTIFIER,
            sample::IP,
            sample::TID,
            sample::TIME,
            sample::ADDR,
            sample::ID,
            sample::STREAM_ID,
            sample::CPU,
            sample::PERIOD,
        ];
        order
            .iter()
            .take_while(|&&b| b != bit)
            .filter(|&&b| self.has(b))
            .count()
            * 8
    }

    /// The time of a record; `None` if records of this event have none.
    #[must_use]
    #[inline]
    pub fn time(&self, raw: &Raw<'_>) -> Option<u64> {
        let at = if raw.kind == kind::SAMPLE {
            self.time_at?
        } else {
            raw.body.len().checked_sub(self.time_behind?)?
        };
        Cursor::new(raw.body.get(at..)?).u64()
    }

    /// The id of the event to which a record belongs.
    #[must_use]
    pub fn id(&self, raw: &Raw<'_>) -> Option<u64> {
        if raw.kind == kind::SAMPLE {
            let offset = if self.has(sample::IDENTIFIER) {
                0
            } else if self.has(sample::ID) {
                self.fixed_before(sample::ID)
            } else {
                return None;
            };
            return Cursor::new(raw.body.get(offset..)?).u64();
        }
        if self.has(sample::IDENTIFIER) {
            self.trailer(raw, &[], 8)
        } else if self.has(sample::ID) {
            self.trailer(raw, &[sample::STREAM_ID, sample::CPU], 8)
        } else {
            None
        }
    }

    fn trailer(&self, raw: &Raw<'_>, after: &[u64], size: usize) -> Option<u64> {
        if !self.id_all {
            return None;
        }
        let behind = after.iter().filter(|&&b| self.has(b)).count() * 8;
        let start = raw.body.len().checked_sub(behind + size)?;
        Cursor::new(&raw.body[start..]).u64()
    }

    /// Parses a sample; `None` if its body ends before its fields do.
    #[must_use]
    pub fn sample<'a>(&self, body: &'a [u8]) -> Option<SampleRecord<'a>> {
        let mut c = Cursor::new(body);
        let mut out = SampleRecord::default();
        if self.has(sample::IDENTIFIER) {
            c.skip(8)?;
        }
        if self.has(sample::IP) {
            out.ip = c.u64()?;
        }
        if self.has(sample::TID) {
            out.pid = c.i32()?;
            out.tid = c.i32()?;
        }
        if self.has(sample::TIME) {
            out.time = c.u64()?;
        }
        let address = if self.has(sample::ADDR) { c.u64()? } else { 0 };
        if self.has(sample::ID) {
            c.skip(8)?;
        }
        if self.has(sample::STREAM_ID) {
            c.skip(8)?;
        }
        if self.has(sample::CPU) {
            c.skip(8)?;
        }
        out.period = 1;
        if self.has(sample::PERIOD) {
            out.period = c.u64()?;
        }
        if self.has(sample::READ) {
            self.skip_read(&mut c)?;
        }
        if self.has(sample::CALLCHAIN) {
            let entries = usize::try_from(c.u64()?).ok()?;
            out.chain = c.take(entries.checked_mul(8)?)?;
        }
        if self.has(sample::RAW) {
            let size = c.u32()? as usize;
            c.skip(size)?;
        }
        if self.has(sample::BRANCH_STACK) {
            const HW_INDEX: u64 = 1 << 17;
            let entries = usize::try_from(c.u64()?).ok()?;
            if self.branch_sample_type & HW_INDEX != 0 {
                c.skip(8)?;
            }
            c.skip(entries.checked_mul(24)?)?;
        }
        if self.has(sample::REGS_USER) {
            out.abi = c.u64()?;
            if out.abi != 0 {
                out.regs = c.take(self.regs_user.count_ones() as usize * 8)?;
            }
        }
        if self.has(sample::STACK_USER) {
            let size = usize::try_from(c.u64()?).ok()?;
            if size != 0 {
                let copy = c.take(size)?;
                let filled = usize::try_from(c.u64()?).ok()?;
                out.stack = copy.get(..filled)?;
            }
        }
        let mut latency = 0;
        if self.has(sample::WEIGHT | sample::WEIGHT_STRUCT) {
            // Both have the latency in the lower half.
            latency = c.u64()? as u32;
        }
        if self.has(sample::DATA_SRC) {
            out.data = Some(DataAccess {
                address,
                source: c.u64()?,
                latency,
            });
        }
        Some(out)
    }

    fn skip_read(&self, c: &mut Cursor<'_>) -> Option<()> {
        const ENABLED: u64 = 1;
        const RUNNING: u64 = 2;
        const ID: u64 = 4;
        const GROUP: u64 = 8;
        const LOST: u64 = 16;
        let one = |bit| usize::from(self.read_format & bit != 0);
        let times = one(ENABLED) + one(RUNNING);
        let each = 1 + one(ID) + one(LOST);
        if one(GROUP) == 1 {
            let members = usize::try_from(c.u64()?).ok()?;
            c.skip(
                members
                    .checked_mul(each)?
                    .checked_add(times)?
                    .checked_mul(8)?,
            )
        } else {
            c.skip((times + each) * 8)
        }
    }
}
