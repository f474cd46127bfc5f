//! The artifacts saved with a recording, as the reader uses them.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::code_index::{self, CodeRange};

/// Largest index or list that is read, bytes.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// The artifacts saved with a recording: generated code and copies of deleted files.
#[derive(Clone, Debug, Default)]
pub struct JitArtifacts {
    directory: PathBuf,
    /// Copies by the path that the original had.
    copies: HashMap<String, PathBuf>,
}

/// The generated code of one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratedCode {
    /// Path of the ELF image.
    pub path: String,
    /// Where its code was, ascending by time.
    pub entries: Vec<CodeRange>,
}

impl JitArtifacts {
    /// The artifacts of the recording at this path; empty if there are none.
    #[must_use]
    pub fn of(recording: &Path) -> Self {
        let directory = code_index::directory_of(recording);
        let list = read_text(&directory.join(code_index::FILE_LIST)).unwrap_or_default();
        let copies = list.lines().filter_map(|line| {
            let (name, original) = line.split_once('\t')?;
            // Names with a path could lead out of the directory.
            let plain = !name.is_empty() && !name.contains('/') && name != "..";
            plain.then(|| (original.to_owned(), directory.join(name)))
        });
        Self {
            copies: copies.collect(),
            directory,
        }
    }

    /// The copy of a file, if one was saved; a trailing ` (deleted)` of the path is ignored.
    #[must_use]
    pub fn copy_of(&self, path: &str) -> Option<&Path> {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        self.copies.get(path).map(PathBuf::as_path)
    }

    /// Whether nothing was saved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.directory.as_os_str().is_empty() || !self.directory.is_dir()
    }

    /// The generated code of a process, if some was saved.
    pub(crate) fn generated(&self, pid: i32) -> Option<GeneratedCode> {
        if self.directory.as_os_str().is_empty() {
            return None;
        }
        let (image, index) = code_index::file_names(pid);
        let entries = code_index::parse(&read_text(&self.directory.join(index))?);
        let path = self.directory.join(image);
        Some(GeneratedCode {
            path: path.to_str()?.to_owned(),
            entries,
        })
    }
}

fn read_text(path: &Path) -> Option<String> {
    let file = genba_symbols::open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
