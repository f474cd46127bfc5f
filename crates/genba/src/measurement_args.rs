//! How runs are made and judged: what `bench`, `gate`, `try`, `ablate`, `sweep` and `bisect` all
//! take.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::{MetricPlan, Plan, Stop};
use genba_run::Shell;

use genba_units::{parse_cpu_list, parse_duration, parse_share};

use crate::exit_code::Failure;

/// How commands are run, what is read off them, and what decides.
#[derive(Debug, ClapArgs)]
pub struct MeasurementArgs {
    /// A metric in the output, found by a regular expression (group 1, or the group `value`).
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=REGEX")]
    pub metric_regex: Vec<String>,

    /// A metric in JSON output.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=/POINTER")]
    pub metric_json: Vec<String>,

    /// A metric that the command writes to $GENBA_METRICS_FD as a line `NAME VALUE [UNIT]`; this
    /// gives one a unit and a direction.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]")]
    pub metric_fd: Vec<String>,

    /// Differences up to this are of no interest [default: 1%].
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub delta: Option<f64>,

    /// Rate of false alarms allowed [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub alpha: Option<f64>,

    /// Seed of all that is random, the order first of all; the report names the one that was used.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Rounds before the measurement that are not counted.
    #[arg(short, long, value_name = "N")]
    pub warmup: Option<u32>,

    /// Measure commands that fail.
    #[arg(short, long)]
    pub ignore_failure: bool,

    /// The shell for all commands that are one string.
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<String>,

    /// No shell: split commands into words and start them directly (--shell=none).
    #[arg(short = 'N')]
    pub no_shell: bool,

    /// Variable of the environment for all commands; placeholders are replaced here, too.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// End a run after so long, and leave its command out.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<Duration>,

    /// Run on these CPUs only, as in 0,2-3.
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,
}

impl MeasurementArgs {
    /// Puts over a plan what was said on the command line, with the time for all of it.
    pub fn put_over(&self, plan: &mut Plan, budget: Option<Duration>) {
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
        plan.ignore_failure |= self.ignore_failure;
    }

    /// The CPUs to run on, if not on any.
    pub fn cpus(&self) -> Result<Option<Vec<usize>>, Failure> {
        let cpus = self.pin.as_deref().map(parse_cpu_list).transpose();
        cpus.map_err(|error| Failure::usage(format!("--pin: {error}")))
    }

    /// The shell for commands that are one string.
    pub fn shell(&self) -> Result<Shell, Failure> {
        match (&self.shell, self.no_shell) {
            (_, true) => Ok(Shell::None),
            (Some(shell), false) => Ok(Shell::parse(shell)?),
            (None, false) => Ok(Shell::default()),
        }
    }

    /// Metrics of the target's own.
    pub fn metrics(&self) -> Result<Vec<MetricPlan>, Failure> {
        let regex = (self.metric_regex.iter()).map(|text| MetricPlan::parse_regex(text));
        let json = (self.metric_json.iter()).map(|text| MetricPlan::parse_json(text));
        let channel = (self.metric_fd.iter()).map(|text| MetricPlan::parse_channel(text));
        let all = regex.chain(json).chain(channel);
        all.collect::<Result<_, _>>().map_err(Failure::usage)
    }
}
