//! Options of an investigation.

use std::time::Duration;

use genba_profile::sampler::RecordOptions;

use crate::join_counts::ExecutionCountOptions;

/// What an investigation measures, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time for the repeated runs; counting takes another run, sampling half as much time or two runs.
    pub budget: Duration,
    /// Measure a command that fails.
    pub ignore_failure: bool,
    /// How to sample.
    pub record: RecordOptions,
    /// How to count executions; `None` to skip counting.
    pub executions: Option<ExecutionCountOptions>,
    /// Sample with stacks as well, in runs of their own.
    pub stacks: bool,
    /// Sample functions of Python and Ruby as well, in a run of their own, where the command runs
    /// one of these interpreters.
    pub script: bool,
    /// Time after which no optional run is started: a long command then has few runs and no counters.
    pub answer_within: Option<Duration>,
    /// Time for all of it: what comes last is skipped, and runs that are longer are cut short.
    pub limit: Option<Duration>,
    /// Maximum number of annotated functions.
    pub annotations: usize,
    /// Old and new path prefix of sources that were moved after the build.
    pub source_prefixes: Vec<(String, String)>,
    /// Version of genba, stored in the case.
    pub version: String,
}

/// Default of [`Options::annotations`]. Chosen: a page with more is not read to its end.
pub const MAX_ANNOTATIONS: usize = 8;

/// Default of [`Options::limit`], as a multiple of the time for repeated runs: each of the kinds of runs
/// that follow takes about as much.
const LIMIT_OF_BUDGETS: u32 = 5;

/// The least default of [`Options::limit`]: a command of a moment goes through all kinds of runs however
/// small the budget.
const MIN_DEFAULT_LIMIT: Duration = Duration::from_secs(30);

/// Time after which a count is given up where the user set no limit. Chosen.
const MAX_COUNT_TIME: Duration = Duration::from_secs(300);

impl Options {
    /// An investigation with every measurement; `budget` is the time for repeated runs.
    #[must_use]
    pub fn complete(budget: Duration, version: &str) -> Self {
        Self {
            stacks: true,
            script: true,
            answer_within: None,
            limit: Some((budget * LIMIT_OF_BUDGETS).max(MIN_DEFAULT_LIMIT)),
            ..Self::for_findings(budget, MAX_COUNT_TIME, Duration::ZERO, version)
        }
    }

    /// An investigation for its findings alone: the time for runs, the time for the count, and the
    /// time after which no optional run is started.
    #[must_use]
    pub fn for_findings(
        budget: Duration,
        count: Duration,
        answer_within: Duration,
        version: &str,
    ) -> Self {
        Self {
            budget,
            ignore_failure: false,
            executions: Some(ExecutionCountOptions {
                engine: None,
                limit: count,
                other: None,
            }),
            record: RecordOptions {
                command_line: std::env::args_os()
                    .map(|word| genba_run::text_of(&word))
                    .collect(),
                ..RecordOptions::default()
            },
            stacks: false,
            script: false,
            answer_within: Some(answer_within),
            limit: None,
            annotations: MAX_ANNOTATIONS,
            source_prefixes: Vec::new(),
            version: version.to_owned(),
        }
    }
}
