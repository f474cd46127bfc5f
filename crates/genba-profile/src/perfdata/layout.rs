//! Where the fields of a sample are, as its event's attribute says; and samples, read by that.

use super::attr::{Attr, flag, sample};
use super::bytes::Cursor;
use super::record::{HEADER_SIZE, Raw, kind};

/// How samples and the trailers of other records are laid out for one event.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    sample_type: u64,
    read_format: u64,
    branch_sample_type: u64,
    regs_user: u64,
    id_all: bool,
    /// Where a sample's time is in its body, if it has one.
    time_at: Option<usize>,
    /// How far before the end of another record's body its time begins, if it has one.
    time_behind: Option<usize>,
}

/// The fields of a sample that are wanted where its stack is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Instruction pointer.
    pub ip: u64,
    /// Process (lower half) and thread, as one number.
    pub task: u64,
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Data address, if sampled.
    pub addr: u64,
    /// Events since the last sample.
    pub period: u64,
    /// CPU.
    pub cpu: u32,
}

/// Where the fields of a sample are, counted from its header, where no field of another length is
/// before them.
#[derive(Clone, Copy, Debug)]
pub struct QuickLayout {
    ip: usize,
    task: usize,
    time: usize,
    /// Header, if there is no such field; so is that of the CPU.
    addr: usize,
    cpu: usize,
    period: usize,
    chain: Option<usize>,
    needed: usize,
}

impl QuickLayout {
    /// The sample at the start of `data` with its `misc` bits and its size; `None` if it is another
    /// record, or not as it should be. Where there is one, [`Layout::sample`] says the same.
    #[must_use]
    #[inline(always)]
    pub fn sample(&self, data: &[u8]) -> Option<(Brief, u16, usize)> {
        let fixed = data.get(..self.needed)?;
        let word = |at: usize| {
            let bytes = fixed.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let header = word(0)?;
        let size = (header >> 48) as usize;
        if header as u32 != kind::SAMPLE || size < self.needed || size > data.len() {
            return None;
        }
        if let Some(chain) = self.chain
            && word(chain)? > ((size - self.needed) / 8) as u64
        {
            return None;
        }
        let or_zero = |at: usize| if at == 0 { Some(0) } else { word(at) };
        let brief = Brief {
            ip: word(self.ip)?,
            task: word(self.task)?,
            time: word(self.time)?,
            addr: or_zero(self.addr)?,
            period: word(self.period)?,
            cpu: or_zero(self.cpu)? as u32,
        };
        Some((brief, (header >> 32) as u16, size))
    }
}

/// A parsed sample; slices are left in place.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleRecord<'a> {
    /// Instruction pointer.
    pub ip: u64,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Data address, if sampled.
    pub addr: u64,
    /// CPU.
    pub cpu: u32,
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
}

impl Layout {
    /// The layout that an attribute means.
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

    /// How to read samples of this event quickly, if they can be.
    #[must_use]
    pub fn quick(&self) -> Option<QuickLayout> {
        let variable = sample::READ
            | sample::RAW
            | sample::BRANCH_STACK
            | sample::REGS_USER
            | sample::STACK_USER;
        let needed = sample::IP | sample::TID | sample::TIME | sample::PERIOD;
        if self.sample_type & variable != 0 || self.sample_type & needed != needed {
            return None;
        }
        let at = |bit| HEADER_SIZE + self.fixed_before(bit);
        let or_header = |bit| if self.has(bit) { at(bit) } else { 0 };
        let fixed = at(sample::PERIOD) + 8;
        let chain = self.has(sample::CALLCHAIN);
        Some(QuickLayout {
            ip: at(sample::IP),
            task: at(sample::TID),
            time: at(sample::TIME),
            addr: or_header(sample::ADDR),
            cpu: or_header(sample::CPU),
            period: at(sample::PERIOD),
            chain: chain.then_some(fixed),
            needed: fixed + if chain { 8 } else { 0 },
        })
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

    /// Time of a record, for sorting; `None` if records of this event carry none.
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

    /// Id of the event that a record belongs to.
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
        if self.has(sample::ADDR) {
            out.addr = c.u64()?;
        }
        if self.has(sample::ID) {
            c.skip(8)?;
        }
        if self.has(sample::STREAM_ID) {
            c.skip(8)?;
        }
        if self.has(sample::CPU) {
            out.cpu = c.u32()?;
            c.skip(4)?;
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
