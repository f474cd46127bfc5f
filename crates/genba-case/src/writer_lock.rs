//! The lock of a case's writer: an advisory lock (flock) that the kernel releases with its holder.
//!
//! A lock rather than a pid, since pids are reused and mean nothing in another container.
//! The file is opened close-on-exec, so that no target inherits the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{Error, Result};

const NAME: &str = "lock";

/// Takes the writer's lock; `None` if another process holds it.
///
/// On a file system without locks (some network mounts) it is not held, so a running case is shown
/// as interrupted.
pub(crate) fn take(directory: &Path) -> Result<Option<File>> {
    let path = directory.join(NAME);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(Error::io("create", &path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Whether a living process holds the writer's lock.
pub(crate) fn is_held(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(NAME)) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
