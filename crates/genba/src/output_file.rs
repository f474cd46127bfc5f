//! Files that hold results.

use std::io::Write as _;
use std::path::Path;

use crate::exit_code::Failure;

/// Writes a file through a temporary file and a rename, so that no partial file is ever seen; `-`
/// is standard output.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let fail = |error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    if path == Path::new("-") {
        return std::io::stdout().write_all(text.as_bytes()).map_err(fail);
    }
    // A device or a pipe is written to, not replaced.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text).map_err(fail);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".genba-tmp");
    let beside = path.with_file_name(name);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(fail)
}
