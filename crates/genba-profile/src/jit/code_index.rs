//! The index of an ELF image: which generated code was at which addresses from when on.
//!
//! A line has the time (ns, decimal), first address, end address, and offset in the image
//! (hexadecimal). Where ranges overlap, the later one replaces the earlier from its time on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::elf_image::PlacedFunction;
use super::jitdump::JitFunction;

/// An address range of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// Time from which on the code was there, ns; 0 for always.
    pub time: u64,
    /// First address.
    pub start: u64,
    /// End address (exclusive).
    pub end: u64,
    /// Offset in the image.
    pub offset: u64,
}

/// Most entries that are read from one file.
const MAX_ENTRIES: usize = 2 << 20;

/// The entries of functions that were placed in an image, in the order in which they replace one
/// another.
#[must_use]
pub fn entries(functions: &[JitFunction], placed: &[PlacedFunction]) -> Vec<CodeRange> {
    let mut placed: Vec<_> = placed
        .iter()
        .filter(|one| functions[one.function].size > 0)
        .collect();
    placed.sort_by_key(|one| (functions[one.function].time, one.function));
    let entry = |one: &&PlacedFunction| {
        let function = &functions[one.function];
        CodeRange {
            time: function.time,
            start: function.address,
            end: function.address.saturating_add(function.size),
            offset: one.offset,
        }
    };
    placed.iter().map(entry).collect()
}

/// The text of an index.
#[must_use]
pub fn write(entries: &[CodeRange]) -> String {
    let mut out = String::new();
    for e in entries {
        let _ = writeln!(out, "{} {:x} {:x} {:x}", e.time, e.start, e.end, e.offset);
    }
    out
}

/// Parses an index, skipping malformed lines. Ascending by time.
#[must_use]
pub fn parse(text: &str) -> Vec<CodeRange> {
    let hex = |s: &str| u64::from_str_radix(s, 16).ok();
    let mut entries: Vec<CodeRange> = text
        .lines()
        .take(MAX_ENTRIES)
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let entry = CodeRange {
                time: fields.next()?.parse().ok()?,
                start: hex(fields.next()?)?,
                end: hex(fields.next()?)?,
                offset: hex(fields.next()?)?,
            };
            (entry.start < entry.end).then_some(entry)
        })
        .collect();
    entries.sort_by_key(|e| e.time);
    entries
}

/// The directory of the artifacts saved with a recording: `RECORDING.kept`.
#[must_use]
pub fn directory_of(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(".kept");
    PathBuf::from(name)
}

/// The names of a process's ELF image and index.
#[must_use]
pub fn file_names(pid: i32) -> (String, String) {
    (format!("jit-{pid}.so"), format!("jit-{pid}.index"))
}

/// Whether a module is the image of a process's generated code, saved with a recording.
#[must_use]
pub fn is_generated_code(module: &Path) -> bool {
    let name = module.file_name().and_then(|name| name.to_str());
    let pid = name.and_then(|name| name.strip_prefix("jit-")?.strip_suffix(".so"));
    let kept = module.parent().and_then(Path::extension);
    kept.is_some_and(|kept| kept == "kept") && pid.is_some_and(|pid| pid.parse::<i32>().is_ok())
}

/// Name of the list of copied files: `NAME<TAB>ORIGINAL PATH` per line.
pub const FILE_LIST: &str = "files";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn saved_images_are_told_from_other_modules(pid in 0..i32::MAX) {
            let (image, index) = file_names(pid);
            let directory = directory_of(Path::new("a/perf.data"));
            prop_assert!(is_generated_code(&directory.join(&image)));
            prop_assert!(!is_generated_code(&directory.join(index)));
            prop_assert!(!is_generated_code(&Path::new("/usr/lib").join(image)));
        }

        #[test]
        fn written_index_reads_back(all in prop::collection::vec((0u64..9, 0u64..99, 1u64..9, any::<u64>()), 0..20)) {
            let mut entries: Vec<CodeRange> = all
                .iter()
                .map(|&(time, start, size, offset)| CodeRange { time, start, end: start + size, offset })
                .collect();
            entries.sort_by_key(|e| e.time);
            prop_assert_eq!(parse(&write(&entries)), entries);
        }

        #[test]
        fn any_text_parses_without_panic(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }
    }
}
