//! Reading small text files of procfs and sysfs, bounded.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No file read here is of interest beyond this many bytes (a `/proc/cpuinfo` of 1,000 CPUs has
/// about 2 MB, of which the first entry is needed).
const LIMIT: u64 = 4 << 20;

/// The text of a file, or nothing if it cannot be read or is not text.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(LIMIT)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file's content without white space round it, if there is any.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = text(path)?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The file's content as a number.
pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    line(path)?.parse().ok()
}
