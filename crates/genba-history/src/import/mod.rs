//! The result files of other benchmark programs.

mod benchmark_driver;
mod criterion;
mod google_benchmark;
mod hyperfine;
mod import_files;
mod import_recording;
mod pytest_benchmark;

use genba_model::Direction;
use serde::Deserialize;
use serde_json::Value;

pub use criterion::benchmark_name as criterion_benchmark_name;
pub use import_files::{FileContent, files_of, read_file};
pub use import_recording::{ImportContext, import_recording};

/// Largest file that is read.
pub const MAX_BYTES: usize = 64 << 20;
/// Most benchmarks of one file.
const MAX_BENCHMARKS: usize = 10_000;

/// What a file contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The program that wrote it.
    pub tool: String,
    /// Its benchmarks.
    pub benchmarks: Vec<ImportedBenchmark>,
    /// The commit that the file names.
    pub commit: Option<String>,
    /// The branch that the file names.
    pub branch: Option<String>,
    /// Whether the file says that the tree had uncommitted changes.
    pub dirty: bool,
    /// Time of the measurement as the file has it.
    pub started: Option<String>,
    /// Name of the machine as the file has it.
    pub machine: Option<String>,
    /// Name of the benchmark, where the file's place has it and not its content.
    pub named_by_place: Option<String>,
}

/// The values of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedBenchmark {
    /// Name.
    pub name: String,
    /// Executable or parameters; may be empty.
    pub variant: String,
    /// `wall`, `user`, `cpu`, or `rate`.
    pub metric: String,
    /// `seconds` or `i/s`.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// Its values: of each run, or one that summarises them.
    pub values: Vec<f64>,
}

impl ImportedBenchmark {
    fn seconds(name: &str, metric: &str, values: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            variant: String::new(),
            metric: metric.to_owned(),
            unit: "seconds".to_owned(),
            direction: Direction::LessIsBetter,
            values,
        }
    }
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The file is too large.
    #[error("has over {MAX_BYTES} bytes")]
    TooLarge,
    /// The file is none of the known formats.
    #[error(
        "is none of: hyperfine's, pytest-benchmark's, Google Benchmark's or Criterion's JSON, benchmark_driver's output"
    )]
    Unknown,
    /// The file has no values.
    #[error("has no results of {0}")]
    Empty(String),
    /// A field of the file is not as its program writes it.
    #[error("is not as {tool} writes it: {what}")]
    Field {
        /// The program.
        tool: &'static str,
        /// The error.
        what: String,
    },
}

/// Reads a file; the format is recognised by its content. `name` is the benchmark's name where the
/// file has none (Criterion's `sample.json`).
///
/// # Errors
/// The file has none of the formats, or no results.
pub fn parse(bytes: &[u8], name: &str) -> Result<Imported, ImportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ImportError::TooLarge);
    }
    let text = String::from_utf8_lossy(bytes);
    let mut imported = match serde_json::from_str::<Value>(&text) {
        Ok(json) if json.get("machine_info").is_some() => pytest_benchmark::read(json)?,
        Ok(json) if json.get("context").is_some() => google_benchmark::read(json)?,
        Ok(json) if json.get("results").is_some() => hyperfine::read(json)?,
        Ok(json) if json.get("iters").is_some() => criterion::read(json, name)?,
        Ok(_) => return Err(ImportError::Unknown),
        Err(_) => benchmark_driver::read(&text)?,
    };
    for one in &mut imported.benchmarks {
        one.values.retain(|value| value.is_finite() && *value > 0.0);
    }
    imported.benchmarks.retain(|one| !one.values.is_empty());
    imported.benchmarks.truncate(MAX_BENCHMARKS);
    if imported.benchmarks.is_empty() {
        return Err(ImportError::Empty(imported.tool));
    }
    Ok(imported)
}

/// A document of the program's own structure.
fn document<T: for<'de> Deserialize<'de>>(
    json: Value,
    tool: &'static str,
) -> Result<T, ImportError> {
    serde_json::from_value(json).map_err(|error| ImportError::Field {
        tool,
        what: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
