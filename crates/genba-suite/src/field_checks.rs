//! Checks of fields that both kinds of suite files share.

use std::cell::Cell;

use regex::RegexBuilder;

use crate::SuiteError;

/// Bytes of commands, scripts and names that a suite may come to.
pub const MAX_TEXT: usize = 64 << 20;

/// Limits the total text of all variants: a prelude in ten thousand variants is stored ten thousand
/// times.
pub struct TextBudget {
    left: Cell<usize>,
}

impl TextBudget {
    pub fn new() -> Self {
        Self {
            left: Cell::new(MAX_TEXT),
        }
    }

    /// Charges this many bytes plus the overhead of a string.
    pub fn take(&self, bytes: usize, file: &str) -> Result<(), SuiteError> {
        const HOLDER: usize = 64;
        match self.left.get().checked_sub(bytes.saturating_add(HOLDER)) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(SuiteError::TooMuchText {
                file: file.to_owned(),
                limit: MAX_TEXT,
            }),
        }
    }
}

/// Bytes that a compiled regular expression may take.
const REGEX_LIMIT: usize = 1 << 20;

/// Checks a regular expression.
///
/// # Errors
/// Why it is invalid, as a sentence.
pub fn regex(text: &str) -> Result<(), String> {
    RegexBuilder::new(text)
        .size_limit(REGEX_LIMIT)
        .build()
        .map(drop)
        .map_err(|error| format!("the regular expression {text:?}: {error}"))
}

/// Checks a JSON pointer (RFC 6901).
///
/// # Errors
/// Why it is invalid, as a sentence.
pub fn json_pointer(text: &str) -> Result<(), String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(());
    }
    Err(format!(
        "{text:?} is not a JSON pointer: one begins with a slash, such as /results/0/mean"
    ))
}

/// Checks a name for use in tables, file names and lines of the metrics channel.
///
/// # Errors
/// Why it is invalid, as a sentence.
pub fn name(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("a name must not be empty".to_owned());
    }
    if text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err(format!(
            "the name {:?} is longer than 200 characters or has control characters in it",
            text.chars().take(40).collect::<String>()
        ));
    }
    Ok(())
}

/// Checks the name of a metric: one word, because the channel separates by spaces.
///
/// # Errors
/// Why it is invalid, as a sentence.
pub fn metric_name(text: &str) -> Result<(), String> {
    name(text)?;
    if text.contains(char::is_whitespace) {
        return Err(format!("the metric's name {text:?} has a space in it"));
    }
    Ok(())
}
