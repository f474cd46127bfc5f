//! Files that hold results.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

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
    let beside = temporary(path);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(fail)
}

/// Parses the name of a file that [`write`] will write, and refuses one that it could not: after
/// minutes of measuring it is too late.
pub fn parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match refusal(&path) {
        Some(error) => Err(format!("cannot write {}: {error}", path.display())),
        None => Ok(path),
    })
}

fn refusal(path: &Path) -> Option<std::io::Error> {
    if path.is_dir() {
        return Some(std::io::ErrorKind::IsADirectory.into());
    }
    if path == Path::new("-") || (path.exists() && !path.is_file()) {
        return None;
    }
    let beside = temporary(path);
    let made = std::fs::write(&beside, "");
    made.and_then(|()| std::fs::remove_file(&beside)).err()
}

/// The temporary file beside `path`.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".genba-tmp");
    path.with_file_name(name)
}
