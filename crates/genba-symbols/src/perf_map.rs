//! `/tmp/perf-PID.map`: names of code that a just-in-time compiler made.
//!
//! One line a function: start and size in hexadecimal, then the name to the end of the line
//! (linux, tools/perf/Documentation/jit-interface.txt).

use std::io::Read;
use std::path::{Path, PathBuf};

/// Where a process puts its perf map.
#[must_use]
pub fn perf_map_path(pid: i32) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{pid}.map"))
}

/// A function in a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitSymbol {
    /// First address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Name, cut to [`PerfMap::MAX_NAME`] bytes.
    pub name: String,
}

/// A parsed map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// By start address; of two that start alike only the later line is kept.
    symbols: Vec<JitSymbol>,
    /// Lines that were not understood.
    pub skipped: usize,
    /// Whether the file was larger than genba reads.
    pub cut_short: bool,
    /// Size of the file when it was read, bytes.
    file_size: u64,
}

impl PerfMap {
    /// Longest name that is kept, bytes.
    pub const MAX_NAME: usize = 4096;
    /// No more of a file than this is read, bytes.
    pub const MAX_SIZE: u64 = 256 << 20;

    /// Parses the lines of a map; what makes no sense is skipped and counted.
    #[must_use]
    pub fn parse(data: &[u8]) -> Self {
        let mut symbols = Vec::new();
        let mut skipped = 0;
        for line in data.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
            match symbol(line) {
                Some(s) => symbols.push(s),
                None => skipped += 1,
            }
        }
        // Stable, so that of equal starts the last in the file is the last here.
        symbols.sort_by_key(|s| s.start);
        let mut kept: Vec<JitSymbol> = Vec::with_capacity(symbols.len());
        for s in symbols {
            match kept.last_mut() {
                Some(last) if last.start == s.start => *last = s,
                _ => kept.push(s),
            }
        }
        Self {
            symbols: kept,
            skipped,
            cut_short: false,
            file_size: 0,
        }
    }

    /// Reads the map of a process, if it has left one. The file lies in a directory that
    /// anybody can write to: only regular files are read, and not without end.
    #[must_use]
    pub fn for_process(pid: i32) -> Option<Self> {
        Self::read(&perf_map_path(pid))
    }

    /// Reads a map; `None` if there is no such regular file.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let file = crate::regular_file::open_regular_nofollow(path)?;
        let meta = file.metadata().ok()?;
        let mut data = Vec::new();
        file.take(Self::MAX_SIZE).read_to_end(&mut data).ok()?;
        let mut map = Self::parse(&data);
        map.cut_short = meta.len() > Self::MAX_SIZE;
        map.file_size = meta.len();
        Some(map)
    }

    /// Whether the map of this process has another size now than when it was read.
    #[must_use]
    pub fn is_outdated(&self, pid: i32) -> bool {
        std::fs::metadata(perf_map_path(pid)).is_ok_and(|meta| meta.len() != self.file_size)
    }

    /// The function at an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&JitSymbol> {
        let after = self.symbols.partition_point(|s| s.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        (address < symbol.end).then_some(symbol)
    }

    /// All functions by address.
    #[must_use]
    pub fn symbols(&self) -> &[JitSymbol] {
        &self.symbols
    }
}

fn symbol(line: &[u8]) -> Option<JitSymbol> {
    let mut parts = line.splitn(3, |&b| b == b' ');
    let mut number = || {
        let text = std::str::from_utf8(parts.next()?).ok()?;
        let text = text.strip_prefix("0x").unwrap_or(text);
        if text.starts_with('+') {
            return None;
        }
        u64::from_str_radix(text, 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = parts.next()?;
    let name = &name[..name.len().min(PerfMap::MAX_NAME)];
    Some(JitSymbol {
        start,
        end: start.checked_add(size)?,
        name: String::from_utf8_lossy(name).trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn later_line_replaces_an_earlier_one_of_the_same_start() {
        let map = PerfMap::parse(b"10 8 old\n0x20 4 two words\nnonsense\n10 8 new\n+5 1 x\n");
        assert_eq!(map.find(0x17).unwrap().name, "new");
        assert_eq!(map.find(0x18), None);
        assert_eq!(map.find(0x23).unwrap().name, "two words");
        assert_eq!(map.find(0xf), None);
        assert_eq!(map.skipped, 2);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..400), at in any::<u64>()) {
            let map = PerfMap::parse(&data);
            let _ = map.find(at);
        }
    }
}
