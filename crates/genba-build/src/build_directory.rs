//! Private directory for the builds of a session, and removal of abandoned ones.

use std::fs::File;
use std::path::{Path, PathBuf};

use genba_run::{lock_directory, remove_abandoned};

use crate::remove_tree::remove_tree;
use crate::{BuildError, SourceCopy, copy_tree, git_checkout};

const PREFIX: &str = "genba-build-";

/// A private directory with the copies, checkouts, wrappers and profiles of one session, removed when
/// dropped.
#[derive(Debug)]
pub struct BuildDirectory {
    directory: PathBuf,
    made: std::cell::Cell<u32>,
    _lock: File,
}

impl BuildDirectory {
    /// Creates one in the directory for temporary files (`$TMPDIR`, else `/tmp`).
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn open() -> Result<Self, BuildError> {
        Self::open_in(&std::env::temp_dir())
    }

    /// Creates one in `parent` after removing abandoned ones.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn open_in(parent: &Path) -> Result<Self, BuildError> {
        let parent = (parent.canonicalize()).map_err(BuildError::file("use", parent))?;
        let wanted = |name: &[u8]| name.starts_with(PREFIX.as_bytes());
        remove_abandoned(&parent, wanted, |path| {
            let _ = remove_tree(path);
        });
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&parent)
            .map_err(BuildError::file("make a directory in", &parent))?;
        let directory = made.keep();
        match lock_directory(&directory) {
            Ok(lock) => Ok(Self {
                directory,
                made: std::cell::Cell::new(0),
                _lock: lock,
            }),
            Err(error) => {
                let _ = remove_tree(&directory);
                Err(BuildError::file("lock", &directory)(error))
            }
        }
    }

    /// Path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// A copy of a source tree. All copies of a build directory have paths of the same length, because
    /// the length of the program's name moves its stack.
    ///
    /// # Errors
    /// The tree cannot be read, the copy not be written.
    pub fn copy(&self, source: &Path) -> Result<SourceCopy, BuildError> {
        let number = self.next();
        self.copy_as(number, source)
    }

    /// Replaces a copy by a fresh one with the same path, which a second build needs.
    ///
    /// # Errors
    /// As [`BuildDirectory::copy`].
    pub fn copy_again(&self, tree: &SourceCopy) -> Result<SourceCopy, BuildError> {
        let place = self.place(tree.number);
        remove_tree(&place).map_err(BuildError::file("remove", &place))?;
        match &tree.reference {
            None => self.copy_as(tree.number, &tree.source),
            Some(reference) => self.checkout_as(tree.number, &tree.source, reference),
        }
    }

    /// A checkout of a revision of the repository that contains `repository`: a clone that shares the
    /// objects, so that nothing is written into the user's `.git`.
    ///
    /// # Errors
    /// No repository, no such revision, git fails.
    pub fn checkout(&self, repository: &Path, reference: &str) -> Result<SourceCopy, BuildError> {
        let number = self.next();
        self.checkout_as(number, repository, reference)
    }

    fn copy_as(&self, number: u32, source: &Path) -> Result<SourceCopy, BuildError> {
        let source = (source.canonicalize()).map_err(|_| BuildError::NoTree {
            path: source.to_owned(),
        })?;
        let path = self.place(number);
        let notes = copy_tree::copy_tree(&source, &path)?;
        Ok(SourceCopy {
            number,
            path,
            source,
            reference: None,
            notes,
            side: self.side(number),
        })
    }

    fn checkout_as(
        &self,
        number: u32,
        repository: &Path,
        reference: &str,
    ) -> Result<SourceCopy, BuildError> {
        let path = self.place(number);
        let below = git_checkout::checkout(repository, reference, &path)?;
        let source = (repository.canonicalize()).map_err(|_| BuildError::NoTree {
            path: repository.to_owned(),
        })?;
        Ok(SourceCopy {
            number,
            // Joining an empty path would append a slash, which a prefix must not have.
            path: if below.as_os_str().is_empty() {
                path
            } else {
                path.join(below)
            },
            source,
            reference: Some(reference.to_owned()),
            notes: Vec::new(),
            side: self.side(number),
        })
    }

    fn next(&self) -> u32 {
        let number = self.made.get();
        self.made.set(number + 1);
        number
    }

    fn place(&self, number: u32) -> PathBuf {
        self.directory.join(format!("{number:04}"))
    }

    /// Directory of the wrappers, profile and log of a copy.
    fn side(&self, number: u32) -> PathBuf {
        self.directory.join(format!("{number:04}-of"))
    }
}

impl Drop for BuildDirectory {
    fn drop(&mut self) {
        let _ = remove_tree(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).expect("a directory").flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn build_directory_is_removed_on_drop_and_abandoned_ones_by_the_next() {
        let parent = tempfile::tempdir().expect("a directory");
        let living = BuildDirectory::open_in(parent.path()).expect("a build directory");
        // As after SIGKILL: the directory with a lock that nobody holds.
        let dead = parent.path().join("genba-build-dead");
        fs::create_dir_all(dead.join("0000/src")).expect("made");
        fs::write(dead.join("lock"), "").expect("written");
        // Just being made, or not ours at all: no lock file.
        let young = parent.path().join("genba-build-young");
        fs::create_dir(&young).expect("made");
        let other = BuildDirectory::open_in(parent.path()).expect("a build directory");
        assert!(!dead.exists());
        assert!(young.exists() && living.path().exists() && other.path().exists());
        drop((living, other));
        assert_eq!(names(parent.path()), ["genba-build-young"]);
    }

    #[test]
    fn checkout_path_corresponds_to_the_directory_in_the_repository() {
        let parent = tempfile::tempdir().expect("a directory");
        let commands = "git init -q . && git config user.email a@b && git config user.name n && \
             mkdir sub && echo > sub/f && git add . && git commit -qm one";
        let repository = parent.path().join("repo");
        fs::create_dir(&repository).expect("made");
        let mut sh = std::process::Command::new("sh");
        let done = sh.current_dir(&repository).args(["-c", commands]).status();
        assert!(done.expect("sh").success());
        let build_directory = BuildDirectory::open_in(parent.path()).expect("a build directory");
        let whole = build_directory
            .checkout(&repository, "HEAD")
            .expect("a checkout");
        assert!(!whole.path().as_os_str().as_encoded_bytes().ends_with(b"/"));
        assert!(whole.path().join("sub/f").exists());
        let part = build_directory
            .checkout(&repository.join("sub"), "HEAD")
            .expect("a checkout");
        assert!(part.path().ends_with("sub") && part.path().join("f").exists());
        let again = build_directory.copy_again(&part).expect("a checkout");
        assert_eq!(again.path(), part.path());
    }

    #[test]
    fn copies_have_paths_of_equal_length_and_can_be_replaced() {
        let parent = tempfile::tempdir().expect("a directory");
        let source = tempfile::tempdir().expect("a directory");
        fs::write(source.path().join("a.c"), "int a;").expect("written");
        let build_directory = BuildDirectory::open_in(parent.path()).expect("a build directory");
        let one = build_directory.copy(source.path()).expect("a copy");
        let two = build_directory.copy(source.path()).expect("a copy");
        assert_eq!(one.path().as_os_str().len(), two.path().as_os_str().len());
        fs::write(one.path().join("a.o"), "x").expect("written");
        let again = build_directory.copy_again(&one).expect("a copy");
        assert_eq!(again.path(), one.path());
        assert_eq!(names(again.path()), ["a.c"]);
        assert!(build_directory.copy(&source.path().join("none")).is_err());
    }
}
