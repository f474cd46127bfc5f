//! `/tmp/perf-PID.map`: names of code that a just-in-time compiler made.
//!
//! One line a function: start and size in hexadecimal, then the name to the end of the line
//! (linux, tools/perf/Documentation/jit-interface.txt).

use std::collections::BTreeMap;
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
    /// Whether an earlier line has a function of another name at one of its addresses.
    pub replaces: bool,
}

/// A parsed map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// By start address, without overlaps: a later line replaces what earlier lines have at its
    /// addresses.
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
        let mut symbols = BTreeMap::new();
        let mut skipped = 0;
        for line in data.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
            match symbol(line) {
                Some(s) => place(&mut symbols, s),
                None => skipped += 1,
            }
        }
        Self {
            symbols: symbols.into_values().collect(),
            skipped,
            cut_short: false,
            file_size: 0,
        }
    }

    /// Returns a map of functions with known names, which are read back from elsewhere.
    #[must_use]
    pub fn of_functions(functions: impl IntoIterator<Item = JitSymbol>) -> Self {
        let mut symbols = BTreeMap::new();
        for function in functions {
            place(&mut symbols, function);
        }
        Self {
            symbols: symbols.into_values().collect(),
            ..Self::default()
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

/// Puts a function in place of what is at its addresses.
fn place(symbols: &mut BTreeMap<u64, JitSymbol>, mut new: JitSymbol) {
    if let Some((_, before)) = symbols.range_mut(..new.start).next_back()
        && before.end > new.start
    {
        before.end = new.start;
        new.replaces |= before.name != new.name;
    }
    // A function without a size replaces what starts where it does.
    let end = new.end.max(new.start.saturating_add(1));
    while let Some((&start, _)) = symbols.range(new.start..end).next() {
        let gone = symbols.remove(&start);
        new.replaces |= gone.is_some_and(|gone| gone.replaces || gone.name != new.name);
    }
    symbols.insert(new.start, new);
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
        replaces: false,
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

    #[test]
    fn later_line_replaces_what_it_overlaps() {
        let map = PerfMap::parse(b"10 20 first\n40 8 second\n28 1c third\n28 1c third\n");
        let found = |address| map.find(address).map(|s| (s.name.as_str(), s.replaces));
        assert_eq!(found(0x10), Some(("first", false)));
        assert_eq!(found(0x27), Some(("first", false)));
        assert_eq!(found(0x28), Some(("third", true)));
        assert_eq!(found(0x43), Some(("third", true)));
        assert_eq!(found(0x44), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..400), at in any::<u64>()) {
            let map = PerfMap::parse(&data);
            let _ = map.find(at);
        }
    }
}
