//! `/proc/PID/maps`: the mappings of a process.

use std::fs::File;
use std::io::{self, Read};

/// Most text that is read of one process, bytes. A mapping takes some 100, and the kernel allows
/// 65,530 of them by default (`vm.max_map_count`).
const MAX_TEXT: u64 = 64 << 20;

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// `PROT_READ`, `PROT_WRITE` and `PROT_EXEC` as bits.
    pub prot: u32,
    /// Whether writes are shared with other processes.
    pub shared: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Device, major and minor.
    pub device: (u32, u32),
    /// Inode; 0 for memory without a file.
    pub inode: u64,
    /// Path or name in brackets; empty for anonymous memory.
    pub path: String,
}

impl Mapping {
    /// Parses one line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        // The path may hold spaces, the five fields before it do not.
        let mut rest = line;
        let mut field = || {
            rest = rest.trim_start_matches(' ');
            let end = rest.find(' ').unwrap_or(rest.len());
            let (head, tail) = rest.split_at(end);
            rest = tail;
            head
        };
        let (range, flags, offset, device, inode) = (field(), field(), field(), field(), field());
        let hex = |s| u64::from_str_radix(s, 16).ok();
        let (start, end) = range.split_once('-')?;
        let (major, minor) = device.split_once(':')?;
        let flags = flags.as_bytes();
        let bit = |index: usize, letter: u8, bit: i32| match flags.get(index) {
            Some(&f) if f == letter => bit as u32,
            _ => 0,
        };
        Some(Self {
            start: hex(start)?,
            end: hex(end)?,
            prot: bit(0, b'r', libc::PROT_READ)
                | bit(1, b'w', libc::PROT_WRITE)
                | bit(2, b'x', libc::PROT_EXEC),
            shared: flags.get(3) == Some(&b's'),
            offset: hex(offset)?,
            device: (
                u32::from_str_radix(major, 16).ok()?,
                u32::from_str_radix(minor, 16).ok()?,
            ),
            inode: inode.parse().ok()?,
            path: rest.trim_start_matches(' ').to_owned(),
        })
    }

    /// Whether its code may be executed.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.prot & libc::PROT_EXEC as u32 != 0
    }

    /// Whether an address lies in it.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Offset in the file of what is mapped at an address of this mapping.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> u64 {
        address.wrapping_sub(self.start).wrapping_add(self.offset)
    }
}

/// The mappings in the text of a `/proc/PID/maps`; lines that are not understood are skipped.
pub fn parse_mappings(text: &str) -> impl Iterator<Item = Mapping> + '_ {
    text.lines().filter_map(Mapping::parse)
}

/// The mappings of a process; none if it has ended.
///
/// # Errors
/// The operating system's: the process does not exist (`ENOENT`, `ESRCH`) or may not be read.
pub fn mappings_of_process(pid: i32) -> io::Result<Vec<Mapping>> {
    read(&format!("/proc/{pid}/maps"))
}

/// The mappings of this process.
///
/// # Errors
/// The operating system's.
pub fn own_mappings() -> io::Result<Vec<Mapping>> {
    read("/proc/self/maps")
}

fn read(path: &str) -> io::Result<Vec<Mapping>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_TEXT).read_to_end(&mut text)?;
    Ok(parse_mappings(&String::from_utf8_lossy(&text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn path_keeps_its_spaces() {
        let line =
            "7f00-8f00 r-xp 00001000 fe:01 4711                       /opt/a b/x.so (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(mapping.path, "/opt/a b/x.so (deleted)");
        assert_eq!((mapping.start, mapping.end), (0x7f00, 0x8f00));
        assert_eq!((mapping.device, mapping.inode), ((0xfe, 1), 4711));
        assert!(mapping.is_executable() && !mapping.shared);
        assert!(mapping.contains(0x7f00) && !mapping.contains(0x8f00));
        assert_eq!(mapping.file_offset(0x7f10), 0x1010);
    }

    #[test]
    fn malformed_lines_are_not_mappings() {
        for malformed in ["", "7f00", "x-y r-xp 0 0:0 0 ", "1-2 r-xp 0 0 0 a"] {
            assert_eq!(Mapping::parse(malformed), None, "{malformed}");
        }
        assert_eq!(Mapping::parse("1-2 r-xp 0 0:0 0 ").unwrap().path, "");
    }

    #[test]
    fn own_code_is_mapped_executable() {
        let here = own_code_is_mapped_executable as fn() as usize as u64;
        let mappings = own_mappings().unwrap();
        assert!(
            mappings
                .iter()
                .any(|m| m.contains(here) && m.is_executable())
        );
        assert!(mappings_of_process(i32::MAX).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "[0-9a-f :rwxps/-]{0,120}|.{0,80}") {
            let _ = parse_mappings(&text).count();
        }
    }
}
