//! Detection of changes in a tree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Size, times and inode of every file of a tree, which detect every write at low cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeState {
    entries: BTreeMap<PathBuf, FileState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl TreeState {
    /// The state of a tree; unreadable entries are skipped.
    #[must_use]
    pub fn of(tree: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut pending = vec![tree.to_owned()];
        while let Some(directory) = pending.pop() {
            let Ok(list) = fs::read_dir(&directory) else {
                continue;
            };
            for entry in list.flatten() {
                // Cases are written there during the measurement.
                if entry.file_name() == ".genba" {
                    continue;
                }
                let Ok(about) = entry.metadata() else {
                    continue;
                };
                let path = entry.path();
                if about.is_dir() {
                    // The time of a directory adds nothing to its entries.
                    pending.push(path);
                    continue;
                }
                entries.insert(
                    path,
                    FileState {
                        size: about.len(),
                        inode: about.ino(),
                        modified: (about.mtime(), about.mtime_nsec()),
                        changed: (about.ctime(), about.ctime_nsec()),
                    },
                );
            }
        }
        Self { entries }
    }

    /// Path below the tree, size and time of every file, a line each: equal for equal trees on every
    /// machine that sees them. What git keeps is left out.
    #[must_use]
    pub fn listing(&self, tree: &Path) -> String {
        use std::fmt::Write as _;
        let mut out = String::new();
        for (path, file) in &self.entries {
            let below = path.strip_prefix(tree).unwrap_or(path);
            if !below.starts_with(".git") {
                let (seconds, nanoseconds) = file.modified;
                let _ = writeln!(out, "{below:?} {} {seconds}.{nanoseconds:09}", file.size);
            }
        }
        out
    }

    /// The first file that was changed, added or removed; `None` if there is none.
    #[must_use]
    pub fn changed(&self, tree: &Path) -> Option<PathBuf> {
        let now = Self::of(tree);
        let gone = self
            .entries
            .iter()
            .find(|(path, about)| now.entries.get(*path) != Some(about));
        let new = || {
            now.entries
                .keys()
                .find(|path| !self.entries.contains_key(*path))
        };
        gone.map(|(path, _)| path).or_else(new).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_added_and_removed_files_are_detected() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("f");
        fs::write(&file, "one").expect("written");
        let state = TreeState::of(place.path());
        assert_eq!(state.changed(place.path()), None);
        fs::create_dir(place.path().join(".genba")).expect("made");
        fs::write(place.path().join(".genba/x"), "").expect("written");
        assert_eq!(state.changed(place.path()), None);
        fs::write(&file, "two").expect("written");
        assert_eq!(state.changed(place.path()), Some(file.clone()));
        let state = TreeState::of(place.path());
        fs::write(place.path().join("g"), "").expect("written");
        assert_eq!(state.changed(place.path()), Some(place.path().join("g")));
        fs::remove_file(place.path().join("g")).expect("removed");
        fs::remove_file(&file).expect("removed");
        assert_eq!(state.changed(place.path()), Some(file));
    }

    #[test]
    fn listing_changes_with_a_file_and_not_with_what_git_keeps() {
        let place = tempfile::tempdir().expect("a directory");
        let listing = || TreeState::of(place.path()).listing(place.path());
        fs::write(place.path().join("f"), "one").expect("written");
        let one = listing();
        fs::create_dir(place.path().join(".git")).expect("made");
        fs::write(place.path().join(".git/index"), "x").expect("written");
        assert_eq!(listing(), one);
        fs::write(place.path().join("f"), "two!").expect("written");
        assert_ne!(listing(), one);
    }
}
