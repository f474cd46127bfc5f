//! What `try`, `ablate`, `sweep` and `bisect` have in common on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::{EXACT_INSTRUCTIONS, MetricPlan, Plan, Stop, VariantPlan};
use genba_profile::event::EventSpec;
use genba_run::{CommandSpec, Output, Shell, Stdin};

use crate::comparing::{cpu_list, duration, share};
use crate::exit::Failure;

/// How variants are run and judged.
#[derive(Debug, ClapArgs)]
pub struct ExperimentArgs {
    /// The metric that decides: wall, user, system, cpu, max_rss, an event (instructions), one
    /// of the target's own, or exact-instructions (counted, without noise) [default: wall].
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,

    /// A metric in the output, found by a regular expression (group 1, or the group `value`).
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=REGEX")]
    pub metric_regex: Vec<String>,

    /// A metric in JSON output.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=/POINTER")]
    pub metric_json: Vec<String>,

    /// A metric that the command writes to $GENBA_METRICS_FD as a line `NAME VALUE [UNIT]`.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]")]
    pub metric_fd: Vec<String>,

    /// Time for all of it.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,

    /// Differences up to this are of no interest [default: 1%].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub delta: Option<f64>,

    /// Rate of false alarms allowed [default: 5%].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub alpha: Option<f64>,

    /// Seed of all that is random.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Rounds before the measurement that are not counted.
    #[arg(short, long, value_name = "N")]
    pub warmup: Option<u32>,

    /// Run this before each run.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,

    /// Run this after each run.
    #[arg(long, value_name = "COMMAND")]
    pub conclude: Option<String>,

    /// Run this once before the first run.
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,

    /// Run this once after the last run.
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,

    /// Measure commands that fail.
    #[arg(short, long)]
    pub ignore_failure: bool,

    /// The shell for all commands that are one string.
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<String>,

    /// No shell: split commands into words and start them directly (--shell=none).
    #[arg(short = 'N')]
    pub no_shell: bool,

    /// Standard input: `null` or a file.
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,

    /// Variable of the environment for all commands.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// Working directory of the commands.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// End a run after so long, and leave its variant out.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Run on these CPUs only, as in 0,2-3.
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,

    /// Say what would be done and about how long it would take, and do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Keep no case: it can then be neither taken up again nor repeated.
    #[arg(long, conflicts_with = "continue_case")]
    pub no_case: bool,

    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,

    /// Go on with this case; `genba case resume` adds it.
    #[arg(long, value_name = "CASE", hide = true)]
    pub continue_case: Option<String>,
}

impl ExperimentArgs {
    /// The shell for commands that are one string.
    pub fn shell(&self) -> Result<Shell, Failure> {
        match (&self.shell, self.no_shell) {
            (_, true) => Ok(Shell::None),
            (Some(shell), false) => Ok(Shell::parse(shell)?),
            (None, false) => Ok(Shell::default()),
        }
    }

    /// A variant of one command line, with the steps round it. Placeholders must have been
    /// replaced.
    pub fn variant(&self, name: &str, line: &str) -> Result<VariantPlan, Failure> {
        let spec = CommandSpec::from_line(line, &self.shell()?)?;
        self.around(name, line, spec)
    }

    /// A variant of words that no shell sees (what stands behind `--`).
    pub fn variant_of_words(&self, name: &str, words: &[String]) -> Result<VariantPlan, Failure> {
        self.around(name, &line_of(words), CommandSpec::direct(words))
    }

    fn around(
        &self,
        name: &str,
        line: &str,
        mut spec: CommandSpec,
    ) -> Result<VariantPlan, Failure> {
        self.place(&mut spec)?;
        spec.stdin = match self.input.as_str() {
            "null" => Stdin::Null,
            path => Stdin::File(path.into()),
        };
        spec.stdout = Output::Null;
        spec.timeout = self.timeout;
        spec.cpus = self.pin.as_deref().map(cpu_list).transpose()?;
        let mut variant = VariantPlan::new(name, line, spec);
        let step = |line: &Option<String>| -> Result<Vec<CommandSpec>, Failure> {
            let Some(line) = line else {
                return Ok(Vec::new());
            };
            let mut spec = CommandSpec::from_line(line, &self.shell()?)?;
            self.place(&mut spec)?;
            Ok(vec![spec])
        };
        variant.setup = step(&self.setup)?;
        variant.prepare = step(&self.prepare)?;
        variant.conclude = step(&self.conclude)?;
        variant.cleanup = step(&self.cleanup)?;
        Ok(variant)
    }

    /// Directory and environment of a command.
    fn place(&self, spec: &mut CommandSpec) -> Result<(), Failure> {
        spec.directory.clone_from(&self.directory);
        for variable in &self.env {
            let Some((name, value)) = variable.split_once('=') else {
                return Err(Failure::usage(format!(
                    "--env {variable}: write NAME=VALUE"
                )));
            };
            spec.environment.set(name, value);
        }
        Ok(())
    }

    /// The plan of these variants, with the seed of the session.
    pub fn plan(&self, variants: Vec<VariantPlan>, seed: u64) -> Result<Plan, Failure> {
        let mut plan = Plan::new(variants);
        plan.metrics = self.metrics()?;
        plan.seed = seed;
        if let Some(metric) = &self.metric {
            plan.primary.clone_from(metric);
        }
        let known = genba_model::Metric::ALL
            .iter()
            .any(|one| one.name() == plan.primary)
            || plan.metrics.iter().any(|one| one.name == plan.primary);
        if !known && (self.is_exact() || EventSpec::parse(&plan.primary).is_ok()) {
            plan.counters.push(plan.primary.clone());
        }
        if let Some(budget) = self.budget {
            plan.stop = Stop::Budget {
                seconds: budget.as_secs_f64(),
                min_blocks: 1,
            };
        }
        plan.warmup = self.warmup.unwrap_or(plan.warmup);
        plan.delta = self.delta.unwrap_or(plan.delta);
        plan.alpha = self.alpha.unwrap_or(plan.alpha);
        plan.ignore_failure = self.ignore_failure;
        plan.check().map_err(Failure::usage)?;
        Ok(plan)
    }

    /// Whether runs are counted instead of timed.
    pub fn is_exact(&self) -> bool {
        self.metric.as_deref() == Some(EXACT_INSTRUCTIONS)
    }

    fn metrics(&self) -> Result<Vec<MetricPlan>, Failure> {
        let regex = self
            .metric_regex
            .iter()
            .map(|text| MetricPlan::parse_regex(text));
        let json = self
            .metric_json
            .iter()
            .map(|text| MetricPlan::parse_json(text));
        let channel = self
            .metric_fd
            .iter()
            .map(|text| MetricPlan::parse_channel(text));
        let all = regex.chain(json).chain(channel);
        all.collect::<Result<_, _>>().map_err(Failure::usage)
    }
}

/// Words as a shell would take them, for people.
pub fn line_of(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+@%{}".contains(&byte))
    };
    let quoted = words.iter().map(|word| match plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}
