//! Comparisons as files that other programs read: hyperfine's JSON, CSV and Markdown, so that
//! scripts made for it go on working, and a report for the pull requests of GitHub.
//!
//! The formats are those of hyperfine 1.20 (`src/export/` there, and the scripts that it ships).
//! They have no place for a variant that was excluded, so such a variant is left out of them.

mod github;
mod hyperfine;
mod markdown;

pub use github::github_markdown;
pub use hyperfine::{csv, hyperfine_json};
pub use markdown::markdown;

#[cfg(test)]
mod tests;
