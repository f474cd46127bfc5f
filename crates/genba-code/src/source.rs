//! Finding and reading source files that debug information names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use genba_symbols::FileBytes;

/// Largest file that is read, bytes.
const MAX_FILE: u64 = 32 << 20;
/// Longest line that is kept, bytes.
const MAX_LINE: usize = 4096;

/// The only directory whose files are read, if there is one.
static CONFINED_TO: OnceLock<PathBuf> = OnceLock::new();

/// Confines all source files that this process reads to a directory, links followed. Debug information is
/// input from outside and names any path; who asks for an annotation may not be who may read all files.
/// The first call counts.
pub fn confine_sources(directory: Option<PathBuf>) {
    if let Some(directory) = directory {
        // A directory that does not exist confines to nothing.
        let _ = CONFINED_TO.set(directory.canonicalize().unwrap_or(directory));
    }
}

/// Whether a file may be read.
fn is_permitted(path: &Path, confined_to: Option<&Path>) -> bool {
    let inside = |directory: &Path| {
        path.canonicalize()
            .is_ok_and(|found| found.starts_with(directory))
    };
    confined_to.is_none_or(inside)
}

/// Source files by the paths in debug information, read once.
#[derive(Debug, Default)]
pub struct SourceCache {
    prefixes: Vec<(String, String)>,
    directories: Vec<PathBuf>,
    files: HashMap<String, Option<SourceFile>>,
}

/// A source file that was found. Lines are counted only as far as they are asked for, and by
/// blocks: the hot function of an amalgamation of 250,000 lines may stand near its beginning.
#[derive(Debug)]
struct SourceFile {
    data: FileBytes,
    /// How many lines end before the end of each block, as far as looked; files are shorter
    /// than 2³² bytes.
    blocks: Vec<u32>,
}

/// Bytes of a block.
const BLOCK: usize = 16 << 10;

impl SourceFile {
    /// Text of a line, from 1, without its end.
    fn line(&mut self, number: u32) -> Option<Cow<'_, str>> {
        // The line begins behind the end of so many others.
        let before = number.checked_sub(1)?;
        let begin = match before {
            0 => 0,
            nth => self.end_of(nth)? + 1,
        };
        let rest = self.data.get(begin..)?;
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Behind the last line end there is no line.
        let is_line = !rest.is_empty();
        is_line.then(|| String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]))
    }

    /// Where the n-th line ends, from 1.
    fn end_of(&mut self, nth: u32) -> Option<usize> {
        self.count(nth);
        let block = self.blocks.partition_point(|&ends| ends < nth);
        let earlier = block.checked_sub(1).map_or(0, |last| self.blocks[last]);
        let start = block * BLOCK;
        let rest = self.data.get(start..)?;
        let within = memchr::memchr_iter(b'\n', &rest[..rest.len().min(BLOCK)])
            .nth((nth - earlier) as usize - 1)?;
        Some(start + within)
    }

    /// Counts blocks until so many lines have ended, or all.
    fn count(&mut self, lines: u32) {
        while self.blocks.last().is_none_or(|&ends| ends < lines) {
            let start = self.blocks.len() * BLOCK;
            let Some(rest) = self.data.get(start..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let ends = memchr::memchr_iter(b'\n', &rest[..rest.len().min(BLOCK)]).count();
            let before = self.blocks.last().copied().unwrap_or(0);
            self.blocks.push(before + ends as u32);
        }
    }
}

impl SourceCache {
    /// A cache that looks at the recorded paths only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `old` at the beginning of recorded paths by `new`; the first that fits wins.
    /// It fits at a border of path components only.
    #[must_use]
    pub fn with_prefix(mut self, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.prefixes.push((old.into(), new.into()));
        self
    }

    /// A directory below which files are looked for by ever shorter ends of their path, where
    /// the path itself is not there.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(directory.into());
        self
    }

    /// Text of a line of a recorded path; `None` if the file is not found, has no such line, or
    /// is not text of bearable size.
    pub fn line(&mut self, recorded: &str, number: u32) -> Option<String> {
        if !self.files.contains_key(recorded) {
            let candidates = self.candidates(recorded);
            let found = candidates.into_iter().find_map(|path| open(&path));
            self.files.insert(recorded.to_owned(), found);
        }
        let file = self.files.get_mut(recorded)?.as_mut()?;
        file.line(number).map(Cow::into_owned)
    }

    fn candidates(&self, recorded: &str) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for (old, new) in &self.prefixes {
            let Some(rest) = recorded.strip_prefix(old.as_str()) else {
                continue;
            };
            if rest.is_empty() || rest.starts_with('/') || old.ends_with('/') {
                let rest = rest.trim_start_matches('/');
                candidates.push(Path::new(new).join(rest));
                break;
            }
        }
        candidates.push(PathBuf::from(recorded));
        let parts: Vec<&std::ffi::OsStr> = normal_parts(Path::new(recorded));
        for directory in &self.directories {
            for skip in 0..parts.len() {
                candidates.push(directory.join(parts[skip..].iter().collect::<PathBuf>()));
            }
        }
        candidates
    }
}

/// Components with `..` resolved: a recorded path never leads above a search directory.
fn normal_parts(path: &Path) -> Vec<&std::ffi::OsStr> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    parts
}

fn open(path: &Path) -> Option<SourceFile> {
    if !is_permitted(path, CONFINED_TO.get().map(PathBuf::as_path)) {
        return None;
    }
    // Asked before opening: a FIFO or a device would block or never end.
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return None;
    }
    let data = FileBytes::open(path).ok()?;
    // It may have grown meanwhile.
    (data.len() as u64 <= MAX_FILE).then(|| SourceFile {
        data,
        blocks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn confined_sources_are_read_within_the_directory_alone() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("project");
        std::fs::create_dir(&inside).unwrap();
        for file in [directory.path().join("out.c"), inside.join("in.c")] {
            std::fs::write(file, "text\n").unwrap();
        }
        std::os::unix::fs::symlink(directory.path().join("out.c"), inside.join("link.c")).unwrap();
        let permitted = |path: &str| is_permitted(&directory.path().join(path), Some(&inside));
        assert!(permitted("project/in.c") && permitted("project/../project/in.c"));
        for path in [
            "out.c",
            "project/../out.c",
            "project/link.c",
            "project/none.c",
        ] {
            assert!(!permitted(path), "{path}");
        }
        assert!(is_permitted(&directory.path().join("out.c"), None));
    }

    #[test]
    fn source_is_found_by_replaced_prefix_and_by_end_of_path() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/a.c"), "one\r\ntwo\n").unwrap();
        let root = directory.path().to_str().unwrap();

        let mut plain = SourceCache::new();
        assert!(plain.line("/build/x/src/a.c", 1).is_none());

        let mut mapped = SourceCache::new().with_prefix("/build/x", root);
        assert_eq!(mapped.line("/build/x/src/a.c", 2).as_deref(), Some("two"));
        assert_eq!(mapped.line("/build/x/src/a.c", 1).as_deref(), Some("one"));
        assert_eq!(mapped.line("/build/x/src/a.c", 3), None);
        assert_eq!(mapped.line("/build/x/src/a.c", 0), None);
        assert!(mapped.line("/build/xy/src/a.c", 1).is_none());

        let mut searched = SourceCache::new().with_directory(root);
        assert_eq!(
            searched.line("/build/./q/../src/a.c", 2).as_deref(),
            Some("two")
        );
        assert_eq!(searched.line("../../../src/a.c", 1).as_deref(), Some("one"));
    }

    #[test]
    fn lines_are_found_in_any_order_and_the_last_without_line_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.c");
        std::fs::write(&path, "one\n\nthree\nfour").unwrap();
        let path = path.to_str().unwrap();
        let mut sources = SourceCache::new();
        for (number, text) in [(3, "three"), (1, "one"), (4, "four"), (2, ""), (3, "three")] {
            assert_eq!(
                sources.line(path, number).as_deref(),
                Some(text),
                "{number}"
            );
        }
        assert_eq!(sources.line(path, 5), None);
        assert_eq!(sources.line(path, u32::MAX), None);
    }

    proptest! {
        /// Against the library's own notion of lines.
        #[test]
        fn lines_equal_those_of_the_standard_library(
            lines in proptest::collection::vec("[a-z]{0,80}", 0..600),
            ended in any::<bool>(),
            wanted in proptest::collection::vec(0u32..700, 1..30),
        ) {
            let mut text = lines.join("\n");
            if ended {
                text.push('\n');
            }
            let data = FileBytes::Memory(text.as_bytes().into());
            let mut file = SourceFile { data, blocks: Vec::new() };
            let known: Vec<&str> = text.lines().collect();
            for number in wanted {
                let expected = number.checked_sub(1).and_then(|i| known.get(i as usize));
                let found = file.line(number);
                prop_assert_eq!(found.as_deref(), expected.copied(), "{}", number);
            }
        }
    }

    #[test]
    fn devices_and_directories_are_not_read_as_source() {
        assert!(SourceCache::new().line("/dev/zero", 1).is_none());
        assert!(SourceCache::new().line("/", 1).is_none());
    }
}
