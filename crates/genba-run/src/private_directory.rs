//! Private directories for temporary files: removed on drop, on a hard end, and, if the process was
//! killed, by the next genba.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use crate::abandoned_directories::{self, lock_directory};

const PREFIX: &str = "genba-";
/// Prefix of directories of builds, which genba-build removes itself: they are large.
const PREFIX_OF_BUILDS: &str = "genba-build-";

/// The directories of this process.
static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static REMOVE_ABANDONED: Once = Once::new();

/// A directory with a name that cannot be predicted, which only this user may enter.
#[derive(Debug)]
pub struct PrivateDirectory {
    path: PathBuf,
    _lock: File,
}

impl PrivateDirectory {
    /// Creates one in the directory for temporary files (`$TMPDIR`, else `/tmp`).
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn new(purpose: &str) -> io::Result<Self> {
        let parent = std::env::temp_dir();
        remove_left();
        Self::new_in(&parent, purpose)
    }

    /// Creates one in `parent`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn new_in(parent: &Path, purpose: &str) -> io::Result<Self> {
        let made = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{purpose}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let path = made.path().to_owned();
        let lock = lock_directory(&path)?;
        living(|all| all.push(path.clone()));
        let _ = made.keep();
        Ok(Self { path, _lock: lock })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next genba.
        let _ = fs::remove_dir_all(&self.path);
        living(|all| all.retain(|path| *path != self.path));
    }
}

fn living<T>(body: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    body(&mut LIVING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes, once, what killed processes have left in the directory for temporary files. Whatever runs a
/// command does that, whether or not it needs a directory itself.
pub(crate) fn remove_left() {
    REMOVE_ABANDONED.call_once(|| remove_abandoned(&std::env::temp_dir()));
}

/// Removes all private directories of this process, which is about to exit.
pub(crate) fn remove_all() {
    living(|all| {
        for path in all.drain(..) {
            let _ = fs::remove_dir_all(path);
        }
    });
}

/// Removes directories of this user whose process was killed.
fn remove_abandoned(parent: &Path) {
    let wanted = |name: &[u8]| {
        name.starts_with(PREFIX.as_bytes()) && !name.starts_with(PREFIX_OF_BUILDS.as_bytes())
    };
    abandoned_directories::remove_abandoned(parent, wanted, |path| {
        let _ = fs::remove_dir_all(path);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_directories_are_removed_and_others_stay() {
        let parent = tempfile::tempdir().expect("a directory");
        let living = PrivateDirectory::new_in(parent.path(), "test").expect("a directory");
        fs::write(living.path().join("file"), "x").expect("written");
        // As after SIGKILL: the lock is there, and nobody holds it.
        let dead = parent.path().join("genba-top-dead");
        fs::create_dir_all(dead.join("below")).expect("made");
        fs::write(dead.join("lock"), "").expect("written");
        let foreign = parent.path().join("genba-notes");
        fs::create_dir(&foreign).expect("made");
        remove_abandoned(parent.path());
        assert!(!dead.exists());
        assert!(foreign.exists() && living.path().join("file").exists());
        let path = living.path().to_owned();
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(living);
        assert!(!path.exists());
    }
}
