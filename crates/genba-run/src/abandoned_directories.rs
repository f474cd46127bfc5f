//! Directories that outlive a process only if it was killed: their `lock` file is locked as long as the
//! process lives, so a directory whose lock can be taken is abandoned.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

const LOCK: &str = "lock";

/// Locks a directory that was just made, until the file is dropped or the process ends.
///
/// # Errors
/// The directory cannot be written to, or has a lock.
pub fn lock_directory(directory: &Path) -> io::Result<File> {
    // The lock is held before the file has its name: there is no moment at which the directory seems to
    // be abandoned.
    let unnamed = directory.join("lock.new");
    let lock = File::create_new(&unnamed)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    fs::rename(&unnamed, directory.join(LOCK))?;
    Ok(lock)
}

/// Calls `remove` for the abandoned directories of this user in `parent` whose name is `wanted`.
pub fn remove_abandoned(parent: &Path, wanted: impl Fn(&[u8]) -> bool, remove: impl Fn(&Path)) {
    let own = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        if !wanted(entry.file_name().as_encoded_bytes()) {
            continue;
        }
        let path = entry.path();
        // Directories of other users and links are left alone.
        let ours = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir() && it.uid() == own);
        if ours && is_abandoned(&path) {
            remove(&path);
        }
    }
}

fn is_abandoned(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(LOCK)) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}
