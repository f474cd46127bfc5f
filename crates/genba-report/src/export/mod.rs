//! Files for other programs.
//!
//! **Comparisons**: hyperfine's JSON, CSV and tables, so that scripts written for it keep working,
//! a report for pull requests on GitHub, and what services for benchmarks take. **Counts**: callgrind's
//! and pprof's formats. **Samples**: the formats of other viewers ([`samples`]).
//!
//! The formats of comparisons are those of hyperfine 1.20 (`src/export/` there, and the scripts that it ships).
//! They cannot represent an excluded variant, so it is omitted.

mod benchmark_json;
mod callgrind;
mod gate_result;
mod github;
mod hyperfine;
mod junit;
mod markdown;
mod pprof;
mod pprof_fields;
mod protobuf;
pub mod samples;
mod sarif;
mod summary_table;

pub use benchmark_json::{bencher_json, bigger_is_better, github_action_benchmark};
pub use callgrind::callgrind;
pub use gate_result::GateResult;
pub use github::{github_failure, github_markdown};
pub use hyperfine::{csv, hyperfine_json};
pub use junit::{junit_failure, junit_xml};
pub use pprof::pprof;
pub use sarif::{sarif, sarif_failure};
pub use summary_table::{Markup, RowOrder, TableOptions, TimeUnit, summary_table};

#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod tests;
