//! Has a tree been written to?

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a tree looked like: every file's size, times and inode. Cheap, and nothing that writes
/// escapes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeState {
    entries: BTreeMap<PathBuf, About>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl TreeState {
    /// Looks at a tree; what cannot be read is left out.
    #[must_use]
    pub fn of(tree: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut pending = vec![tree.to_owned()];
        while let Some(directory) = pending.pop() {
            let Ok(list) = fs::read_dir(&directory) else {
                continue;
            };
            for entry in list.flatten() {
                // Cases are written there while it is measured.
                if entry.file_name() == ".genba" {
                    continue;
                }
                let Ok(about) = entry.metadata() else {
                    continue;
                };
                let path = entry.path();
                if about.is_dir() {
                    // A directory's own time tells nothing that its entries do not.
                    pending.push(path);
                    continue;
                }
                entries.insert(
                    path,
                    About {
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

    /// The first file that is now another, new, or gone; `None` where all is as it was.
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
    fn every_change_is_seen() {
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
}
