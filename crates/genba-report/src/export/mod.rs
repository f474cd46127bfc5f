//! Files that other programs read.
//!
//! **Comparisons**: hyperfine's JSON, CSV and Markdown, so that scripts made for it go on
//! working, and a report for the pull requests of GitHub. **Counts**: callgrind's format and
//! pprof's.
//!
//! The formats of comparisons are those of hyperfine 1.20 (`src/export/` there, and the scripts that it ships).
//! They have no place for a variant that was excluded, so such a variant is left out of them.

mod callgrind;
mod github;
mod hyperfine;
mod markdown;
mod pprof;
mod protobuf;

pub use callgrind::callgrind;
pub use github::github_markdown;
pub use hyperfine::{csv, hyperfine_json};
pub use markdown::markdown;
pub use pprof::pprof;

#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod tests;
