//! Arguments of all verbs that compare runs (`bench`, `gate`, `try`, `ablate`, `sweep`,
//! `bisect`): how commands run, which metrics are read, and the statistics.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::{MetricPlan, Plan, Stop};
use genba_run::Shell;

use genba_units::{parse_cpu_list, parse_duration, parse_share};

use crate::exit_code::Failure;

/// Exit codes that are ignored; all if empty.
#[derive(Clone, Debug)]
pub struct IgnoredCodes(Vec<i32>);

/// hyperfine's word for all codes.
const ALL_NON_ZERO: &str = "all-non-zero";

fn ignored_codes(text: &str) -> Result<IgnoredCodes, String> {
    if text == ALL_NON_ZERO {
        return Ok(IgnoredCodes(Vec::new()));
    }
    let code = |word: &str| {
        let code = word.trim().parse::<u8>().map(i32::from);
        code.map_err(|_| format!("`{word}` is not an exit code (0 to 255) or `{ALL_NON_ZERO}`"))
    };
    text.split(',')
        .map(code)
        .collect::<Result<_, _>>()
        .map(IgnoredCodes)
}

/// How commands run, which metrics are read, and the statistics.
#[derive(Debug, ClapArgs)]
pub struct MeasurementArgs {
    /// Metric in the target's output, found by a regular expression (group 1, or group `value`).
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=REGEX")]
    pub metric_regex: Vec<String>,

    /// Metric in the target's JSON output, found by a JSON pointer.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=/POINTER")]
    pub metric_json: Vec<String>,

    /// Unit and direction of a metric that the target writes to $GENBA_METRICS_FD as a line
    /// `NAME VALUE [UNIT]`.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]")]
    pub metric_fd: Vec<String>,

    /// Equivalence margin: differences smaller than this are treated as equal [default: 1%].
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub delta: Option<f64>,

    /// Significance level α: the rate of false verdicts allowed [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub alpha: Option<f64>,

    /// Seed of the random order of runs; the report shows the seed that was used.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Warm-up runs of each command before the measurement.
    #[arg(short, long, value_name = "N")]
    pub warmup: Option<u32>,

    /// Measure commands although they exit with an error: with any, or with one of these codes.
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true,
          default_missing_value = ALL_NON_ZERO, value_parser = ignored_codes)]
    pub ignore_failure: Option<IgnoredCodes>,

    /// Shell that runs all commands given as one string [default: sh].
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<String>,

    /// Run commands without a shell: split them into words and start them directly (--shell=none).
    #[arg(short = 'N')]
    pub no_shell: bool,

    /// Environment variable for all commands; placeholders are replaced in the value.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// End a run after this time, and exclude its command.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub timeout: Option<Duration>,

    /// Run commands on these CPUs only, as in 0,2-3.
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,
}

/// Name and value of a variable of `--env`.
pub fn name_and_value(variable: &str) -> Result<(&str, &str), Failure> {
    variable
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("--env {variable}: write NAME=VALUE")))
}

impl MeasurementArgs {
    /// Overrides the settings of a plan with those of the command line and the budget.
    pub fn apply_to(&self, plan: &mut Plan, budget: Option<Duration>) {
        if let Some(budget) = budget {
            plan.stop = Stop::Budget {
                seconds: budget.as_secs_f64(),
                min_blocks: 1,
            };
        }
        plan.warmup = self.warmup.unwrap_or(plan.warmup);
        plan.delta = self.delta.unwrap_or(plan.delta);
        plan.alpha = self.alpha.unwrap_or(plan.alpha);
        plan.seed = self.seed.unwrap_or(plan.seed);
        if let Some(IgnoredCodes(codes)) = &self.ignore_failure {
            plan.ignore_failure = true;
            plan.ignored_codes.clone_from(codes);
        }
    }

    /// The variables of `--env`, in their order.
    pub fn environment(&self) -> Result<Vec<(&str, &str)>, Failure> {
        self.env.iter().map(|one| name_and_value(one)).collect()
    }

    /// The CPUs of `--pin`; `None` if commands may run on all.
    pub fn cpus(&self) -> Result<Option<Vec<usize>>, Failure> {
        let cpus = self.pin.as_deref().map(parse_cpu_list).transpose();
        cpus.map_err(|error| Failure::usage(format!("--pin: {error}")))
    }

    /// The shell for commands given as one string.
    pub fn shell(&self) -> Result<Shell, Failure> {
        match (&self.shell, self.no_shell) {
            (_, true) => Ok(Shell::None),
            (Some(shell), false) => Ok(Shell::parse(shell)?),
            (None, false) => Ok(Shell::default()),
        }
    }

    /// The target's own metrics that the command line defines.
    pub fn metrics(&self) -> Result<Vec<MetricPlan>, Failure> {
        let regex = (self.metric_regex.iter()).map(|text| MetricPlan::parse_regex(text));
        let json = (self.metric_json.iter()).map(|text| MetricPlan::parse_json(text));
        let channel = (self.metric_fd.iter()).map(|text| MetricPlan::parse_channel(text));
        let all = regex.chain(json).chain(channel);
        all.collect::<Result<_, _>>().map_err(Failure::usage)
    }
}
