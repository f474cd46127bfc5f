//! Feature sections: the description of machine, command and events in a file.

use super::attr::Attr;
use super::byte_cursor::{Cursor, c_string, header_string};

/// Bit numbers of the feature sections (`HEADER_*` of perf).
pub mod bit {
    pub const BUILD_ID: u32 = 2;
    pub const HOSTNAME: u32 = 3;
    pub const OSRELEASE: u32 = 4;
    pub const VERSION: u32 = 5;
    pub const ARCH: u32 = 6;
    pub const NRCPUS: u32 = 7;
    pub const CMDLINE: u32 = 11;
    pub const EVENT_DESC: u32 = 12;
    pub const SAMPLE_TIME: u32 = 21;
    /// One more than the highest that a file can name.
    pub const END: u32 = 256;
}

/// An event as described in a file.
#[derive(Clone, Debug, Default)]
pub struct FileEvent {
    /// The event's attribute.
    pub attr: Attr,
    /// The event's name, if the file has it.
    pub name: Option<String>,
    /// Ids that its records carry.
    pub ids: Vec<u64>,
}

/// The contents of the feature sections.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Kernel release.
    pub os_release: Option<String>,
    /// The recorder's own command line.
    pub command: Vec<String>,
    /// Events with names.
    pub events: Vec<FileEvent>,
    /// Build ids by path.
    pub build_ids: Vec<(String, Vec<u8>)>,
}

impl Features {
    /// Adds a section; damaged and unneeded ones are ignored.
    pub fn add(&mut self, number: u32, data: &[u8]) {
        match number {
            bit::OSRELEASE => self.os_release = header_string(&mut Cursor::new(data)),
            bit::CMDLINE => self.command = strings(data),
            bit::EVENT_DESC => self.events = event_desc(data),
            bit::BUILD_ID => self.build_ids = build_ids(data),
            _ => {}
        }
    }
}

fn strings(data: &[u8]) -> Vec<String> {
    let mut c = Cursor::new(data);
    let count = c.u32().unwrap_or(0);
    // Every string takes 4 bytes at least, so `data` bounds the length, not `count`.
    (0..count).map_while(|_| header_string(&mut c)).collect()
}

fn event_desc(data: &[u8]) -> Vec<FileEvent> {
    let mut c = Cursor::new(data);
    let (Some(count), Some(attr_size)) = (c.u32(), c.u32()) else {
        return Vec::new();
    };
    (0..count)
        .map_while(|_| {
            let attr = Attr::parse(c.take(attr_size as usize)?)?;
            let id_count = c.u32()?;
            let name = header_string(&mut c)?;
            let ids = c.take((id_count as usize).checked_mul(8)?)?;
            Some(FileEvent {
                attr,
                name: Some(name),
                ids: numbers(ids),
            })
        })
        .collect()
}

/// Parses numbers of 8 bytes each; trailing bytes are ignored.
#[must_use]
pub fn numbers(data: &[u8]) -> Vec<u64> {
    data.as_chunks::<8>()
        .0
        .iter()
        .map(|b| u64::from_le_bytes(*b))
        .collect()
}

fn build_ids(data: &[u8]) -> Vec<(String, Vec<u8>)> {
    const SIZE_GIVEN: u16 = 1 << 15;
    let mut c = Cursor::new(data);
    let mut out = Vec::new();
    while let (Some(_kind), Some(misc), Some(size)) = (c.u32(), c.u16(), c.u16()) {
        let Some(body) = usize::from(size).checked_sub(8).and_then(|n| c.take(n)) else {
            break;
        };
        // pid, then 20 bytes of id with its size and padding to 24.
        if let (Some(id), Some(path)) = (body.get(4..28), body.get(28..)) {
            let len = if misc & SIZE_GIVEN != 0 {
                usize::from(id[20]).min(20)
            } else {
                20
            };
            out.push((c_string(path), id[..len].to_vec()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_the_data_are_not_trusted() {
        let mut features = Features::default();
        features.add(bit::CMDLINE, b"\xff\xff\xff\xff\x04\0\0\0ls\0\0");
        assert_eq!(features.command, ["ls"]);
        features.add(bit::EVENT_DESC, b"\xff\xff\xff\xff\xff\xff\xff\xff");
        assert!(features.events.is_empty());
        features.add(bit::BUILD_ID, &[0xff; 40]);
        assert!(features.build_ids.is_empty());
    }
}
