//! Reading a suite's file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{Executable, Places, Suite, SuiteError, parse_toml, parse_yaml};

/// Bytes that a suite's file may have.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// The two kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// genba's.
    Toml,
    /// benchmark_driver's.
    Yaml,
}

impl FileKind {
    /// By the name's extension; `None` for anything that is not a suite (a command, say).
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        match extension.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "yml" | "yaml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// Reads a file; `executables` are for YAML, and for it only.
///
/// # Errors
/// The file cannot be read, is neither kind, or says nothing sensible.
pub fn load(path: &Path, temp: &Path, executables: &[Executable]) -> Result<Suite, SuiteError> {
    let kind = FileKind::of(path).ok_or_else(|| SuiteError::Kind { path: path.into() })?;
    let failed = |source| SuiteError::Read {
        path: path.into(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    (file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SuiteError::TooLong {
            path: path.into(),
            limit: MAX_FILE_BYTES,
        });
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
    let directory = std::path::absolute(path).map_err(failed)?;
    let places = Places {
        file: &path.to_string_lossy(),
        directory: directory.parent().unwrap_or(Path::new("/")),
        temp,
    };
    match kind {
        FileKind::Yaml => parse_yaml(&text, &places, executables),
        FileKind::Toml if executables.is_empty() => parse_toml(&text, &places),
        FileKind::Toml => Err(crate::error::invalid(
            places.file,
            None,
            "--executables is for benchmark_driver's YAML; here, write a [[system]] with an \
             interpreter",
        )),
    }
}
