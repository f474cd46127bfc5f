//! Private directories for temporary files: removed on drop, on a hard end, and, if the process was
//! killed, by the next genba.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "genba-";
/// Prefix of directories of builds, which genba-build removes itself: they are large.
const PREFIX_OF_BUILDS: &str = "genba-build-";
const LOCK: &str = "lock";

/// The directories of this process.
static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static REMOVE_ABANDONED: Once = Once::new();

/// A directory with a name that cannot be predicted, which only this user may enter.
///
/// Its `lock` file is locked as long as the process lives: a directory whose lock can be taken is
/// abandoned.
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
        // The lock is held before the file has its name: there is no moment at which the directory
        // seems to be abandoned.
        let unnamed = path.join("lock.new");
        let lock = File::create_new(&unnamed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(&unnamed, path.join(LOCK))?;
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
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let candidate = name.starts_with(PREFIX.as_bytes());
        if !candidate || name.starts_with(PREFIX_OF_BUILDS.as_bytes()) {
            continue;
        }
        let path = entry.path();
        // Directories of other users and links are left alone.
        let ours = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir() && it.uid() == own);
        if ours && is_abandoned(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_abandoned(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(LOCK)) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
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
        fs::write(dead.join(LOCK), "").expect("written");
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
