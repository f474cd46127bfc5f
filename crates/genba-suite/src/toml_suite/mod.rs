//! genba's TOML: systems × operations × parameters. The crate's documentation describes it.

mod toml_document;
mod toml_expansion;
mod toml_operation;

use std::path::Path;

use crate::{Suite, SuiteError};

/// Where a suite is and may write.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Name of the file, for messages.
    pub file: &'a str,
    /// Directory that the suite's relative paths are relative to: that of the file.
    pub directory: &'a Path,
    /// Directory for files that may be discarded afterwards: `{temp}`.
    pub temp: &'a Path,
}

/// Reads a TOML suite. Pure.
///
/// # Errors
/// Not TOML, unknown keys, variables that are not there, too many variants; the line is named.
pub fn parse_toml(text: &str, places: &Places<'_>) -> Result<Suite, SuiteError> {
    let document = toml::from_str(text).map_err(|error| SuiteError::Syntax {
        file: places.file.to_owned(),
        message: crate::error::printable(&error.to_string()),
    })?;
    toml_expansion::Expansion::new(text, document, places)?.suite()
}
