//! Suites of benchmarks from files: genba's TOML and benchmark_driver's YAML.
mod channel;
mod check;
mod error;
mod executable;
mod load;
mod model;
mod session;
pub mod snippet;
mod template;
mod toml_suite;
mod values;
mod version;
mod yaml;

pub use error::SuiteError;
pub use executable::{Executable, parse_executables};
pub use load::{FileKind, MAX_FILE_BYTES, load};
pub use model::{Benchmark, MetricSource, MetricSpec, Settings, Step, Suite, Variant, Work};
pub use session::{DEFAULT_LOOP_SECONDS, Exclusion, Session};
pub use toml_suite::{Places, parse_toml};
pub use yaml::parse_yaml;

/// Most variants that a suite may come to, over all its comparisons.
pub const MAX_VARIANTS: usize = 10_000;
