//! Finding and reading source files that debug information names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Largest file that is read, bytes.
const MAX_FILE: u64 = 32 << 20;
/// Longest line that is kept, bytes.
const MAX_LINE: usize = 4096;

/// Source files by the paths in debug information, read once.
#[derive(Debug, Default)]
pub struct SourceCache {
    prefixes: Vec<(String, String)>,
    directories: Vec<PathBuf>,
    files: HashMap<String, Option<Arc<SourceFile>>>,
}

/// A source file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it was found.
    pub path: PathBuf,
    bytes: Vec<u8>,
    /// Where each line begins; files are shorter than 2³² bytes.
    lines: Vec<u32>,
}

impl SourceFile {
    /// Text of a line, from 1, without its end.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<Cow<'_, str>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let begin = *self.lines.get(index)? as usize;
        let end = self
            .lines
            .get(index + 1)
            .map_or(self.bytes.len(), |&next| next as usize);
        let line = self.bytes.get(begin..end)?;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]))
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
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

    /// The file of a recorded path; `None` if it is not found or is no text of bearable size.
    pub fn file(&mut self, recorded: &str) -> Option<Arc<SourceFile>> {
        if let Some(known) = self.files.get(recorded) {
            return known.clone();
        }
        let found = self
            .candidates(recorded)
            .into_iter()
            .find_map(|path| read(&path))
            .map(Arc::new);
        self.files.insert(recorded.to_owned(), found.clone());
        found
    }

    /// Text of a line of a recorded path.
    pub fn line(&mut self, recorded: &str, number: u32) -> Option<String> {
        self.file(recorded)?.line(number).map(Cow::into_owned)
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

fn read(path: &Path) -> Option<SourceFile> {
    // Asked before opening: a FIFO or a device would block or never end.
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MAX_FILE)
        .read_to_end(&mut bytes)
        .ok()?;
    let ends = memchr::memchr_iter(b'\n', &bytes);
    let mut lines: Vec<u32> = std::iter::once(0)
        .chain(ends.map(|at| at as u32 + 1))
        .collect();
    // Behind the last line end there is no line.
    if lines
        .last()
        .is_some_and(|&begin| begin as usize == bytes.len())
    {
        lines.pop();
    }
    Some(SourceFile {
        path: path.to_owned(),
        bytes,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_by_prefix_and_by_ends() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/a.c"), "one\r\ntwo\n").unwrap();
        let root = directory.path().to_str().unwrap();

        let mut plain = SourceCache::new();
        assert!(plain.file("/build/x/src/a.c").is_none());

        let mut mapped = SourceCache::new().with_prefix("/build/x", root);
        assert_eq!(mapped.line("/build/x/src/a.c", 2).as_deref(), Some("two"));
        assert_eq!(mapped.line("/build/x/src/a.c", 1).as_deref(), Some("one"));
        assert_eq!(mapped.line("/build/x/src/a.c", 3), None);
        assert_eq!(mapped.line("/build/x/src/a.c", 0), None);
        assert!(mapped.file("/build/xy/src/a.c").is_none());

        let mut searched = SourceCache::new().with_directory(root);
        assert_eq!(
            searched.line("/build/./q/../src/a.c", 2).as_deref(),
            Some("two")
        );
        assert_eq!(searched.file("../../../src/a.c").map(|f| f.len()), Some(2));
    }

    #[test]
    fn odd_files_are_passed_over() {
        assert!(SourceCache::new().file("/dev/zero").is_none());
        assert!(SourceCache::new().file("/").is_none());
    }
}
