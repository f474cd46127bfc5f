//! Errors of suites.

use std::path::PathBuf;

use genba_experiment::ExperimentError;
use genba_run::RunError;

/// Why a suite cannot be read or made ready.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// File.
        path: PathBuf,
        /// Reason of the operating system.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("{path} has more than {limit} bytes: no suite is that long")]
    TooLong {
        /// File.
        path: PathBuf,
        /// Bytes allowed.
        limit: u64,
    },
    /// The name says neither TOML nor YAML.
    #[error(
        "{path}: a suite is a .toml file (genba's) or a .yml or .yaml file (benchmark_driver's)"
    )]
    Kind {
        /// File.
        path: PathBuf,
    },
    /// The file is not TOML, not YAML, or has keys that it should not have. The text names the
    /// line and the key.
    #[error("{file}: {message}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// The file is well-formed but has an invalid value.
    #[error("{file}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, if known.
        line: Option<usize>,
        /// What is wrong and what to do.
        message: String,
    },
    /// A key whose value is Ruby code that benchmark_driver would evaluate in its own process.
    #[error(
        "{file}: {key} is Ruby code, which genba does not evaluate. Say where the number is with \
         {regex}: 'REGULAR EXPRESSION' or {json}: /JSON/POINTER instead{}",
        .suggestion.as_ref().map(|text| format!("; perhaps {regex}: '{text}'")).unwrap_or_default()
    )]
    RubyCode {
        /// Name of the file.
        file: String,
        /// Key of the file that has the Ruby code.
        key: String,
        /// Key for a regular expression.
        regex: &'static str,
        /// Key for a JSON pointer.
        json: &'static str,
        /// A regular expression found in the code.
        suggestion: Option<String>,
    },
    /// Systems × operations × parameters come to too many.
    #[error("{file}: systems × operations × parameters come to more than {limit} variants")]
    TooMany {
        /// Name of the file.
        file: String,
        /// Variants allowed.
        limit: usize,
    },
    /// All variants together come to too much text.
    #[error("{file}: commands and scripts of all variants come to more than {limit} bytes")]
    TooMuchText {
        /// Name of the file.
        file: String,
        /// Bytes allowed.
        limit: usize,
    },
    /// An `--executables` that cannot be understood.
    #[error("--executables {text:?}: {message}")]
    Executable {
        /// As given.
        text: String,
        /// What is wrong.
        message: String,
    },
    /// A build command failed.
    #[error("the suite's build command failed ({how}): {command}\n{stderr}")]
    Build {
        /// Command.
        command: String,
        /// Exit code or signal.
        how: String,
        /// End of its output.
        stderr: String,
    },
    /// Metrics of one name that are found in different places.
    #[error("{benchmark}: its variants define the metric {metric:?} in different ways")]
    Metrics {
        /// Benchmark.
        benchmark: String,
        /// Metric.
        metric: String,
    },
    /// A snippet was to be planned before [`crate::Session::prepare`].
    #[error("the {label} has not been made ready to run")]
    Unprepared {
        /// The snippet.
        label: String,
    },
    /// The driver refuses something.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Something could not be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A temporary file cannot be made.
    #[error("cannot write {what}: {source}")]
    Temporary {
        /// What the file was for.
        what: String,
        /// Reason of the operating system.
        source: std::io::Error,
    },
}

/// Shorthand for a message about one line of a file.
pub(crate) fn invalid(
    file: &str,
    line: impl Into<Option<usize>>,
    message: impl Into<String>,
) -> SuiteError {
    SuiteError::Invalid {
        file: file.to_owned(),
        line: line.into(),
        message: message.into(),
    }
}

/// A parser's message with control characters escaped, because it quotes the file and goes to the
/// user's terminal.
pub(crate) fn printable(message: &str) -> String {
    let mut result = String::with_capacity(message.len());
    for character in message.trim_end().chars() {
        match character {
            '\n' => result.push('\n'),
            other if other.is_control() => result.extend(other.escape_unicode()),
            other => result.push(other),
        }
    }
    result
}
