//! Files for other programs.
//!
//! **Comparisons**: hyperfine's JSON, CSV and Markdown, so that scripts written for it keep working,
//! and a report for pull requests on GitHub. **Counts**: callgrind's and pprof's formats.
//!
//! The formats of comparisons are those of hyperfine 1.20 (`src/export/` there, and the scripts that it ships).
//! They cannot represent an excluded variant, so it is omitted.

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
