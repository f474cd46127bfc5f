//! Checks that both kinds of files need.

use regex::RegexBuilder;

/// Bytes that a compiled regular expression may take.
const REGEX_LIMIT: usize = 1 << 20;

/// Whether a regular expression can be used to find a number.
///
/// # Errors
/// Why not, as a sentence.
pub fn regex(text: &str) -> Result<(), String> {
    RegexBuilder::new(text)
        .size_limit(REGEX_LIMIT)
        .build()
        .map(drop)
        .map_err(|error| format!("the regular expression {text:?}: {error}"))
}

/// Whether a text is a JSON pointer (RFC 6901).
///
/// # Errors
/// Why not, as a sentence.
pub fn json_pointer(text: &str) -> Result<(), String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(());
    }
    Err(format!(
        "{text:?} is not a JSON pointer: one begins with a slash, such as /results/0/mean"
    ))
}

/// Whether a name can stand in a table, in a file's name and on a line of the metrics' channel.
///
/// # Errors
/// Why not, as a sentence.
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

/// Whether a metric may have this name: a word, as its channel separates by spaces.
///
/// # Errors
/// Why not, as a sentence.
pub fn metric_name(text: &str) -> Result<(), String> {
    name(text)?;
    if text.contains(char::is_whitespace) {
        return Err(format!("the metric's name {text:?} has a space in it"));
    }
    Ok(())
}
