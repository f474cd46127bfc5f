//! Programs of others that engines start.

use std::ffi::OsStr;
use std::path::PathBuf;

use genba_run::resolve_program;

/// The first of these programs that is in genba's own PATH: the target's may be another.
#[must_use]
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    (names.iter()).find_map(|name| resolve_program(OsStr::new(name), path.as_deref(), None).ok())
}
