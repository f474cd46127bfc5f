//! A suite, independent of its file format: comparisons of variants.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use genba_model::Direction;

use crate::snippet::Snippet;

/// A suite: builds that come first, then comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Name, for headings.
    pub name: String,
    /// What is run once before anything is measured, in order.
    pub builds: Vec<Step>,
    /// The comparisons, in the order of the file.
    pub benchmarks: Vec<Benchmark>,
    /// Settings of the file; options of the command line take precedence.
    pub settings: Settings,
    /// Notes about the suite, a sentence each.
    pub notes: Vec<String>,
}

/// What a file may say about how to measure. `None` leaves it to the caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Time for one comparison.
    pub budget: Option<Duration>,
    /// Shell for commands: `none`, or a program with options.
    pub shell: Option<String>,
    /// Primary metric.
    pub metric: Option<String>,
    /// Equivalence margin δ: smaller differences are treated as equal (0.01 is 1 %).
    pub delta: Option<f64>,
    /// Significance level α.
    pub alpha: Option<f64>,
    /// A fixed number of runs of each variant instead of a budget.
    pub runs: Option<u32>,
    /// Runs of each variant before those that count.
    pub warmup: Option<u32>,
    /// Time-out of one run.
    pub timeout: Option<Duration>,
    /// Whether every variant must print what the baseline prints.
    pub check_output: bool,
}

/// A command that is run once and not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Line for the shell.
    pub command: String,
    /// Working directory.
    pub directory: Option<PathBuf>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Name, unique in the suite.
    pub name: String,
    /// Parameters that made it, by name.
    pub parameters: BTreeMap<String, String>,
    /// The variants, the baseline first; at least one.
    pub variants: Vec<Variant>,
    /// Primary metric of this benchmark, if it differs.
    pub metric: Option<String>,
    /// Name of the variant whose cost is subtracted from the others.
    pub subtract: Option<String>,
}

/// One way of running a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Name, unique in its benchmark.
    pub name: String,
    /// What is measured.
    pub work: Work,
    /// Command line for display, if it differs from the work.
    pub shown: Option<String>,
    /// Working directory; the caller's own if `None`.
    pub directory: Option<PathBuf>,
    /// Variables of the environment to set.
    pub environment: BTreeMap<String, String>,
    /// File for standard input.
    pub stdin: Option<PathBuf>,
    /// Shell line before the first run.
    pub setup: Option<String>,
    /// Shell line before every run, not measured.
    pub prepare: Option<String>,
    /// Shell line after every run, not measured.
    pub conclude: Option<String>,
    /// Shell line after the last run.
    pub cleanup: Option<String>,
    /// Iterations in one run, for costs per iteration.
    pub iterations: Option<u64>,
    /// Metrics that the target reports.
    pub metrics: Vec<MetricSpec>,
}

impl Variant {
    /// A variant without other commands.
    #[must_use]
    pub fn new(name: impl Into<String>, work: Work) -> Self {
        Self {
            name: name.into(),
            work,
            shown: None,
            directory: None,
            environment: BTreeMap::new(),
            stdin: None,
            setup: None,
            prepare: None,
            conclude: None,
            cleanup: None,
            iterations: None,
            metrics: Vec::new(),
        }
    }
}

/// What a run executes.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A line for the shell (split into words and started directly where there is none).
    Line(String),
    /// A program and its arguments, started directly.
    Direct(Vec<String>),
    /// Code for an interpreter; [`crate::Session::prepare`] makes `Direct` of it.
    Snippet(Snippet),
}

/// A metric that the target reports.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// Name.
    pub name: String,
    /// Where it is found.
    pub source: MetricSource,
    /// Unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
}

/// Where a number is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricSource {
    /// Standard output, by a regular expression (checked when the file was read): the group
    /// named `value`, else the first group, else all that matched.
    Regex(String),
    /// Standard output is JSON; this pointer (RFC 6901) leads to the number.
    Json(String),
    /// A line `name value unit` that the target writes to the descriptor in
    /// `$GENBA_METRICS_FD`.
    Reported,
}
