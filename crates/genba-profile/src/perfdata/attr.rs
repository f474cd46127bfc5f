//! `struct perf_event_attr` in a file: the fields that the reader needs.

use super::byte_cursor::Cursor;

/// `PERF_SAMPLE_*`: which fields a sample carries.
pub mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of the flag word of the attribute.
pub mod flag {
    pub const EXCLUDE_USER: u64 = 1 << 4;
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub const FREQ: u64 = 1 << 10;
    pub const PRECISE_SHIFT: u32 = 15;
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
}

/// The fields of an event's attribute that the reader needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// The event within its type.
    pub config: u64,
    /// Period, or frequency in Hz with [`flag::FREQ`].
    pub period_or_freq: u64,
    /// [`sample`] bits.
    pub sample_type: u64,
    /// `PERF_FORMAT_*`.
    pub read_format: u64,
    /// [`flag`] bits.
    pub flags: u64,
    /// `PERF_SAMPLE_BRANCH_*`.
    pub branch_sample_type: u64,
    /// Which registers samples carry.
    pub regs_user: u64,
    /// Bytes of stack copied.
    pub stack_user: u32,
}

impl Attr {
    /// Size of the smallest attribute, bytes (`PERF_ATTR_SIZE_VER0`).
    pub const MIN_SIZE: usize = 64;

    /// Parses an attribute; fields beyond the end of `data` are zero, as in the kernel. `None` if it is
    /// shorter than [`Self::MIN_SIZE`].
    #[must_use]
    pub fn parse(data: &[u8]) -> Option<Self> {
        if data.len() < Self::MIN_SIZE {
            return None;
        }
        let claimed = u32::from_le_bytes(data[4..8].try_into().ok()?) as usize;
        let size = if claimed == 0 {
            Self::MIN_SIZE
        } else {
            claimed
        };
        let data = &data[..data.len().min(size.max(Self::MIN_SIZE))];
        let at = |offset: usize| {
            data.get(offset..)
                .and_then(|d| Cursor::new(d).u64())
                .unwrap_or(0)
        };
        Some(Self {
            kind: at(0) as u32,
            config: at(8),
            period_or_freq: at(16),
            sample_type: at(24),
            read_format: at(32),
            flags: at(40),
            branch_sample_type: at(72),
            regs_user: at(80),
            stack_user: at(88) as u32,
        })
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Requested precision, 0 (any skid) to 3.
    #[must_use]
    pub fn precise_ip(&self) -> u8 {
        (self.flags >> flag::PRECISE_SHIFT & 3) as u8
    }

    /// perf's name of the event, for files without names.
    #[must_use]
    pub fn guess_name(&self) -> String {
        let base = crate::event::name_of(self.kind, self.config).map_or_else(
            || format!("type {} config {:#x}", self.kind, self.config),
            str::to_owned,
        );
        match (self.has(flag::EXCLUDE_USER), self.has(flag::EXCLUDE_KERNEL)) {
            (false, true) => format!("{base}:u"),
            (true, false) => format!("{base}:k"),
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_of_short_attributes_are_zero() {
        let mut data = [0u8; 64];
        data[4] = 64;
        data[8] = 3;
        data[24] = 7;
        let attr = Attr::parse(&data).unwrap();
        assert_eq!((attr.config, attr.sample_type, attr.stack_user), (3, 7, 0));
        assert!(Attr::parse(&data[..63]).is_none());
    }
}
