//! Compiled files in a copy of a source tree that was built before: without them a build compiles anew.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::SourceCopy;

/// Deepest directory that is searched.
const MAX_DEPTH: usize = 64;

impl SourceCopy {
    /// Removes objects, archives, shared objects and programs (by their first bytes) from the copy, but for
    /// those that git tracks; returns how many were removed.
    #[must_use]
    pub fn remove_compiled_files(&self) -> usize {
        let tracked = tracked_files(&self.path);
        let mut removed = 0;
        let mut open = vec![(self.path.clone(), 0)];
        while let Some((directory, depth)) = open.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if kind.is_dir() && depth < MAX_DEPTH && entry.file_name() != ".git" {
                    open.push((path, depth + 1));
                } else if kind.is_file()
                    && is_compiled(&path)
                    && !tracked.contains(&path)
                    && fs::remove_file(&path).is_ok()
                {
                    removed += 1;
                }
            }
        }
        removed
    }
}

/// The files that git tracks in a directory; none where it is not in a work tree.
fn tracked_files(directory: &Path) -> std::collections::HashSet<PathBuf> {
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(directory);
    let listed = git.stderr(std::process::Stdio::null()).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        return Default::default();
    };
    use std::os::unix::ffi::OsStrExt as _;
    let names = listed.stdout.split(|&byte| byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(|name| directory.join(std::ffi::OsStr::from_bytes(name)))
        .collect()
}

/// Whether a file begins as an ELF file or an archive of objects.
fn is_compiled(path: &Path) -> bool {
    let mut first = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read(&mut first));
    read.is_ok_and(|read| {
        let first = &first[..read];
        first.starts_with(b"\x7fELF") || first == b"!<arch>\n" || first == b"!<thin>\n"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_archives_are_removed_and_sources_stay() {
        let here = tempfile::tempdir().expect("a directory");
        let copy = SourceCopy {
            number: 0,
            path: here.path().join("copy"),
            source: here.path().to_owned(),
            reference: None,
            notes: Vec::new(),
            side: here.path().join("side"),
        };
        let file = |name: &str, text: &[u8]| {
            let path = copy.path.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        file("src/a.c", b"int a;");
        file("src/a.o", b"\x7fELF\x02\x01\x01");
        file("lib/a.a", b"!<arch>\nx");
        file("short", b"!<a");
        assert_eq!(copy.remove_compiled_files(), 2);
        let is_there = |name: &str| copy.path.join(name).exists();
        assert!(is_there("src/a.c") && is_there("short"));
        assert!(!is_there("src/a.o") && !is_there("lib/a.a"));
        assert_eq!(copy.remove_compiled_files(), 0);
    }
}
